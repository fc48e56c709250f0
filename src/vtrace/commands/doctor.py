# SPDX-License-Identifier: BSD-3-Clause
"""Prepare: Show which compilers and MPIs work here, and what is missing."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from vtrace import __version__, paths
from vtrace.errors import VtraceError
from vtrace.text import json_text, plain
from vtrace.wrappers.compile.toolchain import HOOKS, how_functions
from vtrace.wrappers.mpi_shim.installation import Mpi, find_mpi

_COMPILERS = ("gcc", "g++", "gfortran", "clang", "clang++")
_COUNTERS = ("tsc", "kvm-clock", "hyperv", "arch_sys_counter")
"""With these clock sources of the kernel the runtime reads the processor's counter (csrc/core/clock.c)."""
_PROBE = """
import os
from vtrace.wrappers.launch import mpi_library
mpi_library.choose(os.environ)
from mpi4py import MPI
library = MPI.Get_library_version().strip("\\0\\n ").splitlines()[0].partition(",")[0]
os.write(1, f"{MPI.COMM_WORLD.size} {library}\\n".encode())  # one write: the lines of two ranks must not mix
"""
"""Starts MPI as a rank of vtunify-mpi does; prints the size of MPI_COMM_WORLD and the MPI library."""
_ANYWHERE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}  # fmt: skip
"""Lets Open MPI start two processes as root and on a single core."""
_MIN_FREE = 256 << 20
"""Free bytes on the disk of the buffer below which doctor warns."""


@dataclass(kw_only=True)
class _CheckResult:
    """The result of one check. problem: the error and its remedy; needed: vtrace cannot work with the problem."""

    name: str
    value: str
    problem: str | None = None
    needed: bool = False
    more: dict[str, Any] = field(default_factory=dict)


