# SPDX-License-Identifier: BSD-3-Clause
"""The settings files, and the words for yes and no, for vtrace's own commands. The runtime reads the files too, and
reports their faults (csrc/core/system.h states their form)."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

YES = ("yes", "on", "true", "1")
NO = ("no", "off", "false", "0")
"""In lower case; the runtime's words are in csrc/core/setting_texts.c."""
_MOST = 16383
"""The most bytes of a file that are read."""

origins: dict[str, str] = {}
"""FILE:LINE of each variable that `apply` has set."""


def files(environ: Mapping[str, str]) -> list[str]:
    """The settings files that may exist, the lowest precedence first."""
    if (only := environ.get("VT_CONFIG")) is not None:
        return [only] if only else []
    config, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    user = config if config.startswith("/") else f"{home}/.config" if home.startswith("/") else ""
    return ["/etc/vtrace.conf", *([f"{user}/vtrace/settings"] if user else [])]


def apply(environ: MutableMapping[str, str]) -> None:
    """Adds the settings of the files that environ lacks, so that started programs have them, too."""
    if os.getuid() != os.geteuid():
        return
    found: dict[str, tuple[str, str]] = {}
    for path in files(environ):
        for number, line in enumerate(_lines(path), 1):
            name, equals, value = line.partition("=")
            if equals and line.lstrip(" \t").startswith("VT_"):
                found[name.strip()] = value.strip(), f"{path}:{number}"
    for name, (value, origin) in found.items():
        if name not in environ:
            environ[name] = value
            origins[name] = origin


def _lines(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST + 1)
    except OSError:
        return []
    if b"\0" in content:
        return []
    if len(content) > _MOST:
        content = content[: content.rfind(b"\n", 0, _MOST) + 1]
    return content.decode(errors="surrogateescape").split("\n")
