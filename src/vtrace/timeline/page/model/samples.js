// SPDX-License-Identifier: BSD-3-Clause
// Samples: the functions that rows show where no call was recorded, and the room of call stacks in the pane.

import {binAt} from './time.js';

/** Neighbouring bins of a row with the same function, as times. @type {Runs} */
export function runs(leaves, key) {
  const {index, region, bins, begin, end} = leaves, row = index.get(key), wide = (end - begin) / bins;
  const found = /** @type {(Span & {region: number})[]} */ ([]);
  if (row === undefined) return found;
  for (let bin = 0, stop = 0; bin < bins; bin = stop) {
    const one = region[row * bins + bin];
    for (stop = bin + 1; stop < bins && region[row * bins + stop] === one;) stop += 1;
    if (one) found.push({region: one - 1, begin: begin + bin * wide, end: begin + stop * wide});
  }
  return found;
}

/** The function of a row at a time, -1: none. @param {Leaves | undefined} leaves @param {string} key @param {number} time */
export const leafAt = (leaves, key, time) => (leaves?.region[binAt(leaves, key, time)] ?? 0) - 1;

/** Heights of stacks in the pane, and the top of counters below them, for which stacks shrink to half of the room at most.
 * @param {number} room px @param {number[]} wanted px of each stack @param {number} counters px wanted */
export function paneHeights(room, wanted, counters) {
  const high = counters ? Math.min(Math.max(room / 2, room - counters), wanted.reduce((a, b) => a + b, 0)) : room;
  let left = high;
  const stacks = wanted.map((px, at) => {
    const others = wanted.slice(at + 1), mine = others.length ? Math.min(px, Math.max(left - others.reduce((a, b) => a + b, 0), left / (others.length + 1))) : left;
    left -= mine;
    return mine;
  });
  return {stacks, counters: high};
}

/** Levels of a stack to leave out. outer: those with nearly all of the time; inner: those that do not fit.
 * @param {Stacks} stacks @param {number} rows that fit */
export function hiddenLevels({begin, end, depth}, rows, window = {begin: -Infinity, end: Infinity}) {
  const times = /** @type {number[]} */ ([]);
  for (let at = 0; at < depth.length; at += 1) times[depth[at]] = (times[depth[at]] ?? 0) + Math.max(0, Math.min(end[at], window.end) - Math.max(begin[at], window.begin));
  const fit = Math.max(1, Math.floor(rows)), deep = times.filter((time) => time >= 0.05 * times[0]).length, wide = times.filter((time) => time >= 0.95 * times[0]).length;
  const outer = Math.max(0, Math.min(deep - fit, wide - 1));
  return {outer, inner: Math.max(0, times.length - outer - fit)};
}