@click.command()
@click.argument("mpicc", metavar="[MPICC]...", nargs=-1)
@click.option("--mpicc", "named", multiple=True, hidden=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the names of all functions.")
@click.pass_context
def command(context: click.Context, mpicc: tuple[str, ...], named: tuple[str, ...], as_json: bool) -> None:
    """The verdict comes first: ready, ready with restrictions ("ready, but"), or not ready; then each problem in a line
    that says what to do; then libraries, the clock, and how much of MPI is recorded. The exit code is 1 if vtrace
    cannot work. MPICC is the compiler command of an MPI to check [default: all in PATH].

    \b
    Examples:
      vtrace doctor                          check everything
      vtrace doctor mpicc.openmpi            one MPI
      vtrace doctor --json | jq '.findings[] | select(.problem)'
    """
    findings = [*_own(), *_compilers(), *_mpis((*mpicc, *named)), _mpi4py(), *_machine()]
    if as_json:
        found = [asdict(finding) for finding in findings]
        click.echo(json_text({"version": __version__, "verdict": _verdict(findings), "findings": found}, indent=1))
    else:
        _print(findings)
    if any(finding.problem and finding.needed for finding in findings):
        context.exit(1)


def _verdict(findings: list[_CheckResult]) -> str:
    if any(finding.problem and finding.needed for finding in findings):
        return "not ready"
    return "ready, but" if any(finding.problem for finding in findings) else "ready"


def _print(findings: list[_CheckResult]) -> None:
    """Prints the verdict, the problems with their remedies, and the details."""
    verdict = _verdict(findings)
    click.echo(verdict if verdict == "ready" else f"{verdict}:")
    for finding in findings:
        if finding.problem:
            click.echo(f"{'error' if finding.needed else 'note'}: {finding.name}: {plain(finding.problem)}")
    click.echo()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        click.echo(f"{finding.name:{width}}  {plain(finding.value)}")
        for line in finding.more.get("lines", []):
            click.echo(f"{'':{width}}    {plain(line)}")


def _checked(name: str, hint: str, check: Callable[[], str], needed: bool = True) -> _CheckResult:
    """A finding with the value that check returns; an exception of check becomes the problem."""
    try:
        return _CheckResult(name=name, value=check())
    except (VtraceError, OSError, ImportError, AttributeError) as error:
        message = f"{error.args[0] if error.args else error}".rstrip(".")
        return _CheckResult(name=name, value="missing", problem=f"{message}; {hint}", needed=needed)


def _own() -> Iterator[_CheckResult]:
    yield _CheckResult(name="vtrace", value=f"{__version__}, Python {platform.python_version()} {sys.prefix}")
    again = "install vtrace again: pip install vtrace-otf2"
    yield _checked("runtime", again, lambda: str(_loaded(paths.LIB / "libvtrace.so.1")))
    yield _checked("hooks", again, _hooks, needed=False)
    yield _checked("libotf2", "pip install otf2", _otf2)
    zstd = "traces are larger without libzstd: install the package libzstd1 or libzstd"
    yield _checked("libzstd", zstd, lambda: str(_loaded("libzstd.so.1")), needed=False)


def _loaded(library: str | Path) -> str | Path:
    ctypes.CDLL(str(library))
    return library


def _hooks() -> str:
    place = paths.LIB / HOOKS
    if not place.exists():
        raise VtraceError(f"{place}: without this file filtered calls cost more")
    return str(place)


def _otf2() -> str:
    import _otf2

    from vtrace.io.local.kernel import Kernel

    Kernel()
    return str(_otf2.Config.lib_path())


def _compilers() -> Iterator[_CheckResult]:
    found = {name: path for name in _COMPILERS if (path := shutil.which(name))}
    missing = "neither gcc nor clang in PATH: vtrace-cc needs one, vtrace run does not"
    problem = None if {"gcc", "clang"} & found.keys() else missing
    lines = [
        f"{name} {_first_line([path, '-dumpfullversion', '-dumpversion'])}: {path}, {how_functions([path])}"
        for name, path in found.items()
    ]
    yield _CheckResult(name="compilers", value=", ".join(found) or "none", problem=problem, more={"lines": lines})


def _first_line(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout.strip().splitlines() or [""])[0]


def _mpis(named: tuple[str, ...]) -> Iterator[_CheckResult]:
    """The MPIs of the named compiler commands; without names, of all mpicc commands in PATH and beside this Python."""
    known: set[Path] = set()
    unusable = False
    for mpicc in named or _in_path():
        try:
            mpi = find_mpi(mpicc)
        except VtraceError as error:
            message = f"{error.args[0]}; {error.hint}" if error.hint else str(error.args[0])
            yield _CheckResult(name="MPI", value=f"{mpicc}: cannot be used", problem=message, needed=bool(named))
            unusable = True
            continue
        if mpi and mpi.library not in known:
            known.add(mpi.library)
            yield _mpi(mpi)
    if not known and not named:
        lack = "no mpicc that can be used" if unusable else "no mpicc in PATH"
        from vtrace.wrappers.mpi_shim.prebuilt import available

        known_abis = ", ".join(available())
        if known_abis:
            yield _CheckResult(name="MPI", value=f"{lack}; vtrace run has shims for {known_abis}")
        else:
            problem = f"{lack}: MPI calls are not recorded; pip install mpich"
            yield _CheckResult(name="MPI", value="none", problem=problem)


def _in_path() -> list[str]:
    places = [Path(place) for place in os.get_exec_path()] + [Path(sys.executable).parent]
    found = [path for place in places for path in sorted(place.glob("mpicc*")) if os.access(path, os.X_OK)]
    return list(dict.fromkeys(str(path) for path in found if not path.name.endswith((".1", ".conf"))))


def _mpi(mpi: Mpi) -> _CheckResult:
    from vtrace.wrappers.mpi_shim.prebuilt import find, fit
    from vtrace.wrappers.mpi_shim.shim import list_shims
    from vtrace.wrappers.mpi_shim.wrapped_functions import coverage

    found = coverage(mpi)
    cached = any(mpi.key in shim.directory for shim in list_shims())
    prebuilt = find(mpi.library)
    if prebuilt and fit(prebuilt):
        state = f"{'built' if cached else 'not built yet'} for vtrace-cc, prebuilt for vtrace run"
    else:
        state = "built" if cached else "not built yet: vtrace-cc and vtrace run build it at first use"
    lines = [
        f"{mpi.mpicc}, shim {state}",
        f"{found.wrapped} functions wrapped",
        f"{len(found.records)} with full records, {len(found.plain)} enter and leave",
        *(f"{len(names)} off by default: VT_MPI_GROUPS=default,{group}" for group, names in sorted(found.off.items())),
        *(f"{len(names)} not wrapped: {why}" for why, names in sorted(found.left_out.items())),
        *(f"{len(names)} Fortran entry points wrapped: {name}" for name, names in found.fortran.items()),
    ]
    more = {"mpicc": mpi.mpicc, "library": str(mpi.library), "built": cached, "lines": lines, **asdict(found)}
    return _CheckResult(name="MPI", value=f"{mpi.label} {mpi.library}", more=more)


def _mpi4py() -> _CheckResult:
    """Starts two ranks with mpiexec and mpi4py; vtunify-mpi needs both in one MPI_COMM_WORLD."""
    try:
        release = metadata.version("mpi4py")
    except metadata.PackageNotFoundError:
        problem = "vtunify-mpi needs mpi4py, vtunify does not: pip install 'vtrace-otf2[mpi]'"
        return _CheckResult(name="mpi4py", value="missing", problem=problem)
    mpiexec = shutil.which("mpiexec") or shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    if mpiexec is None:
        problem = "vtunify-mpi needs mpiexec: pip install mpich"
        return _CheckResult(name="mpi4py", value=f"{release}, no mpiexec in PATH", problem=problem)
    words = [mpiexec, "-n", "2", sys.executable, "-I", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{_PROBE}"]
    try:
        done = subprocess.run(
            words, env=_ANYWHERE | os.environ, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        lines = [line.partition(" ") for line in done.stdout.splitlines()]
        sizes = [line for line in lines if line[0].isdigit()]  # libraries of the MPI may print warnings
        messages = done.stderr.strip().splitlines()
    except (OSError, subprocess.TimeoutExpired) as error:
        sizes, messages = [], [str(error)]
    more = {"mpiexec": mpiexec, "library": sizes[0][2] if sizes else ""}
    if [size for size, _, _ in sizes] == ["2", "2"]:
        return _CheckResult(name="mpi4py", value=f"{release}, with {more['library']} of {mpiexec}", more=more)
    hint = "set MPI4PY_LIBMPI=/path/libmpi.so to the library of this mpiexec, or use another mpiexec for vtunify-mpi"
    if sizes:
        problem = f"mpi4py loads {more['library']}, which does not connect the processes of {mpiexec}; {hint}"
    else:
        problem = f"mpi4py does not start under {mpiexec}: {messages[-1] if messages else 'no message'}; {hint}"
    return _CheckResult(name="mpi4py", value=f"{release}, does not fit {mpiexec}", problem=problem, more=more)


def _machine() -> Iterator[_CheckResult]:
    yield _clock()
    place = Path(os.environ.get("VT_PFORM_LDIR") or ".").resolve()
    yield _checked("buffer", "set VT_PFORM_LDIR to another directory", lambda: _free_space(place))
    if place.is_dir() and shutil.disk_usage(place).free < _MIN_FREE:
        problem = "less than 256 MiB: set VT_PFORM_LDIR to another directory"
        yield _CheckResult(name="free space", value=str(place), problem=problem)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY:
        problem = "recording stops when the buffer or a local file reaches this size: ulimit -f unlimited"
        yield _CheckResult(name="file size limit", value=f"{limit} bytes", problem=problem)
    yield _CheckResult(name="processors", value=f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}")


def _clock() -> _CheckResult:
    source = _text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    flags = set(_text("/proc/cpuinfo").partition("flags")[2].partition("\n")[0].split())
    counter = platform.machine() == "aarch64" or "nonstop_tsc" in flags
    if counter and (not source or source.startswith(_COUNTERS)):
        return _CheckResult(name="clock", value=f"the processor's counter ({source or 'of an unknown clock source'})")
    problem = "this kernel does not trust the processor's counter: each event costs about 20 ns more"
    return _CheckResult(name="clock", value=f"CLOCK_MONOTONIC_RAW ({source})", problem=problem)


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _free_space(place: Path) -> str:
    if not os.access(place, os.W_OK | os.X_OK):
        raise VtraceError(f"cannot write in {place}")
    kind = _first_line(["stat", "-f", "-c", "%T", str(place)])
    return f"{place} ({kind}, {shutil.disk_usage(place).free >> 20} MiB free)"
