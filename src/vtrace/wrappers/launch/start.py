# SPDX-License-Identifier: BSD-3-Clause
"""Starts the program of `vtrace run`: executes the program in this process, or waits for the program's end."""

from __future__ import annotations

import os
import sys

from vtrace import settings_file
from vtrace.errors import VtraceError
from vtrace.text import plain, shell_command
from vtrace.wrappers.launch import launchers, mpip_variable, preload
from vtrace.wrappers.launch.launchers import Launched
from vtrace.wrappers.launch.mpi_library import family_of_launcher
from vtrace.wrappers.launch.preload import Plan, Start
from vtrace.wrappers.launch.program import NoProgramError, find, locate

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from vtrace.wrappers.launch.choices import Choices

_ENOEXEC = 8


def environment() -> dict[str, str]:
    """The environment with which vtrace was started, with the settings of the settings files and those of mpiP's
    variable."""
    now = given_environment()
    settings_file.apply(now)
    mpip_variable.apply(now)
    return now


def given_environment() -> dict[str, str]:
    """The environment with which vtrace was started, without the LC_CTYPE that Python sets in a C locale."""
    now = dict(os.environ)
    try:
        with open("/proc/self/environ", "rb") as file:
            if not any(entry.startswith(b"LC_CTYPE=") for entry in file.read().split(b"\0")):
                now.pop("LC_CTYPE", None)
    except OSError:
        pass
    return now


def decide(chosen: Choices, environ: Mapping[str, str]) -> None:
    """Sets chosen.unify. By default a command that starts all processes unifies: after a launcher, other ranks may
    still run when this rank has ended."""
    starts_all = launchers.rank(environ) is None or launchers.size(environ) == 1
    chosen.unify = starts_all and preload.wants("unify", chosen, environ, default=True)


def prepare(chosen: Choices, environ: Mapping[str, str]) -> Plan:
    """The command to start and its environment. Rank 0 prints warnings. Raises VtraceError."""
    made = plan(chosen, environ)
    directory = preload.name_of(made.changes.get("VT_PFORM_GDIR", ""))
    if directory:
        try:
            os.makedirs(directory, exist_ok=True)
        except OSError as error:
            raise VtraceError(
                f"cannot create {directory}: {error.strerror}", "choose another directory with -o or VT_PFORM_GDIR"
            ) from None
    if not launchers.rank(environ):
        report(made, chosen, environ)
    return made


def plan(chosen: Choices, environ: Mapping[str, str]) -> Plan:
    """The command to start and its environment, for a program or a launcher. Raises VtraceError."""
    made = _plan_launcher(chosen, environ) if launchers.kind_of(chosen.words) else None
    return made or preload.plan(chosen.words, chosen, Start(environ, ".", launchers.rank(environ) is not None))


def report(made: Plan, chosen: Choices, environ: Mapping[str, str]) -> None:
    """Prints the warnings of a plan, and with -v its details."""
    level = environ.get("VT_VERBOSE", "")
    for text in made.warnings if level != "0" else []:
        say(f"warning: {text}")
    if chosen.verbose:
        changes = made.shown | made.changes
        after = {**environ, **changes}
        for text in made.details:
            say(text)
        for name in sorted(name for name in after if name.startswith("VT_") or name in changes):
            say(f"{name}={after[name]}{'' if name in changes else ' (environment)'}")
        if made.words and not chosen.bundle:
            say(f"starts {shell_command(made.words)}")


def say(text: str) -> None:
    """Prints one line on standard error."""
    print(f"vtrace: {plain(text)}", file=sys.stderr)


def _plan_launcher(chosen: Choices, environ: Mapping[str, str]) -> Plan | None:
    """The launcher's command, with env in front of each of its programs. None if chosen's command is not a launcher but
    the program itself."""
    words = find(chosen.words, environ).words
    found = launchers.programs_in(words, environ)
    if not found:
        file = launchers.file_of_programs(words)
        if file:
            raise VtraceError(
                f"{words[0]} {file} reads its programs from a file", "put vtrace run before each program in the file"
            )
        if launchers.kind_of(words) not in launchers.LAUNCHERS:
            return None
        missing = _missing_file(words)
        problem = f"{missing}: no such file here" if missing else f"no program found in the arguments of {words[0]}"
        hint = "put vtrace run before the program" + " if it is on other hosts only" * bool(missing)
        if chosen.switches["unify"]:
            raise VtraceError(f"{problem}: nothing to unify", hint)
        chosen.unify = False
        made = Plan(words)
        made.warnings.append(f"{problem}: nothing is recorded; {hint}")
        return made
    made = Plan([])
    at = 0
    for program in found:
        inner = _plan_inner(words, program, chosen, environ)
        _common_prefix(made, inner, len(found) > 1 and not environ.get("VT_FILE_PREFIX"), words[program.begin])
        made.shown |= inner.changes | inner.shown
        made.words += [*words[at : program.begin], *_in_front(inner, environ), *inner.words]
        at = program.end
        made.warnings += [text for text in inner.warnings if text not in made.warnings]
        made.details += [text for text in inner.details if text not in made.details]
    made.words += words[at:]
    return made


