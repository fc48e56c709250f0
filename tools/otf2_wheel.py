#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a wheel of otf2 for all versions of Python (make wheels): for Python 3.12 and newer, PyPI has only sources.

tools/otf2_wheel.py DIR     writes DIR/otf2-VERSION-py3-none-PLATFORM.whl

The new wheel is PyPI's for Python 3.11 with another name of its library. The library calls no function of Python:
otf2 loads it by ctypes, under any name that an extension module can have. `abi3` is the name for all versions of
Python. The symbols for debuggers, four fifths of the library, are left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Writes the wheel."""
    into = Path(sys.argv[1]).resolve()
    machine = os.uname().machine
    if machine != "x86_64":
        print(f"otf2: PyPI has no wheel for {machine}; pip compiles the sources where vtrace is installed")
        return
    with tempfile.TemporaryDirectory() as name:
        place, packed = Path(name), Path(name) / "packed"
        packed.mkdir()
        platform = ("--python-version", "3.11", "--platform", f"manylinux_2_17_{machine}")
        _run(place, "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *platform, "otf2>=3.0")
        _run(place, "wheel", "unpack", *(path.name for path in place.glob("*.whl")))
        (tree,) = place.glob("otf2-*/")
        (library,) = tree.glob("_otf2/_otf2.*.so")
        subprocess.run(["strip", "--strip-unneeded", library], check=True)
        library.rename(library.with_name("_otf2.abi3.so"))
        _run(place, "wheel", "pack", "--dest-dir", packed.name, tree.name)
        tags = ("--python-tag", "py3", "--abi-tag", "none")
        _run(packed, "wheel", "tags", "--remove", *tags, *(path.name for path in packed.iterdir()))
        (made,) = packed.iterdir()
        shutil.move(made, into / made.name)
    print(into / made.name)


def _run(place: Path, module: str, *words: str) -> None:
    """Runs a Python module as a command in a directory."""
    subprocess.run([sys.executable, "-m", module, *words], cwd=place, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
