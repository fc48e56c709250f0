# SPDX-License-Identifier: BSD-3-Clause
"""Merging, the fourth phase of unifying: turns the definitions of all processes into those of the archive.

Each kind of definition is a step (parallel.exchange.Step): its module has a rank's contribution, the join of
contributions, the definitions on rank 0, and fills the tables of a rank's processes. Only this module communicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from vtrace import __version__
from vtrace.io.archive.writer import Definitions
from vtrace.parallel.exchange import Step, agree, ask_all
from vtrace.parallel.ranks import Ranks
from vtrace.symbols.nmfile import nm_files
from vtrace.symbols.symbols import Symbols
from vtrace.unify.merge.code_addresses import name_call_sites, name_variables
from vtrace.unify.merge.comm_identity import MOST_NESTED, Identifier, Intercomms, IntercommStep
from vtrace.unify.merge.communicators import ConnectionStep, IdentityStep, MemberStep, MpiProcesses
from vtrace.unify.merge.context_tree import find_contexts
from vtrace.unify.merge.device_windows import DeviceWindowStep
from vtrace.unify.merge.groups import SpecGroupStep, UserGroupStep, users_own
from vtrace.unify.merge.inlined import InlinedStep
from vtrace.unify.merge.io_handles import FileStep, HandleStep, SharedPathStep
from vtrace.unify.merge.metric_definitions import AttributeStep, HeapStep, MetricStep, StringStep
from vtrace.unify.merge.regions import RegionStep
from vtrace.unify.merge.rma_windows import WindowStep
from vtrace.unify.merge.sample_frames import FrameStep, FrameSteps
from vtrace.unify.merge.steps import MapsBuilder
from vtrace.unify.merge.system import SystemStep
from vtrace.unify.merge.thread_comms import TeamStep, add_threads
from vtrace.unify.merge.user_messages import UserCommStep, UserMessageStep, meeting_ranks, message_ends, other_locations
from vtrace.unify.model.context import Context
from vtrace.unify.model.process import Run

Decision = TypeVar("Decision")


@dataclass(frozen=True)
class Merged:
    """The definitions of the archive. Each process has its maps from its own ids to these."""

    definitions: Definitions
    """On rank 0 those of the archive; other ranks need none."""
    mpi: int
    """Processes that belong to an MPI_COMM_WORLD."""
    heap_class: int
    """The metric class of the heap."""
    samples: bool
    """True if the archive has samples, and so calling contexts."""

    def without_samples(self) -> Merged:
        """Returns the definitions of the same archive without its samples."""
        whole = self.definitions
        rest = replace(whole, regions=[*whole.regions], contexts=None, generators=[], source_lines=[], loops=[])
        return replace(self, definitions=rest, samples=False)


def merge(run: Run, zero: int, samples: int, context: Context) -> Merged:
    """Merges the definitions of all processes and gives each of this rank's processes its maps; all ranks call merge.

    zero: the archive's, in ns since the epoch. samples: of the whole run. Each process must have the curve of its
    clock, for matching messages. Raises FormatError for impossible definitions.
    """
    ranks, processes = context.ranks, run.processes
    definitions = Definitions(creator=f"vtrace {__version__}", realtime=zero)
    system = SystemStep(processes, definitions)
    placing = agree(system, ranks)
    system.place(placing)
    builders = [MapsBuilder(process) for process in processes]
    frames = _merge_regions(builders, placing.newest, definitions, samples=samples, context=context)
    _merge_mpi(builders, MpiProcesses(placing.mpi, system.system.masters, system.system.indices), definitions, context)
    _fill(FileStep(builders, agree(SharedPathStep(processes), ranks), definitions), ranks)
    _fill(HandleStep(builders, definitions), ranks)
    _fill(MetricStep(builders, definitions), ranks)
    _fill(AttributeStep(builders, definitions), ranks)
    _fill(StringStep(builders, definitions), ranks)
    thread_comms = ranks.first(lambda: add_threads(system.system, definitions))
    _fill(TeamStep(builders, definitions), ranks)
    _fill(DeviceWindowStep(builders, definitions), ranks)
    agree(UserGroupStep(builders, definitions), ranks)
    agree(SpecGroupStep(builders, definitions), ranks)
    _merge_messages(builders, definitions, ranks)
    heap = agree(HeapStep(processes, definitions), ranks)
    for builder in builders:
        process, maps = builder.process, builder.maps
        maps.heap_attributes, maps.thread_comm = heap.attributes, thread_comms[process.number]
        maps.user_regions, maps.is_forked = users_own(process), process.head.forked
        process.maps = builder.build(zero)
    if frames is not None:
        find_contexts(processes, *frames, definitions=definitions, context=context)
    return Merged(definitions, placing.mpi, heap.metric_class, samples > 0)


class _FillingStep(Step[Any, Decision], Protocol[Decision]):
    def fill(self, decision: Decision, /) -> None:
        """Sets tables of this rank's processes."""


