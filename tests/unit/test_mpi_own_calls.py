# SPDX-License-Identifier: BSD-3-Clause
"""The shim's own MPI calls: each has a reason why it cannot call an error handler of the program."""

from __future__ import annotations

import re
from pathlib import Path

MPIWRAP = Path(__file__).parents[2] / "csrc" / "mpiwrap"

ALWAYS = "has no handle that could be wrong, and works at any time"
CONVERTS = "converts a handle; a wrong one gives a null handle or one that MPI_Wait never gets, and no error"
ADDRESS = "is not called: its address tells where the MPI library is"
AT_INIT = "is called inside MPI_Init: the program has no error handler yet, and all ranks are there"
AS_THE_PROGRAM = (
    "is the same call on the same communicator as the program's own one around it: what fails here fails there"
)
USED = "asks about a communicator that MPI has accepted"
OURS = "is on a communicator of ours that returns errors"
OWN_GROUP = "asks about a group that the line before has made, or frees it"
SUCCEEDED = "asks about what a call of the program has just succeeded with"
PREDEFINED = "asks about a predefined datatype, or one that the program has just made or committed"
STATUS = "asks a status that a call of MPI has filled"
CODE = "asks about an error code that a call of MPI has returned"

REASONS = {
    "clocks.c": {
        "Allreduce": f"{AT_INIT}, or {OURS}", "Comm_split": AT_INIT, "Comm_set_errhandler": OURS, "Comm_free": OURS,
        "Comm_rank": OURS, "Comm_size": OURS, "Send": OURS, "Recv": OURS, "Wtime": ALWAYS,
    },
    "coll.c": {
        "Topo_test": f"{USED} before: it is known", "Cartdim_get": "of a topology that MPI_Topo_test has told",
        "Cart_get": "of a topology that MPI_Topo_test has told",
        "Graph_neighbors_count": "of a topology that MPI_Topo_test has told",
        "Dist_graph_neighbors_count": "of a topology that MPI_Topo_test has told",
    },
    "comm.c": {
        "Comm_test_inter": "asks about an unknown handle only where no handler of the program's would hear of an error",
        **dict.fromkeys(("Comm_size", "Comm_rank", "Comm_get_name"), USED),
        "Comm_remote_size": f"{USED}, an inter-communicator", "Comm_remote_group": f"{USED}, an inter-communicator",
        **dict.fromkeys(("Initialized", "Finalized"), ALWAYS),
        "Comm_get_errhandler": "asks about MPI_COMM_WORLD and MPI_COMM_SELF between Init and Finalize",
        "Errhandler_free": "gives back what the line before has asked for",
        "Comm_group": USED, "Group_size": OWN_GROUP, "Group_free": OWN_GROUP,
        "Group_translate_ranks": f"{OWN_GROUP}; its ranks are those below the size that MPI_Group_size gives",
    },
    "complete.c": {
        "Error_class": CODE, "Test_cancelled": STATUS,
        "Wait": "ends what MPI_Waitall of MPICH 4.2 has left since statuses of ours were asked for. The one case where "
        "the handler is called: if this operation fails, too. Nothing else tells when it is complete",
    },
    "mpi_io.c": {"File_get_position": f"{SUCCEEDED} (MPI_File_seek, which files without a position refuse)"},
    "fortran.c": {
        "Irecv": "receives nothing from MPI_PROC_NULL on MPI_COMM_SELF",
        **dict.fromkeys(("Request_c2f", "Request_f2c", "Type_f2c"), CONVERTS),
    },
    "fortran_spawn.c": {"Info_f2c": CONVERTS},
    "library_version.c": {"Get_library_version": ALWAYS},
    "message.c": {"Error_class": CODE, "Get_count": STATUS, "Get_elements_x": STATUS},
    "spawn.c": {
        "Bcast": AS_THE_PROGRAM, "Comm_get_parent": AT_INIT, "Comm_rank": SUCCEEDED,
    },
    "sync.c": {"Allreduce": f"{AT_INIT}, or {AS_THE_PROGRAM}", "Barrier": AS_THE_PROGRAM},
    "tools.c": {"Init": ADDRESS},
    "types.c": {"Type_size": PREDEFINED, "Type_size_x": PREDEFINED},
    "rma_windows.c": {
        "Group_size": SUCCEEDED, "Win_get_group": SUCCEEDED, "Group_free": OWN_GROUP,
        "Group_translate_ranks": f"{SUCCEEDED}: a group of processes of the window",
    },
    "world.c": {
        **dict.fromkeys(("Comm_rank", "Comm_size", "Allreduce", "Bcast"), AT_INIT),
        **dict.fromkeys(("Initialized", "Finalized", "Query_thread"), ALWAYS),
        "Comm_group": "asks about MPI_COMM_WORLD between Init and Finalize",
        "Group_from_session_pset": "names a set that each MPI has, of a session that has just begun or is still open",
        "Group_rank": OWN_GROUP, "Group_size": OWN_GROUP, "Group_free": OWN_GROUP,
    },
}  # fmt: skip
"""By file: each MPI function that it calls, and the reason why these calls cannot fail."""


def calls(text: str) -> set[str]:
    """Names of the PMPI functions in C code, without those in comments."""
    return set(re.findall(r"\bPMPI_(\w+)", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))


def test_each_call_of_mpi_has_a_reason_why_it_cannot_fail() -> None:
    found = {str(path.relative_to(MPIWRAP)): calls(path.read_text()) for path in sorted(MPIWRAP.rglob("*.[ch]"))}
    assert {name: names for name, names in found.items() if names} == {
        name: set(reasons) for name, reasons in REASONS.items()
    }


def test_no_handler_of_the_program_is_exchanged() -> None:
    """The shim sets error handlers of its own communicators only."""
    text = "".join(path.read_text() for path in MPIWRAP.rglob("*.[ch]"))
    assert set(re.findall(r"PMPI_\w+_set_errhandler\((\w+)", text)) == {"node", "leaders"}
