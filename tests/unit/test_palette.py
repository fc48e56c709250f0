# SPDX-License-Identifier: BSD-3-Clause
"""The colours of classes: readers with and without all cones of the eye tell them apart, and waiting from working."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import combinations

import numpy as np
import pytest

from support.tools import ROOT, need
from vtrace.analysis.activity import TREE

VISIONS = {
    "all cones": np.eye(3),
    "no red cones": np.array([
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998],
    ]),
    "no green cones": np.array([
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881],
    ]),
}  # fmt: skip
"""Machado, Oliveira and Fernandes 2009, severity 1, for linear RGB."""
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = np.array([0.95047, 1, 1.08883])
WAITING = ("mpi", "io", "openmp", "threads")
"""Classes with calls that wait."""
COLOURS = """
import {PAPER, parsed, waiting} from '%s';
const classes = JSON.parse(process.argv[1]);
console.log(JSON.stringify(Object.fromEntries(Object.entries(PAPER).map(([theme, {back, idle}]) => [theme, {
  idle, waits: classes.map((one) => waiting(parsed(one), back))}]))));
"""


def lab(colour: int, vision: str) -> np.ndarray:
    """CIE L*a*b* of 0xRRGGBB as seen with a vision."""
    rgb = np.array([colour >> 16, colour >> 8 & 255, colour & 255]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(VISIONS[vision] @ linear, 0, 1) / WHITE
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one: np.ndarray, two: np.ndarray) -> float:
    mean = (np.hypot(*one[1:]) + np.hypot(*two[1:])) / 2
    g = 0.5 * (1 - np.sqrt(mean**7 / (mean**7 + 25.0**7)))

    def polar(colour: np.ndarray) -> tuple[float, float, float]:
        a, b = colour[1] * (1 + g), colour[2]
        return colour[0], np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360

    light, chroma, hue = zip(polar(one), polar(two), strict=True)
    turn = (hue[1] - hue[0] + 180) % 360 - 180 if chroma[0] * chroma[1] else 0.0
    big_l, big_c = sum(light) / 2, sum(chroma) / 2
    big_h = (hue[0] + turn / 2) % 360 if chroma[0] * chroma[1] else sum(hue)
    weights = ((1, 0, -30), (-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    t = weights[0][0] + sum(w * np.cos(np.radians(n * big_h + at)) for w, n, at in weights[1:])
    s_l = 1 + 0.015 * (big_l - 50) ** 2 / np.sqrt(20 + (big_l - 50) ** 2)
    terms = [
        (light[1] - light[0]) / s_l, (chroma[1] - chroma[0]) / (1 + 0.045 * big_c),
        2 * np.sqrt(chroma[0] * chroma[1]) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * big_c * t),
    ]  # fmt: skip
    bend = np.sin(np.radians(60 * np.exp(-(((big_h - 275) / 25) ** 2)))) * -2 * np.sqrt(big_c**7 / (big_c**7 + 25.0**7))
    return float(np.sqrt(sum(each**2 for each in terms) + bend * terms[1] * terms[2]))


@pytest.fixture(scope="module")
def themes() -> dict[str, dict[str, int]]:
    """By theme the colours of classes, of waits (such as "mpi waits") and of rows without a call, as on the page."""
    module = ROOT / "src" / "vtrace" / "timeline" / "page" / "model" / "colours.js"
    words = [need("node"), "--input-type=module", "-e", COLOURS % module, json.dumps([one.colour for one in TREE])]
    found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    classes = {one.root: int(one.colour[1:], 16) for one in TREE}
    names = [f"{one.root} waits" for one in TREE]
    chosen = [f"{root} waits" for root in WAITING]
    return {
        theme: classes
        | {n: c for n, c in zip(names, each["waits"], strict=True) if n in chosen}
        | {"none": each["idle"]}
        for theme, each in found.items()
    }


def least(colours: dict[str, int], is_chosen: object) -> tuple[float, str]:
    """The least distance of chosen pairs in all visions, and its pair."""
    assert callable(is_chosen)
    seen = {(name, vision): lab(colour, vision) for name, colour in colours.items() for vision in VISIONS}
    return min(
        (ciede2000(seen[a, vision], seen[b, vision]), f"{a}, {b}, {vision}")
        for vision in VISIONS
        for a, b in combinations(colours, 2)
        if is_chosen(a, b)
    )


@pytest.mark.parametrize(
    ("one", "two", "distance"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792),
        ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373),
    ],
)  # fmt: skip
def test_the_measure(one: tuple[float, ...], two: tuple[float, ...], distance: float) -> None:
    """Examples of Sharma, Wu and Dalal 2005."""
    assert ciede2000(np.array(one), np.array(two)) == pytest.approx(distance, abs=1e-4)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_distances(themes: dict[str, dict[str, int]], theme: str) -> None:
    """The least distances; 2.3 is what people just notice, and the former palette had 3.4 between two classes."""
    colours = themes[theme]

    def working(name: str) -> bool:
        return "waits" not in name

    both = least(colours, lambda a, b: working(a) and working(b))
    assert both[0] >= 13.0, both
    own = least(colours, lambda a, b: b == f"{a} waits")
    assert own[0] >= 16.0, own
    other = least(colours, lambda a, b: working(a) != working(b) and b != f"{a} waits")
    assert other[0] >= 8.5, other
    waits = least(colours, lambda a, b: not working(a) and not working(b))
    assert waits[0] >= 7.0, waits


def test_one_palette() -> None:
    """The style of the page has the colours of classes."""
    style = (ROOT / "src" / "vtrace" / "timeline" / "page" / "style.css").read_text()
    colours = {one.root: one.colour for one in TREE}
    legend = "".join(re.findall(r"#legend i\.(?:sampled|pale) .*", style))
    assert set(re.findall(r"#[0-9a-f]{6}", legend)) == {colours["user"], colours["mpi"]}
