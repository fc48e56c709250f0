# SPDX-License-Identifier: BSD-3-Clause
"""Questions about the events of an OTF2 archive of any tool, and their answers as tables."""
