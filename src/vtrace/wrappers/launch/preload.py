# SPDX-License-Identifier: BSD-3-Clause
"""Chooses libraries to preload and settings for a program of `vtrace run`, or gives the reason why the program gets
none.

Imports little, since each rank of a job runs this module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from vtrace.errors import UsageError, VtraceError
from vtrace.python_command import is_python, python_script
from vtrace.settings_file import NO, YES
from vtrace.wrappers.compile.cache import cache_directory
from vtrace.wrappers.launch import annotation_tools, device_tools, mpi_library, uses
from vtrace.wrappers.launch import program as programs
from vtrace.wrappers.launch.choices import ON, SAMPLE_CLOCKS, SAMPLE_RATE, SWITCHES, Choices
from vtrace.wrappers.launch.counters import settings_of, split_names
from vtrace.wrappers.launch.program import Elf, Program

LIB = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "_lib")
RUNTIME = "libvtrace.so.1"
_PYTHON_HOOK = os.path.join(os.path.dirname(LIB), "python_hook")

LIBRARIES = {
    "openmp": ("libvtrace-omp.so",), "io": ("libvtrace-io.so", "libvtrace-hdf5.so"), "memory": ("libvtrace-mem.so",),
}  # fmt: skip
"""Libraries to preload after the runtime, by kind of events. The library for MPI depends on the program's MPI."""

_ASAN, _TSAN = ("libasan.so", "libclang_rt.asan"), ("libtsan.so", "libclang_rt.tsan")
_SITES, _SITE_BYTES = "VT_MEMTRACE_CALLSITES", "32K"
"""The setting by which callers of allocations are recorded where functions are not, and its value."""
_KEEP = re.compile(r"((first|every):\d+|slowest:\d+(\.\d+)?%)(,((first|every):\d+|slowest:\d+(\.\d+)?%))*")
"""The values of --keep."""
_TRIGGER = re.compile(
    r"iteration *> *\d+(\.\d+)? *x *median|mpi *wait *> *\d+(\.\d+)? *%|counter +[^ ].*> *-?\d+ *", re.IGNORECASE
)
"""The values of --trigger."""
_DECIDES_SAMPLES = ("VT_SAMPLE_RATE", "VT_SAMPLE_CLOCK", "VT_FUNCTIONS", "VT_METRICS")
"""Settings of a user who wants other samples, or none by default."""
_DEBUGGERS = ("gdb", "lldb", "rr", "cuda-gdb", "rocgdb", "gdb-oneapi", "ddd")
_VERSION, _OPTIONS = ".0123456789t", "-bBdEiIOPqRsSuvx"
"""The characters of the version in an interpreter's name, and of its options that are only followed by a script."""
_PERCENT = re.compile(r"\d{1,3}(\.\d\d?)?%")
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox")


class Plan:
    """A plan for starting a program. words: the command; changes: variables to set; shown: variables that env sets in a
    launcher's words; warnings, details: messages, details only for -v."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.changes: dict[str, str] = {}
        self.shown: dict[str, str] = {}
        self.warnings: list[str] = []
        self.details: list[str] = []


class Start:
    """The circumstances of a program's start. launched: by a launcher; launcher: the launcher's name; mpicc, family:
    compiler command and name of the launcher's MPI, None if unknown.
    """

    def __init__(self, environ: Mapping[str, str], directory: str, launched: bool) -> None:
        self.environ = dict(environ)
        self.directory = directory
        self.launched = launched
        self.mpicc: str | None = None
        self.launcher = "the launcher"
        self.family = "Open MPI" if mpi_library.launchers_family(environ) == "Open MPI" else None
        """From the variables only for Open MPI: other launchers set MPICH's variables, too."""


