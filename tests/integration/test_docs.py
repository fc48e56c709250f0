# SPDX-License-Identifier: BSD-3-Clause
"""Each block of commands or code in docs/*.md runs as written, in a directory with the files that its page mentions."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.build import offload
from support.build.builder import Builder
from support.readers import docs
from support.readers.docs import Block
from support.shell_commands import shell_commands
from support.tools import BIN, PROGRAMS, ROOT, call, need, unavailable

BLOCKS = {block.key: block for block in docs.blocks()}
SOLVE_PY = "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1))\n"
KILLED_C = (
    "#include <signal.h>\nstatic int step(int i) { return i; }\n"
    "int main(void) { int n = 0; for (int i = 0; i < 100; i++) n += step(i); return raise(SIGKILL) + n; }\n"
)
RELAX_F = "      double precision function relax(f, n)\n      real*8 f(n)\n      relax = f(1) / n\n      end\n"
CALL_F = "      program p\n      double precision f(4)\n      f = 1\n      call solve(f, 4)\n      end\n"
TYPES_F = "      double precision relax, field(n)\n"
CALLS_CC = "double relax(double *, int);\nint main() { double f[4] = {1}; return relax(f, 4) > 1; }\n"
PROGRAMS_OF_PAGES = (
    ("functions.md", "// heat.cc"), ("functions.md", "// phases.c"), ("user-api.md", "// solve.c"),
    ("sections.md", "// step.c"), ("annotations.md", "# train.py"), ("build-systems.md", "# CMakeLists.txt"),
)  # fmt: skip
TRAIN = "cp $DOCS/train.py ."
REGION_PY = "import time\nfrom vtrace.user import region\nwith region('solve'): time.sleep(0.002)\n"


@dataclass(frozen=True)
class Typed:
    """The way to run a block. before: shell commands that create the files of the block; $DOCS has the programs.
    expect: texts in the output of the block, or of the command `after`. edits: (old, new), changes of the block; a
    comment beside each gives the reason. kind: shell, python, or the name of the file for the block."""

    before: str = ""
    expect: tuple[str, ...] = ()
    edits: tuple[tuple[str, str], ...] = ()
    kind: str = "shell"
    after: str = ""
    code: int = 0


TUTORIALS = ROOT / "examples/tutorials"
HEAT = "cp $DOCS/heat ."
RAN = f"{HEAT}; mpiexec -n 4 ./heat"
UNIFIED = "cp -r $DOCS/heat2d.trace $DOCS/heat2d ."
SOLVE = f"vtrace compat --install tools; gcc -Itools/include {PROGRAMS}/sections_fapp.c -o solve"
MAIN_PY = "def relax(field): return 1.0\n"

FLOPS = (
    "CPU,skl\\nEVENT,ALL_OPS,DERIVED_INFIX,N0+(N1*4),FP_ARITH:SCALAR_DOUBLE,FP_ARITH:256B_PACKED_DOUBLE\\n"
    "EVENT,OPS_PER_SECOND,DERIVED_PS,PAPI_TOT_CYC,ALL_OPS\\n"
)


def _tutorial(
    name: str, program: str, finding: str, edits: tuple[tuple[str, str], ...] = ()
) -> dict[tuple[str, str], Typed]:
    """The three blocks of a tutorial: the run and its diagnosis, the evidence, the improved program. edits: of the
    lines that compile the program."""
    diagnosed, evidence, mended = (key for key in BLOCKS if key[0] == f"tutorial-{name}.md")
    first = Typed(f"cp {TUTORIALS}/{program} .", (finding,), edits)
    return {diagnosed: first, evidence: Typed(), mended: Typed(edits=edits)}


COUNTED = "VT_METRICS=page-faults:ru_utime:task-clock mpiexec -n 2 $DOCS/heat2d 64 20; vtunify heat2d"
MY_EVENTS = "printf 'EVENT,FAULTS_PER_MS,DERIVED_INFIX,N0*1000000/N1,page-faults,task-clock\\n' > my.events"

STEP = "cp $DOCS/step.c .; vtrace-cc -DVTRACE step.c -o step; "

WRITTEN = "while ls jobs | grep -q ing$; do sleep 0.1; done; "
"""Waits until the files of all jobs are written."""
ALWAYS = "cp $DOCS/plain heat; vtrace shim build mpicc"

TYPED = {
    ("always.md", "export VT_ALWAYS_DIR=$PWD/jobs"): Typed(
        ALWAYS, (" heat ", "next: vtrace summary jobs/heat-"), (("vtrace jobs", f"{WRITTEN} vtrace jobs"),)
    ),
    ("always.md", "vtrace jobs --program 'heat*' --since 7d"): Typed(
        f"{ALWAYS}; VT_ALWAYS_DIR=$PWD/jobs vtrace run --always mpiexec -n 4 ./heat; {WRITTEN}",
        (" heat ", '"program": "heat"'), (("vtrace jobs --pro", "export VT_ALWAYS_DIR=jobs; vtrace jobs --pro"),),
        after="cat jobs.json",
    ),
    ("build-systems.md", "# CMakeLists.txt"): Typed(
        "cp $DOCS/solve.c .", ("Generating done",), kind="CMakeLists.txt", after="cmake -S . -B build"
    ),
    ("build-systems.md", "cmake -S . -B build && cmake --build build"): Typed(
        "cp $DOCS/solve.c $DOCS/CMakeLists.txt .", ("user,main,", "user,solve,"),
        after="vtrace summary solve --only regions --csv",
    ),
    ("build-systems.md", "export PKG_CONFIG_PATH=$(vtrace --pkgconfig-dir)"): Typed(
        "cp $DOCS/solve.c .", ('"solve"',), after="./solve; vtunify solve; vtrace timers solve",
    ),
    (
        "counters.md", "vtrace run --force --counters page-faults,context-switches,ru_utime mpiexec -n 4 ./heat2d",
    ): Typed(
        "cp $DOCS/heat2d .", ("Counters: increase", "ru_utime", "Functions by page-faults", "MPI_Init"),
    ),
    ("counters.md", "vtrace run --force --repeat-groups --counters topdown,page-faults mpiexec -n 4 ./heat2d"): Typed(
        f"{HEAT}; mv heat heat2d", ("page-faults  with calls",),
    ),
    ("counters.md", "printf 'cycles,page-faults\\n0,0\\n100,7\\n180,9\\n' > values.csv"): Typed(
        "cp $DOCS/solve.c solver.c; vtrace-cc -DVTRACE solver.c -o solver", ('"cycles:inclusive": 100',),
        after="vtrace profile solver --metrics cycles --json",
    ),
    ("counters.md", "vtrace run --force --sample --counters page-faults,task-clock ./solver"): Typed(
        f"gcc -O1 {PROGRAMS}/sampled.c -pthread -o solver", ("Call paths by page-faults", " > f"),
        (("./solver", "./solver 600 1"),),  # the program wants its time
    ),
    ("counters.md", "vtrace profile heat2d --metrics page-faults,ru_utime"): Typed(
        COUNTED, ("Functions by page-faults", "Call paths by page-faults", "MPI_Init"),
    ),
    ("counters.md", "# my.events"): Typed(
        kind="my.events", after="vtrace counters my.events --check", expect=("1 event, 0 errors",)
    ),
    ("counters.md", "export PAPI_USER_EVENTS_FILE=my.events"): Typed(
        f"cp $DOCS/heat2d .; {MY_EVENTS}", ("Functions by FAULTS_PER_MS", "MPI_Init"),
    ),
    ("counters.md", "# flops.events"): Typed(
        kind="flops.events", after="vtrace counters flops.events --check; vtrace counters --file flops.events",
        expect=("2 events, 0 errors, 0 warnings", "operations in double"),
    ),
    ("counters.md", "vtrace counters flops.events --check"): Typed(
        f"printf '{FLOPS}' > flops.events", ("1080", "FP_ARITH:256B_PACKED_DOUBLE\nPAPI_TOT_CYC\n")
    ),
    ("counters.md", "vtrace counters --cpu icx"): Typed(
        "true", ("Frontend_Bound", "66.66666666666666", "IDQ_UOPS_NOT_DELIVERED:CORE"),
    ),
    ("diagnose.md", "vtrace diagnose heat"): Typed(
        UNIFIED + "; mv heat2d.trace heat.trace", ("wait", "no I/O was recorded", '"share":'),
        edits=(("--iteration step", "--iteration iterate"),),  # the function of the example
    ),
    ("diagnose.md", "vtrace diagnose heat --fail-below 0.8"): Typed(
        UNIFIED + "; mv heat2d.trace heat.trace", ("Findings",),
        edits=(("0.8", "0.8 || test $? = 1"),),  # several ranks share cores
    ),
    ("diagnose.md", "vtrace diagnose heat_4 heat_8 heat_16"): Typed(
        "for n in 4 8 16; do cp -r $DOCS/heat2d.trace heat_$n.trace; done", ("Runs side by side",),
    ),
    ("diagnose.md", "vtrace diagnose heat --about io"): Typed(
        UNIFIED + "; mv heat2d.trace heat.trace", ("no I/O was recorded",),
    ),
    ("functions.md", "// heat.cc"): Typed(
        kind="heat.cc", after="g++ -Wall -Werror heat.cc; ./a.out", expect=("7.17868",)
    ),
    ("functions.md", "vtrace-cxx -O2 heat.cc -o heat"): Typed(
        "cp $DOCS/heat.cc .", ("  100  ", "1,main", "1,solve(Grid&)", "1,Grid::get_sum() const"),
        after="vtrace summary heat --only regions --csv | cut -d, -f4,11",
    ),
    ("functions.md", "g++ -g -O2 -pg -mfentry heat.cc -o profiled"): Typed(
        "cp $DOCS/heat.cc .", ("Grid::step()", "Grid::get_sum() const")
    ),
    ("functions.md", "// phases.c"): Typed(
        kind="phases.c", after="vtrace-cc -Wall -Werror -c phases.c; ls phases.o", expect=("phases.o",)
    ),
    ("functions.md", "vtrace-cc -O2 -DVTRACE phases.c -o phases && ./phases"): Typed(
        "cp $DOCS/phases.c .", ("8,solve_one", "5,report", "1,main"),
        after="vtrace summary phases --only regions --csv | cut -d, -f4,11",
    ),
    ("filter.md", "# at most so many calls in the process; 0: never, -1: always"): Typed(
        kind="f.filter", after="vtrace filter f.filter --explain iterate", expect=("is recorded 1000 times",)
    ),
    ("filter.md", "SCOREP_REGION_NAMES_BEGIN"): Typed(
        kind="f.filter", after="vtrace filter f.filter --explain write_step --explain other",
        expect=("write_step is recorded", "other is not recorded"),
    ),
    ("filter.md", "mpiexec -n 4 ./heat                           # a first run, which records all"): Typed(
        HEAT, ("bytes of buffer in any process", "heat.filter: 0 functions")
    ),
    ("install.md", "vtrace demo try; vtrace demo --tutorials try/tutorials; cd try; cp tutorials/* ."):
        Typed(
            "true", ("try/solver", "try/after.trace/traces.otf2"),
            after="ls try/heat try/solve try/solver try/solve.py try/server try/*.trace/traces.otf2",
        ),
    ("instant-profiler.md", "vtrace compat fipp -C -d prof -Icall -i 10 mpiexec -n 4 ./heat"): Typed(
        HEAT, ("Procedures profile", "Virtual coordinate           : (4, 0, 0)")
    ),
    ("instant-profiler.md", "// measured.c"): Typed(
        kind="measured.c",
        after="vtrace compat --install tools; gcc -Wall -Werror -Itools/include -c measured.c && tools/bin/fipppx -h",
        expect=("fj_tool/fipp.h", "Show the data of the Instant Profiler"),
    ),
    ("io.md", "VT_IOTRACE=yes ./solve"): Typed(
        "cp $DOCS/heat solve", ("/field",), after="vtrace summary solve --only files --csv"
    ),
    ("memory.md", "VT_MEMTRACE=yes ./solve"): Typed(
        "cp $DOCS/heat solve", ("malloc",), after="vtrace summary solve --only regions --csv"
    ),
    ("memory.md", "vtrace profile solve --by allocation"): Typed(
        "cp $DOCS/heat solve; VT_MEMTRACE=yes ./solve; vtunify solve", ("never freed", "at peak: MPI Rank 0 has ")
    ),
    ("mpi.md", "VT_MPI_GROUPS=default,time mpiexec -n 4 ./heat      # or p2p,coll: names with commas or blanks"):
        Typed(HEAT, ("heat.trace: 4 ranks",), after="vtunify heat"),
    ("mpi.md", "vtrace run -o both mpiexec -n 1 ./first x : -n 2 ./second y"): Typed(
        "cp $DOCS/heat first; cp $DOCS/heat second", ("both.trace: 3 ranks",), after="vtunify --force both"
    ),
    ("mpip.md", "VT_MPI_CALLSITES=1 mpiexec -n 4 ./heat2d"): Typed(
        "cp $DOCS/heat heat2d", ("@--- MPI Time (seconds) ---", "reports/heat2d.4.", "docs_heat.c")
    ),
    ("openmp.md", "vtrace-cc -O1 -fopenmp triangle.c -lm -o triangle    # or vtrace-cxx, vtrace-fc; without a rebuild:"
     " vtrace run ./triangle"): Typed(
        f"cp {TUTORIALS}/triangle.c .", ("!$omp parallel @triangle.c:24",), after="vtrace timers --all triangle"
    ),
    ("profile.md", "vtrace profile heat2d"): Typed(
        UNIFIED + "; for n in before after; do cp -r $DOCS/heat2d.trace $n.trace; done",
        ("Functions by exclusive", "  main\n", "    iterate\n", "MPI Rank 3"), after="cat lines.csv"
    ),
    ("profile.md", "$ vtrace profile smp"): Typed(
        f"tar xJf {ROOT}/tests/archives/scorep-sampling.tar.xz; mv scorep-sampling smp"
    ),
    ("python-api.md", "import vtrace"): Typed(
        RAN + "; vtunify heat", ("2\n",), kind="python", after="python3 -c 'print(2)'",
        edits=(("trace.frame()", "# "),),  # needs pandas, which is optional
    ),
    ("python-api.md", 'names = trace.regions["name"]'): Typed(
        RAN + "; vtunify heat", ("iterate 110 ",), kind="python", edits=(("names =", "import vtrace\nnames ="),
        ("trace.regions", 'vtrace.open("heat").regions'), ("in trace", 'in vtrace.open("heat")')),  # opened earlier
    ),
    ("python-api.md", 'trace.prepare("profile", "message_matrix", "collective_totals", "io")'): Typed(
        UNIFIED, kind="python",
        edits=(("trace.prepare", 'import vtrace\ntrace = vtrace.open("heat2d")\ntrace.prepare'),),  # opened earlier
    ),
    ("filter.md", "VT_MODE=RING VT_BUFFER_SIZE=8M VT_RING_SIGNAL=USR1 ./server &"): Typed(
        "cp $DOCS/server .", ("server.trace: 1 process, 2 locations",),
        edits=(("\n", "\nsleep 0.5\n"),),  # a user types more slowly
    ),
    ("filter.md", "vtrace run --profile-only mpiexec -n 4 ./heat    # or VT_MODE=PROFILE, of VampirTrace"
     " VT_MODE=STAT"): Typed(
        "cp $DOCS/plain heat", ("heat.trace: 4 ranks, 4 locations, a profile of", "MPI_Sendrecv"),
    ),
    ("filter.md", "vtrace run --budget 20M ./solver                  # bytes of local files; or VT_BUDGET=20M"): Typed(
        "cp $DOCS/plain solver", ("solver.trace: ",),
        edits=(("-n 64", "-n 2"),),
    ),
    ("filter.md", "VT_KEEP=slowest:5%,first:3 VT_ITERATION=iterate mpiexec -n 4 ./heat     # or vtrace run --keep,"
     " --iteration"): Typed(
        HEAT, ("VT_KEEP kept ", "calls only counted"), after="vtunify heat"
    ),
    ("filter.md", "VT_START_AFTER=60 VT_STOP_AFTER=75s ./heat          # a quarter of a minute"): Typed(
        HEAT, ("heat.trace: 4 ranks",), after="vtunify heat"
    ),
    ("run.md", "vtrace run mpiexec -n 4 ./heat               # heat.trace/traces.otf2"): Typed(
        "cp $DOCS/plain heat", ("Collective operations: 440 calls",)
    ),
    ("run.md", "vtrace run --bundle traced --io ./heat       # or without a program: --mpicc names the MPI, --openmp"
     " records OpenMP"): Typed(
        "cp $DOCS/plain heat", ("heat.trace: 4 ranks",),
        after="mpiexec -n 4 traced/vtrace-run ./heat && vtunify heat",
    ),
    ("run.md", "vtrace run --io --memory sqlite3 my.db 'create table if not exists t (x)' 'select count(*) from t'"):
        Typed(
        "cp $DOCS/solve.py .", ("sqlite3.trace: 1 process", "solve.trace: 4 ranks")
    ),
    ("sampling.md", "vtrace run mpiexec -n 4 ./heat               # 100 samples per second of each thread's CPU time, "
     "beside the events"):
        Typed("cp $DOCS/plain heat", ("SAMPLING clock=CPU period=10000000",), edits=(("=10ms", "=10ms --no-unify"),),
              after="vtrace dump heat --only SAMPLING"),
    ("sampling.md", "VT_SAMPLE_EVENT=page-faults:100 vtrace run --sample --sample-clock perf ./heat"
     "    # each 100th page fault"):
        Typed("cp $DOCS/plain heat", ("SAMPLING clock=",), edits=((" run ", " run --no-unify "),),
              after="vtrace dump heat --only SAMPLING"),
    ("sampling.md", "vtrace run --sample python3 solve.py"): Typed(
        "cp $DOCS/solve.py .", ("solve.trace: ", "callpath"),
    ),
    ("summary.md", "vtrace summary heat2d"): Typed(UNIFIED, ("Time by class", "iterate", "inclusive"),
                                                    after="cat regions.csv"),
    ("summary.md", "vtrace timers heat2d --all | jq '.timers[] | select(.label == \"solve\") | .mean_ns'"): Typed(
        "cp -r $DOCS/region.trace heat2d.trace", ("slept",),
        after="test $(vtrace timers heat2d | jq '.timers[0].mean_ns | floor') -ge 2000000; echo slept",
    ),
    ("summary.md", "vtrace compat --install tools"): Typed(
        f"cp {PROGRAMS}/lorenz.cc .", ('"integrate"', '"Flops": 140000'),
    ),
    ("summary.md", "vtrace diff before after"): Typed(
        "for n in before after; do cp -r $DOCS/heat2d.trace $n.trace; done", ("no differences",)
    ),
    ("survival.md", "$ ./heat                            # Killed"): Typed("cp $DOCS/killed heat", code=-1),
    ("survival.md", "vtrace clean --dry-run heat      # what a run of heat left that no process uses any more"): Typed(
        "cp $DOCS/killed heat; ./heat; mkdir scratch; cp heat.* scratch", ("would remove 2 files", "removed 2 files"),
        edits=(("/scratch", "scratch"), ("clean heat ", "clean --yes heat ")),  # no such directory; no terminal
    ),
    ("threads.md", "vtrace-cxx -O2 -pthread words.cc -o server && ./server"): Typed(
        f"cp {TUTORIALS}/words.cc .", ("server.trace: 1 process, 2 locations",)
    ),
    ("threads.md", "vtrace run --force --locks ./server"): Typed(
        "cp $DOCS/server.c .; vtrace-cc -pthread server.c -o server", ("pthread_mutex_lock",),
        after="vtrace timers --all server",
    ),
    ("unify.md", "mpiexec -n 4 ./heat                  # leaves heat.1.def.z heat.1.events.z heat.2.def.z ..."
     " heat.uctl"): Typed(HEAT, ("heat.trace: 4 ranks", "heat.trace: already unified")),
    ("unify.md", "vtunify --packed heat                # heat.vtz"): Typed(
        RAN, ("heat.vtz: 4 ranks", "4 processes", "whole.trace: 4 locations")
    ),
    ("user-api.md", "// solve.c"): Typed(
        kind="solve.c", after="vtrace-cc -DVTRACE -Wall -Werror -c solve.c; ls solve.o", expect=("solve.o",)
    ),
    ("user-api.md", "vtrace-cc -DVTRACE solve.c -o solve && ./solve"): Typed(
        "cp $DOCS/solve.c .", ('"solve"', "residual"), after="vtrace export solve --to csv -o x.csv; cat x.csv"
    ),
    ("user-api.md", "double relax(double *field, int n)"): Typed(
        "cp $DOCS/calls.cc .", ('"relax"',), kind="relax.cc", edits=(("...", "return field[0] / n;"),),
        after="vtrace-cxx -DVTRACE relax.cc calls.cc -o p; ./p; vtunify p; vtrace timers p",
    ),
    ("user-api.md", "      subroutine solve(field, n)"): Typed(
        "cp $DOCS/relax.F $DOCS/call.F .", ('"solve"', "residual"), kind="solve.F",
        edits=(("integer :: counter\n", f"integer :: counter\n{TYPES_F}"),),  # the declarations of the user's program
        after="vtrace-fc -vt:seq -DVTRACE solve.F relax.F call.F -o solve; ./solve; vtunify solve; vtrace timers solve;"
        " vtrace export solve --to csv -o x.csv; cat x.csv",
    ),
    ("user-api.md", "from vtrace.user import counter, marker, region"): Typed(
        "", ('"solve"', '"relax"', "residual", "solved"), kind="part.py",
        after=f"(cat part.py; echo '{MAIN_PY}solve(1)') > solve.py; vtrace run python3 solve.py;"
        " vtrace timers solve; vtrace export solve --to csv -o x.csv; cat x.csv; vtrace report solve; cat solve.html",
    ),
    ("sections.md", "// step.c"): Typed(
        kind="step.c", after="vtrace-cc -DVTRACE -Wall -Werror -c step.c; ls step.o", expect=("step.o",)
    ),
    ("sections.md", "vtrace-cc -DVTRACE step.c -o step && ./step"): Typed(
        "cp $DOCS/step.c .", ("relax/1", "exchange/1"), after="vtrace export step --to csv -o x.csv; cat x.csv"
    ),
    ("sections.md", "vtrace profile step --by section"): Typed(
        f"{STEP} ./step; vtunify step", ("Sections of the application", "relax/1", "all/0", '"sections_by_thread"'),
    ),
    ("sections.md", "vtrace profile step --by section --metrics mpi"): Typed(
        f"{STEP} ./step; vtunify step", ("no calls of MPI were recorded", "Memory of malloc", "relax/1"),
    ),
    ("sections.md", "export VT_METRICS_AT=user"): Typed(
        STEP, ('"memory_bytes": 0,',), after="vtunify step; vtrace profile step --by section --metrics memory --json",
    ),
    ("sections.md", "vtrace compat --install tools"): Typed(
        f"cp {PROGRAMS}/sections_fapp.c solve.c; cp {PROGRAMS}/sections_fapp.f90 steps.f90",
        ("include/fj_tool/fapp.h", "lib/libfapp.a", "hidden/1", "cross/0"),
    ),
    ("sections.md", "vtrace compat fapp -C -d prof -L 1 -Ihwm ./solve"): Typed(
        SOLVE, ("Basic profile", "hidden 1", "Performance monitor event: Statistics"),
    ),
    ("sections.md", "vtrace compat fapp -C -d pa1 -Hpa=1 ./solve"): Typed(SOLVE, ("Instruction balance", "Run 2")),
    ("sections.md", "export FJ_TOFUPA_LEVEL=100"): Typed(
        f"vtrace compat --install tools; mpicc -Itools/include {PROGRAMS}/sections_tofu.c -o ring",
        ("out/tofupa.0.0-0-0-0-0-0.txt", "calls/tofupa.0.0-0-0-0-0-0.txt"),
    ),
    ("sections.md", "vtrace run --force --counters page-faults,ru_utime ./step"): Typed(
        STEP, ("Sections by page-faults", "exchange/1"),
    ),
    ("sections.md", "from vtrace.user import section, section_start, section_stop"): Typed(
        "", ("relax/1", "exchange/1"), kind="part.py",
        after="(echo 'def relax(): pass'; echo 'exchange = relax'; cat part.py) > step.py;"
        " vtrace run python3 step.py; vtrace export step --to csv -o x.csv; cat x.csv",
    ),
    ("annotations.md", "# train.py"): Typed(
        "", ("forward", "10"), kind="train.py", after="vtrace run python3 train.py; vtrace profile train",
    ),
    ("annotations.md", "vtrace run python3 train.py"): Typed(TRAIN, ("epoch", "upload")),
    ("annotations.md", "g++ -O2 -fopenmp heat.cc -I/usr/include/trilinos -ltrilinos_kokkoscore -o heat"): Typed(
        f"cp {ROOT}/examples/kokkos/heat.cc .", ("heat 1.000000", "smooth", "deep_copy Host to Host"),
    ),
    ("devices.md", "gcc -O2 saxpy.c -lOpenCL -o saxpy"): Typed(
        f"cp {ROOT}/examples/opencl/saxpy.c .", ("Kernels and copies of devices", "saxpy", "copy to device"),
    ),
    ("devices.md", "clang-19 -g -O1 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu axpy.c -o axpy"): Typed(
        f"cp {ROOT}/examples/target/axpy.c .", ("target copy to device", "8,388,608", "host", "target submit"),
        # libomp-19-dev may be unpacked elsewhere
        (("/usr/lib/llvm-19/lib", str(offload.LIBRARIES)), ("-g -O1", " ".join(offload.FLAGS))),
    ),
    ("cut.md", "vtrace cut heat2d --from 40% --to 60% --ranks 0-1 -o middle"): Typed(
        UNIFIED, ("cut ", "2 of 4 locations")
    ),
    ("anonymise.md", "vtrace anonymise heat2d -o shared"): Typed(UNIFIED, ("function_1", "MPI_Barrier")),
    ("import.md", "viztracer --quiet -o work.json work.py"): Typed(
        "printf 'def f(n):\\n    return n\\nf(1)\\n' > work.py", ("work.trace: 1 process, ", "work.py:1"),
    ),
    ("import.md", 'load() { date -u "+%Y-%m-%d %H:%M:%S.%N,$(cut -d\' \' -f1 /proc/loadavg)"; }'): Typed(
        "cp $DOCS/heat2d .", ("0 intervals, ", " on 1 location"),
    ),
    ("import.md", "vtrace export both --to vtune -o back"): Typed(
        UNIFIED, ("intervals-hostname-",), edits=(("both", "heat2d"),)  # an archive without imported data
    ),
    ("view.md", "vtrace view heat2d"): Typed(
        UNIFIED, ("127.0.0.1",), edits=(("heat2d", "heat2d --idle 0.02"),)  # no browser requests the page
    ),
    ("view.md", "vtrace view before after"): Typed(
        UNIFIED, ("127.0.0.1",), edits=(("before after", "heat2d heat2d --idle 0.02"),)
    ),
    ("view.md", "vtrace view --perfetto heat2d"): Typed(
        UNIFIED, ("127.0.0.1",), edits=(("heat2d", "heat2d --idle 0.02"),)
    ),
    ("view.md", "vtrace view --save page.html heat2d"): Typed(UNIFIED, ("page.html: ",)),
    ("view.md", "vtrace view --text heat2d"): Typed(UNIFIED, ("MPI Rank 0", "= user")),
    ("view.md", "vtrace report heat2d                # heat2d.html"): Typed(
        "cp $DOCS/heat heat2d; mpiexec -n 4 ./heat2d; vtunify -k -o heat2d heat2d", ("heat2d.html\n",),
        edits=(
            ("vtunify", "rm -r heat2d.trace heat2d.html; vtunify"),
            ("vtrace report before after", "vtrace report heat2d heat2d -o before.html"),
        ),  # both commands write these files
        after="ls heat2d.html",
    ),
    ("view.md", "vtrace export heat2d --to csv -o part.csv --from 10% --to 100% --ranks 0-3"): Typed(
        UNIFIED, ("MPI_Barrier",), after="cat part.csv"
    ),
    ("tutorial.md", "$ vtrace-cc -g -O1 imbalance.c -o imbalance"): Typed(f"cp {TUTORIALS}/imbalance.c ."),
    ("tutorial.md", "vtrace view --text imbalance            # in a browser: vtrace view imbalance"):
        Typed(expect=("= user", "MPI Rank 1")),
    ("tutorial.md", "$ vtrace diagnose imbalance"): Typed(expect=("rank 1 takes longer in relax",)),
    ("tutorial.md", "$ vtrace profile imbalance --by rank --select region=relax"): Typed(),
    ("tutorial.md", "$ vtrace-cc -g -O1 -DMENDED imbalance.c -o even"): Typed(),
    ("tutorial.md", "$ vtrace score imbalance"): Typed(expect=("relax_rows",)),
    **_tutorial("pipeline", "pipeline.c", "ranks take turns"),
    **_tutorial("io", "writer.c", "does the I/O alone"),
    **_tutorial("openmp", "triangle.c", "at the end of !$omp parallel @triangle.c:24"),
    **_tutorial("locks", "words.cc", "for the lock lock (words.cc:21)"),
    **_tutorial(
        "hybrid", "smooth.F90", "ranks 0-1 are idle for",
        # The MPICH of these tests has no Fortran, and each block has a shell of its own.
        edits=(("vtrace-fc", "vtrace-fc -vt:fc mpifort.mpich"), ("mpiexec", "OMP_NUM_THREADS=2 mpiexec")),
    ),
    **_tutorial("mpi4py", "orbits.py", "rank 0 takes longer in __main__.forces"),
}  # fmt: skip

NOT_TYPED = {
    **{key: "tests/cluster/test_slurm.py" for key in BLOCKS if key[0] == "tutorial.md" and key not in TYPED},
    ("architecture.md", "traced process: csrc                                         local files           after the"
     " run: src/vtrace, csrc kernels"): "a drawing",
    ("clocks.md", "mpiexec -n 64 ./heat                 # on 4 nodes: their clocks are compared at MPI_Init and"
     " MPI_Finalize"): "wants four nodes",
    ("counters.md", "vtrace run --force --counters topdown mpiexec -n 4 ./heat2d"):
        "wants counters of the processor; tests/integration/test_topdown.py",
    ("cut.md", "cut  1.2 s to 1.8 s of 3 s of heat2d.trace, 2 of 4 locations, 12 halves of messages and operations left"
     " out"): "output",
    ("conformance.md", "apt-get source mpich                                    # wants a deb-src entry in the sources"
     " of apt"): "takes hours; tests/integration/test_conformance.py runs a sample",
    ("conformance.md", "make mutants                                            # 150 changes; a second start goes on;"
     " hours"): "takes hours; tests/unit/test_mutants.py",
    ("import.md", "name,start_tsc.CLOCK,end_tsc[,pid][,tid]"): "a format; tests/integration/test_import.py",
    ("import.md", "vtrace run mpiexec -n 2 python3 train.py             # each rank writes its torch-RANK.json"):
        "wants PyTorch; tests/integration/test_import_recordings.py",
    ("install.md", "make wheels          # in the sources; writes to dist/ wheels of vtrace and otf2, and an sdist"):
        "takes minutes; tests/integration/test_wheel.py",
    ("install.md", "pip install dist/*.whl"): "tests/integration/test_wheel.py",
    ("install.md", "module use ~/vtrace/share/modulefiles"): "tests/integration/test_build_systems.py",
    ("install.md", "make wheelhouse      # dist/wheelhouse.tar: the wheel and all packages that it needs"):
        "takes minutes; tests/integration/test_wheel.py",
    ("install.md", "tar xf wheelhouse.tar"): "tests/integration/test_wheel.py",
    ("run.md", "#!/bin/bash"): "tests/cluster/test_slurm.py",
    ("run.md", "export VT_PFORM_GDIR=/scratch VT_PFORM_LDIR=/scratch"): "tests/cluster/test_disks.py",
    ("run.md", "docker run -v $PWD:$PWD -w $PWD IMAGE mpiexec -n 4 traced/vtrace-run ./heat"):
        "needs containers; tests/integration/test_run_bundle.py",
    ("survival.md", "vtunify: warning: the buffer of rank 1 is on node1: /scratch/heat.xnode1-101-18ea2134.buffer"):
        "tests/cluster/test_killed.py",
    **{key: "wants PyTorch" for key in BLOCKS if key[0] == "tutorial-pytorch.md"},
    ("unify.md", "mpiexec -n 64 --map-by node vtunify-mpi -o /shared/heat /local/heat"): "tests/cluster/test_disks.py",
    ("view.md", "heat2d: 4 locations, a column is 12.5 ms"): "a picture; see tests/integration/test_view_text.py",
    ("view.md", "vtrace: on your own machine: ssh -L 41371:127.0.0.1:41371 login1   then open the address there"):
        "what a command prints; tests/integration/test_view.py",
}  # fmt: skip
"""The reasons why blocks are not run. The layouts in docs/file-format.md are drawings, too."""


@pytest.fixture(scope="module")
def programs(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory $DOCS: programs, sources and archives, and in bin the commands of vtrace."""
    if not (BIN / "vtrace-cc").exists():
        unavailable("vtrace is not installed beside this Python")
    where = tmp_path_factory.mktemp("docs")
    for name, text in (
        ("solve.py", SOLVE_PY), ("killed.c", KILLED_C), ("relax.F", RELAX_F), ("call.F", CALL_F),
        ("calls.cc", CALLS_CC), ("region.py", REGION_PY),
        *((block.split()[1], BLOCKS[page, block].text) for page, block in PROGRAMS_OF_PAGES),
    ):  # fmt: skip
        (where / name).write_text(text)
    shutil.copy(PROGRAMS / "docs_server.c", where / "server.c")
    yielding = build.yielding()
    lines = (
        f"vtrace-cc -vt:cc {need('mpicc')} -O1 -fno-inline {PROGRAMS / 'docs_heat.c'} {yielding} -o heat",
        f"{need('mpicc')} -O1 {PROGRAMS / 'docs_heat.c'} {yielding} -o plain",
        "vtrace-cc -O1 -DSECONDS=60 -pthread server.c -o server; vtrace-cc -O1 killed.c -o killed",
        "cp heat heat2d; mpiexec -n 4 ./heat2d; vtunify heat2d; vtrace run python3 region.py",
    )
    with shell_commands(where):
        _shell("\n".join(lines), where, where)
        yield where


