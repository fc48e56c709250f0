# SPDX-License-Identifier: BSD-3-Clause
"""Functions that are selected and left out, when a program starts and while it runs: VT_FUNCTIONS, limits, depth."""

from __future__ import annotations

import ctypes
import re
import signal
import subprocess
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from support.build import compilers
from support.build.builder import Builder
from support.build.run import record, run, unify
from support.build.wrap import seq
from support.damage.failing_calls import inject, injected
from support.oracles.check import check
from support.oracles.selected_functions import left
from support.readers.archive import Trace
from support.tools import call, environment, need

compiler = pytest.mark.parametrize("compiler", compilers.C)


def exact(build: Builder, compiler: str, level: str = "-O2") -> Path:
    return build("exact.c", "exact_lib.c", compiler=compiler, flags=(level,))


def again(where: Path, program: Path) -> None:
    (where / f"{program.name}.trace").rename(where / "whole.trace")


def selects(patterns: str, name: str) -> bool:
    """The rule of VT_FUNCTIONS: the last pattern that matches decides; what none matches is selected if the first one
    leaves out."""
    chosen = patterns.startswith("-")
    for pattern in patterns.split(";"):
        if fnmatchcase(name, pattern.removeprefix("-")):
            chosen = not pattern.startswith("-")
    return chosen


@compiler
@pytest.mark.parametrize(
    "patterns",
    [
        "nest;leaf",
        "-leaf",
        "*;-lib_*;lib_leaf",
        "l?af;ma*",
        "-*",
        "-*;ackermann",
        "main;nest;nothing_of_this_name",
        "*e*;-*d*;-l*",
        "**;-" + "*" * 50 + "f",
        "*" * 3000 + "n" + "*" * 50 + ";-***;" + "?*" * 4 + "*n",
    ],
)
def test_patterns(build: Builder, tmp_path: Path, compiler: str, patterns: str) -> None:
    program = exact(build, compiler)
    whole = record(program, tmp_path)
    again(tmp_path, program)
    wanted = left(whole, lambda name: selects(patterns, name))
    done = run(program, tmp_path, env={"VT_FUNCTIONS": patterns})
    assert done.stdout == run(exact_plain(build, compiler), tmp_path).stdout
    if patterns == "-*":
        assert "wrote" not in done.stderr, "no function is selected, so there is nothing to write"
        return
    unify(tmp_path, "exact")
    trace = check(tmp_path / "exact.trace")
    assert trace.edges() == wanted
    assert sum(wanted.values()) == trace.kinds()["Leave"]


def exact_plain(build: Builder, compiler: str) -> Path:
    return build("exact.c", "exact_lib.c", compiler=compiler, flags=("-O2",), plain=True)


@compiler
@pytest.mark.parametrize(
    ("patterns", "there", "not_there"),
    [
        ("Counted::*", {"Counted::Counted": 9, "Counted::~Counted": 9}, {"main", "by_value"}),
        ("*;-Counted::~*", {"Counted::Counted": 9, "main": 1}, {"Counted::~Counted"}),
        ("*largest*;*Square::area*", {"largest": 7, "Square::area": 5}, {"Both::area", "main"}),
        ("-std::*;-*Once*", {"main": 1, "only": 3}, {"Once::Once", "Once::~Once"}),
    ],
)
def test_names_of_cxx(
    build: Builder, tmp_path: Path, compiler: str, patterns: str, there: dict[str, int], not_there: set[str]
) -> None:
    program = build("exact.cc", compiler=compilers.cxx(compiler), flags=("-O1", "-std=c++17"))
    calls = record(program, tmp_path, env={"VT_FUNCTIONS": patterns}).calls()
    assert {name: calls[name] for name in there} == there
    assert not not_there & calls.keys()


def test_names_of_fortran(build: Builder, tmp_path: Path) -> None:
    program = build("exact.f90", compiler="gfortran", flags=("-O0", f"-J{tmp_path}"))
    calls = record(program, tmp_path, env={"VT_FUNCTIONS": "mesh::*;-mesh::smooth;bare"}).calls()
    wanted = {"mesh::norm_real": 3, "mesh::norm_int": 1, "mesh::each": 2, "mesh::square": 5, "mesh::fib": 109}
    wanted |= {"mesh::part": 3, "mesh::area": 7, "mesh::finish": 3, "bare": 2}
    assert {name: calls[name] for name in wanted} == wanted
    assert not {"mesh::smooth", "inner", "add_to", "scoped"} & calls.keys()


STARS = [("*", True), ("-nest", True), ("-*", False), ("nest;-*;*", True), ("*" * 40, True), ("-**", False)]


