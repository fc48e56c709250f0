# SPDX-License-Identifier: BSD-3-Clause
"""The site of the documentation: make docs."""

project = "vtrace"
extensions = ["myst_parser"]
myst_heading_anchors = 4
exclude_patterns = ["pictures/*.py"]
html_theme = "furo"
html_title = "vtrace"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
