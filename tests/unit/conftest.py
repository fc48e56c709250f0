# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of several unit tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.synthetic_runs.two_ranks import two_ranks
from vtrace.io.local.kernel import Kernel


@pytest.fixture(scope="session")
def kernel() -> Kernel:
    """The C kernel."""
    return Kernel()


@pytest.fixture
def heat(tmp_path: Path) -> Path:
    """The prefix of the local files of two ranks."""
    return two_ranks(tmp_path)
