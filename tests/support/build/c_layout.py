# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and offsets of structures from the C compiler, to compare with their counterparts in Python."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.tools import ROOT, need


def layout(where: Path, header: str, struct: str, fields: Sequence[str]) -> dict[str, tuple[int, int]]:
    """(offset, size) of each field of a struct in csrc/HEADER; the key "" has the size of the whole struct."""
    prints = [f'printf("%s %zu %zu\\n", "{f}", offsetof(T, {f}), sizeof(((T *)0)->{f}));' for f in fields]
    lines = run_c(where, header, f"typedef struct {struct} T;", 'printf("- 0 %zu\\n", sizeof(T));', *prints)
    found = {}
    for line in lines:
        name, offset, size = line.split()
        found["" if name == "-" else name] = (int(offset), int(size))
    return found


def values(where: Path, header: str, expressions: Sequence[str]) -> dict[str, int]:
    """The value of each integer expression (a macro, an enumerator) after including csrc/HEADER."""
    lines = run_c(where, header, "", *(f'printf("%llu\\n", (unsigned long long)({e}));' for e in expressions))
    return dict(zip(expressions, map(int, lines), strict=True))


def run_c(where: Path, header: str, declarations: str, *statements: str) -> list[str]:
    """Compiles and runs a main function of these statements; returns its output by lines."""
    source, program = where / "layout.c", where / "layout"
    body = "\n".join(statements)
    includes = f'#include <stddef.h>\n#include <stdio.h>\n#include "{header}"\n'
    source.write_text(f"{includes}{declarations}\nint main(void)\n{{\n{body}\nreturn 0;\n}}\n")
    flags = ("-std=c11", "-DVT_NO_WRAPPERS", f"-I{ROOT / 'csrc'}")  # wrappers need the runtime
    subprocess.run([need("gcc"), *flags, str(source), "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()
