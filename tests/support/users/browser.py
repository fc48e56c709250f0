# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Chromium without a window, with its network requests and its console messages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.tools import need, unavailable

_ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


_WATCH = """
(() => {
  const open = new Set(), {setTimeout: after, clearTimeout: cancel, requestAnimationFrame: frame} = window;
  const until = (promise) => {
    open.add(promise);
    promise.catch(() => undefined).then(() => open.delete(promise));
    return promise;
  };
  const watch = (of, name, make = of[name]) => {
    of[name] = function (...words) { return until(make.apply(this, words)); };
  };
  watch(window, 'fetch');
  for (const name of ['arrayBuffer', 'blob', 'json', 'text']) watch(Response.prototype, name);
  window.setTimeout = (what, ms = 0, ...words) => {
    const id = after(() => { open.delete(id); what(...words); }, ms);
    if (ms < 1000) open.add(id);
    return id;
  };
  window.clearTimeout = (id) => { open.delete(id); cancel(id); };
  window.requestAnimationFrame = (draw) => {
    const key = {};
    open.add(key);
    return frame((now) => { open.delete(key); draw(now); });
  };
  window.whenSettled = (done, calm = 0) => {
    if (open.size) calm = 0;
    if (calm > 2) done();
    else frame(() => after(() => window.whenSettled(done, calm + 1)));
  };
})();
"""
"""Counts what a page waits for: answers, frames, and timers of less than a second. whenSettled calls a function after
three frames in which the page waits for nothing."""


class Browser:
    """A tab of a browser. driver: selenium's driver."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        driver.set_script_timeout(300)
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})

    @contextmanager
    def tab(self) -> Iterator[Browser]:
        """A new tab, in front until it is closed."""
        before = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        self.driver.execute_cdp_cmd("Page.bringToFront", {})
        try:
            yield Browser(self.driver)
        finally:
            self.driver.close()
            self.driver.switch_to.window(before)

    def settled(self) -> None:
        """Waits until the page has all answers, and has drawn them."""
        self.driver.execute_async_script("window.whenSettled(arguments[0])")

    def open(self, address: str | Path) -> None:
        self.driver.get(address if isinstance(address, str) else address.absolute().as_uri())

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def until(self, what: Callable[[], Any], seconds: float = 60) -> Any:
        """The first true value of what(). Exceptions are ignored: the page may be reloading."""
        from selenium.common.exceptions import WebDriverException

        end = time.monotonic() + seconds
        while True:
            try:
                if found := what():
                    return found
            except WebDriverException:
                pass
            assert time.monotonic() < end, f"not on the page: {self.run('return document.body.innerText')[:2000]}"
            time.sleep(0.02)

    def text(self) -> str:
        return str(self.run("return document.body.innerText"))

    def dark(self, dark: bool = True) -> None:
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def resize(self, width: int, height: int) -> None:
        """Gives the page a size in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def asked(self) -> set[str]:
        """Schemes and hosts of all requests since the last call, in a browser with a log of requests. The scheme
        chrome: is the browser itself."""
        found = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                parameters = message["params"]
                parts = urlsplit(parameters["request"]["url"] if "request" in parameters else parameters["url"])
                found.add(f"{parts.scheme}://{parts.hostname or ''}")
        return {where for where in found if not where.startswith("chrome")}

    def complaints(self) -> list[str]:
        """Errors on the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@contextmanager
def browser(scratch: Path, requests: bool = False) -> Iterator[Browser]:
    """A browser with a new profile. requests: keeps a log of its requests."""
    chromium, chromedriver = need("chromium"), need("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        unavailable("the package selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*_ARGUMENTS, "--window-size=1400,900", f"--user-data-dir={scratch / 'chromium'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"} | ({"performance": "ALL"} if requests else {}))
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
