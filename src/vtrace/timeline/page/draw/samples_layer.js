// SPDX-License-Identifier: BSD-3-Clause
// Samples: the functions of a row without recorded calls, and the stacks of the selected row in the pane.

import {hiddenLevels, runs} from '../model/samples.js';
import {STACK_ROW} from './layout.js';
import {callColour} from './rows_layer.js';

/**
 * Draws a thin mark for each function; recorded calls are drawn above the marks.
 * @param {import('./surface.js').Surface} s @param {import('./rows_layer.js').Paint} paint
 * @param {import('../model/samples.js').Leaves | undefined} leaves @param {string} key of the row
 * @param {{y: number, h: number, left: number, width: number, begin: number, end: number}} row
 * @param {number} from ns: the part to draw @param {number} to
 */
export function drawLeaves(s, paint, leaves, key, row, from, to) {
  if (!leaves) return;
  const scale = row.width / (row.end - row.begin), thin = row.h >= 6 ? Math.ceil(row.h * 0.4) : row.h;
  const y = row.y + Math.floor((row.h - thin) / 2);
  for (const run of runs(leaves, key)) {
    const begin = Math.max(run.begin, from, row.begin), end = Math.min(run.end, to, row.end);
    if (end > begin) s.fill(row.left + (begin - row.begin) * scale, y, (end - begin) * scale, thin, callColour(paint, run.region, run.end - run.begin));
  }
}

/** The place of the stacks, and the number of levels that are left out. @template {{top: number, bottom: number}} T
 * @param {import('./stack_layer.js').Calls} stacks @param {T} pane @returns {T & {hidden: number, cut: number}} */
export function samplePane(stacks, pane) {
  const {outer, inner} = hiddenLevels(stacks, (pane.bottom - pane.top) / STACK_ROW);
  return {...pane, hidden: outer, cut: inner};
}
