// SPDX-License-Identifier: BSD-3-Clause
// Rare calls of rows, such as outliers, which have a mark at any zoom.

export const OUTLIER = 0, WAIT = 1;

/** The size of a mark in thin rows in px, which people see among them. */
export const SQUARE = 3;

/** The number of a row's first mark, and the number of its last mark + 1. @param {Rare} rare @param {string} key */
export function ofRow(rare, key) {
  const number = rare.index.get(key), {row} = rare.columns;
  if (number === undefined) return {first: 0, last: 0};
  return {first: firstOf(row, number), last: firstOf(row, number + 1)};
}

/** @param {ArrayLike<number>} sorted @param {number} value */
function firstOf(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The largest outlier, else the largest wait of a row at a time, or that starts at most slack ns away; -1: none. @type {RareAt} */
export function rareAt(rare, key, time, slack) {
  if (!rare) return -1;
  const {first, last} = ofRow(rare, key), {begin, end, kind, size} = rare.columns;
  let best = -1;
  for (let at = first; at < last; at += 1) {
    if (begin[at] - slack > time || Math.max(begin[at] + slack, end[at]) < time) continue;
    if (best < 0 || kind[at] < kind[best] || (kind[at] === kind[best] && size[at] > size[best])) best = at;
  }
  return best;
}

/** True for the first mark of its kind on a pixel. `seen` has the earlier marks. @type {IsFirst} */
export function isFirst(seen, row, x, kind) {
  const key = ((row + 1) * 65536 + Math.round(x)) * 4 + kind;
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}
