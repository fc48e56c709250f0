# SPDX-License-Identifier: BSD-3-Clause
"""Sources and functions for the tests of the compiler wrappers."""

from __future__ import annotations

from pathlib import Path

from support.tools import Done, call, command, need

MAIN_C = "int twice(int); int main(void) { return twice(21) != 42; }\n"
TWICE_C = "int twice(int i) { return 2 * i; }\n"
MPI_C = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Finalize(); return 0; }\n"


def write_sources(directory: Path) -> Path:
    """Writes main.c and twice.c, a program of two sources, and mpi.c into a directory; returns the directory."""
    (directory / "main.c").write_text(MAIN_C)
    (directory / "twice.c").write_text(TWICE_C)
    (directory / "mpi.c").write_text(MPI_C)
    return directory


def wrap(cwd: Path, *args: str | Path, wrapper: str = "vtrace-cc", check: bool = True, **env: str) -> Done:
    return call([*command(wrapper), *args], cwd, env, check=check)


def seq(cwd: Path, *args: str | Path, check: bool = True, **env: str) -> Done:
    """Runs vtrace-cc with gcc, without MPI."""
    return wrap(cwd, "-vt:cc", need("gcc"), "-vt:seq", *args, check=check, **env)


def is_instrumented(path: Path) -> bool:
    """True if the functions of an object or program call vtrace: by hooks, or by sleds."""
    symbols = call([need("readelf"), "-sSW", path], path.parent).stdout
    return any(name in symbols for name in ("__cyg_profile_func_enter", "__fentry__", "xray_instr_map"))


def asks_for_functions(command_line: str) -> bool:
    """True if a compiler's command has the flags for hooks or sleds."""
    flags = ("-finstrument-functions", "sleds.specs", "-fxray-instrument", "-fplugin=")
    return any(flag in command_line for flag in flags)


def is_linked(path: Path) -> bool:
    return "[libvtrace.so.1]" in call([need("readelf"), "-d", path], path.parent).stdout


def has_shim(path: Path) -> bool:
    """True if an executable contains the MPI shim, which defines MPI_Send."""
    lines = call([need("nm"), path], path.parent).stdout.splitlines()
    return any(line.split()[-2:] in (["W", "MPI_Send"], ["T", "MPI_Send"]) for line in lines)


def fake_compiler(directory: Path, name: str = "fakecc", code: int = 0) -> Path:
    """A fake compiler that prints its arguments, one a line, and identifies itself as gcc."""
    path = directory / name
    path.write_text(
        "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Free Software Foundation'; exit 0; }\n"
        f"printf '%s\\n' \"$@\"\nexit {code}\n"
    )
    path.chmod(0o755)
    return path
