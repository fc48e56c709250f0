// SPDX-License-Identifier: BSD-3-Clause
// The rows of a saved page: which locations and units of the file belong to a row.

import {placesOfKey} from '../model/rows.js';

/** The rows of a trace: the places, locations and units of the file that belong to a row. */
export class SavedRows {
  /** @param {any} meta */
  constructor(meta) {
    this.meta = meta;
    this.each = meta.saved.each;
    this.units = Math.ceil(meta.rows.locations.length / this.each);
  }

  /** The places of each row of a request. @param {string} keys @returns {number[][]} */
  placesOf(keys) {
    return (keys ? keys.split(',') : []).map((key) => placesOfKey(this.meta.rows, key));
  }

  /** The locations of each row of a request. @param {string} keys @returns {number[][]} */
  locations(keys) {
    return this.placesOf(keys).map((places) => places.map((place) => this.meta.rows.locations[place]));
  }

  /** The units of each row of a request, and their locations in the row. @param {string} keys */
  unitsOf(keys) {
    return this.placesOf(keys).map((places) => {
      /** @type {Map<number, number>} */
      const sizes = new Map();
      for (const place of places) sizes.set(Math.floor(place / this.each), (sizes.get(Math.floor(place / this.each)) ?? 0) + 1);
      return [...sizes].map(([unit, size]) => ({unit, size}));
    });
  }
}
