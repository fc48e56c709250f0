# SPDX-License-Identifier: BSD-3-Clause
"""The functions of a program that are recorded, and the number of their calls, without data from vtrace.

readelf lists the functions that exist in a file, objdump shows which of them call an enter hook or begin with clang's
sled, and valgrind's callgrind counts the calls of each function in a run. A tail call counts as a call. callgrind
counts neither a signal handler nor the first function of a context.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.readers.archive import Trace
from support.tools import Done, call, need

ENTER_HOOKS = ("__fentry__", "__cyg_profile_func_enter")

OTHERS = re.compile(
    r"_init|_fini|_start|_dl_relocate_static_pie|(de)?register_tm_clones|__do_global_dtors_aux|frame_dummy|atexit"
    r"|at_quick_exit|__fentry__|__return__|__cyg_profile_func_\w+|nothing|first_ask_\w+"
    r"|__wrap_\w+|_sub_[ID]_65535_[\d.]+|__clang_call_terminate|__cxx_global_\w+|_ZT[hvc]\w+|.*\.cold(\.\d+)?"
)
"""Functions without source code of their own: of the C library's start files, of vtrace's hooks and of gcc -flto; C++'s
thunks; the rarely executed part of a function, which the function jumps to."""

_SYMBOL = re.compile(r"^ *\d+: ([0-9a-f]+) +\w+ I?FUNC +\w+ +\w+ .*? +\d+ (\S+)$", re.MULTILINE)
_HEADER = re.compile(r"^([0-9a-f]+) <(\S+)>:$")
_CALL = re.compile(rf"\scall\w*\s.*<({'|'.join(ENTER_HOOKS)})(@\S*)?>")


class Module:
    """The functions of an executable or shared library, by address. names: all names of each function. recorded: the
    addresses of the functions with a hook or sled."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.names: dict[int, set[str]] = {}
        for address, name in _SYMBOL.findall(call([need("readelf"), "-sW", path], path.parent).stdout):
            self.names.setdefault(int(address, 16), set()).add(name.partition("@")[0])
        self.recorded: set[int] = set()
        words = [need("objdump"), "-d", "--no-show-raw-insn", "-w", path]
        address = None
        sleds = "xray_instr_map" in call([need("readelf"), "-SW", path], path.parent).stdout
        for line in call(words, path.parent).stdout.splitlines():
            if header := _HEADER.match(line):
                address = int(header[1], 16)
            elif address is not None and (_CALL.search(line) or (sleds and _begins_with_sled(address, line))):
                self.recorded.add(address)
                address = None

    def left_out(self) -> set[str]:
        """The functions that come from source code and are not recorded."""
        others = {min(names) for address, names in self.names.items() if address not in self.recorded}
        return {name for name in others if not OTHERS.fullmatch(name)}


def _begins_with_sled(function: int, line: str) -> bool:
    """True for the jump over nine bytes of clang's sled at a function's start, maybe after ENDBR64."""
    words = line.split()
    if len(words) < 3 or words[1] != "jmp" or not re.fullmatch("[0-9a-f]+:", words[0]):
        return False
    at = int(words[0][:-1], 16)
    return at - function in (0, 4) and words[2] == f"{at + 11:x}"


def one_name(modules: Iterable[Module]) -> dict[str, str]:
    """Maps each name of a function to the function's first name, since a function may have several names."""
    return {name: min(names) for module in modules for names in module.names.values() for name in names}


_FIELD = re.compile(r"^(ob|fn|cob|cfn|calls)=(.*)$")


def callgrind(words: list[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> tuple[Done, Counter[str]]:
    """Runs a program under callgrind. Returns the ended program, and the calls of each function by its file's name, a
    slash, and its symbol. valgrind reads DWARF 4 of all compilers, but not always DWARF 5."""
    out = cwd / "callgrind.out"
    # Code that is patched while the program runs has to be translated again: --smc-check.
    options = ["--compress-strings=no", "--compress-pos=no", "--demangle=no", "--smc-check=all"]
    tool = [need("valgrind"), "-q", "--tool=callgrind", *options, f"--callgrind-out-file={out}"]
    done = call([*tool, *words], cwd, env, timeout=600)
    return done, _parse(out.read_text(errors="replace"))


def _parse(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    file = callee_file = callee = ""
    for line in text.splitlines():
        if not (match := _FIELD.match(line)):
            continue
        kind, value = match.groups()
        if kind == "ob":
            file = callee_file = Path(value).name
        elif kind == "fn":
            callee_file = file
        elif kind == "cob":
            callee_file = Path(value).name
        elif kind == "cfn":
            callee = value
        else:
            found[f"{callee_file}/{callee}"] += int(value.split()[0])
            callee_file = file  # a callee without a file of its own lies in the caller's
    return found


def original(symbol: str) -> str:
    """The symbol of the function that a symbol is a copy of: the copies that gcc makes are one region."""
    return re.sub(r"(?<=.)(\.(constprop|isra|part|cold|lto_priv)(\.\d+)?)+$", "", symbol)


def expected(modules: Iterable[Module], counted: Mapping[str, int]) -> Counter[str]:
    """The calls that a trace must hold, by symbol: the calls of functions with an enter hook."""
    modules = list(modules)
    first = one_name(modules)
    found: Counter[str] = Counter()
    for module in modules:
        hooked = {name for address in module.recorded for name in module.names.get(address, ())}
        for key, n in counted.items():
            file, _, name = key.partition("/")
            name = re.sub(r"'\d+$", "", name)  # callgrind numbers the levels of a recursion
            if file == module.path.name and name in hooked:
                found[original(first[name])] += n
    return found


def recorded(trace: Trace, modules: Iterable[Module], kind: str = "Enter") -> Counter[str]:
    """The number of Enters or Leaves (kind) of each function in a trace, by symbol."""
    first = one_name(modules)
    symbols = (trace.region_of(event).canonical for event in trace.events if event.kind == kind)
    return Counter(original(first.get(symbol, symbol)) for symbol in symbols)
