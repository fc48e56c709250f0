# SPDX-License-Identifier: BSD-3-Clause
"""Finds the natural loops of a function in its machine code: control flow graph, dominators, back edges."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_MOST_CODE = 1 << 20
"""The most bytes of a function whose loops are searched."""
_ENDS = {"ret", "retq", "retaa", "retab", "hlt", "ud2", "br", "brk", "udf", "eret"}
_ARM_JUMPS = ("cbz", "cbnz", "tbz", "tbnz")


class _Instruction(NamedTuple):
    """jump: target, -1: unknown (a table), None: no jump. falls: the next instruction may run after this one."""

    address: int
    jump: int | None
    falls: bool


@dataclass
class MachineLoop:
    """A natural loop. addresses: of its instructions, ascending; outer: the loop around it."""

    header: int
    addresses: list[int]
    outer: MachineLoop | None = None
    _set: frozenset[int] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        self._set = frozenset(self.addresses)

    def holds(self, other: MachineLoop) -> bool:
        """Returns True if all instructions of another loop are in this loop."""
        return other is not self and other._set < self._set


class FunctionLoops:
    """The loops of a function."""

    def __init__(self, elf: ELFFile, start: int, size: int) -> None:
        self._addresses: list[int] = []
        self._inner: dict[int, MachineLoop] = {}
        """By the address of an instruction: the innermost loop."""
        self.loops: list[MachineLoop] = []
        code = _code(elf, start, size) if 0 < size <= _MOST_CODE else b""
        found = _decoded(elf["e_machine"], code, start)
        self.instructions = [instruction.address for instruction in found]
        """Their addresses, ascending."""
        if any(instruction.jump is not None and instruction.jump <= instruction.address for instruction in found):
            self._addresses = self.instructions
            self._find(found)

    def innermost(self, address: int) -> MachineLoop | None:
        """The innermost loop that has the instruction with this byte: a return address less one is inside a call."""
        at = bisect_right(self._addresses, address) - 1
        return self._inner.get(self._addresses[at]) if at >= 0 else None

    def _find(self, code: Sequence[_Instruction]) -> None:
        begins, blocks, following = _graph(code)
        bodies = _natural_loops(following)
        for header, members in bodies.items():
            addresses = [a for block in sorted(members) for a in blocks[block]]
            self.loops.append(MachineLoop(begins[header], addresses))
        self.loops.sort(key=lambda loop: (-len(loop.addresses), loop.header))
        for place, loop in enumerate(self.loops):  # the largest first: the last one around a loop is the innermost
            loop.outer = next((outer for outer in reversed(self.loops[:place]) if outer.holds(loop)), None)
            self._inner.update(dict.fromkeys(loop.addresses, loop))


def _code(elf: ELFFile, start: int, size: int) -> bytes:
    for segment in elf.iter_segments():
        begin = segment["p_vaddr"]
        if segment["p_type"] == "PT_LOAD" and begin <= start < begin + segment["p_filesz"]:
            elf.stream.seek(segment["p_offset"] + start - begin)
            found: bytes = elf.stream.read(min(size, begin + segment["p_filesz"] - start))
            return found
    return b""


@cache
def _decoder(machine: str) -> Any:
    import capstone  # takes as long to load as many traces take to unify

    if machine == "EM_X86_64":
        return capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    if machine == "EM_AARCH64":
        arm = getattr(capstone, "CS_ARCH_AARCH64", None)  # its name since version 6
        return capstone.Cs(capstone.CS_ARCH_ARM64 if arm is None else arm, capstone.CS_MODE_LITTLE_ENDIAN)
    return None


def _decoded(machine: str, code: bytes, start: int) -> list[_Instruction]:
    decoder = _decoder(machine) if code else None
    if decoder is None:
        return []
    jump = _x86_jump if machine == "EM_X86_64" else _arm_jump
    return [_Instruction(address, *jump(word, text)) for address, _, word, text in decoder.disasm_lite(code, start)]


def _x86_jump(word: str, text: str) -> tuple[int | None, bool]:
    word = word.rpartition(" ")[2]  # after prefixes such as bnd
    if word == "jmp":
        return _target(text), False
    if word[0] == "j" or word.startswith("loop") or word == "xbegin":
        return _target(text), True
    return None, word not in _ENDS


def _arm_jump(word: str, text: str) -> tuple[int | None, bool]:
    if word == "br":
        return -1, False
    if word == "b":
        return _target(text.lstrip("#")), False
    if word.startswith("b.") or word in _ARM_JUMPS:
        return _target(text.rpartition("#")[2]), True
    return None, word not in _ENDS


def _target(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return -1


def _graph(code: Sequence[_Instruction]) -> tuple[list[int], list[list[int]], list[list[int]]]:
    """The basic blocks: their first addresses, all addresses, and the blocks that may follow each.

    The targets of a jump by a table are not decoded: blocks that nothing else leads to follow the last such jump before
    them, since a compiler puts the cases after their switch.
    """
    known = {instruction.address for instruction in code}
    begins = {code[0].address} | {instruction.jump for instruction in code if instruction.jump in known}
    begins |= {b.address for a, b in pairwise(code) if a.jump is not None or not a.falls}
    order = sorted(begin for begin in begins if begin is not None)
    number = {begin: place for place, begin in enumerate(order)}
    blocks: list[list[int]] = [[] for _ in order]
    following: list[list[int]] = [[] for _ in order]
    tables, block = [], 0
    for place, instruction in enumerate(code):
        block = number.get(instruction.address, block)
        blocks[block].append(instruction.address)
        last = place + 1 == len(code)
        if instruction.jump in number:
            following[block].append(number[instruction.jump])
        elif instruction.jump == -1:
            tables.append(block)
        if not last and instruction.falls and code[place + 1].address in number:
            following[block].append(block + 1)
    reached = {0} | {after for each in following for after in each}
    for orphan in range(len(order)):
        at = bisect_right(tables, orphan - 1)
        if orphan not in reached and at:
            following[tables[at - 1]].append(orphan)
    return order, blocks, following


def _natural_loops(following: Sequence[Sequence[int]]) -> dict[int, set[int]]:
    """By header: the blocks of all back edges to it."""
    order = _postorder(following)
    before: dict[int, list[int]] = {}
    for block in order:
        for after in following[block]:
            before.setdefault(after, []).append(block)
    above = _dominators(before, order)
    found: dict[int, set[int]] = {}
    for block in order:
        for header in following[block]:
            if not _dominates(above, header, block):
                continue
            body = found.setdefault(header, {header})
            waiting = [block]
            while waiting:
                member = waiting.pop()
                if member not in body:
                    body.add(member)
                    waiting += before.get(member, ())
    return found


def _postorder(following: Sequence[Sequence[int]]) -> list[int]:
    order, seen, waiting = [], {0}, [(0, iter(following[0]))]
    while waiting:
        block, rest = waiting[-1]
        after = next((successor for successor in rest if successor not in seen), None)
        if after is None:
            order.append(block)
            waiting.pop()
        else:
            seen.add(after)
            waiting.append((after, iter(following[after])))
    return order


def _dominators(before: Mapping[int, Sequence[int]], order: Sequence[int]) -> dict[int, int]:
    """The immediate dominator of each reachable block (Cooper, Harvey and Kennedy); the entry is its own. before: the
    blocks that lead to each; order: a postorder."""
    rank = {block: place for place, block in enumerate(order)}
    above, changed = {0: 0}, True
    while changed:
        changed = False
        for block in reversed(order[:-1]):
            new = -1
            for predecessor in before[block]:
                if predecessor in above:
                    new = predecessor if new < 0 else _common(above, rank, predecessor, new)
            if above.get(block) != new:
                above[block], changed = new, True
    return above


def _common(above: dict[int, int], rank: dict[int, int], one: int, other: int) -> int:
    while one != other:
        if rank[one] < rank[other]:
            one = above[one]
        else:
            other = above[other]
    return one


def _dominates(above: dict[int, int], header: int, block: int) -> bool:
    while block != header and above[block] != block:
        block = above[block]
    return block == header
