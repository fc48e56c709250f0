# SPDX-License-Identifier: BSD-3-Clause
"""Reports for people, about any OTF2 archive: tables in text, CSV and JSON, and the HTML report.

sheet.py owns tables and their output; each *_sheets.py owns the tables of one subject. summary.py and report.py read
the events once for all their tables. Names from a trace are data: they are escaped in every output.
"""
