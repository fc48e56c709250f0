# SPDX-License-Identifier: BSD-3-Clause
"""Options of vtrace run as settings of the runtime."""

from __future__ import annotations

import pytest

from vtrace.wrappers.launch.choices import parse
from vtrace.wrappers.launch.preload import plan_for_any


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        (["--locks"], None, "locks"),
        (["--locks"], "no", "locks"),
        (["--no-locks"], None, None),
        (["--no-locks"], "no", None),
        (["--no-locks"], "LOCKS", "yes"),
        (["--locks", "--no-locks"], "locks", "yes"),
        ([], "locks", None),
    ],
)
def test_locks(options: list[str], before: str | None, after: str | None) -> None:
    """after: the value that vtrace run sets; None: the variable stays."""
    chosen = parse([*options, "true"])
    assert chosen
    environ = {} if before is None else {"VT_PTHREAD": before}
    assert plan_for_any(chosen, environ).changes.get("VT_PTHREAD") == after
