# SPDX-License-Identifier: BSD-3-Clause
"""How the ranks come to one result: each contributes its part, rank 0 decides; or each asks the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from vtrace.parallel.ranks import Ranks

Part = TypeVar("Part")
Decision_co = TypeVar("Decision_co", covariant=True)
Rows = np.ndarray[Any, np.dtype[Any]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]


class Step(Protocol[Part, Decision_co]):
    """A decision on what all ranks contribute. The methods send nothing: agree does."""

    def contribute(self) -> Part:
        """Returns what this rank contributes."""

    def join(self, one: Part, other: Part) -> Part:
        """Returns two contributions as one, and may change both; the order of contributions must not matter."""

    def decide(self, everyone: Part) -> Decision_co:
        """At rank 0 only: returns the decision on the joined contributions of all ranks."""


def agree(step: Step[Part, Decision_co], ranks: Ranks) -> Decision_co:
    """Returns the decision of a step, on all ranks; all ranks call it. An error of any rank is raised on all.

    Contributions are joined pair by pair in a tree: most processes define the same, so that a joined contribution is
    hardly larger than one, and rank 0 needs neither memory nor time for a copy of each rank's.
    """
    everyone = ranks.reduce(ranks.together(step.contribute), step.join)
    return ranks.first(lambda: step.decide(everyone))


def ask_all(questions: Rows, where: Numbers, answer: Callable[[Rows], Numbers], ranks: Ranks) -> Numbers:
    """Returns the answers to this rank's questions, in their order; all ranks call it.

    where: the rank that answers each question. answer: gets the questions of all ranks to this one and returns one
    number for each. The ranks exchange directly: two questions that belong together may come from any two ranks, and
    rank 0 has no room for all of them.
    """
    mine = [np.flatnonzero(where == rank) for rank in range(ranks.size)]
    came = ranks.exchange([questions[chosen] for chosen in mine])
    answers = answer(np.concatenate(came))
    returned = ranks.exchange(np.split(answers, np.cumsum([len(part) for part in came])[:-1]))
    found = np.full(len(questions), -1, np.int64)
    for chosen, values in zip(mine, returned, strict=True):
        found[chosen] = values
    return found
