# SPDX-License-Identifier: BSD-3-Clause
"""What `vtrace run` sets for a program that was built without vtrace: libraries to preload and settings, and why some
programs get none. Imports little: this is done for each rank of a job.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping

from vtrace.errors import UsageError, VtraceError
from vtrace.python_command import is_python, python_script
from vtrace.wrappers.launch import mpi_library, uses
from vtrace.wrappers.launch import program as programs
from vtrace.wrappers.launch.choices import Choices
from vtrace.wrappers.launch.program import Elf, Program
from vtrace.wrappers.mpi_shim.cache import cache_directory

LIB = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "_lib")
RUNTIME = "libvtrace.so.1"
_PYTHON_HOOK = os.path.join(os.path.dirname(LIB), "python_hook")

SETTINGS = {
    "mpi": "VT_MPITRACE",
    "io": "VT_IOTRACE",
    "memory": "VT_MEMTRACE",
    "openmp": "VT_OMPTRACE",
    "python": "VT_PYTRACE",
}
"""The setting of each kind of event, with the names of choices.SWITCHES."""

LIBRARIES = {"openmp": "libvtrace-omp.so", "io": "libvtrace-io.so", "memory": "libvtrace-mem.so"}
"""Kinds with a library of their own, which comes behind the runtime; that of MPI is built for the MPI at hand."""

_YES, _NO = ("yes", "on", "true", "1"), ("no", "off", "false", "0")
_ASAN, _TSAN = ("libasan.so", "libclang_rt.asan"), ("libtsan.so", "libclang_rt.tsan")
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox")


class Plan:
    """How to start a program: its words, the environment's changes, and what the user should know (warnings) or may ask
    for (details; shown: the changes that a launcher's words make)."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.changes: dict[str, str] = {}
        self.shown: dict[str, str] = {}
        self.warnings: list[str] = []
        self.details: list[str] = []


class Start:
    """Where a program starts: its environment and directory, and whether a launcher starts it. launcher: the launcher's
    name; mpicc, family: the compiler command and the name of the launcher's MPI, None if unknown.
    """

    def __init__(self, environ: Mapping[str, str], directory: str = ".", launched: bool = False) -> None:
        self.environ = dict(environ)
        self.directory = directory
        self.launched = launched
        self.mpicc: str | None = None
        self.launcher = "the launcher"
        self.family = "Open MPI" if mpi_library.launchers_family(environ) == "Open MPI" else None
        """Only Open MPI's variables tell: other launchers set those of MPICH, too."""


def plan(words: list[str], chosen: Choices, start: Start) -> Plan:
    """Looks at a program and says what to set for it. Raises VtraceError where the program cannot be started, or what
    the user asks for cannot be had.
    """
    program = programs.find(words, start.environ, start.directory)
    made = Plan(program.words)
    _set_settings(made, chosen)
    _set_names(made, program, chosen, start.environ)
    elf = programs.read_elf(program.executable)
    if elf is None and not os.access(program.executable, os.R_OK):
        made.warnings.append(f"{program.executable} cannot be read: whether it uses MPI is unknown")
        return made
    if elf is None:  # execvp gives what has no first line to the shell
        program = Program(words, program.path, os.path.realpath("/bin/sh"), program.path)
        elf = programs.read_elf(program.executable)
    why = _why_not(program, elf, start.environ)
    if why or elf is None:
        made.warnings.append(f"{words[0]} is not recorded: {why}")
        return made
    _set_preload(made, program, elf, chosen, start)
    return made


def wants(kind: str, chosen: Choices, environ: Mapping[str, str], default: bool) -> bool:
    """Whether a kind of events is to be recorded, by the command line, else by the environment."""
    asked = chosen.switches[kind]
    said = environ.get(SETTINGS[kind], "").lower()
    return asked if asked is not None else said in _YES or (default and said not in _NO)


def _set_settings(made: Plan, chosen: Choices) -> None:
    for kind, asked in chosen.switches.items():
        if asked is not None:
            made.changes[SETTINGS[kind]] = "yes" if asked else "no"
    if size := chosen.max_size:
        number = size[:-1] if size[-1] in "KMGkmg" else size
        if not (number.isascii() and number.isdigit() and number.strip("0")):
            raise UsageError(f"--max-size {size} is not a size", "give bytes, or a number that ends in K, M or G: 4G")
        made.changes["VT_MAX_SIZE"] = size


def _set_names(made: Plan, program: Program, chosen: Choices, environ: Mapping[str, str]) -> None:
    """The prefix that the user gives, else a script's name: all scripts have the executable of their interpreter."""
    name = script_name(program)
    given = environ.get("VT_FILE_PREFIX", "")
    prefix = chosen.prefix or (given if chosen.unify and "/" in given else "")
    if prefix:
        directory, made.changes["VT_FILE_PREFIX"] = os.path.split(prefix)
        if made.changes["VT_FILE_PREFIX"] in ("", ".", ".."):
            raise UsageError(f"-o {prefix}: names a directory", "the prefix comes behind it: -o results/heat")
        if directory:
            made.changes["VT_PFORM_GDIR"] = os.path.abspath(directory)
    elif (name or chosen.unify) and not environ.get("VT_FILE_PREFIX"):
        made.changes["VT_FILE_PREFIX"] = name or standard_prefix(program.executable)
    if chosen.unify:  # the program must not look for another directory than vtunify
        made.changes.setdefault("VT_PFORM_GDIR", os.path.abspath(environ.get("VT_PFORM_GDIR") or "."))


def script_name(program: Program) -> str | None:
    """The name of the script that runs, without its ending; None for a program that is none."""
    script = program.script
    if script is None and is_python(program.name):
        script = python_script(program.words[1:])
    elif script is None and program.name in _SHELLS and program.words[1:2] and program.words[1][0] not in "-+":
        script = program.words[1]
    base = os.path.basename(script or "")
    return (os.path.splitext(base)[0] or base)[:100] or None


def standard_prefix(path: str) -> str:
    """The prefix of an executable's files, as csrc/core/settings.c makes it."""
    name = os.path.basename(os.path.realpath(path))
    return (name.removesuffix(".out").removesuffix(".exe") or name)[:128]


def _why_not(program: Program, elf: Elf | None, environ: Mapping[str, str]) -> str | None:
    """Why nothing can be preloaded, and what to do."""
    own = programs.read_elf(os.path.join(LIB, RUNTIME))
    if own is None:
        raise VtraceError(f"{LIB}: no {RUNTIME}", "install vtrace again")
    if elf is None:
        return "it is no ELF executable"
    if elf.machine != own.machine:
        return "it is of another kind of processor than vtrace (32 bits?); compile it for this one"
    if elf.loader is None:
        go = " (a Go program makes its system calls itself, which no library sees)" if elf.go else ""
        return f"it is statically linked, nothing can be loaded before it{go}; link it dynamically"
    if _is_privileged(program.executable):
        return "it runs with the rights of another user (setuid), and the loader ignores LD_PRELOAD; run a copy without"
    return None


def _is_privileged(path: str) -> bool:
    """What makes the kernel set AT_SECURE: another user or group than now, or capabilities of the file."""
    about = os.stat(path)
    if about.st_mode & 0o4000 and about.st_uid != os.geteuid():
        return True
    if about.st_mode & 0o2010 == 0o2010 and about.st_gid != os.getegid():
        return True
    try:
        return bool(os.geteuid() and os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _set_preload(made: Plan, program: Program, elf: Elf, chosen: Choices, start: Start) -> None:
    environ = {**start.environ, **made.changes}
    linked = programs.holds(program.executable, RUNTIME.encode() + b"\0")
    _check_name(LIB, "install vtrace elsewhere")
    loaded = programs.libraries(elf, program.executable, start.environ)
    if not loaded.libraries:
        return  # the program lacks a library of its own, and the loader will say so
    defaults = {"openmp": uses.openmp(loaded)}
    kinds = [kind for kind in LIBRARIES if wants(kind, chosen, start.environ, defaults.get(kind, False))]
    ours = [os.path.join(LIB, name) for name in (RUNTIME, *(LIBRARIES[kind] for kind in kinds))]
    _set_for_sanitizers(made, ours, loaded, environ)
    shim = None
    if linked and programs.holds(program.executable, b"vt_set_world\0"):  # only the MPI shim calls it
        _compare_families(made, program.words[0], uses.mpi_library(loaded), start)
    elif wants("mpi", chosen, start.environ, True):
        shim = _shim(made, program, loaded, chosen, start)
    if shim:
        ours.insert(1, shim)
    _check(ours, programs.libraries(elf, program.executable, {**environ, "LD_PRELOAD": joined(ours, environ)}))
    made.changes["LD_PRELOAD"] = joined(ours, environ)
    python = wants("python", chosen, start.environ, False)
    if python:
        _set_python(made, program, start.environ)
    recorded = kinds or shim or linked or python
    if elf.go and kinds:
        made.warnings.append(f"{program.words[0]} is a Go program: it makes most of its system calls itself, unseen")
    job = _starts_jobs(program) if shim is None and wants("mpi", chosen, start.environ, True) else None
    if job:
        made.warnings.append(f"the script starts {job}: put vtrace run before it there, or MPI calls are not recorded")
    elif not recorded and is_python(program.name):
        if not uses.names_module(program, "vtrace.user"):
            made.warnings.append(
                f"little of {program.words[0]} is recorded (no MPI): --python, --io, --memory record more"
            )
    elif not recorded and not uses.functions(program, loaded):
        made.warnings.append(
            f"little of {program.words[0]} is recorded (no MPI): --io, --memory or compiling with vtrace-cc record more"
        )


def _set_python(made: Plan, program: Program, environ: Mapping[str, str]) -> None:
    """Lets any Python find what records its functions, as csrc/userwrap/python.c takes them."""
    path = environ.get("PYTHONPATH")
    made.changes["PYTHONPATH"] = f"{_PYTHON_HOOK}:{path}" if path else _PYTHON_HOOK
    options = "".join(itertools.takewhile(lambda word: word.startswith("-"), program.words[1:]))
    if is_python(program.name) and set(options.replace("--", "")) & set("IES"):
        made.warnings.append("functions of Python are not recorded: its options -I, -E and -S keep out what does it")


def _starts_jobs(program: Program) -> str | None:
    """The launcher that a shell's script names."""
    script = program.script
    if script is None and program.name in _SHELLS and program.words[1:]:
        script = program.words[1]
    if script is None or is_python(program.name):
        return None
    names = ("mpiexec", "mpirun", "srun", "jsrun", "aprun")
    if programs.holds(script, b"vtrace run"):
        return None
    return next((name for name in names if programs.holds(script, name.encode())), None)


def joined(ours: list[str], environ: Mapping[str, str]) -> str:
    """The value of LD_PRELOAD. What the user preloads stays behind: an allocator there serves ours, in front it would
    hide the program's calls.
    """
    theirs = environ.get("LD_PRELOAD", "").replace(":", " ").split()
    return ":".join([*ours, *(path for path in theirs if path not in ours)])


def _check(ours: list[str], loaded: programs.Loaded) -> None:
    """The loader only says that it leaves out what it cannot load, and runs the program."""
    for path in ours:
        if path not in loaded.libraries:
            reason = next((line for line in loaded.said if path in line), "the loader does not list it")
            raise VtraceError(f"{path} cannot be preloaded: {reason}", "vtrace doctor shows what is wrong")


def _check_name(path: str, hint: str) -> None:
    if set(path) & set(" :\t\n"):
        raise VtraceError(f"{path}: LD_PRELOAD cannot name a library there, for blanks and colons end its names", hint)


def _set_for_sanitizers(made: Plan, ours: list[str], loaded: programs.Loaded, environ: Mapping[str, str]) -> None:
    """ASan wants to come first; TSan's malloc does not work behind another one before it has started."""
    names = [os.path.basename(name) for name in loaded.libraries]
    memory = os.path.join(LIB, LIBRARIES["memory"])
    if memory in ours and any(name.startswith(_TSAN) for name in names):
        ours.remove(memory)
        made.warnings.append("calls of malloc are not recorded: the thread sanitizer has its own")
    options = environ.get("ASAN_OPTIONS", "")
    if any(name.startswith(_ASAN) for name in names) and "verify_asan_link_order" not in options:
        option = "verify_asan_link_order=0"
        made.changes["ASAN_OPTIONS"] = f"{options}:{option}" if options else option
        made.details.append("ASan wants to come first: its check of that is turned off")


def _shim(made: Plan, program: Program, loaded: programs.Loaded, chosen: Choices, start: Start) -> str | None:
    """The shim's library for the MPI that the program uses; None where it uses none."""
    library = uses.mpi_library(loaded)
    by, user = "it needs", program.words[0]
    if library is None:
        by = "what it starts needs"
        user, library = uses.mpi_behind(program, start.environ, start.directory, start.launched)
    if chosen.mpicc:
        named = uses.library_of(chosen.mpicc)
        if library and _kind(named) != _kind(library):
            raise UsageError(f"--mpicc {chosen.mpicc}: its MPI is {named}, the program's {library}", "name that one's")
        library, by = named, "--mpicc names"
    asked = chosen.switches["mpi"] is True
    is_script = program.script is not None or program.name in _SHELLS
    if library is None and (asked or (start.launched and is_script and not is_python(program.name))):
        library, by = uses.launchers_library(start.mpicc), "the launcher has"
        started = mpi_library.launchers_family(start.environ)
        if library and not start.mpicc and started == "Open MPI" and mpi_library.family(library) != started:
            # The first mpicc is another MPI's: its shim would end the ranks. Only Open MPI's variables are its alone.
            made.warnings.append(
                f"MPI calls are not recorded: {started} has started {program.words[0]}, and the first mpicc in PATH "
                f"links {library}: name the right one with --mpicc"
            )
            return None
        if library is None and asked:
            raise VtraceError(f"{program.words[0]}: finds no MPI for it", "name its compiler command with --mpicc")
    if library is None:
        if programs.holds(program.executable, b"\0PMPI_Init\0", b"\0PMPI_Finalize\0"):
            made.warnings.append(
                f"MPI calls of {program.words[0]} are not recorded: the MPI library is linked statically"
            )
        return None
    made.details.append(f"MPI: {by} {library}")
    _compare_families(made, user, library, start)
    _check_name(cache_directory(), "set VT_SHIM_CACHE to another directory")
    return uses.shim_of(library)


def _compare_families(made: Plan, user: str, library: str | None, start: Start) -> None:
    """Warns before the start if the processes will not find each other; csrc/core/process.c tells when they did not."""
    own = mpi_library.family(library or "")
    if own and start.family and own != start.family:
        made.warnings.append(
            f"{user} uses {own} ({library}), but {start.launcher} is {start.family}'s: each rank will be "
            f"alone in its MPI_COMM_WORLD; start it with the mpiexec of {own}"
        )


def _kind(library: str) -> str:
    """What tells binary interfaces apart: the name up to the number behind .so."""
    name = os.path.basename(library)
    base, _, version = name.partition(".so.")
    return f"{base.removeprefix('lib')}.{version.partition('.')[0]}".replace("mpich.12", "mpi.12")
