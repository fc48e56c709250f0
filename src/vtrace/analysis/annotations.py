# SPDX-License-Identifier: BSD-3-Clause
"""Colours and categories of annotations, from the descriptions of their regions: those of a region's first event
(csrc/annotations/attributes.c). The attributes ANNOTATION_COLOR and ANNOTATION_CATEGORY have those of each event."""

from __future__ import annotations

import re

import numpy as np

from vtrace.analysis.table import Array, Table

COLOUR, NO_COLOUR = "ANNOTATION_COLOR", -1
_DESCRIPTION = re.compile(r"(?:colour #(?P<colour>[0-9a-f]{6}))?(?:, )?(?:category (?P<category>.+))?")


def colours(regions: Table) -> Array:
    """(regions,) 0xRRGGBB; NO_COLOUR. One colour alone, as Python's nvtx gives to all, tells nothing: then none."""
    texts = [found["colour"] for found in _described(regions)]
    several = len({text for text in texts if text}) > 1
    return np.array([int(text, 16) if text and several else NO_COLOUR for text in texts], np.int32)


def categories(regions: Table) -> Array:
    """(regions,) names; "" without one."""
    return np.array([found["category"] or "" for found in _described(regions)], object)


def _described(regions: Table) -> list[dict[str, str | None]]:
    """The parts of each region's description; of regions that are no annotations, None."""
    pairs = zip(regions["description"].tolist(), (regions["paradigm"] == "USER").tolist(), strict=True)
    found = [_DESCRIPTION.fullmatch(text if is_user else "") for text, is_user in pairs]
    return [one.groupdict() if one else {"colour": None, "category": None} for one in found]
