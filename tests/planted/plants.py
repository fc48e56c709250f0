# SPDX-License-Identifier: BSD-3-Clause
"""The table of planted programs: what makes each one slow, and where; and healthy ones, which nothing makes slow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

RUN = {"run": (), "sample": ("--sample",), "io": ("--io",), "python": ("--python",), "locks": ("--locks",),
       "memory": ("--memory",)}  # fmt: skip
"""Modes of vtrace run and their options. The other modes begin with "cc": vtrace-cc -O2 compiles the program."""
VARIABLES = {"cc locks": {"VT_PTHREAD": "locks"}, "cc io": {"VT_IOTRACE": "yes"}}
"""Settings of modes."""
KNOWS_FUNCTIONS = ("cc", "cc locks", "cc io", "sample", "python", "memory")


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What a finding must tell. kind: of the finding, or several. function: the code that takes the time, where the
    mode knows functions. culprits: ranks; None: not compared. thread: its name. words: of the sentence, such as the
    call that waits. iteration: -1: not compared. loss: s of all ranks that the cause costs; 0: not compared.
    to_record: the option without which no finding can tell the cause; then a line must name the option."""

    kind: str = ""
    function: str = ""
    culprits: tuple[int, ...] | None = None
    thread: str = ""
    words: str = ""
    iteration: int = -1
    loss: float = 0.0
    to_record: str = ""


@dataclass(frozen=True, kw_only=True)
class Plant:
    """A property of a program in its modes. cause: None for a healthy program. ranks, mpi: 0 and "" without MPI.
    threads: of OpenMP, 0 without."""

    name: str
    cause: Cause | None
    modes: tuple[str, ...]
    words: tuple[str, ...]
    ranks: int = 0
    computes: bool = False
    """Works by processor time; else the program sleeps."""
    program: str = "mpi_plants.c"
    mpi: str = ""
    threads: int = 0


STEPS, LONG = 20, 90
"""Steps of most programs; of properties that only long runs show."""


