# SPDX-License-Identifier: BSD-3-Clause
"""The notes that fipp -C and fapp -C write beside the archive: the facts of the collection that the archive lacks."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from vtrace.errors import VtraceError

_Notes = TypeVar("_Notes", bound="Collected")


@dataclass
class Collected:
    """The defaults are for archives that neither command has made. date: as ctime(3); frequency: MHz; event: of -H."""

    date: str = ""
    frequency: str = ""
    event: str = ""

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls: type[_Notes], path: Path) -> _Notes:
        """The notes in a file; the defaults without the file. Values of other types are ignored.

        Raises VtraceError for a file that cannot be read.
        """
        found = cls()
        try:
            values = json.loads(path.read_text()) if path.is_file() else {}
        except (OSError, ValueError) as error:
            raise VtraceError(f"{path}: cannot be read: {error}", "collect the data again") from None
        for name, value in values.items() if isinstance(values, dict) else ():
            if type(getattr(found, name, found)) is type(value):
                setattr(found, name, value)
        return found
