# SPDX-License-Identifier: BSD-3-Clause
"""Reports for people, about any OTF2 archive."""
