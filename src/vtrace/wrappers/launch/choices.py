# SPDX-License-Identifier: BSD-3-Clause
"""The options of vtrace run: one table, for the command with its help and for the quick way without it."""

from __future__ import annotations

SWITCHES = {
    "mpi": "MPI calls [default: where the program uses MPI].",
    "io": "Calls of I/O: sets VT_IOTRACE.",
    "memory": "malloc and its family: sets VT_MEMTRACE.",
    "openmp": "OpenMP [default: where the program uses it]: sets VT_OMPTRACE.",
    "python": "Functions of Python programs: sets VT_PYTRACE.",
}
"""What is recorded: --NAME, --no-NAME, or neither: what the environment says, else the default."""

VALUES = {
    "mpicc": ("--mpicc", "CMD", "The program's MPI: its compiler command or its library [default: found by itself]."),
    "prefix": ("-o", "PREFIX", "Prefix of the local files, with their directory: sets VT_FILE_PREFIX, VT_PFORM_GDIR."),
    "max_size": (
        "--max-size",
        "SIZE",
        "Local files of a process at which recording stops, as 512M or 4G: sets VT_MAX_SIZE.",
    ),
}
"""Key -> option, what it takes, help."""

FLAGS = {
    "unify": ("--unify", "Unify at the end; for a command that starts all processes itself."),
    "view": ("--view", "With --unify: show the timeline in a browser then, as vtrace view does."),
    "force": ("--force", "With --unify: replace an archive that exists."),
    "verbose": ("-v", "Say what is set, preloaded and started."),
}


class Choices:
    """What the user asks for. words: the program with its arguments."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.switches: dict[str, bool | None] = dict.fromkeys(SWITCHES)
        self.mpicc: str | None = None
        self.prefix: str | None = None
        self.max_size: str | None = None
        self.unify = False
        self.view = False
        self.force = False
        self.verbose = False


def parse(words: list[str]) -> Choices | None:
    """Takes the options before the program; None where there is more to say than that: help, or what is wrong.

    vtrace run stands before each rank of a job, where the 30 ms of a parser with all that count.
    """
    chosen = Choices([])
    values = {option: key for key, (option, _, _) in VALUES.items()}
    flags = {option: key for key, (option, _) in FLAGS.items()}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        switch = name.removeprefix("--no-") if name.startswith("--no-") else name.removeprefix("--")
        if not word.startswith("-") or word == "--":
            chosen.words = [*([] if word == "--" else [word]), *rest]
            break
        if name == "--mpi" and equals:
            chosen.mpicc, chosen.switches["mpi"] = value, True
        elif switch in SWITCHES and name.startswith("--") and not equals:
            chosen.switches[switch] = not name.startswith("--no-")
        elif name in values:
            taken = value if equals else next(rest, None)
            if not taken:
                return None
            setattr(chosen, values[name], taken)
        elif name in flags and not equals:
            setattr(chosen, flags[name], True)
        else:
            return None
    return chosen if chosen.words else None
