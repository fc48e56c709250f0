# SPDX-License-Identifier: BSD-3-Clause
"""Reports in the layouts of other tools.

Each tool has a file for its numbers (fapp.py, fipp.py, mpip.py, tofupa.py) and, if the layout is long, one for its text
(*_layout.py). The numbers come from archives, as those of all other commands.
"""
