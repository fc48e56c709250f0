// SPDX-License-Identifier: BSD-3-Clause
// The rows of a saved page: which locations and units of the file belong to a row.

/** The rows of a trace: the places, locations and units of the file that belong to a row. */
export class SavedRows {
  /** @param {any} meta */
  constructor(meta) {
    this.meta = meta;
    const {locations, processes, process_nodes: nodes} = meta.rows;
    this.each = meta.saved.each;
    this.units = Math.ceil(locations.length / this.each);
    /** @type {Map<string, number[]>} */
    this.places = new Map();
    /** @param {string} key @param {number} place */
    const add = (key, place) => {
      const known = this.places.get(key);
      if (known) known.push(place);
      else this.places.set(key, [place]);
    };
    locations.forEach((/** @type {number} */ location, /** @type {number} */ place) => {
      const process = processes[place];
      add(`l${location}`, place);
      if (process >= 0) add(`p${process}`, place);
      if (process >= 0) add(`n${nodes[process]}`, place);
    });
  }

  /** The places of each row of a request. @param {string} keys @returns {number[][]} */
  placesOf(keys) {
    return (keys ? keys.split(',') : []).map((key) => {
      if (key[0] !== 'r') return this.places.get(key) ?? [];
      return key.slice(1).split('_').map((range) => range.split('-').map(Number)).flatMap(([first, end]) => {
        const last = Math.min(end, this.meta.rows.locations.length - 1);
        return Array.from({length: Math.max(0, last - first + 1)}, (_, n) => first + n);
      });
    });
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