def _missing_file(words: list[str]) -> str:
    """The first path among the arguments that does not exist, probably the program; "" for none."""
    paths = (word for word in words[1:] if "/" in word and not word.startswith("-"))
    return next((path for path in paths if not os.path.exists(path)), "")


def _plan_inner(words: list[str], program: Launched, chosen: Choices, environ: Mapping[str, str]) -> Plan:
    """The plan for one program of a launcher. The program may be a launcher, too: mpiexec -n 2 numactl -N 0 ./a.out."""
    behind = words[program.begin : program.end]
    own = chosen.of_program(behind)
    if launchers.kind_of(behind):
        made = _plan_launcher(own, environ)
        if made:
            return made
    parallel = launchers.kind_of(words) in launchers.LAUNCHERS
    start = Start(environ, program.directory, parallel or launchers.rank(environ) is not None)
    if parallel:
        path = locate(words[0], environ)
        start.launcher, start.mpicc, start.family = words[0], launchers.mpicc_of(path), family_of_launcher(path)
    try:
        return preload.plan(behind, own, start)
    except NoProgramError:
        if program.directory == ".":
            raise
        # The hosts of the run may have another directory of this name.
        raise VtraceError(
            f"{behind[0]}: not found in {program.directory} here", "put vtrace run before the program"
        ) from None


def _common_prefix(made: Plan, inner: Plan, several: bool, word: str) -> None:
    """Gives all programs of a job the prefix of the first program: vtunify unifies them into one archive."""
    if several:
        name = (
            made.changes.get("VT_FILE_PREFIX")
            or inner.changes.get("VT_FILE_PREFIX")
            or preload.literal(preload.standard_prefix(word))
        )
        made.changes["VT_FILE_PREFIX"] = inner.changes["VT_FILE_PREFIX"] = name
    for key in ("VT_FILE_PREFIX", "VT_PFORM_GDIR"):
        if key in inner.changes:
            made.changes[key] = inner.changes[key]


def _in_front(inner: Plan, environ: Mapping[str, str]) -> list[str]:
    """env with all settings, since some launchers pass only part of the environment to other hosts."""
    if not inner.changes:
        return []
    settings = {name: value for name, value in environ.items() if name.startswith("VT_")} | inner.changes
    return [locate("env", environ), *(f"{name}={value}" for name, value in settings.items())]


def become(made: Plan, environ: Mapping[str, str]) -> NoReturn:
    """Executes the program in this process. Raises NoProgramError."""
    changed = {**environ, **made.changes}
    execute(made.words, changed, lambda path: _of_a_run(changed, made.words, path))


def execute(words: list[str], environ: Mapping[str, str], own: Callable[[str], Mapping[str, str]]) -> NoReturn:
    """Executes a command in this process. environ: to find the program; own: gets the path of the executable, returns
    its environment. Raises NoProgramError."""
    import signal

    # Python ignores these signals, and the program would inherit this state.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    path = locate(words[0], environ)
    try:
        os.execve(path, words, own(path))
    except OSError as error:
        if error.errno == _ENOEXEC and _is_text(path):
            os.execve("/bin/sh", ["sh", path, *words[1:]], own("/bin/sh"))
        raise NoProgramError(f"cannot start {words[0]}: {error.strerror}", 126) from None


def _of_a_run(environ: Mapping[str, str], words: list[str], path: str) -> dict[str, str]:
    """The environment with run id, pid and default prefix of a new run, for programs that the program starts by its own
    system calls, as Go does: they get no more. Ranks behind a launcher get their run from MPI, and none from a vtrace
    run around this one."""
    if launchers.kind_of(words):
        return {name: value for name, value in environ.items() if name != "VTRACE_RUN"}
    return {**environ, "VTRACE_RUN": f"{os.urandom(16).hex()}:{os.getpid()}:{preload.standard_prefix(path)}"}


def _is_text(path: str) -> bool:
    with open(path, "rb") as file:
        return b"\0" not in file.read(256)


def wait_for(made: Plan, environ: Mapping[str, str]) -> int:
    """Starts the program and forwards signals to the program. Returns the exit code, or 128 plus the number of the
    signal that ended the program. Raises NoProgramError."""
    import signal

    passed = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, passed | {signal.SIGCHLD})
    # The kernel neither keeps nor tells the end of children whose parent ignores SIGCHLD.
    inherited = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Not posix_spawn: glibc lets the program ignore the signals 32 and 33 then.
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            signal.signal(signal.SIGCHLD, inherited)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            become(made, environ)
        except NoProgramError as error:
            os.write(writer, f"{error.exit_code} {error}".encode())
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as file:
        number, _, problem = (
            file.read().decode().partition(" ")
        )  # immediately: the start of the program closes the other end
    if problem:
        os.waitpid(pid, 0)
        raise NoProgramError(problem, int(number))
    while True:
        got = signal.sigwaitinfo(passed | {signal.SIGCHLD})
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        # The program itself gets signals of the terminal (Ctrl-C), which have an si_code above 0.
        if got.si_signo != signal.SIGCHLD and got.si_code <= 0:
            os.kill(pid, got.si_signo)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
