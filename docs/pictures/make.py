# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of the docs, out of a run of examples/heat2d: make pictures."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.tools import command, environment  # noqa: E402
from support.users.browser import Browser, browser  # noqa: E402

HERE = Path(__file__).parent


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch)
        shutil.copytree(ROOT / "examples" / "heat2d", where, dirs_exist_ok=True)
        run(where, "make", f"CC={command('vtrace-cc')[0]}")
        run(where, "mpiexec", "-n", "4", "./heat2d")
        run(where, *command("vtunify"), "--report", "heat2d")
        with browser(where, "1250,1240") as page:
            view(page, where)
        with browser(where / "second", "1050,1650") as page:
            report(page, where)


def run(where: Path, *words: str) -> None:
    subprocess.run(words, cwd=where, env=environment(), check=True)


def view(page: Browser, where: Path) -> None:
    """A part of the time, a receive selected."""
    words = [*command("vtrace"), "view", "--no-browser", "heat2d", "--from", "45%", "--to", "50%"]
    process = subprocess.Popen(words, cwd=where, env=environment(), text=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        page.open(process.stdout.readline().strip())
        page.driver.switch_to.frame("ui")
        page.until(lambda: "MPI Rank 3" in page.text())
        search = page.until(lambda: page.driver.find_element("css selector", "input[placeholder*=Search]"))
        search.send_keys("MPI_Waitall")
        page.until(lambda: " / " in page.text())
        for _ in range(20):
            search.send_keys("\n")
            page.until(lambda: "Duration" in page.text())
            if "bytes received" in page.text():
                break
        time.sleep(3)  # arrows come later
        page.driver.save_screenshot(str(HERE / "view.png"))
    finally:
        process.terminate()
        process.wait()


def report(page: Browser, where: Path) -> None:
    page.open(where / "heat2d.html")
    page.until(lambda: page.run("return document.querySelectorAll('.js-plotly-plot').length") == 5)
    page.driver.save_screenshot(str(HERE / "report.png"))


if __name__ == "__main__":
    main()
