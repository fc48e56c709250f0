// SPDX-License-Identifier: BSD-3-Clause
// Marks of rare calls in rows: a bar along the upper edge; in thin rows a square where the call begins.

import {OUTLIER, ofRow} from '../model/rare.js';

const BAR = 3, THIN = 6;
/** The size of the smallest mark in px, which people see among thin rows. */
const LEAST = 3;

/**
 * @param {import('./surface.js').Surface} s @param {{outlier: number, wait: number}} paper
 * @param {import('../model/rare.js').Rare | undefined} rare @param {string} key of the row
 * @param {{y: number, h: number, left: number, width: number, begin: number, end: number}} row
 */
export function drawRare(s, paper, rare, key, row) {
  if (!rare) return;
  const {first, last} = ofRow(rare, key), {kind, begin, end} = rare.columns;
  const scale = row.width / (row.end - row.begin), right = row.left + row.width;
  for (const pass of [1, 0]) {
    for (let at = first; at < last; at += 1) {
      if (kind[at] !== pass) continue;
      const x0 = Math.max(row.left, row.left + (begin[at] - row.begin) * scale), x1 = Math.min(right, row.left + (end[at] - row.begin) * scale);
      if (x1 < row.left || x0 >= right) continue;
      const colour = pass === OUTLIER ? paper.outlier : paper.wait;
      if (row.h < THIN) s.fill(Math.max(row.left, x0 - 1), row.y + Math.min(0, (row.h - LEAST) / 2), LEAST, Math.max(LEAST, row.h), colour);
      else s.fill(x0, row.y + (pass === OUTLIER ? 0 : BAR), Math.max(LEAST, x1 - x0), BAR, colour);
    }
  }
}
