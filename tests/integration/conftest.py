# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of several tests of vtrace view."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.users.browser import Browser, browser


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def page(window: Browser) -> Browser:
    """The browser without the page of the previous test, which reports that its server has ended."""
    window.open("about:blank")
    window.complaints()
    return window
