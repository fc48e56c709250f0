# SPDX-License-Identifier: BSD-3-Clause
"""Samples on the page of vtrace view: its data against the otf2 package's reader, sample by sample."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.build.builder import Builder
from support.build.run import unify
from support.oracles import slow_profile, slow_samples
from support.oracles.slow_samples import Sample
from support.recorded_archives import unpack
from support.tools import call, command
from support.users.page_site import Asked
from vtrace.timeline import sample_data, sample_store, tile_pass

BINS = 40


class Sampled(NamedTuple):
    asked: Asked
    path: Path
    """The path of the archive with the samples."""
    samples: list[list[Sample]]
    exact: bool


@pytest.fixture(scope="module")
def recorded(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the local files of a sampled run."""
    where = tmp_path_factory.mktemp("recorded")
    program = build("sampled.c", flags=("-O1", "-g", "-pthread"), plain=True)
    call([*command("vtrace"), "run", "--sample=200", program, "1200", "2"], where)
    return where


@pytest.fixture(scope="module", params=["Score-P", "vtrace", "sidecar", "large"])
def run(request: pytest.FixtureRequest, recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Sampled:
    where = tmp_path_factory.mktemp("sampled")
    if request.param == "Score-P":
        archive = path = unpack("scorep-sampling", where)
    else:
        archive = where / "sampled.trace"
        samples = "sidecar" if request.param == "sidecar" else "archive"
        unify(recorded, "-k", f"--samples={samples}", "-o", archive, "sampled")
        path = archive / "vtrace" / "samples" if request.param == "sidecar" else archive
    exact = request.param != "Score-P"
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "large":  # the samples come from the tiles
            patch.setattr(tile_pass, "LARGE", -1)
            patch.setattr(sample_store.SampleStore, "_scanned", None)
            asked = Asked(archive)
            assert asked.json("sample", location=0, time=0, slack=2**50, step=0)
            return Sampled(asked, path, slow_samples.samples(path, exact), exact)
    return Sampled(Asked(archive), path, slow_samples.samples(path, exact), exact)


def windows(run: Sampled) -> list[tuple[int, int]]:
    (about,) = run.asked.json("traces")
    rng, length = random.Random(5), about["duration"]
    some = [sorted(rng.sample(range(length), 2)) for _ in range(6)]
    return [(0, length), *((begin, end) for begin, end in some)]


def names(run: Sampled, regions: list[int]) -> list[str]:
    known = sorted({int(region) for region in regions})
    found = run.asked.json("regions", rows=",".join(map(str, known))) if known else []
    name = {region: each["name"] for region, each in zip(known, found, strict=True)}
    return [name[int(region)] for region in regions]


def named(found: Counter[tuple[int, int, Any, int, int]]) -> Counter[tuple[Any, ...]]:
    total: Counter[tuple[Any, ...]] = Counter()
    for (begin, end, region, depth, samples), count in found.items():
        total[begin, end, region.name, depth, samples] += count
    return total


def test_there_are_samples(run: Sampled) -> None:
    (about,) = run.asked.json("traces")
    assert about["samples"]
    assert max(map(len, run.samples)) > 50
    assert all(run.samples)


def test_stacks(run: Sampled) -> None:
    """The slices of windows: each function of each sample, until the next sample or for the weight."""
    for location, every in enumerate(run.samples):
        for start, stop in windows(run):
            inside = [one for one in every if one.time < stop and one.end > start]
            found = run.asked.table("samples", location=location, shortest=0, **{"from": start, "to": stop})
            columns = found.columns | {"region": names(run, found.columns["region"])}
            order = ("begin", "end", "region", "depth", "count")
            assert Counter(zip(*(columns[name] for name in order), strict=True)) == named(slow_samples.slices(inside))
            assert found.notes["step"] == 1


def test_thinned_stacks(run: Sampled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are too many samples, some are left out, and the note has their number; the first and the last time
    stay."""
    monkeypatch.setattr(sample_data, "_MOST", 10)
    (start, stop), samples = windows(run)[0], run.samples[0]
    every = [one for one in samples if one.time < stop]  # the last event of a trace may be a sample
    found = run.asked.table("samples", location=0, shortest=0, **{"from": start, "to": stop})
    assert found.notes["step"] == -(-len(every) // 10)
    outer = [n for n, depth in enumerate(found.columns["depth"]) if depth == 0]
    assert sum(found.columns["count"][n] for n in outer) == -(-len(every) // found.notes["step"])
    assert (min(found.columns["begin"]), max(found.columns["end"])) == (every[0].time, every[-1].end)


def test_too_many_for_memory(run: Sampled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each n-th sample is in memory, and weighs as much as n; a window has all of its samples."""
    monkeypatch.setattr(sample_store, "MOST", 0)
    monkeypatch.setattr(sample_store, "_LEAST", 20)
    shown, every = run.asked.site.shown[0], run.samples[0]
    monkeypatch.setitem(shown.tiles.tables, "samples", sample_store.sample_table(None))
    trace = shown.trace
    store = sample_store.SampleStore(trace, shown.tiles)
    kept = store.of(0)
    assert 10 < len(kept.time) <= 20
    assert kept.time.tolist() == [one.time for one in every[:: kept.step]]
    assert kept.weight.tolist() == pytest.approx([one.weight * kept.step for one in every[:: kept.step]], rel=1e-6)
    for start, stop in windows(run)[1:]:
        inside = [one for one in every if one.time < stop and one.end > start]
        found = store.near(0, start, stop)
        assert found.time.tolist() == [one.time for one in inside]


def test_rows(run: Sampled) -> None:
    """The function that most samples outside of recorded calls have in each bin of a row."""
    rows = [[location] for location in range(len(run.samples))] + [list(range(len(run.samples)))]
    words = [f"l{location}" for location in range(len(run.samples))] + [f"r0-{len(run.samples) - 1}"]
    met = 0
    for start, stop in windows(run):
        found = run.asked.table("leaves", rows=",".join(words), bins=BINS, **{"from": start, "to": stop})
        regions = [region - 1 for region in found.columns["region"]]
        shown = iter(names(run, [region for region in regions if region >= 0]))
        for row, members in enumerate(rows):
            cells: list[Counter[str]] = [Counter() for _ in range(BINS)]
            for one in (one for location in members for one in run.samples[location] if not one.inside):
                if one.time < stop and one.end > start:
                    first = max(0, (one.time - start) * BINS // (stop - start))
                    for cell in cells[first : min((one.end - 1 - start) * BINS // (stop - start), BINS - 1) + 1]:
                        cell[one.stack[-1].name] += 1
            for number, cell in enumerate(cells):
                assert (regions[row * BINS + number] >= 0) == bool(cell)
                if cell:
                    assert cell[next(shown)] == max(cell.values())
                    met += 1
    assert met > BINS


def test_one_sample(run: Sampled) -> None:
    """Function, file and line, call path, time, weight; the samples before and after; nothing far from samples."""
    rng = random.Random(2)
    for location, every in enumerate(run.samples):
        for at in sorted(rng.sample(range(1, len(every) - 1), min(20, max(0, len(every) - 2)))):
            one = every[at]
            found = run.asked.json("sample", location=location, time=one.time, slack=0, step=0)
            assert (found["time"], found["end"], found["source"]) == (one.time, one.end, one.source)
            assert found["weight"] == pytest.approx(one.weight, abs=1)
            known = [(region.name, file, line if file else 0) for region, file, line in one.place]
            assert [(frame["name"], frame["file"], frame["line"]) for frame in found["path"]] == known
            assert bool(found["inside"]) == one.inside
            for step in (-1, 1):
                other = run.asked.json("sample", location=location, time=one.time, slack=0, step=step)
                assert other["time"] == every[at + step].time
        assert run.asked.json("sample", location=location, time=2**50, slack=5, step=0) is None


def panel(run: Sampled, name: str, start: int, stop: int) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    found = run.asked.table("panel", name=name, rows="", **{"from": start, "to": stop})
    return found.columns | {"region": names(run, [max(0, region) for region in found.columns["region"]])}, found.notes


def test_panels(run: Sampled) -> None:
    """Profile and flame graph count the samples of windows; the weights of those outside of recorded calls are the
    exclusive times of their functions."""
    for start, stop in windows(run)[:3]:
        every = [one for each in run.samples for one in each if start <= one.time <= stop]
        columns, notes = panel(run, "profile", start, stop)
        assert notes == {"samples": len(every), "sources": [every[0].source]}
        weight: Counter[str] = Counter()
        for one in (one for one in every if not one.inside):
            weight[one.stack[-1].name] += one.weight
        times = dict(zip(columns["region"], columns["exclusive"], strict=True))
        assert weight
        if run.exact:
            assert {name: times[name] for name in weight} == {n: pytest.approx(ns, abs=1) for n, ns in weight.items()}
        flame, _ = panel(run, "flame", start, stop)
        outer = [n for n, depth in enumerate(flame["depth"]) if depth == 1]
        assert sum(flame["inclusive"][n] for n in outer) == pytest.approx(sum(times.values()))
        assert sum(flame["samples"]) == len(every)


@pytest.mark.parametrize("run", ["Score-P"], indirect=True)
def test_the_profile_of_score_p(run: Sampled) -> None:
    """The numbers of vtrace profile: with an estimated period."""
    for start, stop in windows(run)[:3]:
        expected = slow_profile.Rows(slow_profile.pieces(run.path, start, stop), "function")
        columns, _ = panel(run, "profile", start, stop)
        assert sorted(columns["region"]) == sorted(expected)
        for number, name in enumerate(columns["region"]):
            row = expected[name]
            assert (columns["samples"][number], columns["calls"][number]) == (row.samples, row.calls)
            near = (columns["exclusive"][number], columns["inclusive"][number])
            assert near == (pytest.approx(row.exclusive, abs=1), pytest.approx(row.inclusive, abs=1))
            assert columns["estimated"][number] == row.estimated


def test_an_archive_without_samples(tmp_path: Path) -> None:
    from support.synthetic_runs import viewed

    asked = Asked(viewed.write(tmp_path / "odd.trace").parent)
    (about,) = asked.json("traces")
    words = {"from": 0, "to": about["duration"]}
    assert not about["samples"]
    assert asked.table("samples", location=0, shortest=0, **words).columns["begin"] == []
    assert asked.table("leaves", rows="l0", bins=3, **words).columns["region"] == [0, 0, 0]
    assert asked.json("sample", location=0, time=5, slack=10, step=0) is None
    assert "samples" not in asked.table("panel", name="profile", rows="", **words).columns