def _shell(text: str, where: Path, programs: Path, code: int = 0) -> str:
    """Runs lines in a shell with job control. Returns standard output and standard error."""
    path = os.pathsep.join(map(str, (programs / "bin", BIN, os.environ["PATH"])))
    # A user's environment has no VT_UNIFY.
    env = {"DOCS": str(programs), "PATH": path, "BROWSER": "true", "VT_UNIFY": ""}
    done = call(["bash", "-c", f"set -m\n{text}"], where, env, check=False)
    assert code == -1 or done.returncode == code, str(done)
    assert "Traceback" not in done.stderr, str(done)
    return done.stdout + done.stderr


def _text(block: Block, typed: Typed) -> str:
    text = block.typed if typed.kind == "shell" else block.text
    for old, new in typed.edits:
        assert old in text, f"{block.page}: the block no longer has {old!r}"
        text = text.replace(old, new)
    return text + "\n"


def _together() -> list[list[tuple[str, str]]]:
    """The blocks that run in one directory: those of a tutorial, one after the other, and each other block alone."""
    found: dict[object, list[tuple[str, str]]] = defaultdict(list)
    for key in TYPED:
        found[key[0] if key[0].startswith("tutorial") else key].append(key)
    return [*found.values()]


@pytest.mark.parametrize("keys", _together(), ids=lambda keys: f"{keys[0][0]}: {keys[0][1][:40].strip()}")
def test_block(keys: list[tuple[str, str]], programs: Path, tmp_path: Path) -> None:
    for key in keys:
        _check_block(BLOCKS[key], TYPED[key], programs, tmp_path)


