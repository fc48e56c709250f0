// SPDX-License-Identifier: BSD-3-Clause
// The places of all parts of the chart, in CSS pixels: axis, names, rows, and the pane of the selected row below.

import {fitted, rowAt, rowHeight, rowsOf} from '../model/rows.js';

export const AXIS = 24, STACK_ROW = 16, GAP = 18;

/** @param {State} state @param {any[]} traces as the server describes them
 * @param {number} width @param {number} height @param {number} wanted height of the pane's contents, px
 * @returns {Layout} */
export function layout(state, traces, width, height, wanted) {
  const left = Math.min(170, Math.round(width / 4));
  const pane = state.row ? Math.min(Math.round(height * 0.34), 260, GAP + wanted) : 0;
  const bottom = Math.max(AXIS + 20, height - pane);
  const room = (bottom - AXIS) / traces.length - (traces.length > 1 ? GAP : 0);
  const parts = [];
  let begin = 0;
  for (const [number, trace] of traces.entries()) {
    if (traces.length > 1) begin += GAP;
    const rows = shownRows(state, trace, number, state.zoom <= 1 ? Math.max(1, Math.floor(room)) : Infinity);
    const high = rowHeight(rows.length, room, state.zoom);
    parts.push({rows, begin, high, top: AXIS, height: rows.length * high});
    begin += rows.length * high;
  }
  const low = pane ? Math.min(bottom, AXIS + begin + 8) : bottom; // few rows: the pane begins below them
  return {width: width - left, left, top: AXIS, bottom: low, height, parts, most: Math.max(0, begin - (low - AXIS))};
}

/** The last requested rows of each trace, since a frame requests them several times. @type {WeakMap<object, {key: string, rows: Row[]}>} */
const kept = new WeakMap();

/** @param {State} state @param {any} trace @param {number} number @param {number} most */
function shownRows(state, trace, number, most) {
  const key = `${state.fold} ${state.open} ${number} ${most}`, known = kept.get(trace.rows);
  if (known?.key === key) return known.rows;
  const rows = fitted(rowsOf(trace.rows, trace.finest, state.fold, new Set(state.open), number), most);
  kept.set(trace.rows, {key, rows});
  return rows;
}

/** The parts of a row of a height: y of the edge for marks of outliers and waits, its height, y of the colours, all from the
 * row's top; the gap between rows. Thin rows have no edge. @param {number} high @param {boolean} marked */
export function boxOf(high, marked) {
  const gap = high >= 24 ? 4 : high >= 12 ? 2 : high >= 3 ? 1 : 0, edge = !marked || high < 10 ? 0 : high >= 24 ? 3 : 2;
  const top = Math.floor(gap / 2);
  return {gap, edgeY: top, edge, y: top + edge};
}

/** The y of a row, a whole number, so that rows meet. @param {Layout} l @param {number} scroll @param {Part} part @param {number} row */
export function rowTop(l, scroll, part, row) {
  return l.top + Math.round(part.begin + row * part.high - scroll);
}

/** The rows of a part on the screen: first, and last + 1. @param {Layout} l @param {number} scroll @param {Part} part */
export function visible(l, scroll, part) {
  const first = Math.max(0, Math.floor((scroll - part.begin) / part.high));
  const last = Math.min(part.rows.length, Math.ceil((scroll - part.begin + l.bottom - l.top) / part.high));
  return {first, last: Math.max(first, last)};
}

/** The row at a place of the chart. @param {Layout} l @param {number} scroll @param {number} y @returns {Row | undefined} */
export function rowAtPoint(l, scroll, y) {
  if (y < l.top || y >= l.bottom) return undefined;
  for (const part of l.parts) {
    const row = rowAt(y - l.top - part.begin, part.high, scroll, part.rows.length);
    if (row >= 0) return part.rows[row];
  }
  return undefined;
}

/** The middle of the row with a location (-1: not on the page). @param {Layout} l @param {number} scroll
 * @param {number} trace @param {Map<number, number>} rowOf @param {number} location */
export function middle(l, scroll, trace, rowOf, location) {
  const row = rowOf.get(location);
  const part = l.parts[trace];
  return row === undefined ? NaN : rowTop(l, scroll, part, row) + part.high / 2;
}
