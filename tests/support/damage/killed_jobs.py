# SPDX-License-Identifier: BSD-3-Clause
"""Kills small programs of `vtrace run --always` at random moments and in adverse conditions, as a script: a test runs
it in file systems of its own. Each program must end as without vtrace, or by the signal, and say nothing else; each job
leaves a file that can be read, or none."""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.io.packed.job_row import read_job

LIMIT = 300
WAYS = (
    "plain", "threads", "forks", "chain", "spawned", "file", "abort", "catch", "forever", "closes", "static", "setuid"
)  # fmt: skip
_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_LONGEST = {False: 0.008, True: 0.12}
"""Seconds until a program of a job is killed, and until a job itself is, from its start."""
NOBODY = 65534
_BY_LIMITS = ("File too large", "can't start new thread", "Cannot allocate memory", "MemoryError",
              "Too many open files")  # fmt: skip
"""Parts of the lines in the log of jobs whose limits also hold for the writer of their file."""
Ending = tuple[int, bytes, bytes]


def _close(*numbers: int) -> None:
    for number in numbers:
        os.close(number)


def _limit(what: int, most: int) -> None:
    resource.setrlimit(what, (most, most))


def _become_nobody() -> None:
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def _leave_directory() -> None:
    gone = tempfile.mkdtemp()
    os.chdir(gone)
    os.rmdir(gone)


CONDITIONS: dict[str, Callable[[], object]] = {
    "none": lambda: None,
    "no input": partial(_close, 0), "no output": partial(_close, 1), "no error": partial(_close, 2),
    "no streams": partial(_close, 0, 1, 2),
    "no bytes": partial(_limit, resource.RLIMIT_FSIZE, 0), "4 KiB": partial(_limit, resource.RLIMIT_FSIZE, 4096),
    "70 kB": partial(_limit, resource.RLIMIT_FSIZE, 70_000), "1 MiB": partial(_limit, resource.RLIMIT_FSIZE, 1 << 20),
    "five files": partial(_limit, resource.RLIMIT_NOFILE, 5),
    "memory": partial(_limit, resource.RLIMIT_AS, 200 << 20),
    "stack": partial(_limit, resource.RLIMIT_STACK, 256 << 10),
    "nobody": _become_nobody, "umask": partial(os.umask, 0o777), "no directory": _leave_directory,
    "blocked": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGXFSZ, signal.SIGCHLD)),
    "ignored": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
}  # fmt: skip


@dataclass(frozen=True)
class Life:
    """A program in a condition, and its kill: the signal, 0 for none, after so many seconds; of its group or itself."""

    way: str
    condition: str
    number: int
    seconds: float
    of_group: bool


def _one(chance: random.Random, conditions: list[str], is_job: bool) -> Life:
    way = chance.choice(WAYS)
    condition = chance.choice(conditions)
    kills = way == "forever" or chance.random() < 0.8
    number = chance.choice(_SIGNALS) if kills else 0
    if way == "forever" and condition == "blocked":
        number = signal.SIGKILL
    return Life(way, condition, number, chance.random() * _LONGEST[is_job], chance.random() < 0.5)


