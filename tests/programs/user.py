# SPDX-License-Identifier: BSD-3-Clause
"""All of vtrace.user."""

from contextlib import suppress

from vtrace import user
from vtrace.user import counter, marker, region


@region("solve")
def solve(n: int) -> int:
    """Calls itself."""
    return n and solve(n - 1)


@region
def fails() -> None:
    raise ValueError


@region("generated")
def generates():
    """A generator stays unchanged."""
    yield 1


def main() -> None:
    level, heat = counter("level", "m", int, "weather"), counter("heat", "K")
    for i in range(2):
        with region("step", "phases"):
            level(-i)
            heat(i + 0.5)
    solve(2)
    with suppress(ValueError):
        fails()
    list(generates())
    user.note("on a Monday")
    user.comment("half way")
    marker("breaks", "it broke", "error")
    marker("steps", "it went")
    user.send(5, 80, "queue")
    user.send(6, 90)
    user.receive(5, 80, "queue")
    user.receive(6, 90)
    user.off()
    print(user.is_on(), user.traced())
    with region("unseen"):
        pass
    user.on()
    user.flush()
    user.timesync()
    user.set_rewind_mark()
    with region("discarded"):
        pass
    user.rewind()
    print(solve.__name__, solve.__doc__)


main()
