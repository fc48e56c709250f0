// SPDX-License-Identifier: BSD-3-Clause
// The curve of a counter in a row: the mean as a line, lowest to highest value as an area; a thin row has heat.

import {heat, mixed} from '../model/colours.js';

/** Rows higher than this have room for a curve, px. */
export const ROOM = 14;

/** The part of a row for its calls; the rest is for the curve. @template {{y: number, h: number}} T @param {T} row @returns {T} */
export function callsPart(row) {
  return row.h < ROOM ? row : {...row, h: Math.floor(row.h * 0.5)};
}

/**
 * @param {import('./surface.js').Surface} s @param {any} paper @param {import('../model/curves.js').Curves} curves
 * @param {string} key of the row
 * @param {{y: number, h: number, left: number, width: number, begin: number, end: number}} row
 */
export function drawCurve(s, paper, curves, key, row) {
  const number = curves.index.get(key), {least, most} = curves.scale;
  if (number === undefined || !(least <= most)) return;
  const {low, mean, high, bins, begin, end} = curves, px = row.width / (row.end - row.begin), wide = (end - begin) / bins;
  const thin = row.h < ROOM, top = thin ? row.y : row.y + callsPart(row).h + 1, tall = thin ? row.h : row.y + row.h - top;
  const unit = (tall - 1) / (most - least || 1), area = mixed(paper.back, paper.text, 0.3);
  /** @param {number} value */
  const y = (value) => top + tall - 1 - (value - least) * unit;
  if (!thin) s.fill(row.left, top, row.width, tall, paper.back);
  for (let bin = 0; bin < bins; bin += 1) {
    const at = number * bins + bin, x0 = Math.max(row.left, row.left + (begin + bin * wide - row.begin) * px);
    const x1 = Math.min(row.left + row.width, row.left + (begin + (bin + 1) * wide - row.begin) * px);
    if (Number.isNaN(mean[at]) || x1 <= x0) continue;
    if (thin) {
      s.fill(x0, top, x1 - x0, tall, heat((mean[at] - least) / (most - least || 1)));
      continue;
    }
    s.fill(x0, y(high[at]), x1 - x0, Math.max(1, y(low[at]) - y(high[at])), area);
    s.fill(x0, y(mean[at]), x1 - x0, 1, paper.text);
  }
}
