# SPDX-License-Identifier: BSD-3-Clause
"""Names of OTF2's enumerations, also in a process that has loaded no other module of vtrace."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import _otf2
import pytest

import vtrace
from support.tools import call
from vtrace.io.common.enumerations import constant_names, names_of

CODE = "import vtrace.io.archive.markers as m; print(sorted(m._SEVERITIES.values()), m._SCOPES[5])"


def test_names() -> None:
    assert names_of(_otf2.Paradigm)[4] == "MPI"
    assert names_of(_otf2.RmaSyncLevel) == {0: "NONE", 1: "PROCESS", 2: "MEMORY"}
    assert constant_names("SEVERITY_") == {0: "NONE", 1: "LOW", 2: "MEDIUM", 3: "HIGH"}
    with pytest.raises(TypeError, match="no members"):
        names_of(_otf2.MarkerSeverity)
    with pytest.raises(TypeError, match="no constants"):
        constant_names("SEVERE_")


def test_fresh_process(tmp_path: Path) -> None:
    assert call([sys.executable, "-c", CODE], tmp_path).stdout == "['HIGH', 'LOW', 'MEDIUM', 'NONE'] COMM\n"


def test_nobody_takes_the_private_names() -> None:
    """No module uses _names of the bindings, because only some enumerations have it."""
    users = [p.name for p in Path(vtrace.__file__).parent.rglob("*.py") if re.search(r"_otf2\.\w+\._", p.read_text())]
    assert users == []
