# SPDX-License-Identifier: BSD-3-Clause
"""From each process's own ids to the archive's: all that is defined is merged, and the kernel gets its tables."""

from __future__ import annotations

from collections.abc import Sequence

from vtrace.console import Console
from vtrace.io.archive.writer import Definitions, MetricClass
from vtrace.io.local.kernel import UNMAPPED, Maps
from vtrace.parallel.ranks import Ranks
from vtrace.symbols.nmfile import nm_files
from vtrace.symbols.symbols import Symbols
from vtrace.unify.merge import communicators
from vtrace.unify.merge.heap import add_heap
from vtrace.unify.merge.io_handles import merge_files
from vtrace.unify.merge.regions import merge_attributes, merge_metrics, merge_regions, merge_strings
from vtrace.unify.merge.region_groups import add_spec_groups
from vtrace.unify.merge.rma_windows import merge_windows
from vtrace.unify.merge.stack_texts import name_call_sites
from vtrace.unify.merge.system import System
from vtrace.unify.merge.teams import add_teams
from vtrace.unify.merge.threads import add_threads
from vtrace.unify.merge.user_api import add_groups, users_own
from vtrace.unify.merge.user_messages import add_messages
from vtrace.unify.model.process import Process


def map_ids(
    processes: Sequence[Process], system: System, definitions: Definitions, zero: int, ranks: Ranks, console: Console
) -> None:
    """Fills in the definitions of what processes define (at rank 0), and gives each process its tables.

    zero: the archive's, in ns since the epoch.
    """
    console.detail("looking up the names of functions")
    newest = ranks.reduce(max((process.head.start for process in processes), default=0), lambda a, b: max(a, b))
    symbols = Symbols(ranks.first(lambda: newest), nm_files(process.definitions.properties for process in processes))
    definitions.regions, regions, unknown = merge_regions(processes, symbols, ranks)
    name_call_sites([process.definitions for process in processes], symbols)
    for text in dict.fromkeys(ranks.reduce(symbols.warnings, lambda one, other: [*one, *other])):
        console.warn(text)
    comms = communicators.merge(processes, system.masters, system.indices, ranks)
    if comms.incomplete:
        console.warn(f"not all members are known of {', '.join(comms.incomplete[:4])}: others stand in their places")
    windows, files = merge_windows(processes, comms, ranks), merge_files(processes, comms.ids, ranks)
    definitions.comm_groups, definitions.comms, definitions.windows = comms.groups, comms.comms, windows.windows
    definitions.files, definitions.handles = files.files, files.handles
    definitions.metrics, metrics = merge_metrics(processes, ranks)
    definitions.metric_classes = [MetricClass([number]) for number in range(len(definitions.metrics))]
    definitions.attributes, attributes = merge_attributes(processes, ranks)
    definitions.strings, strings = merge_strings(processes, ranks)
    thread_comms, teams = add_threads(system, definitions, ranks), add_teams(processes, definitions, ranks)
    add_groups(processes, definitions, [region.regions for region in regions], [ids for ids, _ in metrics], ranks)
    add_spec_groups(processes, definitions, ranks)
    messages = add_messages(processes, definitions, ranks)
    any_heap = ranks.total([any(process.heap is not None for process in processes)])[0]
    heap_attributes = add_heap(definitions) if any_heap else UNMAPPED
    for i, (process, region) in enumerate(zip(processes, regions, strict=True)):
        if process.curve is None:
            continue
        source = process.source()
        process.user_peers, process.user_others = messages[i].peers, messages[i].others
        ticks, ns = process.curve.knots(zero, source.first, source.last)
        process.maps = Maps(
            function_offsets=region.offsets, function_regions=region.offset_regions, addresses=region.addresses,
            address_regions=region.address_regions, regions=region.regions, comms=comms.ids[i],
            comm_peer_offset=comms.peer_offsets[i], unknown_region=unknown, knot_ticks=ticks,
            knot_ns=ns, metrics=metrics[i][0], metric_types=metrics[i][1], windows=windows.ids[i],
            window_peer_offset=windows.peer_offsets[i], rank_groups=windows.groups[i], files=files.file_ids[i],
            handles=files.handle_ids[i], attributes=attributes[i][0], attribute_types=attributes[i][1],
            teams=teams[i].ids, team_first=teams[i].first, team_members=teams[i].members, team_joined=teams[i].joined,
            heap_attributes=heap_attributes, strings=strings[i], thread_comm=thread_comms[process.number],
            user_regions=users_own(process), user_comms=messages[i].comms,
        )  # fmt: skip
