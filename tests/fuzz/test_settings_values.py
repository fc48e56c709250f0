# SPDX-License-Identifier: BSD-3-Clause
"""Arbitrary values in the environment: the runtime accepts valid ones, and reports each invalid one in a single
line."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.damage.isolate import isolated
from support.tools import ROOT
from vtrace.settings import in_force

SECONDS = int(os.environ.get("VT_FUZZ_SECONDS", "0"))
fuzzed = partial(
    settings, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, derandomize=not SECONDS
)
ANY = st.binary(max_size=2000).map(lambda data: data.replace(b"\0", b"\1").decode(errors="surrogateescape"))
WORDS = [
    "yes",
    "OFF",
    "9" * 30,
    "1G",
    "x" * 3000,
    "RING",
    "PROFILE",
    "USR1",
    "SIGRTMIN+1",
    "RTMIN+",
    "0.5s",
    "work:100",
    "::work:1",
]
SETTINGS = re.findall(r"^(?:NUMBER|TEXT)\((VT_\w+),", (ROOT / "csrc/core/settings_table.h").read_text(), re.MULTILINE)
NEAR = st.text("$%{}hprj/KMG0123456789-+aT:.s", max_size=40) | st.sampled_from(WORDS)
NAMES = st.sampled_from(SETTINGS) | st.from_regex(r"VT_[A-Z_]{1,40}", fullmatch=True)


@pytest.mark.parametrize("values", [ANY, NEAR], ids=["any", "near"])
def test_no_value_harms(values: st.SearchStrategy[str], tmp_path: Path) -> None:
    heard = tmp_path / "stderr"

    @fuzzed(max_examples=max(70, SECONDS * 20))
    @given(st.dictionaries(NAMES, values, max_size=6))
    def one(env: dict[str, str]) -> None:
        def read() -> None:
            os.chdir(tmp_path)
            os.dup2(os.open(heard, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            os.environ.pop("VT_FUZZ_SECONDS", None)  # the runtime would report an unknown setting
            os.environ.update(env)
            assert [row.name for row in in_force()] == SETTINGS

        isolated(read)
        lines = heard.read_bytes().split(b"\n")
        assert lines.pop() == b""
        assert len(lines) <= len(env) + 1
        assert all(line.startswith((b"vtrace: VT_", b"vtrace: unknown setting VT_")) for line in lines), lines
        assert not any(byte < 32 or byte == 127 for line in lines for byte in line)

    one()
