# SPDX-License-Identifier: BSD-3-Clause
"""Prototypes and numbers of libotf2 that the C kernel, the C reader, the rewriter and Python repeat, against the
bindings of OTF2."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

import _otf2
import pytest

from support.readers.otf2_headers import (
    DEFINITIONS,
    EVENTS,
    LIST_EVENTS,
    LISTED_DEFINITIONS,
    NUMBERS,
    Callback,
    joined,
    listed,
    values,
)
from support.tools import ROOT, call, need, unavailable
from vtrace.io.archive import reader_abi
from vtrace.io.local.kernel import Kernel
from vtrace.transform import rewriter_abi

CALLS = [*EVENTS, *LIST_EVENTS]
DEFINED = [*DEFINITIONS, *LISTED_DEFINITIONS]


def shape(ctype: Any) -> tuple[str, int]:
    """The kind of a type (pointer, real, signed or unsigned), and its size in bytes."""
    if ctype in (ctypes.c_float, ctypes.c_double):
        return "real", ctypes.sizeof(ctype)
    pointers = ctypes.c_void_p, ctypes.c_char_p, ctypes.py_object, _otf2.Config.StrParam
    if ctype in pointers or hasattr(ctype, "contents") or hasattr(ctype, "_length_"):
        return "pointer", 8
    if issubclass(ctype, ctypes._CFuncPtr):
        return "pointer", 8
    if issubclass(ctype, ctypes.Union):
        return "unsigned", ctypes.sizeof(ctype)
    return ("signed" if ctype(-1).value < 0 else "unsigned"), ctypes.sizeof(ctype)


def bound(name: str) -> tuple[list[tuple[str, int]], Any]:
    """The shapes of the arguments of a function of the bindings, and the type of its result, from the source text."""
    module = sys.modules[f"_otf2.{name.partition('_')[0]}"]
    source = Path(str(module.__file__)).read_text()
    body = source[source.index(f"def {name}(") :].split("\ndef ")[0]
    found = re.search(r"\.argtypes? += (\[.*?\])\n(?:.*?\.restype += ([^\n]+))?", body, re.DOTALL)
    assert found is not None, name
    arrays = re.findall(r"(\w+) = ctypes\.c_\w+ \*", body)
    names = vars(module) | dict.fromkeys(
        [*arrays, "TypeArrayType", "MetricValueArrayType", "array_type"], ctypes.c_void_p
    )
    return [shape(kind) for kind in eval(found[1], names)], eval(found[2] or "None", names)


# ---- the kernel: csrc/otf2_writer/otf2.h ----

OTF2_H = ROOT / "csrc/otf2_writer/otf2.h"


def prototypes() -> list[tuple[str, str, list[str]]]:
    found = re.findall(r"X\((int32_t|\w+ \*), (\w+),\s+\(([^()]*)\)\)", joined("otf2_writer/otf2.h"))
    of, head = values("otf2_writer/otf2_events.h", "VT_E_"), ["OTF2_EvtWriter *", "void *", "uint64_t"]
    events = [name for name, *_ in listed("otf2_writer/otf2_events.h", "VT_OTF2_EVENTS")]
    writers = [(f"EvtWriter_{name}", "int32_t", [*head, *(row[1] for row in of[name])]) for name in events]
    return writers + [
        (name, result, [] if arguments == "void" else [word.strip() for word in arguments.split(",")])
        for result, name, arguments in found
    ]


def constants() -> dict[str, int]:
    text = OTF2_H.read_text().replace("\\\n", " ")
    part = text[text.index("VT_OTF2_CONSTANTS(X)") : text.index("enum vt_otf2_constant")]
    return {name: int(value.rstrip("u"), 0) for name, value in re.findall(r"X\((\w+), (\w+)\)", part)}


UNKNOWN_TO_BINDINGS = "Error_RegisterCallback"


@pytest.mark.parametrize(("name", "result", "arguments"), [p for p in prototypes() if p[0] != UNKNOWN_TO_BINDINGS])
def test_prototypes_agree_with_the_bindings(name: str, result: str, arguments: list[str]) -> None:
    theirs, returned = bound(name)
    own = [shape(ctypes.c_void_p if word.endswith("*") else NUMBERS[word]) for word in (*arguments, result)]
    assert [*theirs, shape(returned)] == own


def test_every_prototype_is_checked() -> None:
    besides = len(re.findall(r"^    X\(\w+ ?\*?, \w+,", OTF2_H.read_text(), re.MULTILINE))
    assert len(prototypes()) == len(Kernel()._names) + besides
    assert len(prototypes()) == len(Kernel()._names) + 24


def test_numbers_of_otf2() -> None:
    found = constants()
    assert len(found) == 36
    assert {name: getattr(_otf2, name).value for name in found if hasattr(_otf2, name)} == found
    last = {
        "CollectiveOp": "COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE", "LockType": "LOCK_SHARED",
        "RmaSyncLevel": "RMA_SYNC_LEVEL_MEMORY", "RmaSyncType": "RMA_SYNC_TYPE_NOTIFY_OUT",
        "RmaAtomicType": "RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE", "IoAccessMode": "IO_ACCESS_MODE_SEARCH_ONLY",
        "IoCreationFlag": "IO_CREATION_FLAG_UNIQUE", "IoStatusFlag": "IO_STATUS_FLAG_DELETE_ON_CLOSE",
        "IoSeekOption": "IO_SEEK_HOLE", "IoOperationMode": "IO_OPERATION_MODE_FLUSH",
        "IoOperationFlag": "IO_OPERATION_FLAG_COLLECTIVE",
    }  # fmt: skip
    assert {kind: max(getattr(_otf2, kind)._names) for kind in last} == {k: found[name] for k, name in last.items()}
    assert ctypes.sizeof(_otf2.MetricValue) == 8


# ---- the reader: csrc/otf2_reader ----


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
    assert list(reader_abi.event_kinds()) == [c.name for c in CALLS]


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
    for name, (_, arguments) in reader_abi._OTF2.items():
        assert bound(name)[0] == [shape(kind) for kind in arguments], name


# ---- the rewriter ----

SHAPES = {
    "uint8_t": ("unsigned", 1), "uint32_t": ("unsigned", 4), "uint64_t": ("unsigned", 8), "int64_t": ("signed", 8),
    "vt_attribute_value": ("unsigned", 8),
}  # fmt: skip
BY_HAND = {"Metric", "ProgramBegin", "Unknown"}
"""Events with lists, and events without a writer function."""
LISTS = {"String": 1, "Group": 2, "MetricClass": 2, "CartTopology": 2, "CartCoordinate": 2, "IoParadigm": 4}
"""Definitions with lists: the number of further arguments."""
OTHERS = {"ClockProperties", "MappingTable", "ClockOffset"}
"""Written by other code, or in local definitions only."""


def test_copied_events() -> None:
    assert list(rewriter_abi.copied_events()) == [callback.name for callback in CALLS]


@pytest.mark.parametrize("name", sorted(set(rewriter_abi.copied_events()) - BY_HAND))
def test_values_of_copied_events(name: str) -> None:
    ours = [SHAPES[value.type] for value in rewriter_abi.copied_events()[name].values]
    assert ours == bound(f"EvtWriter_{name}")[0][3:]


def test_copied_definitions() -> None:
    source = Path(str(sys.modules["_otf2.GlobalDefWriter"].__file__)).read_text()
    assert {*re.findall(r"def GlobalDefWriter_Write(\w+)\(", source)} - OTHERS == set(rewriter_abi.records())


@pytest.mark.parametrize("name", sorted(rewriter_abi.records()))
def test_values_of_copied_definitions(name: str) -> None:
    ours = [SHAPES[value.type] for value in rewriter_abi.records()[name]]
    if name in LISTS:
        module = sys.modules["_otf2.GlobalDefReaderCallbacks"]
        theirs = [shape(kind) for kind in getattr(module, f"_GlobalDefReaderCallback_FP_{name}")._argtypes_[1:]]
        assert len(theirs) == len(ours) + LISTS[name]
        return
    assert ours == bound(f"GlobalDefWriter_Write{name}")[0][1:]


def test_every_reference_has_a_kind() -> None:
    kinds = rewriter_abi.definition_kinds()
    values = [
        *sum(rewriter_abi.records().values(), ()),
        *sum((one.values for one in rewriter_abi.copied_events().values()), ()),
    ]
    for value in values:
        assert (value.kind in kinds) == (value.use in ("OWN", "PART", "REF", "WEAK", "ALSO", "WITH", "OTHER")), value
