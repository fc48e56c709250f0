# SPDX-License-Identifier: BSD-3-Clause
"""The top-down tree: the share of the processor's slots lost in each part.

Source: A. Yasin, A Top-Down Method for Performance Analysis, ISPASS 2014, and the thresholds of perf's metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NAME = "topdown"
"""The name of the whole tree among counters and metrics."""
SLOTS = "slots"
"""The derived event that the shares refer to."""
CPI = "cpi"
"""The derived event with the cycles per instruction."""


@dataclass(frozen=True)
class Node:
    """A share of the slots. name: of a derived event. parent: a name, "" on level 1. threshold: the share above which
    the node, with its parents, limits the speed. hint: the meaning, and a remedy."""

    name: str
    parent: str
    threshold: float
    hint: str


TREE = (
    Node("Frontend_Bound", "", 0.15, "instructions arrive too slowly"),
    Node("Bad_Speculation", "", 0.15, "work is thrown away"),
    Node("Backend_Bound", "", 0.2, "operations wait for data or for units"),
    Node("Retiring", "", 0.7, "few slots are lost: do less work, or vectorise"),
    Node(
        "SMT_Contention", "", 0.1, "the other hardware thread of the core has the slots: compare with one thread a core"
    ),
    Node("Fetch_Latency", "Frontend_Bound", 0.1, "misses of the instruction cache or TLB: make hot code smaller"),
    Node("Fetch_Bandwidth", "Frontend_Bound", 0.2, "decoding is too slow: look at long or rare instructions"),
    Node(
        "Branch_Mispredicts", "Bad_Speculation", 0.1, "branches are predicted wrong: make them regular, or avoid them"
    ),
    Node(
        "Machine_Clears", "Bad_Speculation", 0.1, "the pipeline is cleared: look at memory ordering, assists, own code"
    ),
    Node("Memory_Bound", "Backend_Bound", 0.2, "loads and stores take long: look at cache misses and locality"),
    Node(
        "Core_Bound",
        "Backend_Bound",
        0.1,
        "units are busy or operations depend on each other: look at divisions, chains",
    ),
    Node("Heavy_Operations", "Retiring", 0.1, "microcode: look at denormal numbers, string instructions, assists"),
    Node("Light_Operations", "Retiring", 0.6, "few slots are lost: do less work, or vectorise"),
)
"""The nodes, those of level 1 before those of level 2."""


def bottleneck(shares: Mapping[str, float]) -> Node | None:
    """The deepest node above its threshold whose parent also is; if several are, the one with the largest share.
    Retiring and its parts count only if nothing else is above. shares: by name, with names left out that are
    unknown."""
    above: dict[str, Node] = {}
    for node in TREE:
        if shares.get(node.name, 0.0) > node.threshold and (not node.parent or node.parent in above):
            above[node.name] = node
    lost = [node for node in above.values() if "Retiring" not in (node.name, node.parent)]
    heavy = [node for node in above.values() if node.name == "Heavy_Operations"]
    found = lost or heavy or [*above.values()]
    return max(found, key=lambda node: (node.parent != "", shares[node.name]), default=None)
