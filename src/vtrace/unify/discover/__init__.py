# SPDX-License-Identifier: BSD-3-Clause
"""Discovery: which local files belong to a run, and which rank unifies which processes."""