def _check_block(block: Block, typed: Typed, programs: Path, where: Path) -> None:
    text = _text(block, typed)
    for tool in ("jq", "sqlite3"):
        if f" {tool} " in text:
            need(tool)
    if typed.before:
        _shell(typed.before, where, programs, code=-1)
    printed = ""
    if typed.kind == "shell":
        printed = _shell(f"set -e\n{text}" if typed.code == 0 else text, where, programs, typed.code)
    elif typed.kind == "python":
        printed = call([sys.executable, "-c", text], where).stdout
    else:
        (where / typed.kind).write_text(text)
    if typed.after:
        printed += _shell(f"set -e\n{typed.after}", where, programs)
    for expected in typed.expect:
        assert expected in printed, printed
    assert not docs.missing(block.shown, printed), printed


def test_every_block_is_typed_or_has_a_reason() -> None:
    drawings = {key for key in BLOCKS if key[0] == "file-format.md"}
    assert set(BLOCKS) == drawings | set(TYPED) | set(NOT_TYPED)
    assert not set(TYPED) & set(NOT_TYPED)


@pytest.mark.parametrize("page", ["instant-profiler", "sections", "mpip", "import", "counters", "summary"])
def test_what_is_not_here_has_a_reason(page: str) -> None:
    """The pages about the guides have a table of the items that are missing, each with a reason."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    table = re.search(r"Not here, because:?\n\n((?:\|.*\n)+)", text)
    assert table, page
    rows = [line.strip("|").split(" | ") for line in table[1].splitlines() if "---|" not in line]
    assert len(rows) > 3
    assert all(len(row) == 2 and row[1].strip() for row in rows), rows
