// SPDX-License-Identifier: BSD-3-Clause
// The calls of a saved page: of a window, at a time, related, and those that a search finds.

export class SavedCalls {
  /** @param {Ints} ints @param {number[]} locations in the file's order @param {(region: number) => string} nameOf */
  constructor(ints, locations, nameOf) {
    const count = ints.time.length;
    this.nameOf = nameOf;
    this.region = ints.region;
    this.depth = ints.depth;
    this.begin = new Float64Array(count);
    this.end = new Float64Array(count);
    this.exclusive = new Float64Array(count);
    /** The place of each call's caller, -1: none. */
    this.parent = new Int32Array(count).fill(-1);
    /** The first place of each location, and the last + 1. @type {Map<number, [number, number]>} */
    this.places = new Map();
    let at = 0;
    locations.forEach((location, number) => {
      const first = at, last = first + ints.count[number];
      const open = /** @type {number[]} */ ([]);
      for (let time = 0; at < last; at += 1) {
        time += ints.step[at];
        [this.begin[at], this.end[at], this.exclusive[at]] = [time, time + ints.time[at], ints.time[at] - ints.inside[at]];
        while (open.length && this.depth[open[open.length - 1]] >= this.depth[at]) open.pop();
        if (open.length) this.parent[at] = open[open.length - 1];
        open.push(at);
      }
      this.places.set(location, [first, last]);
    });
  }

  /** The first place of a location whose call begins at a time or later. @param {number} location @param {number} time */
  from(location, time) {
    let [low, high] = this.places.get(location) ?? [0, 0];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.begin[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The places of the calls of a location with a part in a window, callers first. @param {number} location
   * @param {number} begin @param {number} end */
  within(location, begin, end) {
    const first = this.from(location, begin), last = this.from(location, end);
    const around = /** @type {number[]} */ ([]);
    const start = this.places.get(location)?.[0] ?? 0;
    for (let at = first > start ? first - 1 : -1; at >= 0; at = this.parent[at]) if (this.end[at] > begin) around.unshift(at);
    return [...around, ...Array.from({length: last - first}, (_, n) => first + n)];
  }

  /** A table of the calls of rows of one location each, as the server sends them. @param {(number | undefined)[]} rows
   * @param {number} begin @param {number} end */
  window(rows, begin, end) {
    const places = rows.map((location) => (location === undefined ? [] : this.within(location, begin, end)));
    const all = places.flat();
    /** @type {any} */
    const columns = {calls: new Int32Array(all.length).fill(1), count: Int32Array.from(places, (each) => each.length)};
    for (const name of /** @type {const} */ (['begin', 'end', 'region', 'depth', 'exclusive'])) columns[name] = Float64Array.from(all, (at) => this[name][at]);
    return {columns, notes: {}};
  }

  /** @param {number} location @param {number} at @returns {Brief | null} */
  brief(location, at) {
    if (at < 0) return null;
    const region = this.region[at];
    return {location, begin: this.begin[at], end: this.end[at], region, depth: this.depth[at], name: this.nameOf(region)};
  }

  /** The place of the innermost call at a time, -1: none. @param {number} location @param {number} time */
  at(location, time) {
    const found = this.within(location, time, time + 1).filter((at) => this.begin[at] <= time && this.end[at] > time);
    return found.length ? found[found.length - 1] : -1;
  }

  /** @param {number} location @param {number} begin @param {number} depth */
  find(location, begin, depth) {
    const [, last] = this.places.get(location) ?? [0, 0];
    for (let at = this.from(location, begin); at < last && this.begin[at] === begin; at += 1) if (this.depth[at] === depth) return at;
    return -1;
  }

  /** Another call, null: none. @param {any} words of the request @param {number[]} locations @returns {Brief | null} */
  go({location, begin, depth, way}, locations) {
    const own = this.find(location, begin, depth), [first, last] = this.places.get(location) ?? [0, 0];
    if (own < 0) return null;
    if (way === 'caller') return this.brief(location, this.parent[own]);
    if (way === 'longest' || way === 'shortest') return this.extreme(this.region[own], way === 'longest', locations);
    const step = way === 'previous' ? -1 : 1;
    for (let at = own + step; at >= first && at < last; at += step) if (way === 'callee' ? this.parent[at] === own : this.region[at] === this.region[own]) return this.brief(location, at);
    return null;
  }

  /** @param {number} region @param {boolean} longest @param {number[]} locations */
  extreme(region, longest, locations) {
    let best = -1, where = 0, most = 0;
    for (const location of locations) {
      const [first, last] = this.places.get(location) ?? [0, 0];
      for (let at = first; at < last; at += 1) {
        const time = (this.end[at] - this.begin[at]) * (longest ? 1 : -1);
        if (this.region[at] === region && (best < 0 || time > most)) [best, where, most] = [at, location, time];
      }
    }
    return this.brief(where, best);
  }

  /** The calls of rows that a search finds, as the server sends them. @param {any} words of the request
   * @param {number[][]} rows the locations of each @param {Map<number, any>} regions */
  search({text, exact, from, to, bins}, rows, regions) {
    const lower = String(text).toLowerCase(), marks = new Uint8Array(rows.length * bins), histogram = new Float64Array(64);
    const wanted = new Set([...regions].filter(([, one]) => (Number(exact) ? one.name === text : one.name.toLowerCase().includes(lower))).map(([row]) => row));
    let count = 0, total = 0;
    let longest = /** @type {Brief[]} */ ([]);
    rows.forEach((locations, row) => locations.forEach((location) => {
      for (const at of this.within(location, from, to)) {
        if (!wanted.has(this.region[at])) continue;
        const time = this.end[at] - this.begin[at];
        [count, total] = [count + 1, total + time];
        histogram[Math.floor(Math.log2(Math.max(1, time)))] += 1;
        const [first, last] = [this.begin[at], this.end[at]].map((when) => Math.max(0, Math.min(bins - 1, Math.floor(((when - from) * bins) / (to - from)))));
        for (let bin = first; bin <= last; bin += 1) marks[row * bins + bin] = Math.min(255, marks[row * bins + bin] + 1);
        longest.push(/** @type {Brief} */ (this.brief(location, at)));
      }
      longest = longest.sort((a, b) => b.end - b.begin - (a.end - a.begin) || a.begin - b.begin).slice(0, 12);
    }));
    const names = [...wanted].slice(0, 50).map((row) => regions.get(row).name);
    return {columns: /** @type {any} */ ({marks, histogram}), notes: {count, total, regions: wanted.size, names, longest}};
  }
}
