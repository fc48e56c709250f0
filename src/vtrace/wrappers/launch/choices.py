# SPDX-License-Identifier: BSD-3-Clause
"""The options of vtrace run: one table for the command and its help, and for the parser without click."""

from __future__ import annotations

SWITCHES = {
    "mpi": "Record MPI calls; sets VT_MPITRACE [default: if the program uses MPI].",
    "io": "Record I/O calls; sets VT_IOTRACE.",
    "memory": "Record malloc, free and the like; sets VT_MEMTRACE.",
    "openmp": "Record OpenMP; sets VT_OMPTRACE [default: if the program uses OpenMP].",
    "python": "Record functions of Python programs; sets VT_PYTRACE.",
}
"""Name -> help of --NAME and --no-NAME. Without either the environment's setting applies, else the default."""

VALUES = {
    "mpicc": ("--mpicc", "CMD", "Compiler command or library of the program's MPI [default: found automatically]."),
    "prefix": ("-o", "PREFIX", "Prefix of the local files, may have a directory; sets VT_FILE_PREFIX, VT_PFORM_GDIR."),
    "max_size": (
        "--max-size",
        "SIZE",
        "Stop recording a process when its local files reach SIZE, such as 512M or 4G; sets VT_MAX_SIZE.",
    ),
}
"""Key -> option, metavar, help."""

FLAGS = {
    "unify": ("--unify", "Unify at the end; for a command that starts all processes itself."),
    "view": ("--view", "With --unify: show the timeline in a browser, like vtrace view."),
    "force": ("--force", "With --unify: replace an existing archive."),
    "verbose": ("-v", "Print the settings, the preloaded libraries and the command."),
}


class Choices:
    """The options of one vtrace run. words: the program with its arguments."""

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
    """Reads the options before the program; None if click must handle the words, for help or an error message.

    vtrace run may start each rank of a job: loading click would add 30 ms per rank.
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
