# SPDX-License-Identifier: BSD-3-Clause
"""Readers of archives, local files, reports and pages, which share nothing with vtrace."""
