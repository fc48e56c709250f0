# SPDX-License-Identifier: BSD-3-Clause
"""The call paths of a profile as a tree for people.

Calls of MPI and the like stand below the callers that samples in these calls show. In programs of Python the tree has
no frames of the interpreter: their time counts in the function that runs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from vtrace.reports.profile_sheets import ALL, ProfileNumbers, whole_text
from vtrace.reports.sheet import Column, Row, Sheet

_LEAST = 0.001
"""Rows with a smaller share of the time are left out."""
_ALIKE = 0.999
"""A function without calls whose time is, up to this share, that of one called function shares its row."""
_INTERPRETERS = ("Py_BytesMain", "Py_RunMain", "Py_Main", "_PyEval_EvalFrameDefault")
"""Functions of CPython, which say what library CPython is."""
_REST, _MODULE = "(interpreter)", "<module>"
_REST_REGION = -2


@dataclass
class _Node:
    """A call path. calls: None for unknown, where calls are divided by samples. chosen: a row of the profile; other
    nodes only lead there."""

    region: int
    exclusive: float = 0.0
    inclusive: float = 0.0
    calls: int | None = 0
    samples: int = 0
    chosen: bool = False
    children: dict[int, _Node] = field(default_factory=dict)

    def child(self, region: int) -> _Node:
        return self.children.setdefault(region, _Node(region))

    def below(self) -> Iterator[_Node]:
        """This node and all below, callers first."""
        left = [self]
        while left:
            node = left.pop()
            yield node
            left += node.children.values()

    def add(self, other: _Node, part: float = 1.0) -> None:
        """Adds a part of the numbers of a subtree."""
        pairs = [(self, other)]
        while pairs:
            to, source = pairs.pop()
            to.exclusive += part * source.exclusive
            to.inclusive += part * source.inclusive
            to.samples += round(part * source.samples)
            is_known = part == 1 and to.calls is not None and source.calls is not None
            to.calls = (to.calls or 0) + (source.calls or 0) if is_known else None
            to.chosen |= source.chosen
            pairs += [(to.child(region), child) for region, child in source.children.items()]


class PathTree:
    """The call paths of a profile by call path."""

    def __init__(self, numbers: ProfileNumbers) -> None:
        self._numbers = numbers
        tree = numbers.costs.tree
        self._parents, self._regions = tree["parent"].tolist(), tree["region"].tolist()
        self.root = _Node(-1)
        self._nodes = {-1: self.root}
        for row in numbers.found.table.records():
            node = self._node(row["key"])
            node.exclusive, node.inclusive, node.chosen = row["exclusive"], row["inclusive"], True
            node.calls, node.samples = row["calls"], row["samples"]
        self.has_moved = self._move_calls()
        self._fold_interpreter()
        for node in reversed([*self.root.below()]):
            if not node.chosen:
                node.inclusive = sum(child.inclusive for child in node.children.values())

    def _node(self, path: int) -> _Node:
        """The node of a call path. The path of the time outside of all regions is a child of the root, too."""
        missing = []
        while path not in self._nodes:
            missing.append(path)
            path = self._parents[path] or -1
        for path in reversed(missing):
            around = self._nodes[(self._parents[path] or -1) if path else -1]
            self._nodes[path] = around.child(self._regions[path])
        return self._nodes[path]

    def _above(self, path: int) -> Iterator[_Node]:
        """The nodes of a call path and of its callers."""
        while path > 0:
            yield self._node(path)
            path = self._parents[path]

    def _move_calls(self) -> bool:
        """Moves recorded calls below the callers that samples in them show. True if there are such calls."""
        callers = self._numbers.found.sampled_callers()
        moved = False
        for path in np.unique(callers["path"]).tolist():
            mine = callers.take(callers["path"] == path)
            node = self._nodes.get(path)
            if node is None or not node.chosen or mine["caller"].tolist() == [self._parents[path]]:
                continue
            moved = True
            self._nodes[self._parents[path] or -1].children.pop(node.region)
            for above in self._above(self._parents[path]):
                above.inclusive -= node.inclusive
            for caller, ns in zip(mine["caller"].tolist(), mine["ns"].tolist(), strict=True):
                part = ns / mine["ns"].sum()
                (self._node(caller) if caller else self.root).child(node.region).add(node, part)
                for above in self._above(caller):
                    above.inclusive += part * node.inclusive
        return moved

    def _fold_interpreter(self) -> None:
        """Removes frames of CPython from the tree of a program of Python; their time is that of the function around."""
        regions = self._numbers.trace.regions
        names, libraries = regions["name"].tolist(), regions["description"].tolist()
        python = {row for row, at in enumerate(regions["canonical"].tolist()) if at.startswith(f"{names[row]}@")}
        if not python:
            return
        own = {library for name, library in zip(names, libraries, strict=True) if name in _INTERPRETERS}
        compiled = np.flatnonzero(regions["paradigm"] == "COMPILER").tolist()
        interpreter = {row for row in compiled if libraries[row] in own and row not in python}
        order = [*self.root.below()]
        starts = self._starts(order, python)
        for node in reversed(order):
            for child in [*node.children.values()]:
                if child.region in interpreter or id(child) in starts:
                    del node.children[child.region]
                    to = node.child(_REST_REGION) if node is self.root else node
                    to.exclusive, to.samples = to.exclusive + child.exclusive, to.samples + child.samples
                    to.inclusive += child.exclusive if node is self.root else 0
                    for grandchild in child.children.values():
                        node.child(grandchild.region).add(grandchild)
        rest = self.root.children.get(_REST_REGION)
        if rest:
            rest.chosen = True

    def _starts(self, order: list[_Node], python: set[int]) -> set[int]:
        """The nodes, by id, from which the first function of Python is called. order: all nodes, callers first."""
        leads: set[int] = set()
        for node in reversed(order):
            if node.region in python or any(id(child) in leads for child in node.children.values()):
                leads.add(id(node))
        inside: set[int] = set()
        for node in order:
            if node.region in python or id(node) in inside:
                inside |= {id(child) for child in node.children.values()}
        return {id(n) for n in order if id(n) in leads and id(n) not in inside and n.region not in python}

    def name(self, node: _Node) -> str:
        """The function's name; modules of Python with their file."""
        if node.region == _REST_REGION:
            return _REST
        regions = self._numbers.trace.regions
        name = str(regions["name"][node.region])
        file = PurePosixPath(str(regions["file"][node.region])).name
        return f"{name} {file}" if name == _MODULE and file else name


