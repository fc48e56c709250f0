# SPDX-License-Identifier: BSD-3-Clause
"""Where the cache of MPI shims is."""

from __future__ import annotations

import os


def cache_directory() -> str:
    """VT_SHIM_CACHE, else vtrace/ in XDG_CACHE_HOME, else ~/.cache/vtrace."""
    chosen = os.environ.get("VT_SHIM_CACHE")
    return chosen or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vtrace")
