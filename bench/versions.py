# SPDX-License-Identifier: BSD-3-Clause
"""Cost of an event with this vtrace and with another installation, alternately: `bench/versions.py BIN`.

BIN is the directory of the commands of the other installation. Prints for both the ns per event above the untraced
program, and the ratio. A pass fills one segment of the buffer (16 MiB) in new memory. The first pass of each process is
left out; the best of the other passes of all repetitions counts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from measure import BIN, ENVIRONMENT, HERE, build, run

PASSES = 5
ROOM = {"VT_BUFFER_SIZE": "1G", "VT_THREAD_BUFFER_SIZE": "1M", "VT_MAX_FLUSHES": "0"}
IO, MEMORY = {"VT_IOTRACE": "yes"}, {"VT_MEMTRACE": "yes"}
ROWS: dict[str, tuple[int, int, dict[str, str]]] = {
    "function": (2, 1 << 20, {}),
    "write": (2, 350_000, IO),
    "fgets": (2, 350_000, IO),
    "malloc": (4, 175_000, MEMORY),
    "exchange": (8, 210_000, {}),
    "self": (4, 210_000, {}),
}
"""For each kind of bench/events.c: events of a call (of both ranks, if there are two), calls of a pass, settings."""


def path(commands: Path) -> str:
    """PATH with these commands first."""
    return f"{commands}{os.pathsep}{ENVIRONMENT['PATH']}"


def main() -> None:
    """Builds, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, metavar="BIN")
    parser.add_argument("-n", "--repetitions", type=int, default=7)
    parser.add_argument("--only", choices=ROWS)
    args = parser.parse_args()
    kinds = [args.only] if args.only else list(ROWS)
    both = {"this": BIN, "other": args.other.resolve()}
    times: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        for kind in kinds:
            mpi = kind in ("exchange", "self")
            manual = [] if kind == "function" else ["-vt:inst", "manual"]
            source = ["-O2", HERE / "events.c", *(["-DMPI"] if mpi else [])]
            build("mpicc" if mpi else "gcc", *source, "-o", f"{kind}_plain", cwd=work)
            for name, commands in both.items():
                words = [commands / "vtrace-cc", *(["-vt:cc", "mpicc"] if mpi else []), *manual]
                build(*words, *source, "-o", f"{kind}_{name}", cwd=work)
        for _ in range(args.repetitions):
            for kind in kinds:
                events, calls, settings = ROWS[kind]
                for name in ("plain", *both):
                    words = ["mpiexec", "-n", "2"] if kind == "exchange" else []
                    preload = {}
                    if settings and name != "plain":
                        library = next((both[name].parent).glob("lib/python*/site-packages/vtrace/_lib"))
                        shim = "libvtrace-io.so" if settings is IO else "libvtrace-mem.so"
                        preload = {"LD_PRELOAD": str(library / shim)}
                    found = run(
                        *words, f"./{kind}_{name}", kind, calls, PASSES, cwd=work, **ROOM, **settings, **preload
                    )
                    times.setdefault((kind, name), []).extend(t / events for t in found[1:])
    for kind in kinds:
        plain, this, other = (min(times[kind, name]) for name in ("plain", "this", "other"))
        print(f"{kind:10} {this - plain:6.2f} {other - plain:6.2f} ns an event  {(this - plain) / (other - plain):.3f}")


if __name__ == "__main__":
    main()