@compiler
@pytest.mark.parametrize(("patterns", "recorded"), STARS)
def test_functions_without_a_name(build: Builder, tmp_path: Path, compiler: str, patterns: str, recorded: bool) -> None:
    """A stripped program: * selects its functions, and -* leaves them out."""
    compilers.need_sleds()
    program = tmp_path / "exact"
    call([need("strip"), "-o", program, exact(build, compiler)], tmp_path)
    whole = record(program, tmp_path).kinds()
    again(tmp_path, program)
    done = run(program, tmp_path, env={"VT_FUNCTIONS": patterns})
    assert "no function" not in done.stderr
    if recorded:
        unify(tmp_path, "exact")
        assert check(tmp_path / "exact.trace").kinds() == whole
    else:
        assert "wrote" not in done.stderr or "wrote 0 records" in done.stderr


@pytest.mark.parametrize(
    ("patterns", "told"), [("nets", True), ("nets;-leaf", True), ("nets;leaf", False), ("-nets", False), ("-*", False)]
)
def test_patterns_without_a_match(build: Builder, tmp_path: Path, patterns: str, told: bool) -> None:
    """One line says that no function matches, since a mistyped name records nothing."""
    done = run(exact(build, "gcc"), tmp_path, env={"VT_FUNCTIONS": patterns})
    assert done.stderr.count("no function of the program matches VT_FUNCTIONS") == told


LONG = "a" * 4000
"""The name of a function for which a matcher that goes back to each star never ends."""


@pytest.mark.parametrize(
    ("patterns", "matches"), [("*a" * 2000 + "*b", False), ("*a" * 2000 + "*", True), ("a*" * 1000 + "?" * 1000, True)]
)
def test_hostile_patterns(tmp_path: Path, patterns: str, matches: bool) -> None:
    (tmp_path / "long.c").write_text(f"void {LONG}(void) {{ }}\nint main(void) {{ {LONG}(); return 0; }}\n")
    seq(tmp_path, "-O0", "long.c", "-o", "long")
    done = call(["./long"], tmp_path, {"VT_FUNCTIONS": patterns}, timeout=20)
    assert ("no function of the program matches" in done.stderr) != matches
    if matches:
        unify(tmp_path, "long")
        assert check(tmp_path / "long.trace").calls() == {LONG: 1}


@compiler
def test_plug_ins(build: Builder, tmp_path: Path, compiler: str) -> None:
    """A library gets its selection whenever it is loaded."""
    shared = ("-O2", "-fPIC", "-shared")
    library = build("exact_lib.c", compiler=compiler, flags=shared, output="libexact.so")
    other = build("plugin.c", compiler=compiler, flags=(*shared, "-DNAME=alpha"), output="alpha.so")
    program = build("loader.c", compiler=compiler, flags=("-O2", "-ldl"))
    args = (library, other, library, library)
    trace = record(program, tmp_path, *args, env={"VT_FUNCTIONS": "main;lib_step;alpha;between"})
    assert trace.calls() == {"main": 1, "lib_step": 36, "alpha": 6, "between": 4}


@compiler
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_depth(build: Builder, tmp_path: Path, compiler: str, depth: int) -> None:
    program = exact(build, compiler)
    whole = record(program, tmp_path)
    again(tmp_path, program)
    trace = record(program, tmp_path, env={"VT_MAX_STACK_DEPTH": str(depth)})
    assert trace.edges() == left(whole, lambda name: True, depth=depth)


@compiler
@pytest.mark.parametrize(
    ("rules", "limits"),
    [
        ("leaf -- 5\nackermann -- 30\nlib_leaf -- 0\n", {"leaf": 5, "ackermann": 30, "lib_leaf": 0}),
        ("nest -- 3\nmain -- 0\n", {"nest": 3, "main": 0}),
        ("even -- 2\nodd -- 1\n", {"even": 2, "odd": 1}),
    ],
)
@pytest.mark.parametrize("patterns", [None, "*;-helper"])
def test_limits(
    build: Builder, tmp_path: Path, compiler: str, rules: str, limits: dict[str, int], patterns: str | None
) -> None:
    program = exact(build, compiler)
    whole = record(program, tmp_path)
    again(tmp_path, program)
    (tmp_path / "rules").write_text(rules)
    env = {"VT_FILTER_SPEC": "rules"} | ({"VT_FUNCTIONS": patterns} if patterns else {})
    trace = record(program, tmp_path, env=env)
    assert trace.edges() == left(whole, lambda name: selects(patterns or "*", name), limits)


@compiler
def test_threads_share_a_limit(build: Builder, tmp_path: Path, compiler: str) -> None:
    """The limit is reached while eight threads call the function; it is switched off in all of them."""
    program = build("threads.c", compiler=compiler, flags=("-O2", "-pthread"))
    (tmp_path / "rules").write_text("work -- 20000\n")
    trace = record(program, tmp_path, "together", "8", "5000", env={"VT_FILTER_SPEC": "rules"})
    assert trace.calls()["work"] == 20000
    assert trace.calls()["body"] == 8


