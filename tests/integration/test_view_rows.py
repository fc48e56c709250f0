# SPDX-License-Identifier: BSD-3-Clause
"""The data that rows of vtrace view show besides calls, in a real browser: counters."""

from __future__ import annotations

from pathlib import Path

from support.readers import archive as reader
from support.recorded_archives import unpack
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.viewer import NAMES, Viewer

MINFLT = 2
"""The place of ru_minflt in the values of scorep-io."""
LOWEST, HIGHEST = (0xFF, 0xF3, 0xC4), (0x60, 0x10, 0x30)
"""The colours of the lowest and the highest value of a counter."""


def choose(view: Viewer, colour: str) -> None:
    """Chooses by what rows have colours."""
    script = "const s = document.getElementById('colour'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))"
    view.run(script, colour)
    view.settled()


def test_a_counter(page: Browser, tmp_path: Path) -> None:
    """The curve of page faults below the calls, at the heights of the values, and the value at the mouse; by a menu the
    rows have its colours."""
    trace = reader.read(unpack("scorep-io", tmp_path))
    values = [
        ((event.time - trace.offset) * 10**9 // trace.resolution, event.attrs["values"][MINFLT])
        for event in trace.of(0)
        if event.kind == "Metric"
    ]
    with served(tmp_path, tmp_path / "scorep-io") as (address, _):
        view = Viewer(page, address)
        choices = view.run("return [...document.querySelectorAll('#curve option')].map((one) => one.value)")
        for _ in range(choices.index("ru_minflt")):
            view.key("v")
        assert "curve=ru_minflt" in view.state
        low, high = values[0][1], values[-1][1]
        assert f"ru_minflt: {low:,} to {high:,}" in view.run("return document.getElementById('status').innerText")
        box = "const l = document.getElementById('chart').layout(); return [l.top, l.parts[0].high]"
        place, room = view.run(box)
        top, height = place + 2 + 3, room - 4 - 3  # without the gap between rows and the edge for marks
        begin, tall = top + height // 2 + 1, height - height // 2 - 1
        checked = 0
        for x in range(NAMES + 5, int(view.width) - 5, 40):
            first, last = (view.window[1] * (x - NAMES + n) / (view.width - NAMES) for n in (-2, 3))
            near = {value for time, value in values if first <= time <= last}
            before = [value for time, value in values if time < first]
            if near - {before[-1] if before else None} or not before:
                continue  # the value changes there
            assert f"ru_minflt {before[-1]:,}" in view.tip(x, view.row(0, 0.3))
            line = int(begin + tall - 1 - (before[-1] - low) * (tall - 1) / (high - low) + 0.5)
            assert view.pixels(line)[x - NAMES] == (0x20, 0x21, 0x24), x
            checked += 1
        assert checked > 5
        choose(view, "counter")
        assert {LOWEST, HIGHEST} <= {*view.pixels(view.row(0, 0.5))}
        choose(view, "class")
        view.key(*"v" * (len(choices) - choices.index("ru_minflt")))
        assert "curve" not in view.state
        assert page.complaints() == []
