# SPDX-License-Identifier: BSD-3-Clause
"""Computes in a library that Python loads after its start, called by a Python function."""

import zlib


def compress() -> int:
    data, size = bytes(range(256)) * 4096, 0
    for _ in range(120):
        size += len(zlib.compress(data, 9))
    return size


print(compress() > 0)