def _of_ranks(
    n: int,
    *,
    computes: bool = False,
    mpi: str = "mpich",
    program: str = "mpi_plants.c",
    modes: tuple[str, ...] = ("run", "cc"),
    names: tuple[str, ...] = (),
    ms: float = 20,
) -> Iterator[Plant]:
    """The properties of mpi_plants.* on n ranks. names: of some, () for all. ms: the longer work of a step."""
    suffix = "".join([
        " computing" * computes, f" {mpi}" * (mpi == "openmpi"), f" {ms:g} ms" * (ms != 20),
        " Fortran" * program.endswith(".f90"), " Python" * program.endswith(".py"),
    ])  # fmt: skip

    def plant(name: str, cause: Cause | None, *, steps: int = STEPS, modes: tuple[str, ...] = modes) -> Plant:
        return Plant(
            name=f"{name} {n}{suffix}",
            words=(name, str(steps), f"{ms:g}"),
            cause=cause,
            ranks=n,
            computes=computes,
            modes=(*modes, "sample") if computes else modes,
            program=program,
            mpi=mpi,
        )

    last, others, pairs = n - 1, n - 1, n // 2
    even, odd, each = tuple(range(0, n, 2)), tuple(range(1, n, 2)), 1e-3 * ms * STEPS
    longer = partial(Cause, kind="imbalance")
    slow = partial(Cause, kind="slow_iterations", function="rebuild_tree", culprits=(1,))
    found = [
        plant("late_sender", longer(function="prepare", culprits=even, words="MPI_Recv", loss=each * pairs)),
        plant("late_receiver", longer(function="prepare", culprits=odd, words="MPI_Ssend", loss=each * pairs)),
        plant("late_broadcast", longer(function="prepare", culprits=(0,), words="MPI_Bcast", loss=each * others)),
        plant("late_scatter", longer(function="prepare", culprits=(0,), words="MPI_Scatter", loss=each * others)),
        plant("early_reduce", longer(function="prepare", words="MPI_Reduce")),
        plant("early_gather", longer(function="prepare", words="MPI_Gather")),
        plant("at_barrier", longer(function="chemistry", culprits=(last,), words="MPI_Barrier", loss=each * others)),
        plant("at_nxn", longer(function="chemistry", words="MPI_Allreduce", loss=0.75 * each * n)),
        plant(
            "straggler", longer(function="chemistry", culprits=(n // 2,), loss=3e-4 * ms * LONG * others), steps=LONG
        ),
        plant("main_only", longer(function="main_only", culprits=(last,), loss=0.4 * each * others)),
        plant("slow_neighbour", longer(function="chemistry", culprits=(1,), words="MPI_Waitall")),
        plant("halo_exchange", longer(function="chemistry", culprits=(1,), words="MPI_Sendrecv", loss=each * others)),
        plant("half_idle", longer(function="chemistry", culprits=tuple(range(pairs)), loss=each * (n - pairs))),
        plant("wrong_order", Cause(kind="imbalance serialisation mpi_wait", words="order")),
        plant("periodic", slow(words="every 17th iteration"), steps=LONG),
        plant("single_slow", slow(iteration=10)),
        plant("drift", Cause(kind="drift", function="compute")),
        plant("pipeline", Cause(kind="serialisation", function="chemistry")),
        plant("master_worker", Cause(kind="imbalance serialisation", function="prepare", culprits=(0,))),
        plant("small_messages", Cause(kind="transfer", words="MPI_")),
        plant("needless_barriers", Cause(kind="transfer", words="MPI_Barrier")),
        plant("uneven_volume", Cause(kind="transfer serialisation imbalance", words="MPI_Send")),
        plant("late_reduce", longer(function="prepare", culprits=(last,), words="MPI_")),
        plant("probed", longer(function="chemistry", culprits=(last,), words="MPI_", loss=each * others)),
        plant("polled", longer(function="prepare", culprits=even, words="MPI_Test", loss=each * pairs)),
        plant("polled_with_naps", longer(function="prepare", culprits=even, words="MPI_Test", loss=each * pairs)),
        plant("slowest_first", longer(function="prepare", culprits=(1,), words="order")),
        plant("ordered_output", Cause(kind="serialisation slow_iterations", function="write_block")),
        plant("inlined", longer(culprits=(1,), words="assemble", loss=0.6 * each * others), modes=modes[:1]),
        plant("slower", Cause(kind="drift", function="compute", words="from iteration"), steps=2 * STEPS),
        plant("healthy_phases", None, steps=2 * STEPS),
        plant("healthy_solver", None),
        *([plant("healthy_master", None)] if n > 2 else []),
        plant("healthy", None),
        plant("healthy_ring", None),
        plant("healthy_collectives", None),
        plant("healthy_messages", None),
    ]
    return (one for one in found if not names or one.words[0] in names)


def _of_openmp(n: int, *, computes: bool = False, ms: float = 20, names: tuple[str, ...] = ()) -> Iterator[Plant]:
    """The properties of omp_plants.c on n threads. names: of some, () for all."""
    each, base = 1e-3 * ms * STEPS, 0.010 * STEPS
    uneven = partial(Cause, kind="omp_imbalance", function="chemistry")
    lock = Cause(kind="lock", function="critical", loss=each * n * (n - 1))
    causes = {
        "loop": uneven(thread=f"{n - 1}", loss=each * (n - 1)),
        "sections": uneven(function="", loss=each * (n - 1) + base * max(0, n - 2)),
        "tasks": uneven(function="", loss=each * (n - 1)),
        "serial": Cause(kind="omp_serial", function="setup", loss=each * (n - 1)),
        "single": Cause(kind="omp_imbalance", function="setup", loss=each * (n - 1)),
        "critical": lock,
        "one_lock": Cause(kind="lock", words=" (omp_plants.c:", loss=each * n * (n - 1)),
        "idle": uneven(loss=each * (n - n // 2)),
        "healthy_loop": None,
        "healthy_tasks": None,
        "healthy_lock": None,
        "healthy_nested": None,
    }
    for name in names or causes:
        yield Plant(
            name=f"{name} {n}{' computing' * computes}{f' {ms:g} ms' * (ms != 20)}",
            words=(name, str(STEPS), f"{ms:g}"),
            cause=causes[name],
            threads=n,
            computes=computes,
            modes=("run", "cc", "sample") if computes else ("run", "cc"),
            program="omp_plants.c",
        )


def _of_hybrids(n: int) -> Iterator[Plant]:
    """The properties of hybrid_plants.c on n ranks with two threads each."""
    each = 1e-3 * 20 * STEPS
    late = partial(Cause, function="chemistry")
    causes = {
        "thread_of_one_rank": late(kind="omp_imbalance", culprits=(1,), thread="OMP thread 1", loss=each * n),
        "thread_of_each_rank": late(kind="omp_imbalance", loss=each * n),
        "serial_of_one_rank": Cause(kind="imbalance omp_serial", function="assemble", words="rank 1"),
        "healthy_hybrid": None,
    }
    for name, cause in causes.items():
        yield Plant(
            name=f"{name} {n}", words=(name, str(STEPS)), cause=cause, modes=("run", "cc"), ranks=n, mpi="mpich",
            program="hybrid_plants.c", threads=2,
        )  # fmt: skip


def _of_threads(n: int, *, computes: bool = False, ms: float = 10) -> Iterator[Plant]:
    """The properties of thread_plants.c and pool_plants.cpp on n threads."""
    each = 1e-3 * ms * STEPS
    uneven = Cause(kind="thread_imbalance", function="chemistry", loss=each * (n - 1))
    met = Cause(kind="thread_imbalance", function="chemistry", words="pthread_barrier_wait", loss=each * (n - 1))
    plain, locks = ("run", "cc", *(("sample",) * computes)), ("locks", "cc locks")
    unknown = Cause(to_record="vtrace run --locks")
    starved = Cause(kind="condition", words="pthread_cond_wait")
    pool = "pool_plants.cpp"
    rows: list[tuple[str, Cause | None, tuple[str, ...], str]] = [
        ("uneven_threads", uneven, plain, ""),
        ("at_thread_barrier", met, locks, ""),
        ("at_thread_barrier", unknown, ("run", "cc"), ""),
        ("healthy_threads", None, (*plain, *locks), ""),
        ("healthy_thread_barrier", None, plain, ""),
        ("healthy_mutex", None, (*plain, *locks), ""),
        ("starved_pool", starved, locks, ""),
        ("starved_pool", unknown, ("run", "cc"), ""),
        ("starved_pool", starved, locks, pool),
        ("starved_semaphore", Cause(kind="condition", words="sem_post"), locks, ""),
        ("starved_semaphore", unknown, ("run", "cc"), ""),
        ("long_task", Cause(kind="thread_imbalance", function="chemistry", loss=0.010 * ms * (n - 1)), plain, pool),
        ("healthy_pool", None, (*plain, *locks), pool),
        ("healthy_producer", None, ("cc", "cc locks"), pool),
    ]
    if computes:
        rows = [row for row in rows if row[1] is None or row[0] == "uneven_threads"]
    if n == 2 and not computes:
        rows.append(("held_lock", Cause(kind="lock", words="hold_lock", loss=each), locks, ""))
    if n > 2:
        rows += [
            ("one_mutex", Cause(kind="lock", words="pthread_mutex_lock"), locks, ""),
            ("one_holder", Cause(kind="lock", words="pthread_mutex_lock"), locks, ""),
            ("one_mutex", unknown, ("run", "cc"), ""),
            ("one_result", Cause(kind="lock", words="pthread_mutex_lock"), locks, pool),
        ]
    for name, cause, modes, program in rows:
        yield Plant(
            name=f"{name} {n}{' C++' * bool(program)}{' computing' * computes}{f' {ms:g} ms' * (ms != 10)}",
            words=(name, str(STEPS), str(n), f"{ms:g}"),
            cause=cause,
            computes=computes,
            modes=modes,
            program=program or "thread_plants.c",
        )


def _of_io(n: int, *, mpi: str = "mpich", ms: float = 20) -> Iterator[Plant]:
    """The properties of io_plants.c on n ranks."""
    each = 1e-3 * ms * STEPS
    others = each * (n - 1)
    one = partial(Cause, culprits=(0,), loss=others)
    written = "io", "cc io"
    rows: list[tuple[str, Cause | None, tuple[str, ...]]] = [
        ("io_by_one", one(kind="io_by_few_ranks", words="write"), written),
        ("io_by_one", one(kind="imbalance", function="store"), ("run", "cc")),
        ("uneven_io", one(kind="io_by_few_ranks imbalance", words="write", culprits=(n - 1,)), written),
        ("uneven_io", one(kind="imbalance", function="store", culprits=(n - 1,)), ("run", "cc")),
        ("long_io", Cause(kind="io_time", words="write", loss=each * n), written),
        ("format_by_one", one(kind="imbalance", function="format_text"), ("run", "cc", "io")),
        *([("small_writes", Cause(kind="io_time", words="write"), written)] * (n == 2)),
        ("wait_at_close", one(kind="imbalance", function="format_text", words="MPI_File"), ("run", "cc", "io")),
        ("healthy_io", None, ("run", "cc", "io")),
    ]
    if mpi == "openmpi":  # which takes longer to open a file than the plant to write it
        rows = [row for row in rows if row[0] != "wait_at_close"]
    for name, cause, modes in rows:
        yield Plant(
            name=f"{name} {n}{f' {mpi}' * (mpi == 'openmpi')}{f' {ms:g} ms' * (ms != 20)}",
            words=(name, str(STEPS), f"{ms:g}"),
            cause=cause,
            ranks=n,
            modes=modes,
            program="io_plants.c",
            mpi=mpi,
        )


def _of_sleep(n: int = 0) -> Iterator[Plant]:
    """The properties of sleep_plants.c: alone, or on n ranks."""
    each = 0.020 * STEPS
    alone = partial(Cause, kind="blocked", loss=each)
    one = partial(Cause, kind="imbalance", loss=each * (n - 1))
    rows: list[tuple[str, Cause | None]] = [
        ("sleeper", alone(function="rest", words="nanosleep, called by rest")),
        ("reader", alone(function="wait_for_input", words="poll, called by wait_for_input")),
        ("in_futex", alone(function="wait_for_nobody", words="futex until a time, called by wait_for_nobody")),
        ("healthy_serial", None),
        ("healthy_main", None),
    ]
    if n:
        rows = [
            ("one_sleeps", one(function="rest", culprits=(1,), words="rest (")),
            ("one_polls", one(function="wait_for_input", culprits=(0,), words="wait_for_input (")),
            ("healthy_serial", None),
        ]
    for name, cause in rows:
        yield Plant(
            name=f"{name}{f' {n}' * bool(n)} asleep",
            words=(name, str(STEPS), "20"),
            cause=cause,
            ranks=n,
            mpi="mpich" if n else "",
            modes=("run", "cc"),
            program="sleep_plants.c",
        )


def _of_memory(n: int = 0) -> Iterator[Plant]:
    """The properties of memory_plants.c: alone, or on n ranks."""
    storm = partial(Cause, kind="page_faults", words="page faults", culprits=tuple(range(n)) if n else None)
    rows: list[tuple[str, Cause | None, tuple[str, ...]]] = [
        ("page_storm", storm(words="in write_pages"), ("run", "sample") if n == 0 else ()),
        ("page_storm", storm(), ("run",) if n else ("cc",)),
        ("page_storm", storm(function="page_storm"), ("memory",)),
        ("healthy_reuse", None, ("run", "cc", "memory") if n == 0 else ()),
        ("healthy_blocks", None, ("run", "cc") if n == 0 else ()),
        ("healthy_first_use", None, ("run", "cc") if n == 0 else ()),
    ]
    for name, cause, modes in rows:
        yield Plant(
            name=f"{name}{f' {n}' * bool(n)} memory",
            words=(name, str(STEPS), "48"),
            cause=cause,
            ranks=n,
            mpi="mpich" if n else "",
            modes=modes,
            program="memory_plants.c",
        )


def _of_teams(n: int, *, computes: bool = False) -> Iterator[Plant]:
    """The properties of team_plants.py with n processes that work. One that only sleeps is not in a plain run."""
    tasks, ms = 5, 20
    uneven = Cause(kind="imbalance", function="work", words="work (", loss=3e-3 * ms * tasks * (n - 1))
    for name in ("pool", "executor", "processes", "forks", "healthy_pool", "healthy_executor", "pipeline"):
        healthy = name.startswith(("healthy", "pipeline"))
        yield Plant(
            name=f"{name if healthy else f'uneven_{name}'} {n} team{' computing' * computes}",
            words=(name if healthy else f"uneven_{name}", str(n), str(10 * tasks if healthy else tasks), str(ms)),
            cause=None if healthy else uneven,
            computes=computes,
            modes=("run", "python") if computes else ("python",),
            program="team_plants.py",
        )


def _of_inlined() -> Iterator[Plant]:
    """The properties of inlined_plants.c and lock_plants.py. The words are functions that the compiler inlines, which
    the calls that sleep have shown."""
    plain, locks, n, steps = ("run", "cc"), ("locks", "cc locks"), 4, 12
    uneven, waits = partial(Cause, kind="omp_imbalance"), partial(Cause, kind="condition")
    python = "lock_plants.py"
    rows: list[tuple[str, Cause | None, tuple[str, ...], str]] = [
        ("third_section", uneven(words="physics", loss=steps * (3 * 0.045 - 0.030)), plain, "OpenMP"),
        ("input_in_single", uneven(words="read_input", loss=steps * 2 * 0.025 * (n - 1)), plain, "OpenMP"),
        ("one_long_block", uneven(words="block"), plain, "OpenMP"),
        ("too_few_tiles", uneven(words="tile", loss=steps * 0.040 * n / 2), plain, "OpenMP"),
        ("merge_in_critical", Cause(kind="lock", words="critical"), plain, "OpenMP"),
        ("healthy_single", None, plain, "OpenMP"),
        ("log_convoy", Cause(kind="lock", words="log_line"), locks, ""),
        ("tries", Cause(kind="lock", words="pthread_mutex_trylock"), locks, ""),
        ("slow_consumer", waits(words="store"), locks, ""),
        ("healthy_log", None, (*plain, *locks), ""),
        ("slow_server", Cause(kind="blocked", words="lookup"), ("cc",), ""),
        ("held_in_save", Cause(kind="lock", words="Lock.acquire in save"), ("locks",), python),
        ("slow_index", waits(words="after index"), ("locks",), python),
        ("healthy_saves", None, ("run", "locks"), python),
    ]
    for name, cause, modes, how in rows:
        yield Plant(
            name=f"{name} inlined{' Python' * (how == python)}",
            words=(name,),
            cause=cause,
            threads=n if how == "OpenMP" else 0,
            modes=modes,
            program=python if how == python else "inlined_plants.c",
        )


def _combined() -> Iterator[Plant]:
    """The properties of combined_plants.* and *_of_rank.cpp: threads, pools and helpers in MPI programs. The words
    are functions, which the compiler inlines."""
    steps, run, held = 20, ("run",), ("locks", "cc locks")
    longer, threads = partial(Cause, kind="imbalance"), partial(Cause, kind="omp_imbalance")
    in_c, in_python = "combined_plants.c", "combined_plants.py"
    cells = partial(longer, culprits=(1,), loss=0.010 * steps)
    packs = partial(threads, culprits=(0,), loss=3 * 0.010 * steps)
    tasks = threads(words="idle (", loss=0.026 * steps * 2)
    master = partial(threads, loss=2 * 0.012 * steps * 2)
    late_job = longer(words="which take longer in convolve", culprits=(0,), loss=0.020 * steps)
    rows: list[tuple[str, int, Cause | None, tuple[str, ...], str]] = [
        ("called_by_pointer", 4, longer(words="react", culprits=(1,), loss=0.015 * steps * 3), (*run, "cc"), in_c),
        ("two_causes", 4, longer(words="called by forces", culprits=(0,), loss=0.020 * steps * 3), run, in_c),
        ("uneven_cells", 2, cells(words="called by cell"), run, in_c),
        ("uneven_cells", 2, cells(words="idle ("), ("cc",), in_c),  # vtrace-cc does not inline idle, and has no samples
        ("threads_call_mpi", 2, packs(words="called by pack"), run, in_c),
        ("threads_call_mpi", 2, packs(words="idle (", thread="OMP thread 1"), ("cc",), in_c),
        ("in_taskwait", 2, tasks, (*run, "cc"), in_c),
        ("nested_teams", 2, threads(words="!$omp parallel"), (*run, "cc"), in_c),
        ("master_packs", 2, master(words="called by pack_halo"), run, in_c),
        ("master_packs", 2, master(words="idle ("), ("cc",), in_c),
        ("held_for_statistics", 2, Cause(kind="lock", words="in update_statistics"), held, in_c),
        ("healthy_cells", 2, None, (*run, "cc"), in_c),
        ("late_job", 2, late_job, (*run, "cc"), "pool_of_rank.cpp"),
        ("starts_late", 2, longer(words="longer in relax(double) (", culprits=(1,)), (*run, "cc"), "async_of_rank.cpp"),
        ("healthy_async", 2, None, (*run, "cc"), "async_of_rank.cpp"),
        ("one_loads", 4, Cause(kind="imbalance slow_iterations", words="load_frame", culprits=(0,)), run, in_python),
        ("late_item", 2, longer(words="transform", culprits=(1,), loss=0.030 * 15), run, in_python),
    ]
    for name, ranks, cause, modes, program in rows:
        yield Plant(
            name=f"{name} combined", words=(name,), cause=cause, modes=modes, ranks=ranks, program=program,
            mpi="mpich-wheel" if program.endswith(".py") else "mpich", threads=3 if program == in_c else 0,
        )  # fmt: skip


def _static() -> Iterator[Plant]:
    """The properties of static_plants.cpp, whose functions are inlined into main and have no linkage names. The words
    of late_put have the line of the fence in put_halo."""
    longer = partial(Cause, kind="imbalance")
    causes = {
        "uneven_slopes": longer(culprits=(1,), words="longer in limit_slopes (", loss=0.2),
        "late_put": longer(culprits=(0,), words="(static_plants.cpp:32)", loss=0.2),
        "one_renders": longer(culprits=(0,), words="longer in render (", loss=0.24),
    }
    for name, cause in causes.items():
        yield Plant(
            name=f"{name} static", words=(name,), cause=cause, modes=("run",) if "renders" in name else ("run", "cc"),
            ranks=2, mpi="mpich", program="static_plants.cpp",
        )  # fmt: skip


def _of_processes() -> Iterator[Plant]:
    """The properties of process_plants.c."""
    late = Cause(kind="imbalance", function="convolve", words="longer in convolve (", loss=0.4)
    for name, cause in {"answers": late, "healthy_answers": None, "healthy_commands": None}.items():
        yield Plant(name=f"{name} processes", words=(name,), cause=cause, modes=("run",), program="process_plants.c")


_SHORT = ("at_barrier", "at_nxn", "healthy", "late_broadcast", "late_sender", "straggler", "single_slow")
"""Properties that programs in all languages have."""
_FEW = (*_SHORT, "late_receiver", "early_reduce", "main_only", "periodic", "drift", "pipeline")
PLANTS: tuple[Plant, ...] = (
    *_of_ranks(2, names=(*_FEW, "small_messages", "needless_barriers", "uneven_volume")),
    *_of_ranks(4),
    *_of_ranks(8, names=(*_SHORT, "halo_exchange")),
    *_of_ranks(16, names=_SHORT[:4]),
    *_of_ranks(4, ms=5, names=("at_barrier", "at_nxn", "late_broadcast", "late_sender")),
    *_of_ranks(
        4,
        mpi="openmpi",
        names=(*_SHORT, "late_receiver", "wrong_order", "pipeline", "periodic", "halo_exchange", "probed", "polled"),
    ),
    *_of_ranks(4, program="mpi_plants.f90", names=_SHORT),
    *_of_ranks(4, program="mpi_plants.py", mpi="mpich-wheel", modes=("run", "python"), names=(*_SHORT, "probed")),
    *_of_ranks(2, computes=True, names=_FEW),
    *_of_ranks(8, computes=True, names=("at_barrier", "at_nxn", "healthy")),  # more than cores
    *_of_openmp(2),
    *_of_openmp(4),
    *_of_openmp(2, computes=True, names=("loop", "serial", "critical", "healthy_loop")),
    *_of_hybrids(2),
    *_of_hybrids(4),
    *_of_threads(2),
    *_of_threads(4),
    *_of_threads(2, computes=True),
    *_of_io(2),
    *_of_io(4),
    *_of_io(2, mpi="openmpi"),
    *_of_sleep(),
    *_of_sleep(2),
    *_of_sleep(4),
    *_of_memory(),
    *_of_memory(2),
    *_of_teams(2),
    *_of_teams(4),
    *_of_teams(2, computes=True),
    *_of_inlined(),
    *_combined(),
    *_static(),
    *_of_processes(),
)
