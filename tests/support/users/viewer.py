# SPDX-License-Identifier: BSD-3-Clause
"""The page of vtrace view in a browser: mouse, keys and pixels of the chart."""

from __future__ import annotations

import base64
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support.users.browser import Browser

AXIS, NAMES = 24, 170
"""Pixels of the chart above the rows, and to their left."""
_STACK_ROW, _PANE_HEAD = 16, 18
"""Pixels of a level of the selected row's stack, and of the line above it."""


class Viewer:
    """A page that is open and complete. actions: the user's actions so far: clicks, keys, texts."""

    def __init__(self, page: Browser, address: str) -> None:
        self.page, self.actions = page, 0
        page.open("about:blank")
        page.open(address)
        page.until(lambda: page.run("return document.body.dataset.ready"))
        self.settled()
        self._measure()

    def _measure(self) -> None:
        """Asks for the size of the chart."""
        self.width, self.height = self.page.run(
            "const c = document.getElementById('chart'); return [c.clientWidth, c.clientHeight]"
        )

    def resize(self, width: int, height: int) -> None:
        """Gives the page a size in CSS pixels."""
        self.page.resize(width, height)
        self.settled()
        self._measure()

    def settled(self) -> None:
        self.page.settled()

    def step(self) -> None:
        """Waits until the next action is a step of its own for Back: hands/history.js joins those within 0.6 s."""
        time.sleep(0.7)

    def go(self, fragment: str) -> None:
        """Changes the fragment of the address, as a step back does."""
        self.page.run("location.hash = arguments[0]", fragment)
        self.settled()

    @property
    def state(self) -> str:
        return str(self.page.run("return decodeURIComponent(location.hash)"))

    @property
    def window(self) -> tuple[int, int]:
        begin, end = self.state.removeprefix("#w=").split("&")[0].split("-")
        return int(begin), int(end)

    def x(self, time: float) -> float:
        begin, end = self.window
        return NAMES + (time - begin) / (end - begin) * (self.width - NAMES)

    def row(self, number: int, part: float = 0.5, trace: int = 0) -> float:
        """The y of a row of a trace; part: 0 for its top, 1 for its bottom."""
        script = (
            "const l = document.getElementById('chart').layout(), {begin, high} = l.parts[arguments[0]];"
            "return [l.top + begin, high]"
        )
        top, high = self.page.run(script, trace)
        return float(top + (number + part) * high)

    def stack(self, depth: int) -> float:
        """The y of a level of the selected row's stack."""
        bottom = self.page.run("return document.getElementById('chart').layout().bottom")
        return float(bottom + _PANE_HEAD + (depth + 0.5) * _STACK_ROW)

    def texts(self) -> list[tuple[str, float, float, float, float]]:
        """The texts of the chart with their boxes: x, y, width, height."""
        script = "return document.getElementById('chart').texts().map(({text, x, y, w, h}) => [text, x, y, w, h])"
        return [tuple(each) for each in self.page.run(script)]

    def tip(self, x: float, y: float) -> str:
        """The words of the box beside the mouse at a place."""
        self.mouse([("mousemove", x, y)])
        return str(self.page.run("const t = document.getElementById('tip'); return t.hidden ? '' : t.textContent"))

    def picture(self, y: float, high: float = 1) -> NDArray[np.uint8]:
        """The colours of lines of the chart, from the first time on: of each line, of each pixel, red, green, blue."""
        data = self.page.run(
            "const c = document.getElementById('picture'), s = c.width / c.clientWidth, [x, y, high] = arguments;"
            "const {data} = c.getContext('2d').getImageData(x * s, y * s, c.width - x * s, high * s), parts = [];"
            "for (let n = 0; n < data.length; n += 9999) parts.push(String.fromCharCode(...data.subarray(n, n + 9999)))"
            "; return btoa(parts.join(''))", NAMES, y, high,
        )  # fmt: skip
        return np.frombuffer(base64.b64decode(data), np.uint8).reshape(int(high), -1, 4)[:, :, :3]

    def pixels(self, y: float) -> list[tuple[int, int, int]]:
        """The colours of a line of the chart, from the first time on."""
        return [(red, green, blue) for red, green, blue in self.picture(y)[0].tolist()]

    def click(self, x: float, y: float, double: bool = False) -> None:
        self.actions += 1
        self.mouse([("mousedown", x, y), ("mouseup", x, y), *([("dblclick", x, y)] if double else [])])

    def drag(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.actions += 1
        self.mouse(
            [("mousedown", x0, y0), ("mousemove", (x0 + x1) / 2, y1), ("mousemove", x1, y1), ("mouseup", x1, y1)]
        )

    def mouse(self, events: list[tuple[str, float, float]]) -> None:
        self.page.run(
            "const c = document.getElementById('chart'), b = c.getBoundingClientRect();"
            "for (const [kind, x, y] of arguments[0]) c.dispatchEvent(new MouseEvent(kind,"
            " {clientX: b.left + x, clientY: b.top + y, bubbles: true}));", events,
        )  # fmt: skip
        self.settled()

    def wheel(self, x: float, y: float, down: float, ctrl: bool = False) -> None:
        self.page.run(
            "const c = document.getElementById('chart'), b = c.getBoundingClientRect();"
            "c.dispatchEvent(new WheelEvent('wheel', {clientX: b.left + arguments[0], clientY: b.top + arguments[1],"
            " deltaY: arguments[2], ctrlKey: arguments[3], bubbles: true, cancelable: true}))", x, y, down, ctrl,
        )  # fmt: skip
        self.settled()

    def key(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        self.actions += len(keys)
        ActionChains(self.page.driver).send_keys(*keys).perform()
        self.settled()

    def search(self, text: str) -> None:
        self.actions += 1
        field = self.page.driver.find_element("id", "search")
        field.clear()
        field.send_keys(text)
        self.settled()

    def press(self, text: str) -> None:
        """Clicks on the first button with a text."""
        self.actions += 1
        self.page.run(
            "[...document.querySelectorAll('button')].find((b) => b.textContent.startsWith(arguments[0])).click()", text
        )
        self.settled()

    def choose(self, which: str) -> None:
        """Clicks on the first element that a selector finds."""
        self.actions += 1
        self.page.until(lambda: self.page.run("return document.querySelector(arguments[0])", which))
        self.page.run("document.querySelector(arguments[0]).click()", which)
        self.settled()

    def facts(self) -> dict[str, str]:
        """The facts of the selected call."""
        rows = self.page.until(
            lambda: self.page.run("return [...document.querySelectorAll('.facts tr')].map((r) => r.innerText)")
        )
        return dict(row.split("\t", 1) for row in rows if "\t" in row)

    def panel(self) -> str:
        return str(self.page.run("return document.getElementById('panel').innerText"))

    def run(self, script: str, *values: Any) -> Any:
        return self.page.run(script, *values)
