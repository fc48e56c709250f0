# SPDX-License-Identifier: BSD-3-Clause
"""MPI calls by call site: times, and bytes as mpiP counts them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.collectives import Begins
from vtrace.analysis.questions.details import chosen, known_bytes, number, present
from vtrace.analysis.questions.message_lengths import CommSizes, one_of
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, group
from vtrace.io.archive.batches import ALWAYS, NEVER, Batch
from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.reader_abi import SITE_BEGIN, SITE_CALL, SITE_END

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

ATTRIBUTE = "call site"
"""The name of the attribute of an MPI call's Enter that has the call site."""
SiteKey = tuple[int, int]
"""The call site (SITE_NAMED and a string's id, or the row of the region around the call, NO_REGION for none), and the
row of the call's own region."""
NO_REGION = UNDEFINED
SENT, IO, RMA = "sent", "io", "rma"
_BEGIN, _END = {"MPI_Init", "MPI_Init_thread"}, {"MPI_Finalize"}
_SENDS = frozenset("Send Bsend Ssend Rsend Sendrecv Sendrecv_replace Isend Ibsend Issend Irsend".split())
_ORIGINS = frozenset("Put Get Accumulate Rput Rget Raccumulate".split())
_COLLECTIVES = frozenset(
    """Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Barrier Bcast Gather Gatherv Reduce Reduce_scatter
    Reduce_scatter_block Scan Exscan Scatter Scatterv BarrierBeforeColl BarrierAfterColl""".split()
)
_FIRST_BIN, _BINS = 7, 32


def short(name: str) -> str:
    """The name of a region as mpiP writes it: without MPI_."""
    return name.removeprefix("MPI_")


def plain(name: str) -> str:
    """The name of the function without the suffix of a variant: Send for MPI_Send_c."""
    return short(name).removesuffix("_c")


def bins(sizes: Array) -> Array:
    """mpiP's bin of each size: 0 for 0 to 7, 1 for 8 to 15, 2 for 16 to 31, ..."""
    exponent = np.frexp(np.maximum(sizes, 1).astype(np.float64))[1] - np.frexp(float(_FIRST_BIN))[1]
    return np.asarray(np.clip(exponent, 0, _BINS - 1), np.int64)


def span(at: int) -> tuple[int, int]:
    """The smallest and largest size of a bin."""
    return (0, _FIRST_BIN) if not at else (8 << (at - 1), (8 << at) - 1)


@dataclass
class Bytes:
    """The bytes of the calls of a site in one rank."""

    total: int = 0
    least: int = NEVER
    most: int = 0

    def add(self, total: int, least: int, most: int) -> None:
        self.total, self.least, self.most = self.total + total, min(self.least, least), max(self.most, most)


@dataclass(kw_only=True)
class SiteCalls:
    """The calls of a site in one rank: times in ns."""

    count: int = 0
    total: int = 0
    least: int = NEVER
    most: int = 0
    bytes: dict[str, Bytes] = field(default_factory=dict)
    """By SENT, IO, RMA; only the kinds that the calls have."""

    def add(self, other: SiteCalls) -> None:
        self.count, self.total = self.count + other.count, self.total + other.total
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        for what, size in other.bytes.items():
            self.bytes.setdefault(what, Bytes()).add(size.total, size.least, size.most)


