# SPDX-License-Identifier: BSD-3-Clause
"""Formulas of derived events against a plain evaluator of random expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtrace.analysis.derived.formulas import FormulaError, infix, postfix

BASES = (3.0, 5.0, 1e6, 0.0)
MHZ = 2400.0


@dataclass(frozen=True)
class Expression:
    """An expression in both notations, and its value as Python computes it."""

    infix: str
    postfix: str
    value: Callable[[], float]


def leaves() -> st.SearchStrategy[Expression]:
    bases = st.integers(0, len(BASES) - 1).map(lambda i: Expression(f"N{i}", f"N{i}|", lambda: BASES[i]))
    numbers = st.integers(0, 999).map(lambda n: Expression(str(n), f"{n}|", lambda: float(n)))
    return bases | numbers | st.just(Expression("#", "#|", lambda: MHZ * 1e6))


OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": math.fmod,
}


def combined(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def join(left: Expression, sign: str, right: Expression) -> Expression:
        operation = OPERATIONS[sign]
        return Expression(
            f"({left.infix} {sign}{right.infix})",
            f"{left.postfix}{right.postfix}{sign}|",
            lambda: operation(left.value(), right.value()),
        )

    return st.builds(join, parts, st.sampled_from(sorted(OPERATIONS)), parts)


@given(st.recursive(leaves(), combined, max_leaves=20))
@settings(max_examples=400, deadline=None)
def test_both_notations_give_the_value_of_the_expression(expression: Expression) -> None:
    formulas = infix(expression.infix, len(BASES)), postfix(expression.postfix, len(BASES))
    assert formulas[0].tokens == formulas[1].tokens
    try:
        expected = expression.value()
    except (ZeroDivisionError, ValueError):  # math.fmod raises ValueError
        with pytest.raises(ZeroDivisionError):
            formulas[0].value(BASES, MHZ)
        return
    assert formulas[0].value(BASES, MHZ) == expected
    columns = [np.array([base, base]) for base in BASES]
    assert np.asarray(formulas[1].value(columns, MHZ)).tolist() in ([expected, expected], expected)


@given(st.lists(st.tuples(st.sampled_from(["+", "-", "*", "/", "+-", "*-"]), st.integers(1, 99)), max_size=12))
@settings(max_examples=200, deadline=None)
def test_the_precedence_is_that_of_python(terms: list[tuple[str, int]]) -> None:
    text = "7" + "".join(f"{sign}{number}" for sign, number in terms)
    doubles = "7.0" + "".join(f"{sign}{number}.0" for sign, number in terms)  # Python's integers have no limit
    assert infix(text, 0).value((), None) == eval(doubles)


@given(st.text("N01#+-*/%()| ", max_size=12))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_formula_or_an_error_with_a_place(text: str) -> None:
    for read in (infix, postfix):
        try:
            formula = read(text, 2)
        except FormulaError as error:
            offset = error.offset
        else:
            offset = 0
            with suppress(ZeroDivisionError):
                assert isinstance(formula.value([3, 5], MHZ), float)
        assert 0 <= offset <= len(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("7-2-1", 4), ("8/4/2", 1), ("2+3*4", 14), ("(2+3)*4", 20), ("-N0*2", -6), ("2--1", 3), ("2*-N1", -10),
     ("-(1+2)", -3), (" N0 + ( N1 * 3 ) ", 18), ("1.5*2", 3), ("7%4*2", 6), ("#", 2.4e9)],
)  # fmt: skip
def test_infix(text: str, value: float) -> None:
    assert infix(text, 2).value(BASES, MHZ) == value


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("", 0, "empty"),
        ("N0+", 3, "an operand is missing at the end"),
        ("N0 N1", 3, "an operator is missing before N1"),
        ("N0+*N1", 3, "an operand is missing before *"),
        ("N2", 0, "N2 is not a base event of this line: the last one is N1"),
        ("(N0", 0, "not closed"),
        ("N0)", 2, "no ( before"),
        ("N0(1)", 2, "an operator is missing before ("),
        ("N0&N1", 2, "& is not part of a formula"),
        ("N999999999999", 0, "is not a base event"),
        ("()", 1, "an operand is missing before )"),
    ],
)
def test_wrong_infix(text: str, offset: int, words: str) -> None:
    with pytest.raises(FormulaError, match=re.escape(words)) as error:
        infix(text, 2)
    assert error.value.offset == offset


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("", 0, "empty"),
        ("N0|+|", 3, "two operands"),
        ("N0|N1|", 5, "1 operands are left over"),
        ("N0||N1|+|", 3, "nothing between"),
        ("N0|N1|x|", 6, "x is not a base event"),
        ("N0|N7|+|", 3, "N7 is not a base event of this line"),
        ("N0|(|", 3, "is not a base event"),
    ],
)
def test_wrong_postfix(text: str, offset: int, words: str) -> None:
    with pytest.raises(FormulaError, match=words) as error:
        postfix(text, 2)
    assert error.value.offset == offset


def test_the_last_bar_may_be_absent() -> None:
    assert postfix("N0|N1|+", 2).value(BASES, None) == postfix("N0|N1|+|", 2).value(BASES, None) == 8


def test_a_long_formula_needs_no_recursion() -> None:
    assert infix("(" * 4000 + "1" + ")" * 4000, 0).value((), None) == 1
    with pytest.raises(FormulaError, match="more than 10000 characters"):
        infix("1+" * 6000, 0)
    with pytest.raises(FormulaError, match="more than 10000 characters"):
        postfix("1|" * 6000, 0)
