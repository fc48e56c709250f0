// SPDX-License-Identifier: BSD-3-Clause
// Links between rows: messages as lines or bundles, collective operations as bands; also markers and losses.

import {bytes} from '../model/time.js';
import {isFirst} from '../model/rare.js';
import {middle, rowTop} from './layout.js';

/** @typedef {import('./surface.js').Surface} Surface */
/** @typedef {import('../net/client.js').Table} Table */
/**
 * @typedef {object} View the place of a trace on the screen
 * @property {import('./layout.js').Layout} l
 * @property {number} scroll
 * @property {number} trace
 * @property {Map<number, number>} rowOf row of a location
 * @property {(time: number) => number} x
 * @property {any} paper colours
 */

/** @param {Surface} s @param {View} v @param {Table} table */
export function drawMessages(s, v, table) {
  const {columns: c, notes} = table;
  if (notes.bundled) {
    const most = Math.log(1 + Math.max(1, ...c.bytes));
    /** @type {number[][]} */
    const labels = []; // their places, since labels must not overlap
    for (let at = 0; at < c.count.length; at += 1) {
      const part = v.l.parts[v.trace];
      const y0 = rowTop(v.l, v.scroll, part, c.from_row[at]) + part.high / 2;
      const y1 = rowTop(v.l, v.scroll, part, c.to_row[at]) + part.high / 2;
      const wide = 1 + (3 * Math.log(1 + c.bytes[at])) / most;
      const x0 = v.x(c.send[at]), x1 = v.x(c.receive[at]);
      s.line(x0, y0, x1, y1, v.paper.mark, wide, 0.16);
      const x = (x0 + x1) / 2 + 4, y = (y0 + y1) / 2;
      if (at >= 12 || Math.abs(y1 - y0) <= 24 || labels.some(([a, b]) => Math.abs(a - x) < 90 && Math.abs(b - y) < 12)) continue;
      labels.push([x, y]);
      s.text(`${c.count[at]} × ${bytes(c.bytes[at] / c.count[at])}`, x, y, v.paper.text, 160, 10);
    }
    return;
  }
  for (let at = 0; at < c.send.length; at += 1) {
    const y0 = middle(v.l, v.scroll, v.trace, v.rowOf, c.sender[at]), y1 = middle(v.l, v.scroll, v.trace, v.rowOf, c.receiver[at]);
    if (Number.isNaN(y0 + y1)) continue;
    const x0 = v.x(c.send[at]), x1 = v.x(c.receive[at]);
    s.line(x0, y0, x1, y1, v.paper.mark, 1, c.send.length > 300 ? 0.45 : 0.8);
    if (c.send.length <= 120) arrow(s, x0, y0, x1, y1, v.paper.mark);
  }
}

/** @param {Surface} s @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 @param {number} colour */
function arrow(s, x0, y0, x1, y1, colour) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 8) return;
  const dx = ((x1 - x0) / length) * 6, dy = ((y1 - y0) / length) * 6;
  s.line(x1, y1, x1 - dx - dy / 2, y1 - dy + dx / 2, colour);
  s.line(x1, y1, x1 - dx + dy / 2, y1 - dy - dx / 2, colour);
}

/** Bands from the first arrival to the last departure, and a line for each participant. @param {Surface} s
 * @param {View} v @param {Table} table */
export function drawCollectives(s, v, table) {
  const c = table.columns, part = v.l.parts[v.trace];
  const low = new Map(), high = new Map();
  for (let at = 0; at < c.part_instance.length; at += 1) {
    const row = v.rowOf.get(c.part_location[at]);
    if (row === undefined) continue;
    const of = c.part_instance[at];
    low.set(of, Math.min(low.get(of) ?? row, row));
    high.set(of, Math.max(high.get(of) ?? row, row));
  }
  for (let at = 0; at < c.begin.length; at += 1) {
    if (!low.has(at)) continue;
    const y0 = rowTop(v.l, v.scroll, part, low.get(at)), y1 = rowTop(v.l, v.scroll, part, high.get(at) + 1);
    const x0 = v.x(c.begin[at]), x1 = v.x(c.end[at]);
    s.veil(x0, y0, x1 - x0, y1 - y0, v.paper.mark, 0.12);
    if (x1 - x0 < 4) continue;
    s.line(x0, y0, x0, y1, v.paper.mark, 1, 0.5);
    s.line(x1, y0, x1, y1, v.paper.mark, 1, 0.5);
    if (x1 - x0 > 50) s.text(String(table.notes.ops[c.op[at]]).toLowerCase(), x0 + 4, Math.max(y0, v.l.top) + 11, v.paper.text, x1 - x0 - 6, 10);
  }
}

/** Markers and losses in rows, at least a pixel wide; on one pixel of a row, only the first of each kind. @param {Surface} s @param {View} v @param {Table} table */
export function drawMarks(s, v, table) {
  const c = table.columns, part = v.l.parts[v.trace], seen = new Set();
  for (let at = 0; at < c.lost_begin.length; at += 1) {
    const row = v.rowOf.get(c.lost_location[at]);
    if (row === undefined) continue;
    const y = rowTop(v.l, v.scroll, part, row);
    const x0 = Math.max(v.l.left, v.x(c.lost_begin[at])), x1 = Math.min(v.l.left + v.l.width, v.x(c.lost_end[at]));
    if (x1 < v.l.left || x0 > v.l.left + v.l.width) continue;
    if (x1 - x0 < 1 && !isFirst(seen, row, x0, 0)) continue;
    hatched(s, x0, y, Math.max(1, x1 - x0), part.high, v.paper);
  }
  for (let at = 0; at < c.time.length; at += 1) {
    const x = v.x(c.time[at]);
    if (x < v.l.left || x > v.l.left + v.l.width) continue;
    const row = v.rowOf.get(c.location[at]), error = table.notes.severities[at] === 'HIGH';
    if (!isFirst(seen, row ?? -1, x, error ? 2 : 1)) continue;
    const y0 = row === undefined ? v.l.top : rowTop(v.l, v.scroll, part, row);
    s.line(x, y0, x, row === undefined ? v.l.bottom : y0 + part.high, error ? v.paper.outlier : v.paper.pick, 1.5, 0.9);
    s.veil(x - 3, y0, 7, error ? 7 : 4, error ? v.paper.outlier : v.paper.pick, 1);
  }
}

/** @param {Surface} s @param {number} x @param {number} y @param {number} w @param {number} h @param {any} paper */
function hatched(s, x, y, w, h, paper) {
  s.veil(x, y, w, h, paper.back, 0.75);
  s.veil(x, y, w, Math.min(2, h), paper.pick, 1);
  for (let at = x; at < x + w && h >= 6 && w < 6000; at += 6) s.line(at, y + h, Math.min(at + 4, x + w), y, paper.faint, 1, 0.7);
}
