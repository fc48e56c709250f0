# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of the docs, out of a run of examples/heat2d: make pictures."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from selenium.webdriver.common.keys import Keys  # noqa: E402

from support.synthetic_runs import grid, stepping  # noqa: E402
from support.tools import command, environment  # noqa: E402
from support.users.browser import Browser, browser  # noqa: E402
from support.users.viewer import AXIS, NAMES, Viewer  # noqa: E402

HERE = Path(__file__).parent

TUTORIALS = {
    "imbalance": ("vtrace-cc -g -O1 imbalance.c -o imbalance; mpiexec -n 2 ./imbalance", 0.5, 0.65),
    "pipeline": ("vtrace-cc -g -O1 pipeline.c -o pipeline; mpiexec -n 2 ./pipeline", 0, 1),
    "io": ("vtrace-cc -g -O1 writer.c -o writer; VT_IOTRACE=yes mpiexec -n 2 ./writer", 0.4, 0.8),
    "openmp": ("vtrace-cc -g -O1 -fopenmp triangle.c -lm -o triangle; ./triangle", 0, 1),
    "locks": ("vtrace-cxx -g -O2 -std=c++17 -pthread words.cc -o words; VT_PTHREAD=locks ./words", 0.4, 0.5),
    "hybrid": (
        "vtrace-fc -vt:fc mpifort.mpich -g -O1 -fopenmp smooth.F90 -o smooth; OMP_NUM_THREADS=2 mpiexec -n 2 ./smooth",
        0.5, 0.7,
    ),
    "mpi4py": ("vtrace run --no-unify --python mpiexec -n 2 python3 orbits.py", 0.5, 0.7),
}  # fmt: skip
"""Name of a tutorial's page -> commands that record its program, and the part of the run to show."""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch)
        shutil.copytree(ROOT / "examples" / "heat2d", where, dirs_exist_ok=True)
        run(where, "make", f"CC={command('vtrace-cc')[0]}")
        # As many ranks as processors, or waiting ranks take them from those that compute.
        run(where, "mpiexec", "-n", "2", "./heat2d", "1000", "100")
        run(where, *command("vtunify"), "--report", "heat2d")
        with browser(where, "1250,760") as page:
            cause(page, where)
            view(page, where)
            hybrid(page, where)
            many(page, where)
            compared(page, where)
        with browser(where / "fourth", "1250,560") as page:
            tasks(page, where)
        with browser(where / "third", "1250,600") as page:
            for name in TUTORIALS:
                tutorial(page, where, name)
        with browser(where / "second", "1050,1650") as page:
            report(page, where)


def run(where: Path, *words: str) -> None:
    subprocess.run(words, cwd=where, env=environment(), check=True)


