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


class Browser:
    """A browser. driver: selenium's driver."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

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
            time.sleep(0.1)

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
        """Schemes and hosts of all requests since the last call. The scheme chrome: is the browser itself."""
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
def browser(scratch: Path, size: str = "1400,900") -> Iterator[Browser]:
    """A browser with a new profile."""
    chromium, chromedriver = need("chromium"), need("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        unavailable("the package selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*_ARGUMENTS, f"--window-size={size}", f"--user-data-dir={scratch / 'chromium'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
