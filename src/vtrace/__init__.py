# SPDX-License-Identifier: BSD-3-Clause
"""vtrace: an event tracer for parallel programs. vtrace records events and writes OTF2 archives."""

from __future__ import annotations

TYPE_CHECKING = False  # typing.TYPE_CHECKING; each rank under vtrace run would pay for importing typing
if TYPE_CHECKING:
    from pathlib import Path

    from vtrace.analysis.trace import Trace

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(path: str | Path) -> Trace:
    """Opens an OTF2 archive of any tool. path: its directory, its anchor file or its prefix.

    See vtrace.analysis.trace.Trace. Raises VtraceError if there is no archive; for local files the error names the
    command that unifies these files."""
    from pathlib import Path

    from vtrace.io.archive.overview import find_anchor

    if find_anchor(Path(path)) is None:
        from vtrace.unify.discover.list_files import no_archive

        raise no_archive(Path(path))
    from vtrace.analysis.trace import open_trace  # imported here: only readers need numpy and otf2

    return open_trace(path)
