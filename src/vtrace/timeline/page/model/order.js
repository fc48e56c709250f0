// SPDX-License-Identifier: BSD-3-Clause
// The order of rows by their times in the window, and clusters of alike rows.

import {fullName} from './rows.js';

/** Alike rows differ by at most this part of the window; if this leaves more than MOST clusters, by twice as much, and so on. */
const NEAR = 0.05, MOST = 32;

/** The rows in an order; names stand alone. @type {InOrder} */
export function inOrder(rows, of, order, sums, apart) {
  if (!order || !sums) return rows;
  const alone = rows.map((row) => (row.name.startsWith('  ') ? {...row, name: fullName(of, row.places[0])} : row));
  const locations = of.locations.length, kinds = sums.kinds.length / locations;
  if (order === 'alike') return joined(alone, alone.map((row) => meanOf(row, sums.regions, sums.regions.length / locations).map((ns) => ns / sums.length)), new Set(apart));
  const wide = order === 'found' ? 1 : kinds;
  const values = alone.map((row) => {
    const mine = meanOf(row, order === 'found' ? sums.found : sums.kinds, wide), number = Number(order.slice(1));
    return order === 'found' ? mine[0] : order === 'wait' ? mine.slice(kinds / 2).reduce((a, b) => a + b, 0) : mine[number] + mine[kinds / 2 + number];
  });
  return [...alone.keys()].sort((a, b) => values[b] - values[a] || a - b).map((at) => alone[at]);
}

/** The means of the values of a row's locations. @param {Row} row @param {ArrayLike<number>} values @param {number} wide values of a location */
function meanOf({places}, values, wide) {
  const found = new Float64Array(wide);
  for (const place of places) for (let at = 0; at < wide; at += 1) found[at] += values[place * wide + at] / places.length;
  return found;
}

/** One row for each cluster, the largest first; those of a cluster with a row of `apart` follow it. @type {Joined} */
function joined(rows, shares, apart) {
  return clusters(shares, NEAR).flatMap((members) => {
    const all = members.map((at) => rows[at]), [head, ...others] = all;
    if (!others.length) return [head];
    const isOpen = all.some(({trace, key}) => apart.has(`${trace}:${key}`)), name = `${head.name} and ${others.length} alike`;
    return isOpen ? [{...head, name, alike: 1, members: all}, ...others.map((row) => ({...row, name: `  ${row.name}`}))] : [{...head, name, alike: all.length, members: all}];
  });
}

/** The numbers of alike rows, each cluster with the row first to which the others are alike. @type {Clusters} */
export function clusters(shares, near) {
  const found = /** @type {number[][]} */ ([]);
  for (const [at, mine] of shares.entries()) {
    const known = found.find(([first]) => distance(shares[first], mine) <= near);
    if (known) known.push(at);
    else if (found.length === MOST) return clusters(shares, 2 * near);
    else found.push([at]);
  }
  return found.sort((a, b) => b.length - a.length || a[0] - b[0]);
}

/** The part of the window in which two rows do not do the same. @param {Float64Array} a @param {Float64Array} b */
function distance(a, b) {
  let more = 0, less = 0;
  for (let at = 0; at < a.length; at += 1) {
    if (a[at] > b[at]) more += a[at] - b[at];
    else less += b[at] - a[at];
  }
  return Math.max(more, less);
}

/** The share of the window that locations compute: their mean. @param {Sums} sums @param {number[]} places */
export const workOf = ({work: {shares}}, places) => places.reduce((sum, place) => sum + shares[place], 0) / places.length;