# ---- While the program runs ----


def switched(build: Builder, compiler: str) -> tuple[Path, Path]:
    library = build("exact_lib.c", compiler=compiler, flags=("-O2", "-fPIC", "-shared"), output="libexact.so")
    return build("switched.c", compiler=compiler, flags=("-O2", "-DVTRACE", "-pthread", "-ldl")), library


@compiler
def test_each_switch_holds_at_once(build: Builder, tmp_path: Path, compiler: str) -> None:
    program, library = switched(build, compiler)
    trace = record(program, tmp_path, "301", "3", "2000", library)
    calls = trace.calls()
    assert (calls["main"], calls["own"], calls["kept"]) == (1, 151, 150)
    assert trace.edges()["main", "own"] == 151


RING = {"VT_MODE": "RING", "VT_BUFFER_SIZE": "256K", "VT_THREAD_BUFFER_SIZE": "256K", "VT_VERBOSE": "0"}
SWITCHES = pytest.mark.parametrize("switches", ["500", pytest.param("10000", marks=pytest.mark.full)])


@compiler
@SWITCHES
@pytest.mark.parametrize("beside", [(), ("library",), ("library", "forks")], ids=" ".join)
def test_threads_run_while_functions_are_switched(
    build: Builder, tmp_path: Path, compiler: str, beside: tuple[str, ...], switches: str
) -> None:
    """Results are right, nothing crashes, and the kept events of each thread form a complete trace."""
    program, library = switched(build, compiler)
    more = {"library": library, "forks": "forks"}
    done = run(program, tmp_path, switches, "3", "0", *(more[word] for word in beside), env=RING)
    assert done.stdout == "right\n", str(done)
    if "forks" not in beside:  # else there are a thousand processes
        unify(tmp_path, "switched")
        trace = check(tmp_path / "switched.trace", complete=False)
        assert len(trace.locations) >= 4


def reloads(build: Builder, compiler: str) -> tuple[Path, list[Path]]:
    shared = ("-O2", "-gdwarf-4", "-fPIC", "-shared")
    library = build("exact_lib.c", compiler=compiler, flags=shared, output="libexact.so")
    other = build("plugin.c", compiler=compiler, flags=(*shared, "-DNAME=alpha"), output="alpha.so")
    flags = ("-O2", "-gdwarf-4", "-DVTRACE", "-pthread", "-ldl")
    return build("reloads.c", compiler=compiler, flags=flags), [library, other]


@compiler
@SWITCHES
def test_libraries_come_and_go_while_functions_are_switched(
    build: Builder, tmp_path: Path, compiler: str, switches: str
) -> None:
    """Two libraries take turns, mostly at the same addresses. A function that is always selected is always recorded."""
    program, libraries = reloads(build, compiler)
    loaded = int(run(program, tmp_path, switches, *libraries).stdout)
    unify(tmp_path, "reloads")
    trace = check(tmp_path / "reloads.trace")
    calls, edges = trace.calls(), trace.edges()
    wanted = {"main": 1, "between": loaded, "entry": 3 * loaded, "lib_leaf": 12 * loaded}
    assert {name: calls[name] for name in wanted} == wanted
    assert 0 < calls["lib_step"] + calls["alpha"] < 9 * loaded
    callers = {name: {above for above, below in edges if below == name} for name in ("entry", "alpha", "lib_leaf")}
    assert callers["entry"] == {"main"}
    assert callers["alpha"] <= {"entry", "main"}  # the second call is a tail call
    assert callers["lib_leaf"] <= {"entry", "lib_step"}
    assert {above for above, below in edges if below == "lib_step"} <= {"entry"}


@compiler
def test_no_use_of_an_unloaded_library(build: Builder, tmp_path: Path, compiler: str) -> None:
    """valgrind runs one thread at a time, so that a library is often unloaded in the middle of a switch."""
    program, libraries = reloads(build, compiler)
    tool = [need("valgrind"), "-q", "--error-exitcode=9", "--smc-check=all"]
    call([*tool, program, "60", *libraries], tmp_path, {"VT_BUFFER_SIZE": "4M"})


@compiler
def test_many_threads_and_a_small_buffer(build: Builder, tmp_path: Path, compiler: str) -> None:
    """Buffers are written while functions are switched."""
    program, _ = switched(build, compiler)
    env = {"VT_BUFFER_SIZE": "100K", "VT_THREAD_BUFFER_SIZE": "100K", "VT_MAX_SIZE": "20M", "VT_VERBOSE": "0"}
    assert run(program, tmp_path, "200", "16", "0", env=env).stdout == "right\n"
    unify(tmp_path, "switched", check=False)


