// SPDX-License-Identifier: BSD-3-Clause
// The places of all parts of the chart, in CSS pixels: axis, names, rows, and the pane of the selected row below.

import {inOrder} from '../model/order.js';
import {fitted, rowAt, rowHeight, rowsOf, withPins} from '../model/rows.js';

export const AXIS = 24, STACK_ROW = 16, GAP = 18;

/** Least px of a pinned row, which has room for the names of its calls and the edge for marks. */
const PINNED = 28;

/** @type {LayoutOf} */
export function layout(state, traces, width, height, wanted) {
  const left = Math.min(170, Math.round(width / 4));
  const part = state.picks.length ? 0.45 : 0.34, pane = state.row ? Math.min(Math.round(Math.min(height, 765) * part), GAP + wanted) : 0;
  const bottom = Math.max(AXIS + 20, height - pane), gaps = traces.length > 1 ? GAP : 0;
  const every = traces.map((trace, number) => arrangedRows(state, trace, number));
  const pins = every.reduce((sum, {pinned}) => sum + pinned.length, 0), count = every.reduce((sum, {pinned, others}) => sum + pinned.length + others.length, 0);
  const pinHigh = Math.min((bottom - AXIS) / 2 / Math.max(1, pins), Math.max(PINNED, rowHeight(count, bottom - AXIS - gaps * traces.length, state.zoom)));
  const band = Math.round(pins * pinHigh), room = (bottom - AXIS - band) / traces.length - gaps;
  const parts = /** @type {Part[]} */ ([]);
  let begin = 0, pinTop = 0;
  for (const [number, trace] of traces.entries()) {
    begin += gaps;
    const {rows, id, pinned, scrolled} = shownRows(every[number], state.zoom <= 1 ? Math.max(1, Math.floor(room)) : Infinity);
    const high = rowHeight(scrolled, room, state.zoom);
    parts.push({rows, id, pinned, pinTop, pinHigh, begin, high, top: AXIS, height: pinned * pinHigh + scrolled * high});
    begin += scrolled * high;
    pinTop += pinned * pinHigh;
  }
  const low = pane ? Math.min(bottom, AXIS + band + begin + 8) : bottom; // few rows: the pane begins below them
  return {width: width - left, left, top: AXIS, band, bottom: low, height, parts, most: Math.max(0, begin - (low - AXIS - band))};
}

/** The last requested rows of each trace, since a frame requests them several times.
 * @type {WeakMap<object, ArrangedRows>} */
const kept = new WeakMap();
let made = 0;
/** Rows whose names have more letters than this share no rows: an address takes 65,536. */
const LONGEST = 40000;

/** All rows of a trace: the pinned ones and the others, each in their order. @param {State} state @param {TraceData} trace @param {number} number */
function arrangedRows(state, {meta, sums: latest}, number) {
  const isOther = state.order === 'found' && (!state.search || latest?.text !== state.search || latest.exact !== state.exact);
  const sums = isOther ? undefined : latest, key = `${state.fold} ${state.open} ${number} ${state.pins} ${state.order} ${state.order && sums?.key} ${state.apart}`, known = kept.get(meta.rows);
  if (known?.key === key) return known;
  const {pinned, others} = withPins(rowsOf(meta.rows, meta.finest, state.fold, new Set(state.open), number), meta.rows, state.pins);
  const found = {key, pinned, others: inOrder(others, meta.rows, state.order, sums, state.apart)};
  kept.set(meta.rows, found);
  return found;
}

/** The rows to draw, of which those that are not pinned may be shared; id: another one for other rows.
 * @param {NonNullable<ReturnType<typeof kept.get>>} every @param {number} most */
function shownRows(every, most) {
  if (every.shown?.key !== most) {
    const shared = fitted(every.others, most), {length: pinned} = every.pinned;
    const others = shared.reduce((sum, {key}) => sum + key.length, 0) > LONGEST ? every.others : shared;
    every.shown = {key: most, rows: pinned ? [...every.pinned, ...others] : others, id: `${(made += 1)}`, pinned, scrolled: others.length};
  }
  return every.shown;
}

/** The parts of a row: y of the edge for marks, its height, y of the colours, from the row's top; the gap between rows. Thin rows have no edge. @param {number} high @param {boolean} marked */
export function boxOf(high, marked) {
  const gap = high >= 24 ? 4 : high >= 12 ? 2 : high >= 3 ? 1 : 0, edge = !marked || high < 10 ? 0 : high >= 24 ? 3 : 2;
  const top = Math.floor(gap / 2);
  return {gap, edgeY: top, edge, y: top + edge};
}

/** The px of a row. @param {Part} part @param {number} row */
export const rowHigh = (part, row) => row < part.pinned ? part.pinHigh : part.high;

/** The y of a row and of its end, whole numbers, so that rows meet. @type {OfRow<number[]>} */
export function rowEnds(l, scroll, part, row) {
  const pinned = row < part.pinned, first = pinned ? part.pinTop : l.band + part.begin - scroll, at = pinned ? row : row - part.pinned;
  return [at, at + 1].map((each) => l.top + Math.round(first + each * rowHigh(part, row)));
}

/** The part of a row that pinned rows do not cover, and that is on the screen: y, and its height, which is 0 for other rows. @type {OfRow<{y: number, high: number}>} */
export function seen(l, scroll, part, row) {
  const [y, end] = rowEnds(l, scroll, part, row), top = Math.max(y, row < part.pinned ? l.top : l.top + l.band);
  return {y: top, high: Math.max(0, Math.min(l.bottom, end) - top)};
}

/** The numbers of a part's rows on the screen, the pinned ones last, since they are drawn over the others.
 * @param {Layout} l @param {number} scroll @param {Part} part */
export function visible(l, scroll, part) {
  const first = Math.max(0, Math.floor((scroll - part.begin) / part.high)), room = l.bottom - l.top - l.band;
  const last = Math.min(part.rows.length - part.pinned, Math.ceil((scroll - part.begin + room) / part.high));
  return [...Array.from({length: Math.max(0, last - first)}, (_, n) => part.pinned + first + n), ...Array.from({length: part.pinned}, (_, n) => n)];
}

/** The row at a place of the chart. @type {RowAtPoint} */
export function rowAtPoint(l, scroll, y) {
  if (y < l.top || y >= l.bottom) return undefined;
  for (const part of l.parts) {
    const pinned = rowAt(y - l.top - part.pinTop, part.pinHigh, 0, part.pinned);
    const row = rowAt(y + scroll - l.top - l.band - part.begin, part.high, 0, part.rows.length - part.pinned);
    if (pinned >= 0) return part.rows[pinned];
    if (row >= 0 && y >= l.top + l.band) return part.rows[part.pinned + row];
  }
}

/** The middle of a row; of a row below the pinned rows or below the chart, their border. @type {OfRow<number>} */
export function rowMiddle(l, scroll, part, row) {
  const y = rowEnds(l, scroll, part, row)[0] + rowHigh(part, row) / 2;
  return row < part.pinned ? y : Math.min(l.bottom, l.band ? Math.max(l.top + l.band, y) : y);
}
