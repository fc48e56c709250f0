# SPDX-License-Identifier: BSD-3-Clause
"""Help: Run commands of other tools, with their options and layouts."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib import import_module
from pathlib import Path

import click

from vtrace.errors import UsageError, VtraceError

_TOOLS = {
    "cpupa": ("vtrace.commands.cpupa", "cpupa", "Merge runs of fapp -C -Hpa to the precision PA sheets."),
    "fapp": ("vtrace.commands.fapp", "fapp", "Collect the data of sections (-C), or show them (-A)."),
    "fapppx": ("vtrace.commands.fapp", "fapppx", "Show the data of sections as text or CSV (-A)."),
    "fipp": ("vtrace.commands.fipp", "fipp", "Collect instant profiling data (-C), or show them (-A)."),
    "fipppx": ("vtrace.commands.fipp", "fipppx", "Show instant profiling data as text or CSV (-A)."),
    "tofupa": ("vtrace.commands.tofupa", "tofupa", "Write the files of Tofu PA, of a run (-C) or an archive (-A)."),
}
"""Name -> module, click command, the first line of its help."""

_TRACER = {
    **{name: ("vtrace-cc", "VT_CC", compiler) for name, compiler in (("vtfccpx", "mpifccpx"), ("vtfcc", "mpifcc"))},
    **{name: ("vtrace-cxx", "VT_CXX", compiler) for name, compiler in (("vtFCCpx", "mpiFCCpx"), ("vtFCC", "mpiFCC"))},
    **{name: ("vtrace-fc", "VT_FC", compiler) for name, compiler in (("vtfrtpx", "mpifrtpx"), ("vtfrt", "mpifrt"))},
    "vtcc": ("vtrace-cc", "VT_CC", "mpicc"),
    "vtcxx": ("vtrace-cxx", "VT_CXX", "mpicxx"),
    "vtf77": ("vtrace-fc", "VT_FC", "mpif77"),
    "vtf90": ("vtrace-fc", "VT_FC", "mpif90"),
}
"""Compiler wrappers of the Tracer and of VampirTrace -> ours, the variable of the compiler, the tool's compiler, which
is called if it is installed."""

_UNIFIERS = {"vtunifypx": "vtunify", "vtunify": "vtunify", "vtunify-mpi": "vtunify-mpi"}
"""Unifiers of the Tracer -> ours. They replace an archive that exists, as the Tracer does."""

_WRAPPER = """\
#!/bin/sh
# The program that this command links is silent, unless VT_VERBOSE is set.
if [ -z "${{{variable}-}}" ] && command -v {compiler} >/dev/null; then export {variable}={compiler}; fi
export VT_LIBS={quoted}" ${{VT_LIBS-}}"
exec {words} "$@"
"""


class _Tools(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_TOOLS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _TOOLS:
            return None
        module, name, does = _TOOLS[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        command.short_help = does
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in sorted(_TOOLS.items())])


@click.group(cls=_Tools, invoke_without_command=True)
@click.option(
    "--install", "directory", metavar="DIR", type=click.Path(path_type=Path),
    help="Write the commands under their own names to DIR/bin, headers to DIR/include, libraries to DIR/lib.",
)  # fmt: skip
@click.option(
    "--one-flush",
    is_flag=True,
    help="Programs of the Tracer's wrappers stop recording when the buffer is full the second time (VT_MAX_FLUSHES=1).",
)
@click.pass_context
def command(context: click.Context, directory: Path | None, one_flush: bool) -> None:
    """fipp and fipppx are those of the Instant Profiler, fapp and fapppx those of the Advanced Profiler; tofupa writes
    the files of Tofu PA. The names of other tools appear only where --install puts them, since a machine may have
    the originals. --install also writes the headers and libraries for the section routines of these and of Tofu PA
    (vtrace help sections), and perf.hh, the C++ header of user-level timers (vtrace timers --format perf.hh). It also
    writes the Tracer's commands (vtfccpx, vtfcc, vtunifypx ...) and VampirTrace's (vtcc, vtcxx, vtf77, vtf90): their
    programs print nothing unless VT_VERBOSE is set, and vtunifypx replaces an archive that exists.

    \b
    Examples:
      vtrace compat fipp -C -d prof mpiexec -n 4 ./heat
      vtrace compat fipp -A -Icpu,call -d prof
      vtrace compat fapp -C -d sections -L 1 mpiexec -n 4 ./heat
      FJ_TOFUPA_LEVEL=100 vtrace compat tofupa -C mpiexec -n 4 ./heat
      vtrace compat --install ~/fipp
    """
    if directory is None:
        if one_flush:
            raise UsageError("--one-flush belongs to --install", "vtrace compat --install DIR --one-flush")
        if not context.invoked_subcommand:
            click.echo(context.get_help())
        return
    if context.invoked_subcommand:
        raise UsageError("--install takes no command", "vtrace compat --install DIR")
    try:
        _install(directory, one_flush)
    except OSError as error:
        raise VtraceError(f"cannot write {directory}: {error.strerror}", "give --install another directory") from None
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        click.echo(str(path))


def _install(directory: Path, one_flush: bool) -> None:
    from vtrace.paths import LIB

    for source in (path for part in ("include", "lib") for path in (LIB / "compat" / part).rglob("*")):
        if source.is_file():  # copytree would hide the reason of a failure among those of other files
            target = directory / source.relative_to(LIB / "compat")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    (directory / "bin").mkdir(parents=True, exist_ok=True)
    ours = Path(sys.argv[0]).absolute()
    for tool in _TOOLS:
        _write_script(directory / "bin" / tool, f'#!/bin/sh\nexec {shlex.join([str(ours), "compat", tool])} "$@"\n')
    for name, unifier in _UNIFIERS.items():
        script = f'#!/bin/sh\nexec {shlex.quote(str(ours.with_name(unifier)))} --force "$@"\n'
        _write_script(directory / "bin" / name, script)
    defaults = directory.absolute() / "lib" / ("tracer_one_flush.o" if one_flush else "tracer_quiet.o")
    for name, (wrapper, variable, compiler) in _TRACER.items():
        script = _WRAPPER.format(
            variable=variable,
            compiler=compiler,
            quoted=shlex.quote(shlex.quote(str(defaults))),  # for this shell, and for VT_LIBS
            words=shlex.quote(str(ours.with_name(wrapper))),
        )
        _write_script(directory / "bin" / name, script)


def _write_script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
