// SPDX-License-Identifier: BSD-3-Clause
// Samples: the functions that rows show where no call was recorded, and the room of call stacks in the pane.

import {binAt} from './time.js';

/** Neighbouring bins of a row with the same function, as times. @param {Leaves} leaves @param {string} key
 * @returns {{region: number, begin: number, end: number}[]} */
export function runs(leaves, key) {
  const {index, region, bins, begin, end} = leaves, row = index.get(key), wide = (end - begin) / bins;
  const found = /** @type {{region: number, begin: number, end: number}[]} */ ([]);
  if (row === undefined) return found;
  for (let bin = 0, stop = 0; bin < bins; bin = stop) {
    const one = region[row * bins + bin];
    for (stop = bin + 1; stop < bins && region[row * bins + stop] === one;) stop += 1;
    if (one) found.push({region: one - 1, begin: begin + bin * wide, end: begin + stop * wide});
  }
  return found;
}

/** The function of a row at a time, -1: none. @param {Leaves | undefined} leaves @param {string} key @param {number} time */
export function leafAt(leaves, key, time) {
  return (leaves?.region[binAt(leaves, key, time)] ?? 0) - 1;
}

/** Heights in the pane: of recorded calls, of the stacks of samples below, and the top of counters. Counters get the
 * rest of the room; stacks shrink for counters, but together keep at least half of the room. Each of two stacks gets at
 * least half of the room of stacks.
 * @param {number} room px @param {number} calls px wanted @param {number} samples px wanted @param {number} counters px wanted */
export function paneHeights(room, calls, samples, counters) {
  const high = counters ? Math.min(Math.max(room / 2, room - counters), calls + samples) : room;
  const first = samples ? Math.min(calls, Math.max(high - samples, high / 2)) : high;
  return {calls: first, samples: high - first, counters: high};
}

/** The number of levels of a stack to leave out. outer: outermost levels with nearly all of the time, so that levels
 * with some of the time fit; inner: the innermost levels that do not fit.
 * @param {{begin: ArrayLike<number>, end: ArrayLike<number>, depth: ArrayLike<number>}} stacks @param {number} rows that fit */
export function hiddenLevels({begin, end, depth}, rows) {
  const times = /** @type {number[]} */ ([]);
  for (let at = 0; at < depth.length; at += 1) times[depth[at]] = (times[depth[at]] ?? 0) + end[at] - begin[at];
  const fit = Math.max(1, Math.floor(rows));
  const deep = times.filter((time) => time >= 0.05 * times[0]).length, wide = times.filter((time) => time >= 0.95 * times[0]).length;
  const outer = Math.max(0, Math.min(deep - fit, wide - 1));
  return {outer, inner: Math.max(0, times.length - outer - fit)};
}
