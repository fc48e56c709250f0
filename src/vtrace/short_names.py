# SPDX-License-Identifier: BSD-3-Clause
"""Shortens long names of functions for a terminal: arguments of C++ first, then the middle. Different names stay
different."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

_DOTS = "..."
_OPERATOR = re.compile(r"operator *(\(\)|<=>|->\*?|<<=?|>>=?|[<>]=?)|\(anonymous namespace\)|\([^()<>]*:\d+\)|->")
"""Brackets that enclose no arguments, in C++ names and of source lines."""
_CLOSING = {"<": ">", "(": ")"}
_DEEPEST = 5
"""Arguments that are nested more deeply are left out together with those around them."""


def shortened(names: Iterable[str], room: int) -> dict[str, str]:
    """Each name, and the text of at most room characters that stands for the name. A name is whole if that fits, and
    longer than room if a shorter text would look like that of another name."""
    found = {name: name for name in dict.fromkeys(names)}
    long = sorted(name for name in found if len(name) > room)
    texts = {name for name in found if len(name) <= room}
    fitting = {name: _without_arguments(name, room) for name in long}
    of_texts = Counter(text for each in fitting.values() for text in each)
    alike: dict[str, list[str]] = {}
    for name in long:
        alike.setdefault(_without(name), []).append(name)
    for name in long:
        own = [text for text in fitting[name] if of_texts[text] == 1]
        choices = chain(own, _distinct(name, alike[_without(name)], room), [_cut(name, room)], _windows(name, room))
        found[name] = next((text for text in choices if text not in texts and of_texts[text] < 2), name)
        texts.add(found[name])
    return found


def _without_arguments(name: str, room: int) -> list[str]:
    """The name without some arguments, the longest text that fits first."""
    texts = {_without(name, angles, rounds) for angles in range(_DEEPEST) for rounds in range(_DEEPEST)}
    return sorted((text for text in texts if len(text) <= room), key=lambda text: (-len(text), text))


def _distinct(name: str, alike: list[str], room: int) -> Iterator[str]:
    """The name without arguments, except the piece in which the name differs from those that are alike without
    arguments."""
    bare = _without(name)
    if len(bare) > room:
        yield _cut(bare, room)
        return
    for other in alike:
        if other != name:
            at = next((at for at, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), 0)
            yield _without(name, piece=slice(at, at + room - len(bare) - len(_DOTS)))


def _cut(text: str, room: int) -> str:
    keep = max(room - len(_DOTS), 2)
    return f"{text[: keep - keep // 2]}{_DOTS}{text[-(keep // 2) :]}"


def _windows(name: str, room: int) -> Iterator[str]:
    """Start, end, and a piece of the middle of a name, for names that differ only there."""
    piece = (room - 2 * len(_DOTS)) // 3
    for at in range(piece, len(name) - piece, max(piece, 1)) if piece > 0 else ():
        yield f"{name[:piece]}{_DOTS}{name[at : at + piece]}{_DOTS}{name[-piece:]}"


def _without(name: str, angles: int = 0, rounds: int = 0, piece: slice | None = None) -> str:
    """The name with "..." for arguments of templates (angles) and functions (rounds) inside so many brackets, except a
    piece of them."""
    kept: list[str] = []
    open_brackets: list[tuple[str, bool]] = []
    hidden = 0
    for at, (character, bracket) in enumerate(zip(name, _brackets(name), strict=True)):
        if bracket in _CLOSING:
            hides = not hidden and len(open_brackets) >= (angles if bracket == "<" else rounds)
            open_brackets.append((_CLOSING[bracket], hides))
            if not hidden:
                kept.append(f"{bracket}{_DOTS}" if hides else bracket)
            hidden += hides
            if hides:
                continue
        elif bracket in _CLOSING.values():
            if not open_brackets or open_brackets[-1][0] != bracket:
                return name  # no name of C++
            hidden -= open_brackets.pop()[1]
            if not hidden:
                kept.append(character)
        elif not hidden:
            kept.append(character)
        if piece and hidden and piece.start <= at < piece.stop:
            is_end = open_brackets[-1][1] and name[at + 1 : at + 2] == open_brackets[-1][0]
            kept.append(character + _DOTS * (at == piece.stop - 1 and not is_end))
    return name if open_brackets else "".join(kept)


def _brackets(name: str) -> str:
    """The name with blanks for brackets that enclose no arguments."""
    return _OPERATOR.sub(lambda found: " " * len(found[0]), name)


def short_line(text: str, width: int | None) -> str:
    """A name, or a line with names, shortened to this width; None: whole."""
    return text if width is None else shortened([text], width)[text]


def path_parts(text: str) -> list[str]:
    """The names of a call path such as main > solve<vector<int> > > step."""
    parts, begin, depth = [], 0, 0
    for at, bracket in enumerate(_brackets(text)):
        if bracket == "<":
            depth += 1
        elif bracket == ">" and depth:
            depth -= 1
        elif text.startswith(" > ", at) and not depth:
            parts.append(text[begin:at])
            begin = at + 3
    return [*parts, text[begin:]]


def folded(texts: list[str], room: int, *, kind: str) -> list[list[str]]:
    """Each text as lines of at most room characters: names are shortened; call paths (kind path) have several lines,
    the blanks before names of a tree stay, up to half of the room."""
    if kind == "tree":
        return _folded_tree(texts, room)
    is_path = kind == "path"
    parts = [path_parts(text) if is_path and len(text) > room else [text] for text in texts]
    short = shortened((part for each in parts for part in each), room - len(" >") if is_path else room)
    return [_lines([short[part] for part in each], room) for each in parts]


def _folded_tree(texts: list[str], room: int) -> list[list[str]]:
    names = [path_parts(text.lstrip(" ")) for text in texts]
    indents = [min(len(text) - len(text.lstrip(" ")), room // 2) for text in texts]
    short = shortened((part for each in names for part in each), room - max(indents) - len(" >"))
    found = []
    for parts, indent in zip(names, indents, strict=True):
        is_whole = sum(map(len, parts)) + len(" > ") * (len(parts) - 1) <= room - indent
        lines = _lines(parts if is_whole else [short[part] for part in parts], room - indent)
        found.append([" " * indent + line for line in lines])
    return found


def _lines(parts: list[str], room: int) -> list[str]:
    lines, words = [""], [*(f"{part} >" for part in parts[:-1]), parts[-1]]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return [line[at : at + room] for line in lines for at in range(0, max(len(line), 1), room)]
