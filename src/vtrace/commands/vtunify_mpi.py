# SPDX-License-Identifier: BSD-3-Clause
"""vtunify-mpi: the parallel unifier's place."""

from __future__ import annotations

import sys


def main() -> int:
    """Entry point of vtunify-mpi."""
    print("vtunify-mpi: error: the parallel unifier is not part of this version (use vtunify PREFIX)", file=sys.stderr)
    return 1
