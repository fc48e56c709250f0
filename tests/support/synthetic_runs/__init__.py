# SPDX-License-Identifier: BSD-3-Clause
"""Local files and archives whose every byte a test says."""
