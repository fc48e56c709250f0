# SPDX-License-Identifier: BSD-3-Clause
"""The completeness of each location's recording, and its description in the archive."""
