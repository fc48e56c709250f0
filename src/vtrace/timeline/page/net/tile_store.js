// SPDX-License-Identifier: BSD-3-Clause
// Tiles and calls of rows: keeps the received ones, and requests the ones that the picture needs.

import {BINS, callsByRow, numbers, span} from '../model/tiles.js';

const ROOM = 60000, TOGETHER = 128, LANES = 3;

export class TileStore {
  /** @param {Client} client @param {number} trace @param {() => void} arrived */
  constructor(client, trace, arrived) {
    this.client = client;
    this.trace = trace;
    this.arrived = arrived;
    /** @type {Map<string, Tile | null>} by row, level and number; null: requested */
    this.tiles = new Map();
    /** @type {Map<string, Calls | null>} */
    this.calls = new Map();
    /** @type {Map<Job, AbortController>} */
    this.running = new Map();
    /** @type {Job[]} */
    this.jobs = [];
  }

  /** @param {string} row @param {number} level @param {number} number @returns {Tile | undefined} */
  tile(row, level, number) {
    return this.tiles.get(`${row} ${level} ${number}`) ?? undefined;
  }

  /** @param {string} row @param {number} level @param {number} number @returns {Calls | undefined} */
  callsOf(row, level, number) {
    return this.calls.get(`${row} ${level} ${number}`) ?? undefined;
  }

  /** Requests the missing tiles of a window; cancels requests that the window does not need.
   * @param {{key: string, finest: number, location: number}[]} rows @param {number} begin @param {number} end
   * @param {number} level @param {number} top */
  want(rows, begin, end, level, top) {
    this.forget();
    /** @type {Map<string, Job>} */
    const asked = new Map();
    const needed = new Set();
    /** @param {'tiles' | 'calls'} what @param {number} at @param {string} key */
    const ask = (what, at, key) => {
      for (const number of numbers(begin, end, at)) {
        const group = `${what} ${at} ${number}`;
        needed.add(group);
        if (this[what].has(`${key} ${at} ${number}`)) continue;
        const found = asked.get(group) ?? {group, what, level: at, number, rows: []};
        found.rows.push(key);
        asked.set(group, found);
      }
    };
    for (const row of rows) {
      ask('tiles', top, row.key);
      ask('tiles', Math.min(top, Math.max(level, row.finest)), row.key);
      if (row.finest > level && row.location >= 0) ask('calls', level, row.key);
    }
    for (const [job, control] of this.running) if (!needed.has(job.group)) control.abort();
    this.jobs = [...asked.values()].flatMap((job) => pieces(job.rows).map((part) => ({...job, rows: part})));
    while (this.running.size < LANES && this.jobs.length) this.next();
  }

  async next() {
    const job = this.jobs.shift();
    if (!job) return;
    const control = new AbortController();
    this.running.set(job, control);
    for (const row of job.rows) this[job.what].set(`${row} ${job.level} ${job.number}`, null);
    const rows = job.rows.join(',');
    const words = job.what === 'tiles' ? {level: job.level, number: job.number, rows} : {
      rows, from: job.number * span(job.level), to: (job.number + 1) * span(job.level),
      shortest: Math.floor(2 ** job.level / 2),
    };
    const found = await this.client.table(job.what, {trace: this.trace, ...words}, control);
    this.running.delete(job);
    if (!found) for (const row of job.rows) this[job.what].delete(`${row} ${job.level} ${job.number}`);
    else if (job.what === 'tiles') this.keepTiles(job, found.columns);
    else this.keepCalls(job, found.columns);
    if (found) this.arrived();
    this.next();
  }

  /** @param {Job} job @param {Record<string, any>} columns */
  keepTiles(job, columns) {
    job.rows.forEach((row, at) => {
      /** @param {any} column */
      const part = (column) => column.subarray(at * BINS, (at + 1) * BINS);
      /** @param {string} kind */
      const byClass = (kind) => Object.entries(columns).filter(([name]) => name[0] === kind && /^.\d+$/.test(name))
        .map(([name, column]) => /** @type {[number, Uint8Array]} */ ([Number(name.slice(1)), part(column)]))
        .filter(([, column]) => column.some((/** @type {number} */ value) => value > 0));
      const classes = byClass('c'), waiting = byClass('w'), idles = new Uint8Array(BINS);
      const {region, share, events} = columns, best = new Uint8Array(BINS), total = new Uint8Array(BINS);
      for (let bin = 0; bin < BINS; bin += 1) {
        let most = 0, sum = 0;
        for (const [number, shares] of classes) {
          sum += shares[bin];
          if (shares[bin] > most) [most, best[bin]] = [shares[bin], number];
        }
        total[bin] = Math.min(255, sum);
        for (const [number, shares] of waiting) if (number === best[bin] && 2 * shares[bin] > most) idles[bin] = 1;
      }
      this.tiles.set(`${row} ${job.level} ${job.number}`, {
        region: part(region), share: part(share), events: part(events), classes, waiting, best, idles, total,
      });
    });
  }

  /** @param {Job} job @param {Record<string, any>} columns */
  keepCalls(job, columns) {
    callsByRow(columns).forEach((calls, at) => this.calls.set(`${job.rows[at]} ${job.level} ${job.number}`, calls));
  }

  /** Drops the oldest if there are too many. */
  forget() {
    for (const kept of [this.tiles, this.calls]) {
      for (const key of kept.keys()) {
        if (kept.size <= ROOM) break;
        kept.delete(key);
      }
    }
  }
}

/** @param {string[]} rows @returns {string[][]} */
const pieces = (rows) => Array.from({length: Math.ceil(rows.length / TOGETHER)}, (_, n) => rows.slice(n * TOGETHER, (n + 1) * TOGETHER));
