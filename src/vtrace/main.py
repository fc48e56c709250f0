# SPDX-License-Identifier: BSD-3-Clause
"""Entry point of vtrace. Starts `vtrace run` without importing click, since it may start each rank of a job, or a
short program."""

from __future__ import annotations

import atexit
import gc
import os
import sys

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from vtrace.wrappers.launch.choices import Choices


def main() -> int:
    """The command vtrace; returns the exit code."""
    _spare_collector()
    if sys.argv[1:2] == ["run"]:
        from vtrace.wrappers.launch import choices, start

        chosen, environ = choices.parse(sys.argv[2:]), start.environment()
        if chosen and not (chosen.view or chosen.bundle or chosen.repeat_groups):
            if chosen.always:
                return _always(chosen, environ)
            start.decide(chosen, environ)
            if chosen.unify or not chosen.switches["unify"]:
                return _run(chosen, environ)
    else:
        # A traced program would inherit the variable. Without it OpenBLAS starts a thread for each core.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from vtrace import cli

    return cli.main()


def _spare_collector() -> None:
    """Lets Python look for cycles of objects rarely, and not at the exit. The searches take a quarter of the time of a
    short command, and find few objects."""
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)


def _run(chosen: Choices, environ: dict[str, str]) -> int:
    from vtrace.errors import VtraceError
    from vtrace.wrappers.launch import start

    try:
        made = start.prepare(chosen, environ)
        if chosen.unify:
            from vtrace.commands.whole_run import run_and_unify

            return run_and_unify(made, chosen, environ)
        start.become(made, environ)
    except VtraceError as error:
        start.say(f"error: {error}")
        return error.exit_code


def _always(chosen: Choices, environ: dict[str, str]) -> int:
    from vtrace.commands.always import run_always
    from vtrace.errors import VtraceError
    from vtrace.wrappers.launch import start

    try:
        run_always(chosen, environ)
    except VtraceError as error:
        start.say(f"error: {error}")
        return error.exit_code
