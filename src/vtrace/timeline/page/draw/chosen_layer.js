// SPDX-License-Identifier: BSD-3-Clause
// What a user has chosen in the rows: picked rows have a bar at their names, notes a flag with their text.

import {windowOf} from './chart.js';
import {seen} from './layout.js';

const BAR = 5, THIN = 4, NEAR = 12, LABEL = 140;

/** @param {App} app @param {CanvasSurface} s @param {Layout} l @param {any} paper */
export function drawChosen(app, s, l, paper) {
  const {picks, scroll, notes} = app.store.state;
  for (const [trace, part] of l.parts.entries()) {
    const mine = new Set(picks.filter((pick) => Number(pick[0]) === trace).map((pick) => app.rowOf(l, trace).get(Number(pick.slice(3)))));
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
    const part = l.parts[note.trace], window = part && windowOf(app, note.trace);
    if (!part) continue;
    const x = l.left + ((note.time - window.begin) / (window.end - window.begin)) * l.width;
    const number = app.rowNumber(l, note.trace, note.row), {y, high: tall} = seen(l, scroll, part, Math.max(0, number));
    if (x < l.left || x > l.left + l.width || number < 0 || !tall) continue;
    const high = Math.min(Math.max(NEAR, tall), l.bottom - y);
    s.line(x, y, x, y + high, paper.pick, 2);
    if (labels.some(([a, b]) => Math.abs(a - x) < LABEL && Math.abs(b - y) < NEAR)) continue;
    labels.push([x, y]);
    const room = Math.min(LABEL, l.left + l.width - x - 8);
    if (room < 20) continue;
    const top = tall >= NEAR ? y : y - NEAR >= l.top ? y - NEAR : y + tall; // beside a thin row: its call may have a frame
    s.veil(x, top, Math.min(room, 6.5 * note.text.length) + 8, NEAR, paper.back, 0.85);
    s.text(note.text, x + 4, top + NEAR - 3, paper.pick, room, 11);
  }
}
