# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the documentation that the installed vtrace states: a line of a page marks the place of each."""

from __future__ import annotations

import re

_MARK = re.compile(r"<!-- the table of (settings|findings|records|definitions|enumerations) -->\n")


def filled(page: str) -> str:
    """The Markdown of a page of docs/ with its tables in place of their marks."""
    return _MARK.sub(lambda mark: _table(mark[1]), page)


def _table(name: str) -> str:
    if name == "settings":
        from vtrace import settings

        return settings.markdown()
    if name == "findings":
        from vtrace.analysis.findings import kinds

        return kinds.markdown()
    from vtrace.io.local import format_tables

    tables = {
        "records": format_tables.records,
        "definitions": format_tables.definitions,
        "enumerations": format_tables.enumerations,
    }
    return tables[name]()
