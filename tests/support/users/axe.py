# SPDX-License-Identifier: BSD-3-Clause
"""axe-core looks at the page that a browser shows, for what keeps people with disabilities from using it."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from support.tools import unavailable
from support.users.browser import Browser

GRAVE = ("serious", "critical")
_RUN = (
    "const done = arguments[0];"
    "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => done(violations.map((one) =>"
    " [one.impact, one.id, ...one.nodes.map((node) => `${node.target.join(' ')}: ${node.failureSummary}`)])),"
    " (error) => done([['critical', String(error)]]));"
)


@cache
def _axe() -> str:
    """axe-core itself, from the wheel that has it; the wheel's own modules are for another driver of browsers."""
    found = find_spec("axe_playwright_python")
    if not found or not found.submodule_search_locations:
        unavailable("the package axe-playwright-python is not installed")
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Browser) -> list[list[str]]:
    """The serious and critical violations: impact, rule, and each element with what is wrong."""
    if not page.run("return 'axe' in window"):
        page.run(_axe())
    found: list[list[str]] = page.driver.execute_async_script(_RUN)
    return [one for one in found if one[0] in GRAVE]
