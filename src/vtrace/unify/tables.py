# SPDX-License-Identifier: BSD-3-Clause
"""From each process's own ids to the archive's: all that is defined is merged, and the kernel gets its tables."""

from __future__ import annotations

from collections.abc import Sequence

from vtrace.console import Console
from vtrace.io.archive import Definitions, MetricClass
from vtrace.io.kernel import UNMAPPED, Maps
from vtrace.unify import communicators
from vtrace.unify.files import merge_files
from vtrace.unify.groups import add_spec_groups
from vtrace.unify.heap import add_heap
from vtrace.unify.merge import merge_attributes, merge_metrics, merge_regions, merge_strings
from vtrace.unify.nmfile import nm_files
from vtrace.unify.process import Process
from vtrace.unify.symbols import Symbols
from vtrace.unify.teams import add_teams
from vtrace.unify.threads import add_threads
from vtrace.unify.user import add_groups, add_messages, users_own
from vtrace.unify.windows import merge_windows


def map_ids(processes: Sequence[Process], definitions: Definitions, zero: int, console: Console) -> None:
    """Fills in the definitions of what processes define, and gives each process its tables; zero: the archive's."""
    symbols = Symbols(max(process.head.start for process in processes), nm_files(processes))
    console.detail("looking up the names of functions")
    definitions.regions, regions = merge_regions(processes, symbols)
    for text in symbols.warnings:
        console.warn(text)
    comms = communicators.merge(processes, [process.first for process in processes if process.index is not None])
    if comms.incomplete:
        console.warn(f"not all members are known of {', '.join(comms.incomplete[:4])}: others stand in their places")
    windows, files = merge_windows(processes, comms), merge_files(processes, comms.ids)
    definitions.comm_groups, definitions.comms, definitions.windows = comms.groups, comms.comms, windows.windows
    definitions.files, definitions.handles = files.files, files.handles
    definitions.metrics, metrics = merge_metrics(processes)
    definitions.metric_classes = [MetricClass([number]) for number in range(len(definitions.metrics))]
    definitions.attributes, attributes = merge_attributes(processes)
    definitions.strings, strings = merge_strings(processes)
    thread_comms, teams = add_threads(processes, definitions), add_teams(processes, definitions)
    add_groups(processes, definitions, [region.regions for region in regions], [ids for ids, _ in metrics])
    add_spec_groups(processes, definitions)
    messages = add_messages(processes, definitions)
    heap_attributes = add_heap(definitions) if any(process.heap is not None for process in processes) else UNMAPPED
    for i, (process, region) in enumerate(zip(processes, regions, strict=True)):
        if process.curve is None:
            continue
        source = process.source()
        process.user_peers = messages[i].peers
        ticks, ns = process.curve.knots(zero, source.first, source.last)
        process.maps = Maps(
            function_offsets=region.offsets, function_regions=region.offset_regions, addresses=region.addresses,
            address_regions=region.address_regions, regions=region.regions, comms=comms.ids[i],
            comm_peer_offset=comms.peer_offsets[i], unknown_region=len(definitions.regions) - 1, knot_ticks=ticks,
            knot_ns=ns, metrics=metrics[i][0], metric_types=metrics[i][1], windows=windows.ids[i],
            window_peer_offset=windows.peer_offsets[i], rank_groups=windows.groups[i], files=files.file_ids[i],
            handles=files.handle_ids[i], attributes=attributes[i][0], attribute_types=attributes[i][1],
            teams=teams[i].ids, team_first=teams[i].first, team_members=teams[i].members, team_joined=teams[i].joined,
            heap_attributes=heap_attributes, strings=strings[i], thread_comm=thread_comms[i],
            user_regions=users_own(process), user_comms=messages[i].comms,
        )  # fmt: skip
