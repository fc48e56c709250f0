# SPDX-License-Identifier: BSD-3-Clause
"""The functions that samples show where no function was recorded: which code takes the time of a place, and on which
locations it takes longer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from vtrace.analysis.activity import CLASS_OF, USER
from vtrace.analysis.call_sites import libc_name
from vtrace.analysis.definition_tables import has_line, source_text
from vtrace.analysis.own_code import OwnCode
from vtrace.analysis.questions.costs import CostQuestion, Costs
from vtrace.analysis.questions.path_sums import below
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.source import Source
from vtrace.analysis.table import Array, Table

_MOST = 0.5
"""A function explains a difference if it has at least this part of the difference."""
_NEARLY_ALL = 0.8
_SURE = 2.0
"""A difference counts if it is more than so many times its error: the standard deviation by the number of samples."""


@dataclass(frozen=True, kw_only=True)
class SampledPlace:
    """A function of the program's own code. names: its call path. source: file:line with most of its samples, else of
    its declaration; "" if unknown. ns: the difference, or the time, on the mean of the locations."""

    names: tuple[str, ...]
    source: str
    is_inlined: bool
    ns: float

    @property
    def text(self) -> str:
        """The function in a sentence."""
        parts = [self.source.rpartition("/")[2]] if self.source else []
        parts += [f"inlined into {self.names[-2]}"] if self.is_inlined and len(self.names) > 1 else []
        return self.names[-1] + (f" ({', '.join(parts)})" if parts else "")


class SampledPlaces:
    """The samples of a selection by the innermost recorded call around them."""

    def __init__(self, trace: Source, costs: Costs) -> None:
        self._trace, self._costs = trace, costs
        self._own, self._sources = OwnCode(trace), dict[int, str]()

    def longer(self, around: tuple[str, ...], locations: list[int], others: list[int]) -> SampledPlace | None:
        """The function that takes longer on some locations than on others, by their means; without others the function
        that takes longest. around: the names of the recorded call path. None: samples do not show one."""
        found = self._inside(around)
        here = found.take(np.isin(found["location"], locations))
        return self.more(around, locations, others) or self._nearly_all(here)

    def more(self, around: tuple[str, ...], locations: list[int], others: list[int]) -> SampledPlace | None:
        """As longer, but only by the difference."""
        found = self._inside(around)
        weight = np.isin(found["location"], locations) / len(locations)
        weight -= np.isin(found["location"], others) / max(1, len(others))
        return self._place(found, weight)

    def grown(
        self,
        around: tuple[str, ...],
        location: int,
        windows: list[tuple[int, int]],
        *,
        usual: float,
        sure: bool = False,
    ) -> SampledPlace | None:
        """The function that takes longer in some windows (begin, end; ns) on a location than in the rest of the
        selection. usual: the number of iterations in the windows by those in the rest. sure: only by the difference."""
        found, parts = self._inside(around), []
        for begin, end in windows:
            question = CostQuestion()
            ask(self._trace, [question], Selection(start=begin, stop=end, locations=(location,)))
            parts.append(SampledPlaces(self._trace, question.answer())._inside(around))
        whole = found.take(found["location"] == location)
        every = [whole, *parts]
        rows = Table({name: np.concatenate([each[name] for each in every]) for name in ("path", "count", "ns")})
        weight = np.full(rows.rows, 1 + usual)
        weight[: whole.rows] = -usual
        return self._place(rows, weight) or (None if sure else self._nearly_all(rows.take(weight > 0)))

    def regions_of(self, location: int) -> set[int]:
        """The functions in the samples of a location."""
        tree, samples = self._costs.tree, self._costs.samples
        paths = {*samples["path"][samples["location"] == location].tolist()}
        above = {*paths}
        while above := {int(tree["parent"][path]) for path in above if path > 0} - paths:
            paths |= above
        return {int(tree["region"][path]) for path in paths if path > 0}

    def in_libc(self, functions: Collection[str]) -> int:
        """The ns of samples in some functions of libc that the program's own code calls; 0 if it may be by chance."""
        samples, regions = self._costs.samples, self._trace.regions
        names = [libc_name(f"{name}@") for name in regions["name"].tolist()]
        wanted = np.append(np.isin(names, [*functions]), False)
        is_own = np.append(CLASS_OF[regions["activity"]] == USER, True)
        region = self._costs.tree["region"]
        mine = samples.take(wanted[region[samples["path"]]] & is_own[region[samples["inside"]]])
        ns, error = (mine["count"] * mine["ns"]).sum(), float(np.sqrt((mine["count"] * mine["ns"] ** 2.0).sum()))
        return int(ns) if ns > _SURE * error else 0

    def call_source(self, region: int, locations: Sequence[int]) -> str:
        """file:line of the program's own code that makes nearly all sampled calls of a recorded function on some
        locations; "" if samples do not show one."""
        samples, contexts = self._costs.samples, self._trace.contexts
        of_call = self._costs.tree["region"][samples["inside"]] == region
        chosen = samples.take(np.isin(samples["location"], locations) & of_call)
        own = self._own.among(contexts["region"])[contexts["region"]]
        return self._main_source(chosen, own & has_line(contexts["line"]), _NEARLY_ALL)

    def _main_source(self, samples: Table, wanted: Array, least: float) -> str:
        """file:line of the wanted context (of all contexts, bool) around most samples; "" if these are less than a part
        of the samples."""
        contexts, sums = self._trace.contexts, defaultdict[str, float](float)
        at = self._own.innermost(samples["context"], wanted)
        for row, ns in zip(at.tolist(), (samples["count"] * samples["ns"]).tolist(), strict=True):
            sums[source_text(contexts, row) if row >= 0 else ""] += ns
        source = max(sums, key=sums.__getitem__, default="")
        return source if source and sums[source] >= least * sum(sums.values()) else ""

    def _sampled_source(self, region: int) -> str:
        """file:line of a function in which most of its samples are; "" if unknown."""
        if region not in self._sources:
            contexts = self._trace.contexts
            wanted = (contexts["region"] == region) & has_line(contexts["line"])
            inside = self._own.innermost(self._costs.samples["context"], wanted) >= 0
            self._sources[region] = self._main_source(self._costs.samples.take(inside), wanted, 0)
        return self._sources[region]

    def _nearly_all(self, samples: Table) -> SampledPlace | None:
        """The function with nearly all of the samples. A difference in the place of these samples is in this function,
        even if it is smaller than the error of the samples."""
        place = self._place(samples, np.ones(samples.rows))
        whole = (samples["count"] * samples["ns"]).sum()
        return place if place and place.ns >= _NEARLY_ALL * whole else None

    def _inside(self, around: tuple[str, ...]) -> Table:
        """The samples whose innermost recorded call has a call path with these names."""
        samples, tree = self._costs.samples, self._costs.tree
        inside, member = np.unique(samples["inside"], return_inverse=True)
        regions = self._trace.regions["name"]
        wanted = [n for n, path in enumerate(inside.tolist()) if tuple(path_names(tree, regions, path)) == around]
        return samples.take(np.isin(member, wanted))

    def _place(self, samples: Table, weight: Array) -> SampledPlace | None:
        """The function with the most time. samples: with path, count, ns. weight: of each row; negative rows are what
        is usual."""
        tree, ns = self._costs.tree, samples["ns"] * weight
        own, squares = np.zeros((2, tree.rows))
        np.add.at(own, samples["path"], samples["count"] * ns)
        np.add.at(squares, samples["path"], samples["count"] * ns**2)
        more, errors = below(tree["parent"], own), np.sqrt(below(tree["parent"], squares))
        path = self._own_code(self._deepest(more))
        if not path or more[path] <= _SURE * errors[path]:
            return None
        row = int(tree["region"][path])
        regions = self._trace.regions
        declared = source_text(regions, row) if has_line(regions["line"][row]) else ""
        source = self._sampled_source(row) or declared
        return SampledPlace(
            names=self._from_script(path), source=source, is_inlined=not declared and source != "", ns=float(more[path])
        )

    def _deepest(self, more: Array) -> int:
        """The innermost call path that explains the difference at the root."""
        parents, path = self._costs.tree["parent"], 0
        while True:
            children = np.flatnonzero((parents == path) & (np.arange(len(parents)) > 0))
            if not len(children) or more[best := int(children[np.argmax(more[children])])] < _MOST * more[0]:
                return path
            path = best

    def _own_code(self, path: int) -> int:
        """The innermost path at or above a path whose function is the program's own; 0: none. In a Python program that
        is the innermost function of a script or package that is not installed."""
        above = [path]
        while above[-1] > 0:
            above.append(int(self._costs.tree["parent"][above[-1]]))
        regions = [int(self._costs.tree["region"][row]) for row in above[:-1]]
        own = self._own.among(np.array(regions, np.int64))
        return next((row for row, region in zip(above, regions, strict=False) if own[region]), 0)

    def _from_script(self, path: int) -> tuple[str, ...]:
        """The names of a call path; of a Python program from its first own function on."""
        regions, row, names = self._trace.regions["name"], path, []
        first = 0
        while row > 0:
            region = int(self._costs.tree["region"][row])
            names.append(str(regions[region]))
            first = len(names) if self._own.python[region] else first
            row = int(self._costs.tree["parent"][row])
        return tuple(reversed(names[:first] if first else names))