def plan(words: list[str], chosen: Choices, start: Start) -> Plan:
    """Examines a program and plans its start. Raises VtraceError if the program cannot be started or the options cannot
    be fulfilled.
    """
    program = programs.find(words, start.environ, start.directory)
    made = Plan(program.words)
    if missing := _missing_script(words, start.directory):
        if not start.launched:
            raise programs.NoProgramError(f"{missing}: no such file", 2)  # Python's exit code
        made.warnings.append(f"{missing}: no such file here")
    _set_settings(made, chosen, start.environ)
    if chosen.counters:
        _set_counters(made, chosen.counters, start.environ)
    _set_names(made, program, chosen, start.environ)
    elf = programs.read_elf(program.executable)
    if elf is None and not os.access(program.executable, os.R_OK):
        made.warnings.append(f"no permission to read {program.executable}: not recorded, since its MPI is unknown")
        return made
    if elf is None:  # execvp starts a script without #! with the shell
        program = Program(words, program.path, os.path.realpath("/bin/sh"), program.path)
        elf = programs.read_elf(program.executable)
    why = _why_not(program, elf, start.environ)
    if why or elf is None:
        made.warnings.append(f"{words[0]} is not recorded: {why}")
        return made
    _set_preload(made, program, elf=elf, chosen=chosen, start=start)
    return made


def _missing_script(words: list[str], directory: str) -> str:
    """The script of a command that is certainly one of Python, if this script does not exist; else ""."""
    version = os.path.basename(words[0]).removeprefix("python").removeprefix("pypy")
    script = python_script(words[1:]) if is_python(os.path.basename(words[0])) and not version.strip(_VERSION) else None
    rest = words[1:]
    if script not in rest or any(word.strip(_OPTIONS) for word in rest[: rest.index(script)]):
        return ""
    return "" if os.path.exists(os.path.join(directory, script)) else script


def plan_for_any(chosen: Choices, environ: Mapping[str, str]) -> Plan:
    """A plan for unknown programs, from the options alone. Raises VtraceError."""
    made = Plan([])
    _set_settings(made, chosen, environ)
    if chosen.counters:
        _set_counters(made, chosen.counters, environ)
    made.changes["VT_UNIFY"] = "no"
    kinds = [kind for kind in LIBRARIES if wants(kind, chosen, environ, False)]
    ours = _libraries(kinds)
    if chosen.switches["mpi"] or chosen.mpicc:
        library = uses.launchers_library(chosen.mpicc)
        if library is None:
            raise VtraceError("--mpi: no MPI found", "name the MPI's compiler with --mpicc, or the program")
        made.details.append(f"MPI: {library}")
        ours.insert(1, uses.shim_of(library))
    made.changes["LD_PRELOAD"] = ":".join(ours)
    return made


def _libraries(kinds: list[str]) -> list[str]:
    """The runtime and the libraries for kinds of events."""
    return [os.path.join(LIB, name) for name in (RUNTIME, *(name for kind in kinds for name in LIBRARIES[kind]))]


def wants(kind: str, chosen: Choices, environ: Mapping[str, str], default: bool) -> bool:
    """True if a kind of events is to be recorded: by the option, else by the environment, else by default."""
    option = chosen.switches[kind]
    setting = environ.get(SWITCHES[kind][0], "").lower()
    return option if option is not None else setting in YES or (default and setting not in NO)


def _is_size(text: str) -> bool:
    number = text[:-1] if text[-1:] in ("K", "M", "G", "k", "m", "g") else text
    return number.isascii() and number.isdigit() and bool(number.strip("0"))


def _is_budget(text: str) -> bool:
    size, comma, percent = text.rpartition(",")
    if not percent.endswith("%"):
        size, percent = text, ""
    elif not _PERCENT.fullmatch(percent) or not 0 < float(percent[:-1]) <= 100:
        return False
    bytes_of, _, unit = size.partition("/")
    return (bool(percent) and not comma) or (_is_size(bytes_of) and unit in ("", "process", "node", "run"))


