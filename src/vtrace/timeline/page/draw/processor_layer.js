// SPDX-License-Identifier: BSD-3-Clause
// A thin edge below rows where their threads were off the processor: they could run but waited, or slept.

import {mixed} from '../model/colours.js';
import {BLOCKED, READY, sharesOf} from '../model/off_core.js';
import {xOf} from '../model/time.js';

/** Colours of READY and BLOCKED on light and dark paper. */
export const COLOURS = [0xe07b00, 0x5b7fb0];
/** Thinner rows have no room below their colours, px. */
const LEAST = 3, ROOMY = 8;

/** @type {DrawOffCore} */
export function drawOffCore(s, paper, off, key, row) {
  if (!off || row.h < LEAST) return;
  const x = xOf(row), wide = (off.end - off.begin) / off.bins;
  const high = row.h >= ROOMY - 1 ? 2 : 1, y = row.y + row.h;
  for (const kind of [BLOCKED, READY]) {
    for (const [first, last, share] of sharesOf(off, key, kind)) {
      const x0 = Math.max(row.left, x(off.begin + first * wide)), x1 = Math.min(row.left + row.width, x(off.begin + last * wide));
      if (x1 <= x0) continue;
      const down = kind === READY ? high - 1 : 0; // both in one pixel column of a high row are seen
      s.fill(x0, y + down, Math.max(1, x1 - x0), high - down, mixed(paper.back, COLOURS[kind], 0.4 + 0.6 * share));
    }
  }
}
