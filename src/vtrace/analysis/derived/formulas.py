# SPDX-License-Identifier: BSD-3-Clause
"""The formulas of derived events: PAPI's postfix and infix notation, and their values.

Source: the manual page PAPI_derived_event_files of PAPI 5.5.1, and the file papi_internal.c of PAPI 7.0 for the value
of # and of %."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

MEGA = 1_000_000

_TOKEN = re.compile(r"N(?P<base>\d+)|(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<sign>[-+*/%#()])")
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "negative": 3}
_LONGEST = 10_000
"""The most characters of a formula. PAPI's own formulas have at most 200."""

Token = int | float | str
"""A base event's index (int), a number (float), or "+", "-", "*", "/", "%", "#", "negative"."""


class FormulaError(Exception):
    """A wrong formula. offset: of the wrong part, in characters from the start of the formula."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class Formula:
    """A formula as tokens in postfix order."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tuple(tokens)

    @property
    def bases(self) -> set[int]:
        """The indices of the base events that the formula uses."""
        return {token for token in self.tokens if isinstance(token, int)}

    @property
    def uses_clock(self) -> bool:
        """True if the formula uses #, the processor's maximum clock rate."""
        return "#" in self.tokens

    def value(self, bases: Sequence[Any], cpu_max_mhz: float | None) -> Any:
        """The value for numbers, or for numpy arrays of float64 (then a division by 0 gives nan or inf).

        bases: the values of the base events; cpu_max_mhz: the clock rate in MHz, needed with #.
        Raises ZeroDivisionError for numbers.
        """
        stack: list[Any] = []
        for token in self.tokens:
            if isinstance(token, int):
                stack.append(_double(bases[token]))
            elif isinstance(token, float):
                stack.append(token)
            elif token == "#":
                assert cpu_max_mhz is not None
                stack.append(cpu_max_mhz * MEGA)
            elif token == "negative":
                stack.append(-stack.pop())
            else:
                right = stack.pop()
                stack.append(_operation(token, stack.pop(), right))
        return stack[0]


def _double(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value


def _operation(sign: str, left: Any, right: Any) -> Any:
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    if sign == "/":
        return left / right
    if isinstance(left, float) and isinstance(right, float):
        if right == 0:
            raise ZeroDivisionError
        return math.fmod(left, right)
    import numpy as np

    return np.fmod(left, right)


def postfix(text: str, bases: int) -> Formula:
    """The formula of a text like N0|N1|3|*|+| with this number of base events. Raises FormulaError."""
    tokens: list[Token] = []
    depth = 0
    for part, offset in _parts(text):
        token = _token(part, offset, bases, signs="+-*/%#")
        depth += -1 if isinstance(token, str) and token != "#" else 1
        if depth < 1:
            raise FormulaError(f"{part} has no two operands before it", offset)
        tokens.append(token)
    if not tokens:
        raise FormulaError("the formula is empty", 0)
    if depth > 1:
        raise FormulaError(f"{depth - 1} operands are left over: an operator is missing", len(text.rstrip("| ")))
    return Formula(tokens)


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """The parts of text between |, each with its offset. The last | may be absent."""
    _check_length(text)
    offset = 0
    parts = text.split("|")
    for index, part in enumerate(parts):
        stripped = part.strip()
        if stripped:
            yield stripped, offset + part.index(stripped)
        elif index < len(parts) - 1:
            raise FormulaError("nothing between two |", offset)
        offset += len(part) + 1


def _token(part: str, offset: int, bases: int, signs: str) -> Token:
    match = _TOKEN.fullmatch(part)
    if match is None or (match["sign"] and match["sign"] not in signs):
        raise FormulaError(f"{part} is not a base event (N0), number, # or operator", offset)
    return _meaning(match, offset, bases)


def _meaning(match: re.Match[str], offset: int, bases: int) -> Token:
    if match["sign"]:
        return match["sign"]
    if match["number"]:
        return float(match["number"])
    digits = match["base"]
    if len(digits) > 6 or int(digits) >= bases:
        last = f"the last one is N{bases - 1}" if bases else "there are none"
        raise FormulaError(f"N{digits} is not a base event of this line: {last}", offset)
    return int(digits)


def _check_length(text: str) -> None:
    if len(text) > _LONGEST:
        raise FormulaError(f"the formula has more than {_LONGEST} characters", _LONGEST)


def infix(text: str, bases: int) -> Formula:
    """The formula of a text like N0+(N1*3) with this number of base events. Raises FormulaError.

    The usual precedence applies, operators of one precedence bind from left to right, and - may be a sign. The method
    is Dijkstra's shunting yard."""
    _check_length(text)
    output: list[Token] = []
    waiting: list[tuple[str, int]] = []  # operators and open parentheses, with their offsets
    operand_next = True
    offset = 0
    while offset < len(text):
        if text[offset].isspace():
            offset += 1
            continue
        match = _TOKEN.match(text, offset)
        if match is None:
            raise FormulaError(f"{text[offset]} is not part of a formula", offset)
        operand_next = _take(
            match, _meaning(match, offset, bases), operand_next=operand_next, output=output, waiting=waiting
        )
        offset = match.end()
    if operand_next:
        raise FormulaError("an operand is missing at the end" if text.strip() else "the formula is empty", len(text))
    while waiting:
        sign, place = waiting.pop()
        if sign == "(":
            raise FormulaError("this ( is not closed", place)
        output.append(sign)
    return Formula(output)


def _take(
    match: re.Match[str], token: Token, operand_next: bool, output: list[Token], *, waiting: list[tuple[str, int]]
) -> bool:
    """Takes one token of an infix formula; returns whether an operand must follow."""
    if not isinstance(token, str) or token == "#":
        if not operand_next:
            raise FormulaError(f"an operator is missing before {match[0]}", match.start())
        output.append(token)
        return False
    if operand_next:
        if token not in "(-":
            raise FormulaError(f"an operand is missing before {token}", match.start())
        waiting.append(("(" if token == "(" else "negative", match.start()))
        return True
    if token == "(":
        raise FormulaError("an operator is missing before (", match.start())
    if token == ")":
        while waiting and waiting[-1][0] != "(":
            output.append(waiting.pop()[0])
        if not waiting:
            raise FormulaError("no ( before this )", match.start())
        waiting.pop()
        return False
    while waiting and waiting[-1][0] != "(" and _PRECEDENCE[waiting[-1][0]] >= _PRECEDENCE[token]:
        output.append(waiting.pop()[0])
    waiting.append((token, match.start()))
    return True