class SitesPart(Part):
    """The calls and bytes of one location."""

    def __init__(self, owner: CallSites, location: int) -> None:
        self.owner, self.location, self.begins = owner, location, Begins()
        self.calls: dict[SiteKey, SiteCalls] = {}
        self.collective_ns: dict[tuple[int, int, int], int] = {}
        """By region, bin of the communicator's size, bin of the message's size."""
        self.pt2pt_bytes: dict[tuple[int, int, int], int] = {}
        self.begun, self.ended, self.first, self.last = ALWAYS, NEVER, 0, 0
        """Times in ns: the end of MPI_Init, the start of MPI_Finalize (ALWAYS, NEVER: not called), the first and last
        event."""
        self.switched: list[tuple[int, bool]] = []
        """Times at which recording was switched off and on."""
        self.flushes: list[tuple[int, int]] = []
        """Start and end of each flush of the buffer, ns."""
        self._bytes: dict[tuple[str, int], Bytes] = {}

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        owner = self.owner
        for _, found in present(batch, "MpiSend", "MpiIsend"):
            self._sent(found)
        ends = chosen(batch, "MpiCollectiveEnd")
        if len(ends["row"]) or np.any(batch.kind == number("MpiCollectiveBegin")):
            self._collective(ends, ends["time"] - self.begins.of(batch, ends["row"].astype(np.int64)))
        for _, found in present(batch, "IoOperationBegin"):
            self._add(IO, found, found["bytes"], owner.io)
        for kind, found in present(batch, "RmaPut", "RmaGet", "RmaAtomic"):
            self._add(RMA, found, found["sent" if kind == "RmaAtomic" else "bytes"], owner.origins)
        for _, found in present(batch, "MeasurementOnOff"):
            self.switched += zip(found["time"].tolist(), (found["mode"] == 1).tolist(), strict=True)
        for _, found in present(batch, "BufferFlush"):
            stop = owner.trace.ns(found["stop"].astype(np.uint64))
            self.flushes += zip(found["time"].tolist(), stop.tolist(), strict=True)

    def _sent(self, found: dict[str, Array]) -> None:
        self._add(SENT, found, found["bytes"], self.owner.sends)
        local, _ = self.owner.comms.of(found["ref"])
        self._count(
            self.pt2pt_bytes, found, comm=local, size=found["bytes"], value=found["bytes"], wanted=self.owner.sends
        )

    def _collective(self, found: dict[str, Array], ns: Array) -> None:
        local, peers = self.owner.comms.of(found["ref"])
        size = self.owner.message_size(found, peers)
        self._add(SENT, found, size, self.owner.sized)
        self._count(self.collective_ns, found, comm=local, size=size, value=ns, wanted=self.owner.collectives)

    def _add(self, what: str, found: dict[str, Array], size: Array, wanted: Array) -> None:
        """Adds bytes to the calls of wanted regions in which the bytes moved."""
        rows = self.owner.among(found["region"], wanted)
        size, unknown = known_bytes(size[rows].astype(np.uint64))
        nodes, size = found["node"][rows][~unknown], size[~unknown]
        order = np.argsort(nodes, kind="stable")
        nodes, size = nodes[order], size[order]
        begins = np.flatnonzero(np.diff(nodes, prepend=-1))
        if not len(begins):
            return
        sums = [join.reduceat(size, begins).tolist() for join in (np.add, np.minimum, np.maximum)]
        for node, *values in zip(nodes[begins].tolist(), *sums, strict=True):
            self._bytes.setdefault((what, node), Bytes()).add(*values)

    def _count(
        self, into: dict[tuple[int, int, int], int], found: dict[str, Array], comm: Array, size: Array, *, value: Array,
        wanted: Array,
    ) -> None:  # fmt: skip
        rows = self.owner.among(found["region"], wanted) & (found["node"] > 0)
        keys = [found["region"][rows].astype(np.int64), bins(comm[rows]), bins(size[rows])]
        first, member = group(keys)
        sums = np.zeros(len(first), np.int64)
        np.add.at(sums, member, known_bytes(value[rows].astype(np.uint64))[0])
        for *key, total in zip(*(column[first].tolist() for column in keys), sums.tolist(), strict=True):
            region, comm_bin, size_bin = key
            into[region, comm_bin, size_bin] = into.get((region, comm_bin, size_bin), 0) + total

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        f = replay.fields
        self.begun, self.ended, self.first, self.last = f.begun, f.ended, f.first, f.last
        nodes, stats = replay.path_stats()
        paths = replay.all_paths()
        for node, one in zip(nodes.tolist(), stats, strict=True):
            parent, region = paths[node].tolist()
            if not parent:  # the number of sites exceeded its limit
                continue
            calls = SiteCalls(
                count=int(one["calls"]), total=int(one["total"]), least=int(one["min"]), most=int(one["max"])
            )
            for what in (SENT, IO, RMA):
                if (what, node) in self._bytes:
                    calls.bytes[what] = self._bytes[what, node]
            self.calls[int(paths[parent]["region"]), region] = calls
        self._bytes.clear()


