# SPDX-License-Identifier: BSD-3-Clause
"""Readers of archives, local files, reports and pages that do not use vtrace's own readers."""