def _set_settings(made: Plan, chosen: Choices, environ: Mapping[str, str]) -> None:
    for kind, option in chosen.switches.items():
        setting = SWITCHES[kind][0]
        if option is None or kind == "unify":
            continue
        if kind in ON and not option:  # the setting records more than this kind, which stays as it is
            if environ.get(setting, "").lower() == ON[kind]:
                made.changes[setting] = "yes"
        else:
            made.changes[setting] = ON.get(kind, "yes") if option else "no"
    if chosen.profile_only:
        made.changes["VT_MODE"] = "PROFILE"
    if chosen.functions:
        made.changes["VT_FUNCTIONS"] = chosen.functions
    if chosen.annotations or chosen.no_annotations:
        made.changes[annotation_tools.SETTING] = "no" if chosen.no_annotations else str(chosen.annotations)
    if chosen.devices:
        made.changes[device_tools.SETTING] = chosen.devices
    if size := chosen.max_size:
        if not _is_size(size):
            raise UsageError(f"--max-size {size} is not a size", "give bytes, or a number that ends in K, M or G: 4G")
        made.changes["VT_MAX_SIZE"] = size
    if budget := chosen.budget:
        if not _is_budget(budget):
            raise UsageError(
                f"--budget {budget} is neither a size nor a percentage",
                "give a size such as 20M, or 2G/node, 2G/run; the most time of recording, 3%; or both, 20M,3%",
            )
        if chosen.profile_only:
            raise UsageError("--profile-only and --budget exclude each other", "leave one of them out")
        made.changes["VT_BUDGET"] = budget
    _set_iterations(made, chosen, environ)
    if level := chosen.section_level:
        if not (level.isascii() and level.isdigit()):
            raise UsageError(f"--section-level {level} is not a level", "give a number from 0 on")
        made.changes["VT_SECTION_LEVEL"] = level
    if rate := chosen.sample:
        if not _is_rate(rate):
            raise UsageError(
                f"--sample={rate} is not a rate of 1 to 10000 per second, or a time of 100us to 3600s",
                "give --sample=100 or --sample=10ms",
            )
        made.changes["VT_SAMPLE_RATE"] = rate
    elif chosen.no_sample or chosen.profile_only:
        made.changes["VT_SAMPLE_RATE"] = "0"
    if clock := chosen.sample_clock:
        if clock not in SAMPLE_CLOCKS:
            raise UsageError(
                f"--sample-clock={clock} is not {', '.join(SAMPLE_CLOCKS[:-1])} or {SAMPLE_CLOCKS[-1]}",
                "give --sample-clock=wall",
            )
        if not rate:
            raise UsageError(f"--sample-clock={clock} needs --sample", f"vtrace run --sample --sample-clock={clock}")
        made.changes["VT_SAMPLE_CLOCK"] = clock


def _set_iterations(made: Plan, chosen: Choices, environ: Mapping[str, str]) -> None:
    """Sets what --keep, --trigger and --iteration choose."""
    keep, trigger = chosen.keep, chosen.trigger
    if keep and not _KEEP.fullmatch(keep):
        raise UsageError(f"--keep {keep} is no rule", "give first:N, every:N, slowest:P% or first:3,every:9")
    if trigger and not _TRIGGER.fullmatch(trigger):
        raise UsageError(
            f"--trigger {trigger} is no rule",
            "give 'iteration > 1.5 x median', 'mpi wait > 20 %' or 'counter NAME > 9'",
        )
    if trigger and (keep or chosen.budget):
        raise UsageError("--trigger excludes --keep and --budget", "leave one of them out")
    of_iterations = (trigger or "").lower().startswith("iteration")
    needs = f"--keep {keep}" if keep else f"--trigger {trigger}" if of_iterations else ""
    if needs and not (chosen.iteration or environ.get("VT_ITERATION")):
        raise UsageError(f"{needs} needs the region of the iterations", "give --iteration NAME")
    for setting, value in (("VT_KEEP", keep), ("VT_ITERATION", chosen.iteration), ("VT_TRIGGER", trigger)):
        if value:
            made.changes[setting] = value
    if trigger and not chosen.profile_only:
        made.changes["VT_MODE"] = "RING"


def _set_counters(made: Plan, text: str, environ: Mapping[str, str]) -> None:
    """Sets VT_METRICS to the native events of the counters, since the runtime knows no derived ones."""
    names, warnings = native_counters(text, environ)
    made.warnings += warnings
    made.changes |= settings_of(names)


