# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of several files: the browser of vtrace view, and a directory of several users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.users.browser import Browser, browser
from support.users.second_user import shared_directory


@pytest.fixture(scope="session")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def page(window: Browser) -> Iterator[Browser]:
    """A new tab. The page of an earlier one reported that its server had ended."""
    with window.tab() as found:
        found.complaints()
        yield found


@pytest.fixture(params=[0o777, 0o1777], ids=["shared", "sticky"])
def shared(request: pytest.FixtureRequest) -> Iterator[Path]:
    with shared_directory(request.param) as place:
        yield place
