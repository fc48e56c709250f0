// SPDX-License-Identifier: BSD-3-Clause
// Levels of tiles: a bin of level n is 2^n ns wide, a tile has 256 bins.

export const BINS = 256;
export const NO_LEVEL = 63;

/** The level with bins about a pixel wide. @param {number} nsPerPixel @param {number} top */
export const levelOf = (nsPerPixel, top) => Math.max(0, Math.min(top, Math.round(Math.log2(Math.max(1, nsPerPixel)))));

/** ns of a tile. @param {number} level */
export const span = (level) => BINS * 2 ** level;

/** The numbers of the tiles with a part of a window. @param {number} begin @param {number} end @param {number} level */
export function numbers(begin, end, level) {
  const wide = span(level);
  const first = Math.max(0, Math.floor(begin / wide)), last = Math.max(first, Math.ceil(end / wide) - 1);
  return Array.from({length: last - first + 1}, (_, n) => first + n);
}

/**
 * The tiles to draw a window: the finest ones, and coarser ones where these are missing.
 * @template T @param {(level: number, number: number) => T | undefined} known
 * @param {number} begin @param {number} end @param {number} level @param {number} top
 * @returns {Piece<T>[]}
 */
export function covering(known, begin, end, level, top) {
  const found = /** @type {Piece<T>[]} */ ([]);
  for (const number of numbers(begin, end, level)) {
    const wide = span(level);
    const from = Math.max(begin, number * wide), to = Math.min(end, (number + 1) * wide);
    for (let above = level; above <= top; above += 1) {
      const other = Math.floor(number / 2 ** (above - level));
      const tile = known(above, other);
      if (tile !== undefined) {
        found.push({tile, level: above, number: other, from, to});
        break;
      }
    }
  }
  return found;
}

/** The calls of each row of an answer. @param {Record<string, any>} columns @returns {Calls[]} */
export function callsByRow(columns) {
  let last = 0;
  return Array.from(columns.count, (size) => {
    const first = last, [begin, end, region, depth, calls] = ['begin', 'end', 'region', 'depth', 'calls'].map((name) => columns[name].subarray(first, first + Number(size)));
    last += Number(size);
    return {begin, end, region, depth, calls};
  });
}
