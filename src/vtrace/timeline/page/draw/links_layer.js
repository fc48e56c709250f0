// SPDX-License-Identifier: BSD-3-Clause
// Links between rows: messages as lines or bundles, collective operations as bands; also markers and losses.

import {mixed} from '../model/colours.js';
import {messagesAs} from '../model/density.js';
import {bytes} from '../model/time.js';
import {isFirst} from '../model/rare.js';
import {label} from './labels.js';
import {rowMiddle, seen} from './layout.js';

/** The lines of messages in the picture: x0, y0, x1, y1, and places in the table.
 * @param {View} v @param {Table} table */
function messageLines(v, {columns: c, notes}) {
  const part = v.l.parts[v.trace], {left, width, top, band, bottom} = v.l, ends = /** @type {number[]} */ ([]), places = /** @type {number[]} */ ([]);
  /** @param {number | undefined} row undefined: not on the page */
  const y = (row) => (row === undefined ? NaN : rowMiddle(v.l, v.scroll, part, row));
  for (let at = 0; at < c.send.length; at += 1) {
    const y0 = notes.bundled ? y(c.from_row[at]) : y(v.rowOf.get(c.sender[at]));
    const y1 = notes.bundled ? y(c.to_row[at]) : y(v.rowOf.get(c.receiver[at]));
    const x0 = v.x(c.send[at]), x1 = v.x(c.receive[at]);
    if (Number.isNaN(y0 + y1) || (y0 === y1 && (y0 === bottom || (band && y0 === top + band))) || Math.max(x0, x1) < left || Math.min(x0, x1) > left + width) continue;
    ends.push(x0, y0, x1, y1);
    places.push(at);
  }
  return {ends, places};
}

/** Messages as their density or the choice of the person allows. @type {DrawMessages} */
export function drawMessages(s, v, table, choice, labels) {
  const {ends, places} = messageLines(v, table), part = v.l.parts[v.trace], {bundled} = table.notes;
  const area = v.l.width * Math.min(v.l.bottom - v.l.top, part.height);
  const way = messagesAs(choice, {high: part.high, area, ends, bundled});
  if (way === 'faint') s.strokes(ends, v.paper.mark, 1, 0.3);
  else if (way === 'lines' && bundled) drawBundles(s, v, table, {ends, places, labels});
  else if (way === 'lines') {
    s.strokes(ends, v.paper.mark, 1, places.length > 300 ? 0.45 : 0.7);
    if (places.length <= 120) s.strokes(arrows(ends), v.paper.mark, 1, 0.7);
  }
  return way !== 'none' || !ends.length;
}

/** Bundles of messages, as wide as their bytes, with their counts where these fit; each text once. @type {DrawBundles} */
function drawBundles(s, v, {columns: c}, {ends, places, labels}) {
  const most = Math.log(1 + Math.max(1, ...c.bytes)), said = new Set();
  places.forEach((at, number) => {
    const [x0, y0, x1, y1] = ends.slice(4 * number, 4 * number + 4);
    s.line(x0, y0, x1, y1, v.paper.mark, 1 + (3 * Math.log(1 + c.bytes[at])) / most, 0.16);
    const text = `${c.count[at]} × ${bytes(c.bytes[at] / c.count[at])}`;
    if (said.has(text) || said.size >= 12 || Math.abs(y1 - y0) <= 24) return;
    if (label(s, labels, text, {x: (x0 + x1) / 2 + 4, y: (y0 + y1) / 2, colour: v.paper.text, size: 10})) said.add(text);
  });
}

/** The heads of arrows at the ends of lines, as lines. @param {number[]} ends */
function arrows(ends) {
  const found = /** @type {number[]} */ ([]);
  for (let at = 0; at < ends.length; at += 4) {
    const [x0, y0, x1, y1] = ends.slice(at, at + 4), length = Math.hypot(x1 - x0, y1 - y0);
    if (length < 8) continue;
    const dx = ((x1 - x0) / length) * 6, dy = ((y1 - y0) / length) * 6;
    found.push(x1, y1, x1 - dx - dy / 2, y1 - dy + dx / 2, x1, y1, x1 - dx + dy / 2, y1 - dy - dx / 2);
  }
  return found;
}