class CallSites(Question[SitesPart, dict[int, SitesPart]]):
    """MPI calls by site. Other questions of the same pass get no call paths."""

    kinds = frozenset(
        """MpiSend MpiIsend MpiCollectiveBegin MpiCollectiveEnd IoOperationBegin RmaPut RmaGet RmaAtomic
        MeasurementOnOff BufferFlush""".split()
    )
    replay = paths = path_stats = True

    def __init__(self, trace: Source) -> None:
        super().__init__()
        self.trace = trace
        names = trace.regions["name"].tolist()
        is_mpi = (trace.regions["paradigm"] == "MPI") | np.array([name.startswith("MPI_") for name in names], bool)
        kinds = [SITE_BEGIN if n in _BEGIN else SITE_END if n in _END else SITE_CALL for n in names]
        self.kind_of = np.where(is_mpi, np.array(kinds, np.uint8), 0).astype(np.uint8)
        """(regions,) enum vt_site_kind."""
        base = [plain(name) for name in names]
        self.sends, self.origins, self.collectives = (
            is_mpi & np.array([name in these for name in base], bool) for these in (_SENDS, _ORIGINS, _COLLECTIVES)
        )
        self.io = is_mpi & np.array([name.startswith("File_") for name in base], bool)
        self._divisor = {name: np.array([one == name for one in base], bool) & is_mpi for name in _SIZES}
        self.sized = np.any(list(self._divisor.values()), axis=0)
        """(regions,) True for collective operations with a size of messages."""
        ids = trace.attributes["id"][trace.attributes["name"] == ATTRIBUTE].tolist()
        self.attribute = int(ids[0]) if ids else None
        self.attributes = self.attribute is not None
        self.comms = CommSizes(trace)

    @property
    def has_mpi(self) -> bool:
        """True if the archive has MPI functions."""
        return bool(np.any(self.kind_of))

    def part(self, trace: Source, location: int) -> SitesPart:
        return SitesPart(self, location)

    def configure(self, replay: Replay) -> None:
        replay.fields.site_of = self.kind_of.ctypes.data
        replay.fields.site_attribute = NO_REGION if self.attribute is None else self.attribute

    def answer(self) -> dict[int, SitesPart]:
        """The calls of each location, by its row."""
        return self.parts

    def among(self, regions: Array, wanted: Array) -> Array:
        """True for the rows of regions (of details) that are wanted."""
        known = regions < len(wanted)
        found: Array = known & wanted[np.where(known, regions, 0)]
        return found

    def message_size(self, found: dict[str, Array], peers: Array) -> Array:
        """The size of the message of collective calls, as mpiP computes it from the arguments."""
        sent, received = (known_bytes(found[name])[0] for name in ("sent", "received"))
        size = np.zeros(len(sent), np.int64)
        for name, how in _SIZES.items():
            rows = self.among(found["region"], self._divisor[name])
            if np.any(rows):
                size[rows] = how(sent[rows], received[rows], peers[rows])
        return size


_SIZES: dict[str, Any] = {
    "Bcast": lambda sent, received, n: np.where(received > 0, received, sent // n),
    "Gather": lambda sent, received, n: sent,
    "Gatherv": lambda sent, received, n: sent,
    "Scatter": lambda sent, received, n: np.where(received > 0, received, sent // np.maximum(n - 1, 1)),
    "Allgather": lambda sent, received, n: one_of(sent, n),
    "Allgatherv": lambda sent, received, n: one_of(sent, n),
    "Alltoall": lambda sent, received, n: one_of(sent, n),
    "Allreduce": lambda sent, received, n: one_of(sent, n),
    "Reduce": lambda sent, received, n: np.where(sent > 0, sent, received // np.maximum(n - 1, 1)),
    "Scan": lambda sent, received, n: (sent + received) // (n + 1),
}
"""By function: the size of its message, from the bytes that csrc/mpiwrap/templates/coll.c counts for n processes."""
