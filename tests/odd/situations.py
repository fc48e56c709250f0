# SPDX-License-Identifier: BSD-3-Clause
"""The table of odd situations: programs that other tracers have broken or recorded wrongly, by public reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

BOTH = "io and memory"
RUN = {
    "run": (),
    "no sample": ("--no-sample",),
    "io": ("--io",),
    "memory": ("--memory",),
    BOTH: ("--io", "--memory"),
    "sample cpu": ("--sample=1000", "--sample-clock", "cpu"),
    "sample wall": ("--sample=1000", "--sample-clock", "wall"),
    "sample perf": ("--sample=10000", "--sample-clock", "perf"),
    "python": ("--python",),
}
"""Modes of vtrace run and their options. The other mode is "cc": the program is compiled by vtrace-cc."""

SAMPLES = ("sample cpu", "sample wall", "sample perf")
WRAPPERS = ("io", "memory")
PLAIN = ("run", *WRAPPERS, *SAMPLES)
"""The modes of a program that no wrapper compiles."""
COMPILED = (*PLAIN, "cc")

PERL = """\
system("true"); print `echo a`; open(P, "|cat"); print P "b\\n"; close P;
$ENV{A} = 1; system("exit 2;"); exit($? >> 8)"""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A program and its expected behaviour: untraced and in each mode the same exit code and standard output."""

    name: str
    words: tuple[str, ...]
    """The command. {program} stands for the compiled source, {here} for the folder of the programs."""
    modes: tuple[str, ...] = COMPILED
    source: str = ""
    """A file in tests/odd/programs, compiled with flags."""
    compiler: str = ""
    """If not that of the suffix: mpicc, for example, with mpiexec among the words."""
    flags: tuple[str, ...] = ()
    code: int = 0
    """The exit code untraced."""
    calls: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By mode the exact number of calls of some regions, over all processes and threads of the run."""
    processes: int = 0
    """The number of processes in the archive of the mode "run"; 0: any."""
    told: str = ""
    """A part of the line that says why something is not recorded; "" where all events must be recorded."""
    has_archive: bool = True
    """False: the program can no longer write to its directory."""
    as_root: bool = False
    tools: tuple[str, ...] = ()
    """Commands that the situation needs."""


SITUATIONS = (
    Situation(
        name="a program closes its standard streams",
        words=("{program}",),
        source="closes_streams.c",
        code=3,
        calls={"io": {"write": 5}, "cc": {"work": 5}},
    ),
    Situation(
        name="a shell starts programs in a pipe",
        words=("sh", "-c", "seq 3 | sort -r | tail -n 1; exit 4"),
        modes=PLAIN,
        code=4,
    ),
    Situation(
        name="a program frees its own environ after system and popen",
        words=("{program}",),
        source="frees_environ.c",
        code=5,
        calls={"run": {"system": 1}, "io": {"system": 1, "popen": 1}, "cc": {"system": 1, "free_all": 1}},
    ),
    Situation(
        name="a thread calls setenv during system",
        words=("{program}", "setenv"),
        source="frees_environ.c",
        calls={"run": {"system": 1}},
    ),
    Situation(
        name="a thread changes and removes variables during system",
        words=("{program}", "once"),
        source="frees_environ.c",
        calls={"run": {"system": 1}},
    ),
    Situation(
        name="perl starts programs by system, backticks and pipes",
        words=("perl", "-e", PERL),
        modes=PLAIN,
        code=2,
        tools=("perl",),
        processes=5,
    ),
    *(
        Situation(
            name=f"a job script of {shell}",
            words=(shell, "-c", "export A=1; (sh -c 'exit 3'); echo $A | cat; sh -c 'exit 4'"),
            modes=PLAIN,
            code=4,
            tools=(shell,),
        )
        for shell in ("bash", "dash", "zsh")
    ),
    Situation(
        name="a user namespace, which the kernel gives only to a process with one thread",
        words=("unshare", "-r", "true"),
        modes=PLAIN,
        tools=("unshare",),
    ),
    Situation(
        name="a program keeps capabilities of its own thread",
        words=("{program}",),
        modes=SAMPLES,
        source="keeps_capabilities.c",
        as_root=True,
        has_archive=False,
    ),
    Situation(
        name="many children that compute shortly and call exec",
        words=("{program}", "exec", "200"),
        modes=SAMPLES,
        source="quick_children.c",
    ),
    *(
        Situation(
            name=f"many children that end at once by {how}",
            words=("{program}", how, "200"),
            modes=(mode,),
            source="quick_children.c",
        )
        for how, mode in zip(("_exit", "exit", "quick_exit"), SAMPLES, strict=True)
    ),
    *(
        Situation(
            # https://github.com/google/tcmalloc/issues/81, https://github.com/gperftools/gperftools/issues/1275
            name=f"a program restricts its system calls by {how}",
            words=("{program}", how),
            source="restricts.c",
            code=3,
            told="restricts its system calls (seccomp)",
        )
        for how in ("strict", "filter", "seccomp")
    ),
    Situation(
        # prctl(2), PR_SET_TSC: sandboxes and record-and-replay tools
        name="a program forbids itself to read the processor's clock",
        words=("{program}", "clock"),
        source="restricts.c",
        code=3,
        told="forbids to read the processor's clock (PR_SET_TSC)",
    ),
    *(
        # daemons that set all signals, from 0 on; runtimes such as Go's set them by system calls
        Situation(
            name=f"a program sets each signal to its default by the {how}, {'sampled' if told else 'not sampled'}",
            words=("{program}", how),
            source="resets_signals.c",
            modes=modes,
            code=3,
            told=told,
        )
        for how in ("library", "number")
        for modes, told in (
            (("no sample", "cc"), ""),
            (("run", "io", "memory", *SAMPLES), "for itself: sampling stops"),
        )
    ),
    Situation(
        # https://github.com/google/sanitizers/issues/786, https://github.com/VirtualGL/virtualgl/issues/197
        name="AddressSanitizer must be the first library, and takes no block of the loader for a leak",
        words=("{program}",),
        source="loads.c",
        flags=("-fsanitize=address",),
        calls={"memory": {"malloc": 2}},
    ),
    Situation(
        name="ThreadSanitizer has a malloc of its own",
        words=("{program}",),
        source="thread_allocates.c",
        modes=("memory",),
        flags=("-fsanitize=thread",),
        told="malloc is not recorded",
    ),
    *(
        Situation(
            # https://github.com/namhyung/uftrace/pull/1883 (closed descriptors),
            # https://github.com/async-profiler/async-profiler/pull/11 (late signals)
            name=f"a program calls {how} by its number, or as few programs do",
            words=("{program}", how),
            source="raw_calls.c",
            modes=("run", "io", "memory", "sample cpu", "sample wall", "cc"),
            code=6 if how == "exit_group" else 0,
            calls={"cc": {"main": 1}},
        )
        for how in (
            "fork",
            "vfork",
            "clone",
            "execve",
            "exit_group",
            "close_range",
            "sigtimedwait",
            "signalfd",
            "prctl",
            "dlmopen",
        )
    ),
)
