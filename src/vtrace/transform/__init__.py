# SPDX-License-Identifier: BSD-3-Clause
"""From an archive to an archive."""
