# SPDX-License-Identifier: BSD-3-Clause
"""OTF2's constants that vtrace repeats: the compiler compares them with OTF2's headers, the test with the bindings."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import _otf2
import pytest

from support.build.c_layout import values
from support.tools import ROOT, Done, call, need, unavailable
from vtrace.io.archive import definition_writer, definitions
from vtrace.unify.merge import io_handles, metric_definitions, regions, thread_comms

CSRC = ROOT / "csrc"
CHECK = """
#include <stddef.h>
#include <otf2/otf2.h>
#include "core/core.h"
#include "otf2_writer/otf2.h"
#define SAME_TYPE(a, b, name) _Static_assert(__builtin_types_compatible_p(a, b), "differs: " #name);
#define FUNCTION(type, name, arguments) SAME_TYPE(__typeof__(&OTF2_##name), type(*) arguments, name)
VT_OTF2_FUNCTIONS(FUNCTION)
#define WRITER(name) FUNCTION(int32_t, EvtWriter_##name, (VT_OTF2_HEAD VT_E_##name(VT_PARAMETER)))
VT_OTF2_EVENTS(WRITER)
#define CONSTANT(name, value) _Static_assert(OTF2_##name == VT_OTF2_##name, "differs: " #name);
VT_OTF2_CONSTANTS(CONSTANT)
#define MEMBER(theirs, ours, name)                                                                        \\
    SAME_TYPE(__typeof__(((theirs *)0)->otf2_##name), __typeof__(((struct ours *)0)->name), name)         \\
    _Static_assert(offsetof(theirs, otf2_##name) == offsetof(struct ours, name), "differs: place of " #name);
#define CALLBACKS(theirs, ours) _Static_assert(sizeof(theirs) == sizeof(struct ours), "differs: size of " #theirs);
CALLBACKS(OTF2_FlushCallbacks, vt_otf2_flush)
MEMBER(OTF2_FlushCallbacks, vt_otf2_flush, pre_flush)
MEMBER(OTF2_FlushCallbacks, vt_otf2_flush, post_flush)
CALLBACKS(OTF2_MemoryCallbacks, vt_otf2_memory)
MEMBER(OTF2_MemoryCallbacks, vt_otf2_memory, allocate)
MEMBER(OTF2_MemoryCallbacks, vt_otf2_memory, free_all)
CALLBACKS(OTF2_LockingCallbacks, vt_otf2_locking)
MEMBER(OTF2_LockingCallbacks, vt_otf2_locking, release)
MEMBER(OTF2_LockingCallbacks, vt_otf2_locking, create)
MEMBER(OTF2_LockingCallbacks, vt_otf2_locking, destroy)
MEMBER(OTF2_LockingCallbacks, vt_otf2_locking, lock)
MEMBER(OTF2_LockingCallbacks, vt_otf2_locking, unlock)
_Static_assert(sizeof(OTF2_MetricValue) == 8, "differs: size of a metric's value");
"""


def shim_operations(sources: Path) -> list[str]:
    """Names of the shim's collective operations in the order of their numbers, from 0."""
    found = re.search(r"enum vt_mpi_op \{([^}]*)\}", (sources / "mpiwrap" / "mpiwrap.h").read_text())
    assert found is not None
    return re.findall(r"\w+", found[1])


def core_names(sources: Path) -> list[str]:
    return re.findall(r"\bVT_(?:PARADIGM|ROLE|TYPE)_\w+(?= =)", (sources / "core" / "core.h").read_text())


def official(name: str) -> str:
    """OTF2's name without its prefix OTF2_: VT_ROLE_RMA -> REGION_ROLE_RMA."""
    return name.removeprefix("VT_").replace("ROLE_", "REGION_ROLE_", 1).replace("OP_", "COLLECTIVE_OP_", 1)


def compiled(where: Path, sources: Path) -> Done:
    gcc = need("gcc")
    probe = where / "probe.c"
    probe.write_text("#include <otf2/otf2.h>\n")
    if call([gcc, "-fsyntax-only", probe], where, check=False).returncode:
        unavailable("OTF2's header (libopen-trace-format2-dev) is not installed")
    numbers = [(official(name), name) for name in core_names(sources)]
    numbers += [(official(name), str(number)) for number, name in enumerate(shim_operations(sources))]
    asserts = [f'_Static_assert(OTF2_{name} == {number}, "differs: {name}");' for name, number in numbers]
    check = where / "check.c"
    check.write_text(CHECK + "\n".join(asserts) + "\n")
    return call([gcc, "-std=gnu11", "-fsyntax-only", f"-I{sources}", check], where, check=False)


def test_against_the_header(tmp_path: Path) -> None:
    done = compiled(tmp_path, CSRC)
    assert (done.returncode, done.stderr) == (0, ""), str(done)


OTF2 = "otf2_writer/otf2.h"
EVENTS = "otf2_writer/otf2_events.h"
MISTAKES = [
    (EVENTS, "X(RAW, uint64_t, None, received)", "X(RAW, uint32_t, None, received)", "EvtWriter_MpiCollectiveEnd"),
    (EVENTS, "VT_E_MpiCollectiveBegin(X)", "VT_E_MpiCollectiveBegin(X) X(RAW, uint8_t, None, op)",
     "EvtWriter_MpiCollectiveBegin"),
    (OTF2, "uint32_t (*lock)(void *, struct OTF2_LockObject *);\n", "", "size of OTF2_LockingCallbacks"),
    (OTF2, "X(MEASUREMENT_OFF, 2)", "X(MEASUREMENT_OFF, 0)", "MEASUREMENT_OFF"),
    ("core/core.h", "VT_ROLE_RMA = 29", "VT_ROLE_RMA = 30", "REGION_ROLE_RMA"),
    (EVENTS, "X(RAW, int64_t, None, request)", "X(RAW, uint64_t, None, request)", "EvtWriter_IoSeek"),
    (OTF2, "X(RMA_SYNC_LEVEL_MEMORY, 2)", "X(RMA_SYNC_LEVEL_MEMORY, 3)", "RMA_SYNC_LEVEL_MEMORY"),
    ("mpiwrap/mpiwrap.h", "VT_OP_GATHER, VT_OP_GATHERV", "VT_OP_GATHERV, VT_OP_GATHER", "COLLECTIVE_OP_GATHER"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "right", "wrong", "what"), MISTAKES, ids=[m[3] for m in MISTAKES])
def test_mistakes_do_not_compile(tmp_path: Path, file: str, right: str, wrong: str, what: str) -> None:
    shutil.copytree(CSRC, tmp_path / "csrc")
    path = tmp_path / "csrc" / file
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    done = compiled(tmp_path, tmp_path / "csrc")
    assert done.returncode
    assert f"differs: {what}" in done.stderr, str(done)


def test_against_the_bindings(tmp_path: Path) -> None:
    found = values(tmp_path, "core/core.h", core_names(CSRC)) | {n: i for i, n in enumerate(shim_operations(CSRC))}
    assert len(found) >= 30
    assert found == {name: getattr(_otf2, official(name)).value for name in found}


def test_numbers_in_python() -> None:
    numbers = {
        "REGION_ROLE_FUNCTION": regions.FUNCTION, "REGION_ROLE_UNKNOWN": regions._UNKNOWN_ROLE,
        "PARADIGM_COMPILER": regions.COMPILER, "PARADIGM_MEASUREMENT_SYSTEM": regions._MEASUREMENT,
        "PARADIGM_MPI": definitions.PARADIGM_MPI, "PARADIGM_PTHREAD": thread_comms.PTHREAD,
        "TYPE_UINT64": metric_definitions._TYPES["u"], "TYPE_INT64": metric_definitions._TYPES["i"],
        "TYPE_DOUBLE": metric_definitions._TYPES["f"], "UNDEFINED_UINT32": definitions.UNDEFINED,
        "UNDEFINED_UINT64": definitions.UNDEFINED_TIME, "COMM_FLAG_CREATE_DESTROY_EVENTS": 1,
        "IO_HANDLE_FLAG_PRE_CREATED": io_handles._PRE_CREATED, "IO_ACCESS_MODE_READ_WRITE": io_handles._READ_WRITE,
        "IO_STATUS_FLAG_NONE": io_handles._NO_STATUS,
    }  # fmt: skip
    assert {name: getattr(_otf2, name).value for name in numbers} == numbers
    types = "UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FLOAT DOUBLE STRING"
    types += " REGION COMM RMA_WIN IO_FILE IO_HANDLE"
    assert {getattr(_otf2, f"TYPE_{name}").value for name in types.split()} == metric_definitions._ATTRIBUTE_TYPES
    classes = {_otf2.Paradigm._names[number] for number in definition_writer._PARADIGM_CLASSES}
    assert classes == {"OPENMP", "MPI", "PTHREAD", "OPENCL", "CUDA"}
