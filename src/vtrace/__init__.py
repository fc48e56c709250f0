# SPDX-License-Identifier: BSD-3-Clause
"""vtrace: records what parallel programs do over time, and unifies it into OTF2 archives."""

from __future__ import annotations

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without what loading typing costs each rank under vtrace run
if TYPE_CHECKING:
    from pathlib import Path

    from vtrace.analysis.trace import Trace

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(path: str | Path) -> Trace:
    """Opens an OTF2 archive of any tool: its directory, its anchor file or its prefix. See
    vtrace.analysis.trace.Trace. Raises VtraceError, which of local files says how they become an archive."""
    from pathlib import Path

    from vtrace.io.archive.overview import find_anchor

    if find_anchor(Path(path)) is None:
        from vtrace.unify.discover.list_files import no_archive

        raise no_archive(Path(path))
    from vtrace.analysis.trace import open_trace  # numpy and otf2 only for those who read

    return open_trace(path)