def native_counters(text: str, environ: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The native events of a list of counters, and warnings."""
    from vtrace.analysis.derived.known_events import known_files, natives

    files = known_files(environ.get("PAPI_USER_EVENTS_FILE"))
    warnings = [
        f"{file.path}:{error.line}:{error.column}: {error.text}: line left out"
        for file in files
        for error in file.errors
    ]
    names, problems = natives(split_names(text), files)
    return names, [*warnings, *(f"--counters: {problem}" for problem in problems)]


def _is_rate(text: str) -> bool:
    """True for a value that VT_SAMPLE_RATE accepts (csrc/core/setting_texts.c)."""
    digits = text.rstrip("smuSMU")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 12):
        return False
    unit, number = text[len(digits) :].lower(), int(digits)
    if not unit:
        return 1 <= number <= 10_000
    nanoseconds = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000}.get(unit, 0) * number
    return 100_000 <= nanoseconds <= 3_600_000_000_000


def _set_names(made: Plan, program: Program, chosen: Choices, environ: Mapping[str, str]) -> None:
    """Sets the prefix: the user's, else a script's name, since the executable is only the script's interpreter."""
    name = script_name(program)
    given = environ.get("VT_FILE_PREFIX", "")
    prefix = chosen.prefix or (given if chosen.unify and "/" in given else "")
    if prefix:
        directory, made.changes["VT_FILE_PREFIX"] = os.path.split(prefix)
        check_prefix(prefix)
        if directory:
            made.changes["VT_PFORM_GDIR"] = _absolute(directory)
    elif (name or chosen.unify) and not environ.get("VT_FILE_PREFIX"):
        made.changes["VT_FILE_PREFIX"] = literal(name or standard_prefix(program.executable))
    if chosen.unify and not environ.get("VT_PFORM_GDIR") and "VT_PFORM_GDIR" not in made.changes and not _is_here():
        chosen.unify = False  # the runtime says why it records nothing
    if chosen.unify and (setting := _names_at_run_time({**environ, **made.changes})):
        if chosen.switches["unify"]:
            raise UsageError(f"--unify: {setting} names the local files only at run time", "leave the setting out")
        chosen.unify = False
    made.changes["VT_UNIFY"] = "yes" if chosen.unify else "no"  # the closing line of the program names vtunify, or not
    if chosen.unify:  # the program and vtunify must use the same directory
        made.changes["VT_PFORM_GDIR"] = made.changes.get("VT_PFORM_GDIR") or _absolute(
            environ.get("VT_PFORM_GDIR") or "."
        )


def check_prefix(prefix: str) -> None:
    """Raises UsageError for a value of -o that names no files."""
    if os.path.basename(prefix) in ("", ".", ".."):
        raise UsageError(f"-o {prefix} is a directory", "append a prefix: -o results/heat")


def _names_at_run_time(environ: Mapping[str, str]) -> str:
    """The setting with which only the runtime knows the names of the local files: with %p or $NAME, or numbered."""
    if environ.get("VT_FILE_UNIQUE", "").lower() not in ("", *NO):
        return "VT_FILE_UNIQUE"
    names = ("VT_FILE_PREFIX", "VT_PFORM_GDIR")
    rest = {name: environ.get(name, "").replace("%%", "").replace("%$", "") for name in names}
    return next((name for name in names if not {"%", "$"}.isdisjoint(rest[name])), "")


def literal(name: str) -> str:
    """A setting for which the runtime makes exactly this name (csrc/core/file_locations.c)."""
    return name.replace("%", "%%").replace("$", "%$")


def name_of(setting: str) -> str:
    """The name that the runtime makes of a setting without %p, $NAME and the like."""
    return setting.replace("%%", "\0").replace("%$", "$").replace("\0", "%")


def _absolute(directory: str) -> str:
    """A setting for a directory, which may have %p, $NAME and the like; the current directory's name has none."""
    if not os.path.isabs(directory):
        if not _is_here():
            raise VtraceError(f"{directory}: the current directory does not exist", "give an absolute path")
        directory = os.path.join(literal(os.getcwd()), directory)
    return os.path.normpath(directory)


def _is_here() -> bool:
    """True if the current directory exists, and its path is short enough for Linux."""
    try:
        return os.path.isdir(os.getcwd())
    except OSError:
        return False


def script_name(program: Program) -> str | None:
    """The file name of the script, without suffix; None if the program is not a script."""
    script = program.script
    if script is None and is_python(program.name):
        script = python_script(program.words[1:])
    elif script is None and program.name in _SHELLS and program.words[1:2] and program.words[1][0] not in "-+":
        script = program.words[1]
    base = os.path.basename(script or "")
    return (os.path.splitext(base)[0] or base)[:100] or None


def standard_prefix(path: str) -> str:
    """The default prefix for an executable, as in csrc/core/settings.c."""
    name = os.path.basename(os.path.realpath(path))
    return (name.removesuffix(".out").removesuffix(".exe") or name)[:128]


def _why_not(program: Program, elf: Elf | None, environ: Mapping[str, str]) -> str | None:
    """The reason why nothing can be preloaded, and the remedy; None if preloading works."""
    own = programs.read_elf(os.path.join(LIB, RUNTIME))
    if own is None:
        raise VtraceError(f"{LIB}: no {RUNTIME}", "install vtrace again")
    if elf is None:
        return "not an ELF executable"
    if elf.machine != own.machine:
        return "compiled for another architecture than vtrace (32 bits?); compile the program for this one"
    if elf.loader is None:
        go = " (Go programs make system calls directly, without a library)" if elf.go else ""
        return f"statically linked, preloading has no effect{go}; link the program dynamically"
    if os.path.basename(elf.loader).startswith("ld-musl-"):
        return "linked with musl, whose loader cannot load vtrace's libraries; link the program with glibc"
    if _is_privileged(program.executable):
        return "the loader ignores LD_PRELOAD for setuid, setgid and capabilities; run a copy of the program without"
    return None


def _is_privileged(path: str) -> bool:
    """True if the kernel sets AT_SECURE: setuid, setgid, or capabilities of the file."""
    about = os.stat(path)
    if about.st_mode & 0o4000 and about.st_uid != os.geteuid():
        return True
    if about.st_mode & 0o2010 == 0o2010 and about.st_gid != os.getegid():
        return True
    try:
        return bool(os.geteuid() and os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _set_preload(made: Plan, program: Program, elf: Elf, chosen: Choices, *, start: Start) -> None:
    environ = {**start.environ, **made.changes}
    linked = programs.holds(program.executable, RUNTIME.encode() + b"\0")
    if linked and chosen.always:
        raise VtraceError("the program is compiled with vtrace: its own settings stay")
    _check_name(LIB, "install vtrace elsewhere")
    loaded = programs.libraries(elf, program.executable, start.environ)
    if not loaded.libraries:  # the program will probably not start either
        said = (loaded.errors or ["no message"])[0].rpartition("error while loading shared libraries: ")[2]
        made.warnings.append(f"{program.words[0]} is not recorded: {elf.loader} cannot list its libraries: {said}")
        return
    defaults = {"openmp": uses.openmp(loaded)}
    kinds = [
        kind
        for kind, names in LIBRARIES.items()
        # A bundle also has the libraries that vtrace-cc has linked: the program does not start without them.
        if wants(kind, chosen, start.environ, defaults.get(kind, False))
        or (chosen.bundle and names[0] in loaded.libraries)
    ]
    if "openmp" in kinds and (place := uses.unseen_targets(loaded, start.environ)):
        made.warnings.append(f"target regions are not recorded: LD_LIBRARY_PATH needs {place}, for its libomp.so")
    ours = _libraries(kinds)
    _set_for_sanitizers(made, ours, loaded, environ)
    shim = None
    if linked and programs.holds(program.executable, b"vt_set_world\0"):  # only an MPI shim calls this function
        _compare_families(made, program.words[0], uses.mpi_library(loaded), start)
    elif wants("mpi", chosen, start.environ, True):
        shim = _shim(made, program, loaded=loaded, chosen=chosen, start=start)
    if shim:
        ours.insert(1, shim)
    _check(ours, programs.libraries(elf, program.executable, {**environ, "LD_PRELOAD": joined(ours, environ)}))
    made.changes["LD_PRELOAD"] = joined(ours, environ)
    devices = not chosen.bundle and _set_tools(made, program, loaded, environ)
    python = wants("python", chosen, start.environ, False)
    if python:
        _set_python(made, start.environ)
    if not (linked or python) and _samples_by_default(program, elf, loaded=loaded, chosen=chosen, environ=environ):
        made.changes |= {"VT_SAMPLE_RATE": SAMPLE_RATE, "VT_SAMPLE_SIDECAR": "yes"}
        environ |= made.changes
    if "memory" in kinds and not linked and _SITES not in start.environ:
        made.changes[_SITES] = _SITE_BYTES
    sampled = environ.get("VT_SAMPLE_RATE", "0") != "0"
    locks = environ.get(SWITCHES["locks"][0], "").lower() == ON["locks"]
    recorded = bool(kinds or shim or linked or python or sampled or locks or chosen.always or devices)
    # The search reads the program and its libraries, so it runs only if the answer matters.
    functions = (chosen.functions or not recorded) and uses.functions(
        program, loaded, foreign=bool(environ.get("VT_FUNCTIONS"))
    )
    if chosen.functions and not functions:
        made.warnings.append(
            f"--functions: {program.words[0]} and its libraries have no functions that vtrace can record; compile with "
            + ", ".join(["vtrace-cc", *uses.FOREIGN_OPTIONS])
        )
    recorded = recorded or bool(functions or chosen.functions)
    if elf.go and kinds:
        made.warnings.append(
            f"{program.words[0]} is a Go program: most of its system calls are not recorded, as they use no library"
        )
    job = _starts_jobs(program) if shim is None and wants("mpi", chosen, start.environ, True) else None
    if job:
        made.warnings.append(f"the script starts {job}: put vtrace run before {job} there to record MPI calls")
    elif not recorded and is_python(program.name):
        if not any(uses.names_module(program, name) for name in ("vtrace.user", *annotation_tools.MODULES)):
            made.warnings.append(
                f"{program.words[0]} uses no MPI, little is recorded: --python, --io, --memory record more"
            )
    elif not recorded and not annotation_tools.are_in(program.executable):
        made.warnings.append(
            f"{program.words[0]} uses no MPI, little is recorded: --io, --memory, compiling with vtrace-cc record more"
        )


def _set_tools(made: Plan, program: Program, loaded: programs.Loaded, environ: Mapping[str, str]) -> bool:
    """Sets the variables for annotations and devices. Returns True if devices are to be recorded."""
    files = [program.executable, *(path for path in loaded.libraries.values() if path and "okkos" in path)]
    changes, warnings = annotation_tools.variables(environ, LIB, files)
    files = [program.executable, *(path for path in loaded.libraries.values() if path and "cudart" in path)]
    devices, device_warnings = device_tools.variables(environ, LIB, files)
    made.changes |= changes | devices
    made.warnings += [*warnings, *device_warnings]
    return bool(devices)


def _samples_by_default(
    program: Program, elf: Elf, *, loaded: programs.Loaded, chosen: Choices, environ: Mapping[str, str]
) -> bool:
    """True if a program is to be sampled though the user did not ask for samples: neither functions nor counters are
    recorded. Not a program of Go, whose runtime handles all signals; or of the thread sanitizer, which may hang; or a
    debugger, which stops at each sample."""
    if not chosen.samples_by_default or any(map(environ.get, _DECIDES_SAMPLES)) or os.uname().machine != "x86_64":
        return False
    tsan = any(os.path.basename(name).startswith(_TSAN) for name in loaded.libraries)
    debugger = any(os.path.basename(word) in _DEBUGGERS for word in program.words)
    return not (elf.go or tsan or debugger)


def _set_python(made: Plan, environ: Mapping[str, str]) -> None:
    """Puts sitecustomize.py of python_hook into PYTHONPATH, so that Python records functions (userwrap/python.c)."""
    path = environ.get("PYTHONPATH")
    made.changes["PYTHONPATH"] = f"{_PYTHON_HOOK}:{path}" if path else _PYTHON_HOOK


def _starts_jobs(program: Program) -> str | None:
    """The launcher that a shell script starts, or None."""
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
    """The value of LD_PRELOAD, with the user's libraries after ours: an allocator before ours would hide the
    program's calls from our library.
    """
    theirs = environ.get("LD_PRELOAD", "").replace(":", " ").split()
    return ":".join([*ours, *(path for path in theirs if path not in ours)])


def _check(ours: list[str], loaded: programs.Loaded) -> None:
    """Raises VtraceError if the loader would not load a library: the loader itself only warns and runs the program."""
    for path in ours:
        if path not in loaded.libraries:
            reason = next((line for line in loaded.errors if path in line), "the loader does not list the library")
            raise VtraceError(f"cannot preload {path}: {reason}", "run vtrace doctor")


def _check_name(path: str, hint: str) -> None:
    if set(path) & set(" :\t\n"):
        raise VtraceError(f"{path}: LD_PRELOAD allows no blanks and colons in paths", hint)


def _set_for_sanitizers(made: Plan, ours: list[str], loaded: programs.Loaded, environ: Mapping[str, str]) -> None:
    """Turns off ASan's check that ASan is the first library. Omits vtrace's malloc for TSan: TSan's malloc fails after
    another malloc during start-up."""
    names = [os.path.basename(name) for name in loaded.libraries]
    memory = os.path.join(LIB, *LIBRARIES["memory"])
    if memory in ours and any(name.startswith(_TSAN) for name in names):
        ours.remove(memory)
        made.warnings.append("malloc is not recorded: the thread sanitizer has a malloc of its own")
    options = environ.get("ASAN_OPTIONS", "")
    if any(name.startswith(_ASAN) for name in names) and "verify_asan_link_order" not in options:
        option = "verify_asan_link_order=0"
        made.changes["ASAN_OPTIONS"] = f"{options}:{option}" if options else option
        made.details.append(f"ASan must accept vtrace's libraries in front: {option}")


def _shim(made: Plan, program: Program, loaded: programs.Loaded, chosen: Choices, *, start: Start) -> str | None:
    """The shim's library for the MPI that the program uses; None where it uses none."""
    library = uses.mpi_library(loaded)
    origin, user = "library of the program", program.words[0]
    if library is None:
        origin = "library of a program that the program starts"
        user, library = uses.mpi_behind(program, start.environ, start.directory, start.launched)
    if chosen.mpicc:
        named = uses.library_of(chosen.mpicc)
        if library and _kind(named) != _kind(library):
            raise UsageError(
                f"--mpicc {chosen.mpicc} is for {named}, but the program uses {library}", "name the mpicc of that MPI"
            )
        library, origin = named, "--mpicc"
    requested = chosen.switches["mpi"] is True
    is_script = program.script is not None or program.name in _SHELLS
    if library is None and (requested or (start.launched and is_script and not is_python(program.name))):
        library, origin = uses.launchers_library(start.mpicc), "library of the launcher"
        started = mpi_library.launchers_family(start.environ)
        if library and not start.mpicc and started == "Open MPI" and mpi_library.family(library) != started:
            # A shim of another MPI would end the ranks. Only Open MPI's variables identify a launcher's MPI.
            made.warnings.append(
                f"MPI calls are not recorded: {started} started {program.words[0]}, but the first mpicc in PATH links "
                f"{library}; name the mpicc of {started} with --mpicc"
            )
            return None
        if library is None and requested:
            raise VtraceError(f"--mpi: no MPI found for {program.words[0]}", "name the MPI's compiler with --mpicc")
    if library is None:
        if programs.holds(program.executable, b"\0PMPI_Init\0", b"\0PMPI_Finalize\0"):
            made.warnings.append(
                f"MPI calls of {program.words[0]} are not recorded: the MPI library is linked statically"
            )
        return None
    made.details.append(f"MPI: {library} ({origin})")
    _compare_families(made, user, library, start)
    _check_name(cache_directory(), "set VT_SHIM_CACHE to another directory")
    return uses.shim_of(library, builds=not chosen.always)


def _compare_families(made: Plan, user: str, library: str | None, start: Start) -> None:
    """Warns if program and launcher are of different MPIs: each rank would then be alone in its MPI_COMM_WORLD.
    csrc/core/process.c warns when this has happened."""
    own = mpi_library.family(library or "")
    if own and start.family and own != start.family:
        made.warnings.append(
            f"{user} uses {own} ({library}), but {start.launcher} belongs to {start.family}: each rank will be "
            f"alone in its MPI_COMM_WORLD; use the mpiexec of {own}"
        )


def _kind(library: str) -> str:
    """The name of the binary interface: the library's name with the first number after .so."""
    name = os.path.basename(library)
    base, _, version = name.partition(".so.")
    return f"{base.removeprefix('lib')}.{version.partition('.')[0]}".replace("mpich.12", "mpi.12")
