// SPDX-License-Identifier: BSD-3-Clause
// The parts of a saved page (timeline/saved_data.py): inflates and decodes them when the page needs them, and keeps them.

import {BINS} from '../model/tiles.js';
import {decoded} from './client.js';

export class Parts {
  /** @param {Packed} packed */
  constructor({places, bytes}) {
    this.places = places;
    this.bytes = bytes;
    /** @type {Map<string, Promise<any>>} */
    this.kept = new Map();
  }

  /** The result of a function of a part; undefined if the file does not have the part.
   * @template T @param {string} name @param {(bytes: ArrayBuffer) => T} make @returns {Promise<T | undefined>} */
  of(name, make) {
    const place = this.places[name];
    if (!place) return Promise.resolve(undefined);
    const known = this.kept.get(name) ?? inflated(this.bytes.subarray(place[0], place[0] + place[1])).then(make);
    this.kept.set(name, known);
    return known;
  }

  /** @param {string} name @returns {Promise<Table | undefined>} */
  table(name) {
    return this.of(name, decoded);
  }

  /** A table of packed integers. @param {string} name @returns {Promise<{ints: Ints, notes: any} | undefined>} */
  ints(name) {
    return this.of(name, (bytes) => unpacked(decoded(bytes)));
  }
}

/** @param {Uint8Array} bytes */
function inflated(bytes) {
  const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).arrayBuffer();
}

/** The integers of a table whose columns are planes of bytes. @param {Table} table @returns {{ints: Ints, notes: any}} */
export function unpacked({columns, notes}) {
  /** @type {Ints} */
  const ints = {};
  for (const [name, [width, least]] of Object.entries(notes.ints)) {
    const planes = columns[name], count = planes.length / width, found = new Float64Array(count).fill(least);
    for (let plane = 0; plane < width; plane += 1) {
      const weight = 256 ** plane;
      for (let at = 0; at < count; at += 1) found[at] += planes[plane * count + at] * weight;
    }
    ints[name] = found;
  }
  return {ints, notes};
}

/** A tile of each row from the tiles of units: means of the units, weighted by their locations; the region of the unit with the largest share. @type {TilesOf} */
export function tilesOf({ints, notes}, units, number, rows) {
  if (number < notes.first || number >= notes.first + notes.count) return undefined;
  const first = (number - notes.first) * units * BINS, size = rows.length * BINS;
  /** @type {any} */
  const columns = {region: new Uint32Array(size), events: new Uint32Array(size)};
  for (const name of Object.keys(ints)) columns[name] ??= new Uint8Array(size);
  const classes = Object.keys(ints).filter((name) => /^[cw]\d+$/.test(name));
  rows.forEach((row, at) => {
    const whole = row.reduce((sum, one) => sum + one.size, 0);
    for (let bin = 0; bin < BINS; bin += 1) {
      const to = at * BINS + bin;
      let most = 0;
      for (const {unit, size: part} of row) {
        const from = first + unit * BINS + bin, share = (ints.share[from] * part) / whole;
        if (share > most) {
          most = share;
          columns.region[to] = ints.region[from];
        }
        columns.events[to] += ints.events[from];
      }
      columns.share[to] = Math.ceil(most);
      for (const name of classes) {
        const sum = row.reduce((all, one) => all + ints[name][first + one.unit * BINS + bin] * one.size, 0);
        columns[name][to] = Math.min(255, Math.ceil(sum / whole));
      }
    }
  });
  return {columns, notes: {}};
}

/** Values by unit and bin as values by row and bin of another window: of the first unit of the row that has one. @type {Resampled} */
export function resampled(values, bins, saved, asked, {rows, known, none}) {
  const found = new Float64Array(rows.length * asked.bins).fill(none);
  const wide = (asked.to - asked.from) / asked.bins, scale = bins / (saved.to - saved.from);
  for (let bin = 0; bin < asked.bins; bin += 1) {
    const from = Math.floor((asked.from + (bin + 0.5) * wide - saved.from) * scale);
    if (from < 0 || from >= bins) continue;
    rows.forEach((row, at) => {
      const unit = row.find((one) => known(values[one.unit * bins + from]));
      if (unit) found[at * asked.bins + bin] = values[unit.unit * bins + from];
    });
  }
  return found;
}
