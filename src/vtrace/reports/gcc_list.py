# SPDX-License-Identifier: BSD-3-Clause
"""Finds functions for gcc's -finstrument-functions-exclude-function-list, so that gcc leaves out no other function.

gcc leaves out each function whose name has an item of the list as a substring (GCC manual, "Program Instrumentation
Options"). gcc compares the names of its messages: for C++ scope::name, without arguments and result.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_LISTABLE = re.compile(r"([A-Za-z_]\w*)|([A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)*)\(.*\).*")
"""Names that gcc and the trace write in the same way: of C functions, and of C++ functions without template arguments,
operators, lambdas and unnamed scopes. Other names may have commas, and an empty item of the list would leave out
all."""

_SPELLINGS = ("long long unsigned int", "short unsigned int", "std::basic_string<char>", "std::basic_iostream<char>")
"""Types that gcc and the demangler write differently in template arguments, as gcc writes them."""


def exclude_list(chosen: Sequence[str], functions: Collection[str]) -> tuple[list[str], dict[str, str]]:
    """The items of the list for the chosen functions, and a reason for each chosen function that must not be listed.

    functions: all known functions of the program, as the trace and the demangler name them.
    """
    leave = set(chosen)
    stay = sorted(name for name in functions if name not in leave)
    if any("<" in name or "{" in name for name in stay):
        stay += _SPELLINGS
    text = "\n".join(stay)
    items: dict[str, None] = {}
    reasons = {}
    for name in chosen:
        match = _LISTABLE.fullmatch(name)
        if name not in functions:
            reasons[name] = "no compiled function"
        elif match is None or ")::" in name:
            reasons[name] = "gcc writes its name in another way"
        elif (at := text.find(item := match[1] or match[2])) >= 0:
            begin = text.rfind("\n", 0, at) + 1
            reasons[name] = f"its name is a part of {text[begin:].partition(chr(10))[0]}"
        else:
            items[item] = None
    return list(items), reasons
