# SPDX-License-Identifier: BSD-3-Clause
"""Local files and archives with content that a test chooses."""
