# SPDX-License-Identifier: BSD-3-Clause
"""OTF2 archives: writing one, and reading one of any tool."""
