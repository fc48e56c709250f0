// SPDX-License-Identifier: BSD-3-Clause
// A user's choices in the rows: picked rows have a bar at their names, notes a flag with their text; the path of a
// finding's delay.

import {picksOf} from '../model/address.js';
import {duration, xOf} from '../model/time.js';
import {windowOf} from './chart.js';
import {rowMiddle, seen} from './layout.js';

const BAR = 5, THIN = 4, NEAR = 12, ROOMY = 24, LABEL = 140;

/** @type {DrawChosen} */
export function drawChosen(app, s, l, paper) {
  const {scroll, notes} = app.state;
  for (const [trace, part] of l.parts.entries()) {
    const mine = new Set(picksOf(app.state, trace).map((key) => app.rowOf(l, trace).get(Number(key.slice(1)))));
    for (const number of mine) {
      if (number === undefined) continue;
      const {y, high} = seen(l, scroll, part, number);
      if (high) s.veil(0, y - Math.max(0, THIN - high) / 2, BAR, Math.max(THIN, high), paper.pick, 1);
      if (high >= NEAR) s.frame(BAR / 2, y, l.left + l.width - BAR, high, paper.pick, 1);
    }
  }
  /** @type {number[][]} */
  const labels = []; // labels do not overlap
  for (const note of notes) {
    const part = l.parts[note.trace];
    if (!part) continue;
    const x = xOf({...l, ...windowOf(app, note.trace)})(note.time), number = app.rowNumber(l, note.trace, note.row);
    const {y, high: tall} = seen(l, scroll, part, Math.max(0, number)), high = Math.min(Math.max(NEAR, tall), l.bottom - y);
    if (x < l.left || x > l.left + l.width || number < 0 || !tall) continue;
    s.line(x, y, x, y + high, paper.pick, 2);
    const room = Math.min(LABEL, l.left + l.width - x - 8);
    if (labels.some(([a, b]) => Math.abs(a - x) < LABEL && Math.abs(b - y) < NEAR)) continue;
    labels.push([x, y]);
    if (room < 20) continue;
    const top = tall >= NEAR ? y : y - NEAR >= l.top ? y - NEAR : y + tall; // beside a thin row: its call may have a frame
    s.veil(x, top, Math.min(room, 6.5 * note.text.length) + 8, NEAR, paper.back, 0.85);
    s.text(note.text, x + 4, top + NEAR - 3, paper.pick, room, 11);
  }
}

/** The path of a delay: a thick line in the row that comes late, until it comes, from there a line to each row that waits, along its wait. Rows that share one have one line. @type {DrawDelay} */
export function drawDelay(app, s, l, {call, from, waits}, paper) {
  const part = l.parts[call.trace], rowOf = app.rowOf(l, call.trace), x = xOf({...l, ...windowOf(app, call.trace)}), {scroll} = app.state, right = l.left + l.width;
  /** @param {number} location */
  const yOf = (location) => Math.max(l.top, Math.min(l.bottom, rowMiddle(l, scroll, part, rowOf.get(location) ?? 0) + (part.high < ROOMY ? 0 : part.high / 4))); // below the names of calls
  const inside = (/** @type {number} */ time) => Math.max(l.left, Math.min(right, x(time))), first = Math.min(...waits.map(({begin}) => begin));
  const x0 = inside(first), x1 = inside(from.time), y = yOf(from.location);
  if (x1 <= l.left || x0 >= right) return;
  const lines = [...new Map(waits.map((wait) => [yOf(wait.location), wait]))].flatMap(([to, {begin}]) => [x1, y, x1, to, x1, to, inside(begin), to]);
  for (const [colour, more] of [[paper.back, 2], [paper.pick, 0]]) { // with a border of paper
    s.strokes(lines, colour, (part.high < NEAR ? 1 : 2) + more, 1);
    s.line(x0, y, x1, y, colour, 4 + more);
  }
  const text = `late: ${duration(from.time - first)}`, wide = s.widthOf(text) + 8, left = Math.min(x1 + 4, right - wide), top = Math.min(Math.max(l.top, y - 7), l.bottom - 14);
  s.veil(left, top, wide, 14, paper.back, 0.9);
  s.text(text, left + 4, top + 11, paper.pick);
}
