# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges between ranks: each rank contributes a part and rank 0 decides, or each rank asks the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from vtrace.parallel.ranks import Ranks

Contribution = TypeVar("Contribution")
Decision_co = TypeVar("Decision_co", covariant=True)
Questions = np.ndarray[Any, np.dtype[Any]]
"""One row for each question."""
Numbers = np.ndarray[Any, np.dtype[np.int64]]
"""Ranks, or answers."""


class Step(Protocol[Contribution, Decision_co]):
    """A decision on the contributions of all ranks. The methods do not communicate; only agree does."""

    def contribute(self) -> Contribution:
        """Returns this rank's contribution."""

    def join(self, one: Contribution, other: Contribution) -> Contribution:
        """Returns the union of two contributions, and may change both. The result must not depend on their order."""

    def decide(self, everyone: Contribution) -> Decision_co:
        """On rank 0 only: returns the decision on the joined contributions of all ranks."""


def agree(step: Step[Contribution, Decision_co], ranks: Ranks) -> Decision_co:
    """Returns the decision of a step, on all ranks; all ranks call it. An error of any rank is raised on all.

    Contributions are joined in pairs in a tree. Most processes define the same, so a joined contribution is hardly
    larger than a single one, and rank 0 needs neither memory nor time for a copy from each rank.
    """
    everyone = ranks.reduce(ranks.together(step.contribute), step.join)
    return ranks.first(lambda: step.decide(everyone))


def ask_all(questions: Questions, where: Numbers, answer: Callable[[Questions], Numbers], ranks: Ranks) -> Numbers:
    """Returns the answers to this rank's questions, in their order; all ranks call it.

    where: the rank that answers each question. answer: gets the questions of all ranks to this rank and returns one
    number for each. The ranks communicate directly, since related questions may come from any two ranks, and rank 0 has
    not enough memory for all questions.
    """
    mine = [np.flatnonzero(where == rank) for rank in range(ranks.size)]
    came = ranks.exchange([questions[chosen] for chosen in mine])
    answers = answer(np.concatenate(came))
    returned = ranks.exchange(np.split(answers, np.cumsum([len(part) for part in came])[:-1]))
    found = np.full(len(questions), -1, np.int64)
    for chosen, values in zip(mine, returned, strict=True):
        found[chosen] = values
    return found
