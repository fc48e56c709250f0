# SPDX-License-Identifier: BSD-3-Clause
"""C programs of many small functions, of which several begin within 16 bytes, with the calls of each function."""

from __future__ import annotations

import random
from collections import Counter

ROUNDS = 10
"""Calls of each function by main. All other calls come from a function with a higher number."""

_BODIES = (
    '__asm__ volatile("" ::: "memory"); return x + {i};',
    "return x + {i};",
    "return x * {i} + f{a}(x);",
    "return f{a}(x) + f{b}(x + {i});",
    "return f{a}(x + {i});",
    '__asm__ volatile("" ::: "memory"); return f{a}(f{b}(x));',
)


def small_functions(seed: int, n: int = 40) -> tuple[str, Counter[str]]:
    """The source of a program with the functions f0, f1 ... and the number of their calls."""
    chance = random.Random(seed)
    lines = ["#define NI __attribute__((noinline, noclone, no_icf))", "volatile int sum;"]
    callees: list[Counter[int]] = []
    for i in range(n):
        body = chance.choice(_BODIES[:2] if i < 2 else _BODIES)
        a, b = (chance.randrange(i), chance.randrange(i)) if i else (0, 0)
        callees.append(Counter([a] * ("f{a}" in body) + [b] * ("f{b}" in body)))
        static = chance.choice(("static ", ""))
        lines.append(f'NI {static}int f{i}(int x) {{ __asm__ volatile(""); {body.format(i=i + 3, a=a, b=b)} }}')
    calls = " ".join(f"sum += f{i}(sum);" for i in range(n))
    lines.append(f"int main(void) {{ for (int i = 0; i < {ROUNDS}; i++) {{ {calls} }} return 0; }}")
    counts = Counter(dict.fromkeys(range(n), ROUNDS))
    for i in reversed(range(n)):
        for callee, times in callees[i].items():
            counts[callee] += times * counts[i]
    return "\n".join(lines) + "\n", Counter({f"f{i}": count for i, count in counts.items()} | {"main": 1})
