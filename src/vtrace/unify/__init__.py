# SPDX-License-Identifier: BSD-3-Clause
"""Policy, no bytes: from the local files of a run to one archive."""