GDB = """
break {}
ignore 1 1000
run
info breakpoints
"""


@pytest.mark.full
@pytest.mark.parametrize("place", ["*leaf+6", "*leaf"])
@pytest.mark.parametrize("patterns", ["*", "-leaf", "leaf;main"])
def test_gdb_beside(build: Builder, tmp_path: Path, patterns: str, place: str) -> None:
    """Breakpoints after the first sled of a function, and on its first byte, where vtrace finds no sled then: such a
    function may be recorded though it is left out."""
    program = exact(build, "gcc", "-O1")
    whole = record(program, tmp_path)
    again(tmp_path, program)
    (tmp_path / "commands").write_text(GDB.format(place))
    words = [need("gdb"), "-nx", "-batch", "-x", "commands", program]
    done = call(words, tmp_path, {"VT_FUNCTIONS": patterns, "LC_ALL": "C"}, timeout=120)
    assert "exited normally" in done.stdout, str(done)
    assert "already hit 24 times" in done.stdout, str(done)
    unify(tmp_path, "exact")
    found = check(tmp_path / "exact.trace").edges()
    wanted = left(whole, lambda name: selects(patterns, name))
    if place == "*leaf":
        found, wanted = (Counter({e: n for e, n in edges.items() if "leaf" not in e}) for edges in (found, wanted))
    assert found == wanted


# ---- Where code cannot be changed ----

REFUSED = "does not let programs change their own code"


def compare_refused(
    done_stdout: str, done_stderr: str, where: Path, program: Path, whole: Trace, patterns: str
) -> None:
    assert "1 9\n" in done_stdout
    lines = [line for line in done_stderr.splitlines() if REFUSED in line]
    assert len(lines) == 1, done_stderr
    unify(where, program.name)
    assert check(where / f"{program.name}.trace").edges() == left(whole, lambda name: selects(patterns, name))


def test_mprotect_is_refused(build: Builder, tmp_path: Path) -> None:
    """Every function stays a call of its hook, which leaves out unselected functions; one line says so."""
    compilers.need_sleds()
    program, patterns = exact(build, "gcc"), "*;-leaf;-lib_step"
    whole = record(program, tmp_path)
    again(tmp_path, program)
    env = {"VT_FUNCTIONS": patterns}
    call([need("strace"), "-f", "-o", "calls", "-e", "trace=mprotect", program], tmp_path, env)
    calls = [line for line in (tmp_path / "calls").read_text().splitlines() if "mprotect(" in line]
    first = next(i for i, line in enumerate(calls, 1) if re.search(r"PROT_WRITE\|PROT_EXEC", line))
    log = tmp_path / "injected"
    done = call([*inject(f"mprotect:error=EACCES:when={first}+", log), program], tmp_path, env)
    assert injected(log)
    compare_refused(done.stdout, done.stderr, tmp_path, program, whole, patterns)


@pytest.mark.parametrize("blocked", [(), (signal.SIGWINCH, signal.SIGUSR1)], ids=["none", "two"])
def test_a_start_with_blocked_signals(build: Builder, tmp_path: Path, blocked: tuple[signal.Signals, ...]) -> None:
    """perf and some launchers start programs with blocked signals: the code is changed nevertheless."""
    compilers.need_sleds()
    program = exact(build, "gcc")
    words = [need("strace"), "-f", "-o", "calls", "-e", "trace=mprotect", program]
    subprocess.run(
        words,
        cwd=tmp_path,
        env=environment({"VT_FUNCTIONS": "leaf"}),
        check=True,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, blocked),
    )
    unify(tmp_path, program.name)
    assert set(check(tmp_path / f"{program.name}.trace").calls()) == {"leaf"}
    assert "PROT_WRITE|PROT_EXEC" in (tmp_path / "calls").read_text()


PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN = 65, 1


def test_kernel_refuses_code_that_is_written(build: Builder, tmp_path: Path) -> None:
    """As systemd's MemoryDenyWriteExecute= does, which applies to all mappings from the program's start."""
    compilers.need_sleds()
    libc = ctypes.CDLL(None, use_errno=True)
    check_it = "import ctypes; raise SystemExit(ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0)"
    if subprocess.run([need("python3"), "-c", check_it]).returncode:
        pytest.skip("the kernel is older than 6.3, which brought PR_SET_MDWE")
    program, patterns = exact(build, "gcc"), "nest;leaf;main"
    whole = record(program, tmp_path)
    again(tmp_path, program)
    done = subprocess.run(
        [program], cwd=tmp_path, env=environment({"VT_FUNCTIONS": patterns}), capture_output=True, text=True,
        preexec_fn=lambda: libc.prctl(PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN, 0, 0, 0), check=True,
    )  # fmt: skip
    compare_refused(done.stdout, done.stderr, tmp_path, program, whole, patterns)
