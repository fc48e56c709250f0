# SPDX-License-Identifier: BSD-3-Clause
"""Open files without names, for other processes of the host."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from typing import BinaryIO

Offer = tuple[str, str, int, int]
"""The host's boot, the name of the descriptor, the file's device and inode."""


def offered(descriptor: int) -> Offer:
    """Names an open file for other processes of this host."""
    found = os.fstat(descriptor)
    return _boot(), f"/proc/{os.getpid()}/fd/{descriptor}", found.st_dev, found.st_ino


def opened(offer: Offer) -> BinaryIO | None:
    """Opens the file of another process for reading; None if this process cannot."""
    boot, name, device, inode = offer
    if boot == _boot():
        with suppress(OSError):
            file = open(name, "rb", buffering=0)  # noqa: SIM115
            found = os.fstat(file.fileno())
            if (found.st_dev, found.st_ino) == (device, inode):
                return file
            file.close()
    return None


def _boot() -> str:
    """A text that differs between hosts."""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        return file.read()
    return platform.node()