@contextmanager
def viewer(page: Browser, where: Path, fragment: str, *archives: str) -> Iterator[Viewer]:
    """The page of vtrace view at a fragment of its address."""
    words = [*command("vtrace"), "view", "--no-browser", *archives]
    process = subprocess.Popen(words, cwd=where, env=environment(), text=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        yield Viewer(page, process.stdout.readline().strip() + fragment)
    finally:
        process.terminate()
        process.wait()


def cause(page: Browser, where: Path) -> None:
    """The first picture of 64 ranks, of which one takes longer. The archive is made: a machine with fewer cores
    than ranks would show its own waits."""
    grid.write(where / "stencil.trace", 64, 12)
    with viewer(page, where, "", "stencil") as shown:
        shown.page.driver.save_screenshot(str(HERE / "view-cause.png"))


def view(page: Browser, where: Path) -> None:
    """Some iterations in the middle of the run; a MPI_Waitall that receives is selected."""
    with viewer(page, where, "", "heat2d") as shown:
        end = shown.window[1]
    begin = end * 45 // 100
    with viewer(page, where, f"#w={begin}-{begin + end // 40}", "heat2d") as shown:
        for at in range(40):
            shown.click(shown.x(begin + end // 40 * (0.3 + at / 80)), shown.row(at % 2))
            if "received" in shown.facts():
                break
        shown.page.driver.save_screenshot(str(HERE / "view.png"))


def hybrid(page: Browser, where: Path) -> None:
    """Two ranks with two threads each; a search marks the barriers of OpenMP."""
    program = ROOT / "tests" / "programs" / "omp_mpi.c"
    run(where, *command("vtrace-cc"), "-fopenmp", "-O1", str(program), "-o", "hybrid")
    run(where, "mpiexec", "-n", "2", "./hybrid", "40")
    run(where, *command("vtunify"), "hybrid")
    with viewer(page, where, "", "hybrid") as shown:
        shown.search("barrier")
        shown.page.driver.save_screenshot(str(HERE / "view-hybrid.png"))


def many(page: Browser, where: Path) -> None:
    """1000 ranks, which all fit; the time of each rank beside them."""
    words = "--ranks 1000 --events 2e6 --calls 10 --ranks-per-host 50".split()
    run(where, sys.executable, str(ROOT / "bench" / "synthetic.py"), "many", *words)
    run(where, *command("vtunify"), "many")
    with viewer(page, where, "#panel=ranks&row=", "many") as shown:
        shown.page.driver.save_screenshot(str(HERE / "view-many.png"))


def compared(page: Browser, where: Path) -> None:
    """Two runs of heat2d, the second with a quarter of the cells, above each other and aligned at a call."""
    run(where, "env", "VT_FILE_PREFIX=small", "mpiexec", "-n", "2", "./heat2d", "500", "100")
    run(where, *command("vtunify"), "small")
    with viewer(page, where, "#row=&messages=0&collectives=0", "heat2d", "small") as shown:
        shown.run("document.getElementById('align').open = true")
        shown.run("document.querySelectorAll('#align input')[1].value = 'MPI_Waitall'")
        shown.press("Align")
        shown.run("document.getElementById('align').open = false")
        shown.page.driver.save_screenshot(str(HERE / "view-compared.png"))


def tasks(page: Browser, where: Path) -> None:
    """The tasks of docs/view.md, with the archive of cause() and one with a slow step and a rank that does the I/O."""
    stepping.write(where / "steps.trace")

    def take(name: str, archive: str, do: Callable[[Viewer], None]) -> None:
        with viewer(page, where, "", archive) as shown:
            do(shown)
            shown.mouse([("mouseleave", 0, 0)])
            shown.page.driver.save_screenshot(str(HERE / f"task-{name}.png"))

    def measure(shown: Viewer) -> None:
        begin, end = (shown.x(shown.window[0] + (shown.window[1] - shown.window[0]) * part) for part in (0.4, 0.6))
        shown.drag(begin, AXIS / 2, end, AXIS / 2)
        shown.press("diagnose this range")

    def note(shown: Viewer) -> None:
        shown.mouse([("mousemove", NAMES + 300, shown.row(1))])
        shown.key("n", *"late here", Keys.ENTER)
        shown.press("Notes")

    def longest(shown: Viewer) -> None:
        shown.press("Profile")
        shown.choose("#profile tbody tr")
        shown.choose(".longest button")

    def io(shown: Viewer) -> None:
        shown.press("Ranks")
        heads = shown.run("return [...document.querySelectorAll('#ranks-table th')].map((head) => head.innerText)")
        shown.choose(f"#ranks-table th:nth-child({1 + heads.index('I/O')}) button")

    take("delay", "stencil", lambda shown: shown.choose("#findings tbody tr"))
    take("messages", "stencil", lambda shown: shown.press("Messages"))
    take("range", "stencil", measure)
    take("note", "steps", note)
    take("iterations", "steps", lambda shown: shown.press("Iterations"))
    take("longest", "steps", longest)
    take("io", "steps", io)


def tutorial(page: Browser, where: Path, name: str) -> None:
    """The program of a tutorial, with its fault."""
    commands, begin, end = TUTORIALS[name]
    place = where / "tutorials" / name
    shutil.copytree(ROOT / "examples" / "tutorials", place)
    run(place, "bash", "-ec", commands)
    prefix = next(place.glob("*.uctl")).stem
    run(place, *command("vtunify"), "--diagnose", prefix)
    with viewer(page, place, "", prefix) as shown:
        length = shown.window[1]
    with viewer(page, place, f"#w={int(length * begin)}-{int(length * end)}&row=&panel=findings", prefix) as shown:
        shown.page.driver.save_screenshot(str(HERE / f"tutorial-{name}.png"))


def report(page: Browser, where: Path) -> None:
    page.open(where / "heat2d.html")
    page.until(lambda: page.run("return document.querySelectorAll('.js-plotly-plot').length") == 6)
    page.driver.save_screenshot(str(HERE / "report.png"))


if __name__ == "__main__":
    main()
