# SPDX-License-Identifier: BSD-3-Clause
"""Reports in the layouts of other tools."""
