# SPDX-License-Identifier: BSD-3-Clause
"""The recorded runs and archives in tests/archives."""

from __future__ import annotations

import tarfile
from pathlib import Path

from support.tools import ROOT


def extract(packed: Path, place: Path) -> None:
    """Extracts a tar file into a directory."""
    with tarfile.open(packed) as file:
        # Python 3.11.3 and older have no filters, and ignore this attribute.
        file.extraction_filter = getattr(tarfile, "data_filter", None)
        file.extractall(place)


def unpack(name: str, place: Path) -> Path:
    """Extracts tests/archives/NAME.tar.xz into a directory. Returns place/NAME."""
    extract(ROOT / "tests" / "archives" / f"{name}.tar.xz", place)
    return place / name