def tree_sheet(numbers: ProfileNumbers, sort: str, most: int | None) -> Sheet:
    """The call paths with the largest inclusive times as a tree. sort: orders the functions that a function calls.
    most: number of rows."""
    tree, whole = PathTree(numbers), max(numbers.found.whole, 1.0)
    order = {"calls": lambda node: -(node.calls or 0), "samples": lambda node: -node.samples, "name": tree.name}
    key = order.get(sort, lambda node: -node.inclusive)
    shown, count = _largest(tree.root, most, _LEAST * whole)
    rows: list[Row] = []
    left = [(node, 0) for node in sorted(tree.root.children.values(), key=key, reverse=True)]
    while left:
        node, depth = left.pop()
        if id(node) not in shown:
            continue
        first, node, between = _joined(node, shown)
        name = tree.name(first)
        name += f" > ({between} more)" * bool(between) + f" > {tree.name(node)}" * (node is not first)
        rows.append({
            "inclusive_ns": round(node.inclusive), "exclusive_ns": round(node.exclusive),
            "share": node.inclusive / whole, "calls": node.calls or None, "samples": node.samples,
            "callpath": "  " * depth + name,
        })  # fmt: skip
        left += [(child, depth + 1) for child in sorted(node.children.values(), key=key, reverse=True)]
    columns = [
        Column("inclusive_ns", "inclusive s", "ns"), Column("exclusive_ns", "exclusive s", "ns"),
        Column("share", "%", "fraction"), Column("calls", "calls"),
        Column("samples", "samples" if numbers.costs.samples.rows else ""), Column("callpath", "callpath", "tree"),
    ]  # fmt: skip
    made = Sheet(name="profile", title="Call paths by inclusive", columns=columns, rows=rows)
    made.notes.append(whole_text(numbers))
    if tree.has_moved:
        made.notes.append("calls stand below the callers that samples in them show, which also divide their time")
    if len(shown) < count:
        made.notes.append(f"the {len(shown):,} largest of {count:,} call paths: {ALL}")
    return made


def _largest(root: _Node, most: int | None, least: float) -> tuple[set[int], int]:
    """The nodes that are shown, by id, and the number of all."""
    shown: set[int] = set()
    count = sum(1 for _ in root.below()) - 1
    rows = 0
    heap = [(-node.inclusive, number, node) for number, node in enumerate(root.children.values())]
    heapq.heapify(heap)
    number = len(heap)
    while heap and (most is None or rows < most):
        _, _, node = heapq.heappop(heap)
        if node.inclusive < least and rows:
            break
        shown.add(id(node))
        rows += not _is_alike(node)
        for child in node.children.values():
            number += 1
            heapq.heappush(heap, (-child.inclusive, number, child))
    return shown, count


def _is_alike(node: _Node) -> bool:
    """True for a function without recorded calls and samples of its own that only leads to one other function."""
    most = max((child.inclusive for child in node.children.values()), default=0.0)
    return not node.calls and not node.samples and most >= _ALIKE * node.inclusive > 0


def _joined(node: _Node, shown: set[int]) -> tuple[_Node, _Node, int]:
    """The first and last of functions that share a row, and the number between them."""
    first, between = node, -1
    while _is_alike(node):
        following = max(node.children.values(), key=lambda child: child.inclusive)
        if id(following) not in shown or sum(id(child) in shown for child in node.children.values()) > 1:
            break
        node, between = following, between + 1
    return first, node, max(between, 0)
