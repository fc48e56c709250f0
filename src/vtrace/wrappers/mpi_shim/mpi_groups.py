# SPDX-License-Identifier: BSD-3-Clause
"""Groups of MPI functions for VT_MPI_GROUPS: Score-P's groups and some more."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class MpiGroup:
    """A group. about: its functions, in words; patterns: of names; default: recorded by default. A function belongs to
    the first group with a matching pattern."""

    name: str
    about: str
    patterns: tuple[str, ...]
    default: bool = True


_TRANSFERS = ("MPI_Put*", "MPI_Get", "MPI_Get_c", "MPI_Rput*", "MPI_Rget*", "MPI_Accumulate*", "MPI_Raccumulate*",
              "MPI_Get_accumulate*", "MPI_Fetch_and_op", "MPI_Compare_and_swap")  # fmt: skip
_COLLECTIVE = ("arrier", "cast", "catter*", "ather*", "llgather*", "lltoall*", "educe*", "llreduce*", "can*", "xscan*",
               "eighbor_all*")  # fmt: skip

GROUPS = (
    MpiGroup("convert", "handles of other languages (MPI_Comm_c2f ...)", (
        "*_c2f", "*_f2c", "*_c2f08", "*_f082c", "*_f082f", "*_f2f08", "*_toint", "*_fromint"), False),
    MpiGroup("time", "MPI_Wtime, MPI_Wtick", ("MPI_Wtime", "MPI_Wtick"), False),
    MpiGroup("aint", "arithmetic of addresses", ("MPI_Aint_*",), False),
    MpiGroup("state", "MPI_Finalized", ("MPI_Finalized",), False),
    MpiGroup("tool", "the tool interface", ("MPI_T_*",), False),
    MpiGroup("perf", "MPI_Pcontrol", ("MPI_Pcontrol",)),
    MpiGroup("err", "errors and their handlers", ("*rrhandler*", "MPI_*rror_*")),
    MpiGroup("spawn", "starting and connecting processes", (
        "MPI_Comm_spawn*", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join", "MPI_Comm_disconnect",
        "MPI_Comm_get_parent", "MPI_*_port", "MPI_*ublish_name", "MPI_Lookup_name")),
    MpiGroup("ext", "attributes, names, generalized requests", (
        "*eyval*", "MPI_*ttr_*", "MPI_*_delete_attr", "MPI_*_get_attr", "MPI_*_set_attr", "MPI_*_set_name",
        "MPI_*_get_name", "MPI_Grequest_*", "MPI_Status_set_*")),
    MpiGroup("io", "files", ("MPI_File_*", "MPI_Register_datarep*")),
    MpiGroup("rma", "one-sided communication", ("MPI_Win_*", *_TRANSFERS)),
    MpiGroup("topo", "topologies", ("MPI_Cart*", "MPI_Graph*", "MPI_Dist_graph*", "MPI_Dims_create", "MPI_Topo_test")),
    MpiGroup("coll", "collective operations", (
        *(f"MPI_{a}{b}" for b in _COLLECTIVE for a in ("?", "I?")), "MPI_Op_*")),
    MpiGroup("request", "requests: waiting, testing, starting, cancelling", (
        "MPI_Wait*", "MPI_Test*", "MPI_Request_*", "MPI_Start", "MPI_Startall", "MPI_Cancel")),
    MpiGroup("xnonblock", "non-blocking and persistent messages", (
        "MPI_I*send*", "MPI_Irecv*", "MPI_Imrecv*", "MPI_*end_init*", "MPI_*ecv_init*", "MPI_Pready*", "MPI_Parrived")),
    MpiGroup("p2p", "messages", (
        "MPI_*end", "MPI_*end_c", "MPI_Recv*", "MPI_Sendrecv*", "MPI_Mrecv*", "MPI_*robe", "MPI_*uffer_*",
        "MPI_Get_count*")),
    MpiGroup("type", "data types, packing", (
        "MPI_Type_*", "MPI_*ack*", "MPI_Get_address", "MPI_Address", "MPI_Get_elements*")),
    MpiGroup("cg", "communicators and groups", ("MPI_Comm_*", "MPI_Group_*", "MPI_Intercomm_*")),
    MpiGroup("env", "initialization and finalization, sessions", (
        "MPI_Init*", "MPI_Finalize", "MPI_Abort", "MPI_Session_*", "MPI_Query_thread", "MPI_Is_thread_main",
        "MPI_Get_*version", "MPI_Get_processor_name")),
    MpiGroup("misc", "info objects, memory, all other functions", ("*",)),
)  # fmt: skip
"""In the order of matching; the last group gets all other functions, also MPIX functions."""


def matches(function: str, patterns: Iterable[str]) -> bool:
    """True if the name of a function matches one of the patterns."""
    return any(fnmatch.fnmatchcase(function, pattern) for pattern in patterns)


@functools.cache
def group(function: str) -> MpiGroup:
    """The group of a function."""
    return next(g for g in GROUPS if matches(function, g.patterns))
