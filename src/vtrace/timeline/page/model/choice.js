// SPDX-License-Identifier: BSD-3-Clause
// The part of the trace that panels show: the selection, else the window.

/** @typedef {import('./store.js').State} State */

/**
 * The times and the rows, by keys; '' for all rows.
 * @param {State} state @param {{key: string}[]} rows of the trace @param {number} trace @param {number} duration
 */
export function chosen(state, rows, trace, duration) {
  const {selection} = state, shift = state.shift[trace] ?? 0;
  const begin = Math.max(0, (selection ? selection.begin : state.begin) - shift);
  const end = Math.min(duration, (selection ? selection.end : state.end) - shift);
  let keys = '';
  if (selection?.first) {
    const first = rows.findIndex((row) => row.key === selection.first), last = rows.findIndex((row) => row.key === selection.last);
    if (first >= 0 && last >= 0) keys = rows.slice(Math.min(first, last), Math.max(first, last) + 1).map((row) => row.key).join(',');
  }
  return {from: begin, to: Math.max(begin + 1, end), rows: keys};
}

/** The part as options of a command: --from and --to. @param {{from: number, to: number}} part @param {number} duration */
export function options(part, duration) {
  return part.from <= 0 && part.to >= duration ? '' : ` --from ${part.from}ns --to ${part.to}ns`;
}