class Killer:
    """Runs programs of a directory with the programs `small`, `static` and `setuid`."""

    def __init__(self, programs: Path, vtrace: list[str], jobs: Path) -> None:
        self._programs, self._vtrace, self._jobs = programs, vtrace, jobs
        self._alone = {name: value for name, value in os.environ.items() if not name.startswith(("VT_", "VTRACE_R"))}
        self._of_jobs = {**self._alone, "VT_ALWAYS_DIR": str(jobs)}
        self._expected: dict[tuple[str, str], Ending] = {}
        self.failures: list[str] = []
        self.kinds = Counter[str]()

    def job_of_many(self, chance: random.Random, count: int, conditions: list[str]) -> None:
        """One job whose programs are killed. They get the environment of a process of the job."""
        told = self._jobs.parent / "environment"
        holder = subprocess.Popen(
            [*self._vtrace, "run", "--always", "sh", "-c", f"env -0 >{told}.new; mv {told}.new {told}; read end"],
            env=self._of_jobs, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        while not told.exists():
            time.sleep(0.01)
        words = told.read_bytes().split(b"\0")
        told.unlink()
        env = dict(word.decode(errors="surrogateescape").split("=", 1) for word in words if b"=" in word)
        for _ in range(count):
            life = _one(chance, conditions, False)
            self._check(life, self._live(life, self._words(life), env))
        said = holder.communicate(b"\n", timeout=LIMIT)[1]
        if holder.returncode or said:
            self.failures.append(f"the job's own process: {holder.returncode} {said!r}")

    def jobs(self, chance: random.Random, count: int, conditions: list[str]) -> None:
        """Jobs of one program."""
        for number in range(count):
            life = _one(chance, [name for name in conditions if name != "nobody"], True)  # who may not read vtrace
            self._check(life, self._live(life, [*self._vtrace, "run", "--always", *self._words(life)], self._of_jobs))
            if number % 8 == 7:  # few writers at once
                self.wait()

    def wait(self) -> None:
        """Waits until no job is written any more."""
        end = time.monotonic() + LIMIT
        while any(_is_held(job) for job in self._jobs.iterdir() if job.suffix in (".running", ".ending")):
            if time.monotonic() > end:
                self.failures.append(f"still written: {os.listdir(self._jobs)}")
                return
            time.sleep(0.05)

    def look(self, is_full: bool) -> None:
        """Reads the files of all jobs. is_full: files may be missing, and the log has lines for them."""
        subprocess.run([*self._vtrace, "run", "--always", "true"], env=self._of_jobs)  # writes what killed starts left
        self.wait()
        left = [name for name in os.listdir(self._jobs) if not name.endswith((".vtz", ".log"))]
        if left:
            self.failures.append(f"left: {left}")
        for file in self._jobs.glob("*.vtz"):
            try:
                row = read_job(file)
                self.kinds["processes in files"] += row["processes"] if row else 0
            except VtraceError as error:
                self.failures.append(str(error))
            self.kinds["files"] += 1
        for log in self._jobs.glob("*.log"):
            lines = log.read_text().splitlines()
            self.kinds["lines in logs"] += len(lines)
            if not is_full:
                self.failures += [f"log: {line}" for line in lines if not any(text in line for text in _BY_LIMITS)]

    def _words(self, life: Life) -> list[str]:
        program = life.way if life.way in ("static", "setuid") else "small"
        return [str(self._programs / program), life.way]

    def _live(self, life: Life, words: list[str], env: dict[str, str]) -> Ending:
        def prepare() -> None:
            _limit(resource.RLIMIT_CORE, 0)
            CONDITIONS[life.condition]()

        process = subprocess.Popen(
            words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=prepare, start_new_session=True,
        )  # fmt: skip
        if life.number:
            time.sleep(life.seconds)
            (os.killpg if life.of_group else os.kill)(process.pid, life.number)
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err

    def _check(self, life: Life, found: Ending) -> None:
        self.kinds["lives"] += 1
        self.kinds["killed"] += bool(life.number) and found[0] == -life.number
        self.kinds[f"{life.way}, {life.condition}"] += 1
        if life.way == "forever":
            fits = found == (-life.number, b"", b"")
        else:
            expected = self._alone_of(life)
            fits = found == expected or (bool(life.number) and _is_cut(life, found, expected))
        if not fits:
            wanted = "" if life.way == "forever" else f", not {self._alone_of(life)}"
            self.failures.append(f"{life}: {found}{wanted}")

    def _alone_of(self, life: Life) -> Ending:
        key = life.way, life.condition
        if key not in self._expected:
            unkilled = Life(life.way, life.condition, 0, 0, False)
            self._expected[key] = self._live(unkilled, self._words(life), self._alone)
        return self._expected[key]


def _is_cut(life: Life, found: Ending, expected: Ending) -> bool:
    """True for the end of a killed program: by the signal, in its handler, or with children that the signal ended."""
    code, out, err = found
    if life.way == "catch" and life.number == signal.SIGTERM and code in (90, 92):
        caught = b"caught\n" if code == 90 else b""  # 92: there is no output
        return out in (caught, expected[1] + caught) and not err
    if life.way in ("forks", "spawned") and life.of_group and code in range(15) and (out, err) == (b"", b""):
        return True
    return code == -life.number and expected[1].startswith(out) and expected[2].startswith(err)


def _is_held(job: Path) -> bool:
    """True while the writer of a job waits or writes."""
    try:
        descriptor = os.open(job, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def main(words: list[str]) -> None:
    """PROGRAMS JOBS SEED SECONDS FULL VTRACE...: kills for so many seconds, at least 40 programs and 4 jobs; FULL: 1
    for a file system that becomes full. Prints the numbers and the failures as JSON."""
    programs, jobs, seed, seconds, full, *vtrace = words
    begin, chance = time.monotonic(), random.Random(int(seed))
    conditions = [name for name in CONDITIONS if os.geteuid() == 0 or name != "nobody"]
    Path(jobs).mkdir(exist_ok=True)
    killer = Killer(Path(programs), vtrace, Path(jobs))
    while True:
        killer.job_of_many(chance, 40 if float(seconds) < 20 else 200, conditions)
        killer.jobs(chance, 4 if float(seconds) < 20 else 16, conditions)
        if time.monotonic() - begin >= float(seconds):
            break
    killer.wait()
    killer.look(full == "1")
    json.dump({"failures": killer.failures, "numbers": killer.kinds}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