/** The places of collective operations on the screen: first arrival to last departure, rows from the first to the last participant. @type {BandsOf} */
function bandsOf(v, {columns: c}, pinned) {
  const low = new Map(), high = new Map(), found = [], {left, width, bottom} = v.l, part = v.l.parts[v.trace];
  for (let at = 0; at < c.part_instance.length; at += 1) {
    const row = v.rowOf.get(c.part_location[at]);
    if (row === undefined || (row < part.pinned) !== pinned) continue;
    const of = c.part_instance[at];
    low.set(of, Math.min(low.get(of) ?? row, row));
    high.set(of, Math.max(high.get(of) ?? row, row));
  }
  for (let at = 0; at < c.begin.length; at += 1) {
    const x0 = Math.max(left, v.x(c.begin[at])), x1 = Math.min(left + width, v.x(c.end[at]));
    if (!low.has(at) || x1 <= x0) continue;
    const {y: y0} = seen(v.l, v.scroll, part, low.get(at)), {y, high: tall} = seen(v.l, v.scroll, part, high.get(at)), y1 = Math.min(bottom, y + tall);
    if (y1 > y0) found.push({at, x0, x1, y0, y1});
  }
  return found;
}

/** Collective operations behind the rows: they show in the gaps between rows. @type {FillBands} */
export function fillBands(s, v, table, pinned) {
  const {high, pinHigh, pinned: count} = v.l.parts[v.trace], colour = mixed(v.paper.back, v.paper.mark, 0.3);
  if ((pinned ? pinHigh : high) < 10 || (pinned && !count)) return;
  for (const {x0, x1, y0, y1} of bandsOf(v, table, pinned)) s.fill(x0, y0, x1 - x0, y1 - y0, colour);
}

/** The bands of collective operations over the rows, and their names where they fit. @type {DrawCollectives} */
export function drawCollectives(s, v, table, labels) {
  for (const {at, x0, x1, y0, y1} of [false, true].flatMap((pinned) => bandsOf(v, table, pinned))) {
    s.veil(x0, y0, x1 - x0, y1 - y0, v.paper.mark, 0.12);
    if (x1 - x0 >= 4) s.strokes([x0, y0, x0, y1, x1, y0, x1, y1], v.paper.mark, 1, 0.5);
    const text = String(table.notes.ops[table.columns.op[at]]).toLowerCase();
    label(s, labels, text, {x: x0 + 4, y: y0 + 13, colour: v.paper.text, room: x1 - x0 - 6, size: 10});
  }
}

/** Markers and losses; on one pixel of a row, only the first of each kind. @param {Surface} s @param {View} v @param {Table} table */
export function drawMarks(s, v, table) {
  const c = table.columns, part = v.l.parts[v.trace], drawn = new Set();
  for (let at = 0; at < c.lost_begin.length; at += 1) {
    const row = v.rowOf.get(c.lost_location[at]);
    if (row === undefined) continue;
    const {y, high} = seen(v.l, v.scroll, part, row);
    const x0 = Math.max(v.l.left, v.x(c.lost_begin[at])), x1 = Math.min(v.l.left + v.l.width, v.x(c.lost_end[at]));
    if (!high || x1 < v.l.left || x0 > v.l.left + v.l.width) continue;
    if (x1 - x0 < 1 && !isFirst(drawn, row, x0, 0)) continue;
    hatched(s, x0, y, Math.max(1, x1 - x0), high, v.paper);
  }
  for (let at = 0; at < c.time.length; at += 1) {
    const x = v.x(c.time[at]);
    if (x < v.l.left || x > v.l.left + v.l.width) continue;
    const row = v.rowOf.get(c.location[at]), error = table.notes.severities[at] === 'HIGH';
    if ((row === undefined && c.location[at] >= 0) || !isFirst(drawn, row ?? -1, x, error ? 2 : 1)) continue;
    const {y: y0, high} = row === undefined ? {y: v.l.top, high: v.l.bottom - v.l.top} : seen(v.l, v.scroll, part, row);
    if (!high) continue;
    s.line(x, y0, x, y0 + high, error ? v.paper.outlier : v.paper.pick, 1.5, 0.9);
    s.veil(x - 3, y0, 7, error ? 7 : 4, error ? v.paper.outlier : v.paper.pick, 1);
  }
}

/** @type {Hatched} */
function hatched(s, x, y, w, h, paper) {
  s.veil(x, y, w, h, paper.back, 0.75);
  s.veil(x, y, w, Math.min(2, h), paper.pick, 1);
  for (let at = x; at < x + w && h >= 6 && w < 6000; at += 6) s.line(at, y + h, Math.min(at + 4, x + w), y, paper.faint, 1, 0.7);
}
