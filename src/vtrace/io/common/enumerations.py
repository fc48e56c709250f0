# SPDX-License-Identifier: BSD-3-Clause
"""OTF2's names of the values of its enumerations.

Most enumerations are classes in the bindings, with a member for each value. Some (MarkerSeverity, MarkerScope) are only
aliases of a ctypes integer, and their values are constants of the package.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import _otf2


@cache
def names_of(enumeration: Any) -> dict[int, str]:
    """The names of an enumeration's values: {4: "MPI", ...} for _otf2.Paradigm. Raises TypeError if the enumeration has
    no members in the bindings."""
    names = {member.value: name for name, member in vars(enumeration).items() if isinstance(member, enumeration)}
    if not names:
        raise TypeError(f"{enumeration.__name__} of the OTF2 bindings has no members")
    return names


@cache
def constant_names(prefix: str) -> dict[int, str]:
    """The names of the constants with a prefix, without the prefix: {1: "LOW", ...} for SEVERITY_. Raises TypeError if
    the bindings have no such constants."""
    names = {value.value: name.removeprefix(prefix) for name, value in vars(_otf2).items() if name.startswith(prefix)}
    if not names:
        raise TypeError(f"the OTF2 bindings have no constants {prefix}*")
    return names
