# SPDX-License-Identifier: BSD-3-Clause
"""The tables of events and definitions that the rewriter copies, against the bindings of OTF2."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import _otf2
import pytest
from test_readback_abi import CALLS, shape

from vtrace.transform import rewriter_abi as abi

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


def arguments(module: str, function: str) -> list[Any]:
    """The types of the arguments of a function of the bindings."""
    found = sys.modules[f"_otf2.{module}"]
    body = Path(str(found.__file__)).read_text()
    body = body[body.index(f"def {function}(") :].split("\ndef ")[0]
    types = re.search(r"\.argtypes? += (\[.*?\])\n", body, re.DOTALL)
    assert types is not None, function
    arrays = re.findall(r"(\w+) = ctypes\.c_\w+ \*", body)
    names = vars(found) | dict.fromkeys([*arrays, "array_type"], _otf2.Config.StrParam)
    return list(eval(types[1], names))


def test_events() -> None:
    assert list(abi.copied_events()) == [callback.name for callback in CALLS]


@pytest.mark.parametrize("name", sorted(set(abi.copied_events()) - BY_HAND))
def test_values_of_events(name: str) -> None:
    theirs = arguments("EvtWriter", f"EvtWriter_{name}")[3:]
    assert [SHAPES[value.type] for value in abi.copied_events()[name].values] == [shape(kind) for kind in theirs]


def test_definitions() -> None:
    source = Path(str(sys.modules["_otf2.GlobalDefWriter"].__file__)).read_text()
    assert {*re.findall(r"def GlobalDefWriter_Write(\w+)\(", source)} - OTHERS == set(abi.records())


@pytest.mark.parametrize("name", sorted(abi.records()))
def test_values_of_definitions(name: str) -> None:
    ours = [SHAPES[value.type] for value in abi.records()[name]]
    if name in LISTS:
        module = sys.modules["_otf2.GlobalDefReaderCallbacks"]
        theirs = [shape(kind) for kind in getattr(module, f"_GlobalDefReaderCallback_FP_{name}")._argtypes_[1:]]
        assert len(theirs) == len(ours) + LISTS[name]
        return
    theirs = [shape(kind) for kind in arguments("GlobalDefWriter", f"GlobalDefWriter_Write{name}")[1:]]
    assert ours == theirs


def test_every_reference_has_a_kind() -> None:
    kinds = abi.definition_kinds()
    values = [*sum(abi.records().values(), ()), *sum((one.values for one in abi.copied_events().values()), ())]
    for value in values:
        assert (value.kind in kinds) == (value.use in ("OWN", "PART", "REF", "WEAK", "ALSO", "WITH", "OTHER")), value
