# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands on malicious files as processes, with limited memory and time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from support.tools import Done, call, command

MEMORY_KB = 3_000_000
"""Limit of address space in KB. Threads and libraries map 2 GB without using it."""
SECONDS = 60
_BIDI = frozenset(chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))


def limited(words: Sequence[str | Path], where: Path, seconds: float = SECONDS) -> Done:
    """Runs a command of vtrace. The exit code must be 0, 1 or 2; messages are single printable lines, no traceback."""
    name = Path(words[0]).name
    limit = ["sh", "-c", f'ulimit -v {MEMORY_KB}; ulimit -c 0; exec "$@"', "sh"]
    done = call([*limit, *command(name), *words[1:]], where, check=False, timeout=seconds)
    assert done.returncode in (0, 1, 2), str(done)[-4000:]
    for line in done.stderr.splitlines():
        assert line.startswith(f"{name}: "), str(done)[-4000:]
        assert line.isprintable(), repr(line)
        assert len(line) < 4000, line
    errors = [line for line in done.stderr.splitlines() if line.startswith(f"{name}: error: ")]
    assert len(errors) == (done.returncode != 0), str(done)[-4000:]
    assert all(c.isprintable() or c in "\n\t" for c in done.stdout if c not in _BIDI), str(done)[-4000:]
    assert not _BIDI & set(done.stdout), str(done)[-4000:]
    return done
