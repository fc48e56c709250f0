# SPDX-License-Identifier: BSD-3-Clause
"""libFuzzer on the C reader of archives: see readback.c. VT_FUZZ_SECONDS limits the time, VT_FUZZ_RUNS the number of
inputs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from support.readers.otf2_headers import DEFINITIONS, EVENTS, LIST_EVENTS, LISTED_DEFINITIONS, Callback
from support.tools import ROOT, call, need_sanitizer

SECONDS = int(os.environ.get("VT_FUZZ_SECONDS", "0")) // 4 or 6
RUNS = os.environ.get("VT_FUZZ_RUNS")
SOURCES = ROOT / "csrc"
FLAGS = [
    "-g", "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined", "-Wall", "-Wextra",
    "-Ddlopen=vt_fuzz_dlopen", "-Ddlsym=vt_fuzz_dlsym",
]  # fmt: skip
HEAD = "uint64_t, uint64_t, uint64_t, void *, OTF2_AttributeList *"


def calls() -> str:
    """C source that calls each callback with values of the input."""
    events = _function(
        "call_event", "unsigned kind, uint64_t time, void *user, OTF2_AttributeList *told", [*EVENTS, *LIST_EVENTS],
        "VT_READ", "event_handlers", HEAD, "0, time, 0, user, told",
    )  # fmt: skip
    definitions = _function(
        "call_definition", "unsigned kind, void *user", [*DEFINITIONS, *LISTED_DEFINITIONS], "VT_DEF",
        "definition_handlers", "void *", "user",
    )  # fmt: skip
    return events + definitions


def _function(
    called: str, arguments: str, kinds: Sequence[Callback], prefix: str, handlers: str, types: str, head: str
) -> str:
    cases = []
    for one in kinds:
        before = _before(one)
        more = "".join(f", {kind}" for kind, _ in one.arguments)
        values = "".join(f", {_value(kind, name, bool(before))}" for kind, name in one.arguments)
        handler = f"((uint32_t (*)({types}{more})){handlers}[{prefix}_{one.name}])"
        cases.append(f"    case {prefix}_{one.name}: {{\n{before}        return {handler}({head}{values});\n    }}")
    return (
        f"static uint32_t {called}({arguments})\n{{\n    switch (kind) {{\n"
        + "\n".join(cases)
        + "\n    }\n    return 0;\n}\n\n"
    )


def _before(one: Callback) -> str:
    """Statements that fill the lists of a callback, with the length in its count."""
    lists = [kind for kind, _ in one.arguments if "*" in kind and "char" not in kind]
    if not lists:
        return ""
    text = "        unsigned n = members();\n"
    for kind, name in (("uint32_t", "words"), ("uint8_t", "types")):
        if any(kind in each for each in lists):
            text += f"        {kind} {name}[MEMBERS + 1];\n"
            text += f"        for (unsigned i = 0; i < n; i++) {name}[i] = ({kind})list[i];\n"
    return text


def _value(kind: str, argument: str, listed: bool) -> str:
    if "char" in kind:
        return "string()"
    if "*" in kind:
        of = "types" if "uint8_t" in kind else "words" if "uint32_t" in kind else "list"
        return f"(const void *){of}"
    if "vt_attribute_value" in kind:
        return "(vt_attribute_value){.uint64 = number()}"
    return f"({kind}){'n' if listed and argument == 'count' else 'number()'}"


def build(directory: Path, sources: Path) -> Path:
    (directory / "calls.h").write_text(calls())
    program = directory / "readback"
    kernel = [path for folder in ("otf2_reader", "kernels") for path in sorted((sources / folder).glob("*.c"))]
    kernel += [sources / "otf2_writer" / f"{name}.c" for name in ("schema", "containers")]
    words = [need_sanitizer("clang", "fuzzer"), *FLAGS, f"-I{sources}", f"-I{directory}"]
    done = call([*words, Path(__file__).with_name("readback.c"), *kernel, "-o", program], directory)
    assert not done.stderr, str(done)
    return program


def seeds(directory: Path) -> Path:
    """Random inputs for each value of the first byte, which selects options; libFuzzer finds others."""
    directory.mkdir(exist_ok=True)
    random = Random(1)
    for how in range(256):
        (directory / str(how)).write_bytes(bytes([how, how % 7]) + random.randbytes(random.randint(0, 900)))
    return directory


def fuzz(program: Path, directory: Path, *words: str, timeout: float) -> tuple[int, str]:
    corpus = directory / "corpus"
    corpus.mkdir(exist_ok=True)
    limits = ["-max_len=1024", "-timeout=60", "-malloc_limit_mb=256", "-rss_limit_mb=8192", "-seed=1"]
    done = call([program, *words, *limits, corpus, seeds(directory / "seeds")], directory, check=False, timeout=timeout)
    return done.returncode, done.stderr


def test_reading_takes_anything(tmp_path: Path) -> None:
    how_long = f"-runs={RUNS}" if RUNS else f"-max_total_time={SECONDS}"
    code, text = fuzz(build(tmp_path, SOURCES), tmp_path, how_long, timeout=36_000 if RUNS else SECONDS + 120)
    assert code == 0, text
    assert "Done" in text


MISTAKES = {
    "a full batch": ("events.c", " || b->count == b->capacity", ""),
    "a time that overflows": (
        "readback.h", "return ns > VT_READ_LATEST ? VT_READ_LATEST : ns < -VT_READ_LATEST ? -VT_READ_LATEST : ns;",
        "return ns;",
    ),
    "an unknown region": ("stack_replay.c", "region >= r->known) region = (uint32_t)", "0) region = (uint32_t)"),
    "members without room": ("definitions.c", "rows(d, MEMBERS, count)", "rows(d, MEMBERS, 1)"),
    "a path of no context": ("stack_replay.c", "known < r->out.npaths", "known != VT_NONE"),
    "a level without its last bin": ("tiles.c", " || l->filled == l->bins) store", ") store"),
    "a time that is cut": ("tiles.c", "bits > UINT32_MAX ? 8", "bits > UINT32_MAX ? 4"),
    "a bin behind the end": ("tiles.c", "s->end < p->end ? s->end : p->end", "s->end"),
    "a path too many": ("stack_replay.c", "if (r->out.npaths == r->paths_room && !grow_paths(r)) return VT_NONE;", ""),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_found(tmp_path: Path, what: str) -> None:
    """The fuzzer finds a check removed from the reader: otherwise its success would prove nothing."""
    call(["cp", "-r", SOURCES, tmp_path / "csrc"], tmp_path)
    name, right, wrong = MISTAKES[what]
    file = tmp_path / "csrc" / ("kernels" if name == "tiles.c" else "otf2_reader") / name
    text = file.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong))
    code, _ = fuzz(build(tmp_path, tmp_path / "csrc"), tmp_path, "-max_total_time=60", timeout=200)
    assert code != 0
