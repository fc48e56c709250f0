# SPDX-License-Identifier: BSD-3-Clause
"""Prototypes and numbers of libotf2 that the C kernel repeats."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

import _otf2
import pytest

from support.readers.otf2_headers import joined, listed, values
from support.tools import ROOT
from vtrace.io.local.kernel import Kernel

OTF2_H = ROOT / "csrc/otf2_writer/otf2.h"
NUMBERS = {
    "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
    "int8_t": ctypes.c_int8, "int16_t": ctypes.c_int16, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64,
    "float": ctypes.c_float, "double": ctypes.c_double,
}  # fmt: skip


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


def own_shape(text: str) -> tuple[str, int]:
    return shape(ctypes.c_void_p if text.endswith("*") else NUMBERS[text])


def shape(ctype: type) -> tuple[str, int]:
    """The kind of a type (pointer, real, signed or unsigned), and its size in bytes."""
    if ctype in (ctypes.c_float, ctypes.c_double):
        return "real", ctypes.sizeof(ctype)
    if hasattr(ctype, "contents") or hasattr(ctype, "_length_") or ctype in (ctypes.c_void_p, ctypes.py_object):
        return "pointer", ctypes.sizeof(ctypes.c_void_p)
    sign = "signed" if ctype(-1).value < 0 else "unsigned"
    return sign, ctypes.sizeof(ctype)


UNKNOWN_TO_BINDINGS = "Error_RegisterCallback"


@pytest.mark.parametrize(("name", "result", "arguments"), [p for p in prototypes() if p[0] != UNKNOWN_TO_BINDINGS])
def test_prototypes_agree_with_the_bindings(name: str, result: str, arguments: list[str]) -> None:
    part, _, function = name.partition("_")
    module = sys.modules[f"_otf2.{part}"]
    source = Path(str(module.__file__)).read_text()
    body = source[source.index(f"def {name}(") :]
    wrapped = re.search(rf"c_{function}\.argtypes = (\[.*?\])\n.*?c_{function}\.restype = ([^\n]+)", body, re.DOTALL)
    assert wrapped is not None
    arrays = {"TypeArrayType": _otf2.Type * 1, "MetricValueArrayType": ctypes.c_uint64 * 1}
    theirs = eval(wrapped[1], {**vars(module), **arrays})  # the source text of the bindings
    assert [shape(t) for t in theirs] == [own_shape(a) for a in arguments]
    returned = eval(wrapped[2], dict(vars(module)))
    assert shape(returned) == own_shape(result)


def test_every_prototype_is_checked() -> None:
    besides = len(re.findall(r"^    X\(\w+ ?\*?, \w+,", OTF2_H.read_text(), re.MULTILINE))
    assert len(prototypes()) == len(Kernel()._names) + besides
    assert len(prototypes()) == len(Kernel()._names) + 24


def test_numbers_of_otf2() -> None:
    found = constants()
    assert len(found) == 35
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
