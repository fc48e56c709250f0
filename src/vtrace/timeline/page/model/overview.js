// SPDX-License-Identifier: BSD-3-Clause
// The whole run at a glance: the share of each class and of waits over time, summed over rows from their tiles.

import {BINS} from './tiles.js';
import {count, duration} from './time.js';

/** Columns of the overview. */
export const COLUMNS = 512;

/** @type {OverviewOf} */
export function overviewOf(rows, length, classes, weights = rows.map(() => 1)) {
  const [found, waits] = [0, 1].map(() => Array.from({length: classes}, () => new Float32Array(COLUMNS)));
  const wide = length / COLUMNS, whole = 255 * Math.max(1, weights.reduce((a, b) => a + b, 0));
  for (const [row, pieces] of rows.entries()) for (const {tile, level, number, from, to} of pieces) {
    const first = Math.max(0, Math.ceil(from / wide - 0.5)), last = Math.min(COLUMNS, Math.ceil(to / wide - 0.5));
    for (let column = first; column < last; column += 1) {
      const bin = Math.floor(((column + 0.5) * wide) / 2 ** level) - number * BINS;
      for (const [each, shares] of tile.classes) found[each][column] += (weights[row] * shares[bin]) / whole;
      for (const [each, shares] of tile.waiting) waits[each][column] += (weights[row] * shares[bin]) / whole;
    }
  }
  return {classes: found, waits};
}

/** An iteration in words. @param {number} number @param {number} ns @param {unknown} slow */
export const iterationText = (number, ns, slow) => `iteration ${count(number)}: ${duration(ns)}${slow ? ', slow' : ''}`;

/** The tick nearest to a time as text; '': none within slack ns. @type {TickText} */
export function tickText(ticks, time, slack) {
  const {iteration, begin, time_ns: ns, slow} = ticks?.columns ?? {};
  let best = -1;
  for (let at = 0; at < (begin?.length ?? 0); at += 1) if (Math.abs(begin[at] - time) <= slack && (best < 0 || Math.abs(begin[at] - time) < Math.abs(begin[best] - time))) best = at;
  return best < 0 ? '' : iterationText(iteration[best], ns[best], slow[best]);
}
