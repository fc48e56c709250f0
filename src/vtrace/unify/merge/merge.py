# SPDX-License-Identifier: BSD-3-Clause
"""Merging, the fourth phase of unifying: turns the definitions of all processes into those of the archive.

Each kind of definition is a step (parallel.exchange.Step): its module has a rank's contribution, the join of
contributions, the definitions on rank 0, and the resulting tables of a rank's processes. Only this module communicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from vtrace import __version__
from vtrace.io.archive.writer import Definitions
from vtrace.io.local.kernel import Maps
from vtrace.parallel.exchange import agree, ask_all
from vtrace.parallel.ranks import Ranks
from vtrace.symbols.nmfile import nm_files
from vtrace.symbols.symbols import Symbols
from vtrace.unify.merge.code_addresses import name_call_sites
from vtrace.unify.merge.comm_identity import MOST_NESTED, Identifier, Intercomms, IntercommStep
from vtrace.unify.merge.communicators import (
    Communicators,
    ConnectionStep,
    IdentityStep,
    Member,
    MemberStep,
    MpiProcesses,
    without_mpi,
)
from vtrace.unify.merge.context_tree import find_contexts
from vtrace.unify.merge.groups import SpecGroupStep, UserGroupStep, users_own
from vtrace.unify.merge.io_handles import FileStep, HandleStep, SharedPathStep
from vtrace.unify.merge.metric_definitions import AttributeStep, HeapIds, HeapStep, MetricMaps, MetricStep, StringStep
from vtrace.unify.merge.regions import RegionMaps, RegionStep
from vtrace.unify.merge.rma_windows import Windows, WindowStep
from vtrace.unify.merge.sample_frames import FrameStep, FrameSteps
from vtrace.unify.merge.system import Placing, System, SystemStep
from vtrace.unify.merge.thread_comms import ProcessTeams, TeamStep, add_threads
from vtrace.unify.merge.user_messages import (
    UserCommStep,
    UserMessages,
    UserMessageStep,
    meeting_ranks,
    message_ends,
    other_locations,
)
from vtrace.unify.model.context import Context
from vtrace.unify.model.id_tables import Ids, Types
from vtrace.unify.model.process import Process
from vtrace.unify.model.traced_run import Run


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


@dataclass
class _Tables:
    """OTF2's ids of this rank's processes, by place of the process in the list."""

    placing: Placing
    unknown_region: int = 0
    regions: list[RegionMaps] = field(default_factory=list)
    frames: FrameSteps | None = None
    """None without samples."""
    lines: list[tuple[int, int]] = field(default_factory=list)
    """FrameStep.lines."""
    comms: Communicators = field(default_factory=lambda: Communicators([], []))
    windows: Windows = field(default_factory=lambda: Windows([], [], []))
    files: list[Ids] = field(default_factory=list)
    handles: list[Ids] = field(default_factory=list)
    metrics: list[MetricMaps] = field(default_factory=list)
    attributes: list[tuple[Ids, Types]] = field(default_factory=list)
    strings: list[Ids] = field(default_factory=list)
    thread_comms: list[int] = field(default_factory=list)
    """Communicators of all processes, by number."""
    teams: list[ProcessTeams] = field(default_factory=list)
    messages: list[UserMessages] = field(default_factory=list)
    heap: HeapIds = field(default_factory=lambda: HeapIds(0, 0))


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
    tables = _Tables(placing)
    _merge_regions(processes, definitions, tables=tables, samples=samples, context=context)
    _merge_mpi(processes, system.system, definitions=definitions, tables=tables, context=context)
    _merge_files(processes, definitions, tables, ranks)
    metrics = MetricStep(processes, definitions)
    tables.metrics = metrics.maps(agree(metrics, ranks))
    attributes = AttributeStep(processes, definitions)
    tables.attributes = attributes.maps(agree(attributes, ranks))
    strings = StringStep(processes, definitions)
    tables.strings = strings.maps(agree(strings, ranks))
    tables.thread_comms = ranks.first(lambda: add_threads(system.system, definitions))
    teams = TeamStep(processes, definitions)
    tables.teams = teams.maps(agree(teams, ranks))
    region_ids, metric_ids = [maps.regions for maps in tables.regions], [maps.classes for maps in tables.metrics]
    agree(UserGroupStep(processes, region_ids, metric_ids, definitions), ranks)
    agree(SpecGroupStep(processes, definitions), ranks)
    tables.messages = _merge_messages(processes, definitions, ranks)
    tables.heap = agree(HeapStep(processes, definitions), ranks)
    for place, process in enumerate(processes):
        _set_maps(process, place, tables, zero)
    if tables.frames is not None:
        find_contexts(processes, tables.frames, lines=tables.lines, definitions=definitions, context=context)
    return Merged(definitions, placing.mpi, tables.heap.metric_class, samples > 0)


def _merge_regions(
    processes: Sequence[Process], definitions: Definitions, tables: _Tables, samples: int, *, context: Context
) -> None:
    """Merges the regions, looks up the names of functions, and turns call sites into texts."""
    ranks, console = context.ranks, context.console
    console.detail("looking up the names of functions")
    symbols = Symbols(tables.placing.newest, nm_files(process.definitions.properties for process in processes))
    regions = RegionStep(processes, symbols, definitions)
    keys = agree(regions, ranks)
    tables.regions, tables.unknown_region = regions.maps(keys), len(keys)
    name_call_sites([process.definitions for process in processes], symbols)
    if samples:
        frames = FrameStep(processes, symbols, definitions)
        tables.frames = agree(frames, ranks)
        tables.lines, tables.unknown_region = frames.lines, tables.frames.unknown_region
        for process, maps in zip(processes, frames.maps(tables.frames), strict=True):
            process.sample_maps = maps
    for text in dict.fromkeys(ranks.reduce(symbols.warnings, lambda one, other: [*one, *other])):
        console.warn(text)


def _merge_mpi(
    processes: Sequence[Process], system: System, definitions: Definitions, tables: _Tables, *, context: Context
) -> None:
    """Merges communicators and windows."""
    world = MpiProcesses(tables.placing.mpi, system.masters, system.indices)
    tables.comms, incomplete = merge_communicators(processes, world, definitions, context.ranks)
    if incomplete:
        context.console.warn(
            f"some members of {', '.join(incomplete[:4])} are unknown: the archive has other processes in their places"
        )
    windows = WindowStep(processes, tables.comms, definitions)
    tables.windows = windows.maps(agree(windows, context.ranks))


def merge_communicators(
    processes: Sequence[Member], world: MpiProcesses, definitions: Definitions, ranks: Ranks
) -> tuple[Communicators, list[str]]:
    """Merges the communicators of all processes, each rank with its own, in the order of the archive.

    Returns the tables of this rank's processes and, on rank 0, the names of communicators with unknown members. Raises
    FormatError for impossible sizes.
    """
    if not world.count:
        return without_mpi(processes), []
    pairs = agree(ConnectionStep(processes), ranks)
    intercomms: Intercomms = {}
    for _ in range(MOST_NESTED):
        known, intercomms = intercomms, agree(IntercommStep(processes, pairs, intercomms), ranks)
        if intercomms == known:
            break
    identities = IdentityStep(processes, Identifier(pairs, intercomms), world)
    members = MemberStep(processes, identities, unknown=agree(identities, ranks), world=world, definitions=definitions)
    return members.maps(agree(members, ranks)), members.incomplete


def _merge_files(processes: Sequence[Process], definitions: Definitions, tables: _Tables, ranks: Ranks) -> None:
    """Merges files and their handles."""
    files = FileStep(processes, agree(SharedPathStep(processes), ranks), definitions)
    numbers = files.ids(agree(files, ranks))
    tables.files = files.maps(numbers)
    handles = HandleStep(processes, numbers, tables.comms.ids, definitions)
    tables.handles = handles.maps(agree(handles, ranks))


def _merge_messages(processes: Sequence[Process], definitions: Definitions, ranks: Ranks) -> list[UserMessages]:
    """Finds the two ends of each message of the user API, and adds the communicators of these messages."""
    names = agree(UserCommStep(processes), ranks)
    if not names:
        return [UserMessages() for _ in processes]
    ends = message_ends(processes, names)
    others = ask_all(ends, meeting_ranks(ends, ranks.size), other_locations, ranks)
    messages = UserMessageStep(processes, names, ends=ends, others=others, definitions=definitions)
    return messages.maps(agree(messages, ranks))


def _set_maps(process: Process, i: int, tables: _Tables, zero: int) -> None:
    """Gives a process, the i-th of this rank, its maps. zero: the archive's, in ns since the epoch."""
    if process.curve is None:
        return
    source, region, messages, team = process.source(), tables.regions[i], tables.messages[i], tables.teams[i]
    process.user_peers, process.user_others = messages.peers, messages.others
    ticks, ns = process.curve.knots(zero, source.first, source.last)
    comms, windows = tables.comms, tables.windows
    process.maps = Maps(
        function_offsets=region.offsets, function_regions=region.offset_regions, addresses=region.addresses,
        address_regions=region.address_regions, regions=region.regions, comms=comms.ids[i],
        comm_peer_offset=comms.peer_offsets[i], unknown_region=tables.unknown_region, knot_ticks=ticks,
        knot_ns=ns, metrics=tables.metrics[i].classes, metric_types=tables.metrics[i].types,
        metric_sizes=tables.metrics[i].sizes, windows=windows.ids[i],
        window_peer_offset=windows.peer_offsets[i], rank_groups=windows.groups[i], files=tables.files[i],
        handles=tables.handles[i], attributes=tables.attributes[i][0], attribute_types=tables.attributes[i][1],
        teams=team.ids, team_first=team.first, team_members=team.members, team_joined=team.joined,
        heap_attributes=tables.heap.attributes, strings=tables.strings[i],
        thread_comm=tables.thread_comms[process.number], user_regions=users_own(process), user_comms=messages.comms,
        is_forked=process.head.forked,
    )  # fmt: skip
