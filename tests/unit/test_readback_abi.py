# SPDX-License-Identifier: BSD-3-Clause
"""Prototypes that Python, the C reader and libotf2 share."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

import _otf2
import pytest

from support.readers.otf2_headers import DEFINITIONS, EVENTS, LIST_EVENTS, LISTED_DEFINITIONS, Callback
from support.tools import ROOT, call, need, unavailable
from vtrace.io.archive import reader_abi as abi

CALLS = [*EVENTS, *LIST_EVENTS]
DEFINED = [*DEFINITIONS, *LISTED_DEFINITIONS]


def shape(ctype: Any) -> tuple[str, int]:
    """The kind of a type (pointer, real, signed or unsigned), and its size in bytes."""
    if hasattr(ctype, "contents") or ctype in (
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.py_object,
        _otf2.Config.StrParam,
    ):
        return "pointer", 8
    if issubclass(ctype, ctypes.Union):
        return "unsigned", ctypes.sizeof(ctype)
    return ("signed" if ctype(-1).value < 0 else "unsigned"), ctypes.sizeof(ctype)


@pytest.mark.parametrize("callback", CALLS, ids=lambda c: c.name)
def test_events_agree_with_the_bindings(callback: Callback) -> None:
    module = sys.modules["_otf2.EvtReaderCallbacks"]
    theirs = getattr(module, f"_EvtReaderCallback_FP_{callback.name}")._argtypes_
    head = [("unsigned", 8)] * 3 + [("pointer", 8)] * 2
    assert [shape(kind) for kind in theirs] == [*head, *(shape(kind) for kind in callback.ctypes)]


@pytest.mark.parametrize("callback", DEFINED, ids=lambda c: c.name)
def test_definitions_agree_with_the_bindings(callback: Callback) -> None:
    module = sys.modules["_otf2.GlobalDefReaderCallbacks"]
    theirs = getattr(module, f"_GlobalDefReaderCallback_FP_{callback.name}")._argtypes_
    assert [shape(kind) for kind in theirs[1:]] == [shape(kind) for kind in callback.ctypes]


def test_nothing_is_left_out() -> None:
    library = ctypes.CDLL(_otf2.Config.lib_path())
    source = Path(str(sys.modules["_otf2.EvtReaderCallbacks"].__file__)).read_text()
    assert set(re.findall(r"^_EvtReaderCallback_FP_(\w+) =", source, re.MULTILINE)) == {c.name for c in CALLS}
    assert all(hasattr(library, f"OTF2_EvtReaderCallbacks_Set{c.name}Callback") for c in CALLS)
    assert all(hasattr(library, f"OTF2_GlobalDefReaderCallbacks_Set{c.name}Callback") for c in DEFINED)
    assert list(abi.event_kinds()) == [c.name for c in CALLS]


def test_types_agree_with_the_header(tmp_path: Path) -> None:
    """Types agree with the installed OTF2 header. An older header lacks MpiProbe and similar events."""
    gcc, text = need("gcc"), ""
    for kind, found in (("Evt", CALLS), ("GlobalDef", DEFINED)):
        header = Path(f"/usr/include/otf2/OTF2_{kind}ReaderCallbacks.h")
        if not header.exists():
            unavailable("OTF2's header (libopen-trace-format2-dev) is not installed")
        known = set(re.findall(rf"\*OTF2_{kind}ReaderCallback_(\w+) \)", header.read_text()))
        assert len({c.name for c in found} - known) <= 4
        for c in found:
            if c.name in known:
                text += (
                    f"_Static_assert(__builtin_types_compatible_p(OTF2_{kind}ReaderCallback_{c.name}, "
                    f'uint32_t (*)({c.text})), "differs: {c.name}");\n'
                )
    includes = '#include <otf2/otf2.h>\n#include "otf2_reader/readback.h"\n#include "otf2_reader/definitions.h"\n'
    (tmp_path / "check.c").write_text(includes + text)
    words = [gcc, "-std=gnu11", "-fsyntax-only", f"-I{ROOT / 'csrc'}", tmp_path / "check.c"]
    done = call(words, tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, ""), str(done)
    wrong = text.replace("uint64_t bytes", "uint32_t bytes", 1)
    (tmp_path / "check.c").write_text(includes + wrong)
    assert call(words, tmp_path, check=False).returncode


def test_calls_of_libotf2_agree_with_the_bindings() -> None:
    """Arguments have the same kinds and sizes as in the bindings."""
    for name, (_, arguments) in abi._OTF2.items():
        module = sys.modules[f"_otf2.{name.partition('_')[0]}"]
        source = Path(str(module.__file__)).read_text()
        body = source[source.index(f"def {name}(") :].split("\ndef ")[0]
        found = re.search(r"\.argtypes? += (\[.*?\])\n", body, re.DOTALL)
        assert found is not None, name
        theirs = eval(found[1], dict(vars(module)))
        pointers = [("pointer", 8) if issubclass(kind, ctypes._CFuncPtr) else shape(kind) for kind in theirs]
        assert pointers == [shape(kind) for kind in arguments], name