def _fill(step: _FillingStep[Decision], ranks: Ranks) -> Decision:
    """Agrees on a step, and fills the maps of this rank's processes; all ranks call _fill."""
    decision = agree(step, ranks)
    step.fill(decision)
    return decision


def _merge_regions(
    builders: Sequence[MapsBuilder], newest: int, definitions: Definitions, samples: int, *, context: Context
) -> tuple[FrameSteps, Sequence[tuple[int, int]]] | None:
    """Merges the regions, looks up the names of functions, and turns call sites into texts. newest: as in Placing.
    Returns the steps of frames, and FrameStep.lines; None without samples."""
    ranks, console = context.ranks, context.console
    console.detail("looking up the names of functions")
    known = [builder.process.definitions for builder in builders]
    symbols = Symbols(newest, nm_files(own.properties for own in known))
    regions = RegionStep(builders, symbols, definitions)
    unknown_region = len(_fill(regions, ranks))
    agree(InlinedStep(symbols, regions.called, definitions), ranks)
    name_call_sites(known, symbols)
    name_variables(known, symbols)
    steps = None
    if samples:
        frames = FrameStep(builders, symbols, definitions)
        steps = _fill(frames, ranks), frames.lines
        unknown_region = steps[0].unknown_region
    for builder in builders:
        builder.maps.unknown_region = unknown_region
    for text in dict.fromkeys(ranks.reduce(symbols.warnings, lambda one, other: [*one, *other])):
        console.warn(text)
    return steps


def _merge_mpi(
    builders: Sequence[MapsBuilder], world: MpiProcesses, definitions: Definitions, context: Context
) -> None:
    """Merges communicators and windows."""
    if incomplete := merge_communicators(builders, world, definitions, context.ranks):
        context.console.warn(
            f"some members of {', '.join(incomplete[:4])} are unknown: the archive has other processes in their places"
        )
    _fill(WindowStep(builders, definitions), context.ranks)


def merge_communicators(
    builders: Sequence[MapsBuilder], world: MpiProcesses, definitions: Definitions, ranks: Ranks
) -> list[str]:
    """Merges the communicators of all processes, each rank with its own, in the order of the archive.

    Returns on rank 0 the names of communicators with unknown members. Raises FormatError for impossible sizes.
    """
    if not world.count:
        return []
    processes = [builder.process for builder in builders]
    pairs = agree(ConnectionStep(processes), ranks)
    intercomms: Intercomms = {}
    for _ in range(MOST_NESTED):
        known, intercomms = intercomms, agree(IntercommStep(processes, pairs, intercomms), ranks)
        if intercomms == known:
            break
    identities = IdentityStep(builders, Identifier(pairs, intercomms), world)
    members = MemberStep(identities, unknown=agree(identities, ranks), world=world, definitions=definitions)
    _fill(members, ranks)
    return members.incomplete


def _merge_messages(builders: Sequence[MapsBuilder], definitions: Definitions, ranks: Ranks) -> None:
    """Finds the two ends of each message of the user API, and adds the communicators of these messages."""
    processes = [builder.process for builder in builders]
    if names := agree(UserCommStep(builders, definitions), ranks):
        ends = message_ends(processes, names)
        others = ask_all(ends, meeting_ranks(ends, ranks.size), other_locations, ranks)
        _fill(UserMessageStep(builders, names, ends=ends, others=others, definitions=definitions), ranks)
