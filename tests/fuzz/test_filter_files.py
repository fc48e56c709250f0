# SPDX-License-Identifier: BSD-3-Clause
"""Random content of a filter file or a file of groups: valid rules apply, each invalid one gives a single line."""

from __future__ import annotations

import ctypes
import os
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.damage.isolate import isolated
from vtrace.paths import LIB

SECONDS = int(os.environ.get("VT_FUZZ_SECONDS", "0"))
fuzzed = partial(
    settings, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, derandomize=not SECONDS
)
PIECES = [
    "work", "main", "*", "?", "[a-", "[!]", "\\", "\\ ", ";", " -- ", "--", "0", "-1", "99999999999999999999",
    " G", " S:1-2",
    "@", "3 - 5", ",", "OFF", "\n", "\r\n", "#", "=", "SCOREP_REGION_NAMES_BEGIN ", " SCOREP_REGION_NAMES_END ",
    " EXCLUDE ",
    " INCLUDE ", " MANGLED ", "SCOREP_FILE_NAMES_BEGIN ", "operator--", "é", "\0", "!$omp ", " @",
]  # fmt: skip
GROUPS = st.sampled_from([b"MPI", b"OMP", b"Application"])
LIKELY = st.lists(st.sampled_from(PIECES), max_size=60).map(lambda pieces: "".join(pieces).encode())


@pytest.mark.parametrize("content", [LIKELY, st.binary(max_size=3000)], ids=["likely", "any"])
def test_no_file_harms(content: st.SearchStrategy[bytes], tmp_path: Path) -> None:
    heard, rules, groups = tmp_path / "stderr", tmp_path / "rules", tmp_path / "groups"

    @fuzzed(max_examples=max(90, SECONDS * 20))
    @given(content, content, st.text("workmain*[]\\:(), #@!$p", max_size=30), st.integers(0, 9), GROUPS)
    def one(filter_bytes: bytes, group_bytes: bytes, name: str, rank: int, group: bytes) -> None:
        rules.write_bytes(filter_bytes)
        groups.write_bytes(group_bytes)

        def ask() -> None:
            os.dup2(os.open(heard, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            os.environ.pop("VT_FUZZ_SECONDS", None)  # the runtime would report an unknown setting
            os.environ.update(VT_FILTER_SPEC=str(rules), VT_GROUPS_SPEC=str(groups))
            runtime = ctypes.CDLL(str(LIB / "libvtrace.so.1"))
            runtime.vt_filter_explain.restype = ctypes.c_long
            room = ctypes.create_string_buffer(4096)
            limit = runtime.vt_filter_explain(name.encode(), group, rank, room, 4096)
            pattern, line, number, refused = room.value.split(b"\n")
            assert limit >= -1
            assert int(line) <= filter_bytes.count(b"\n") + 1
            assert pattern in filter_bytes
            assert int(line) or (limit == -1 and not pattern)
            assert int(number) <= len(filter_bytes)
            assert int(refused) <= len(filter_bytes) or b"\0" in filter_bytes

        isolated(ask)
        for line in heard.read_bytes().splitlines():
            assert line.startswith((b"vtrace: VT_FILTER_SPEC", b"vtrace: VT_GROUPS_SPEC"))

    one()
