// SPDX-License-Identifier: BSD-3-Clause
// Names, classes and colours of regions; names on demand, many at a time.

export class Regions {
  /** @param {Client} client @param {number} trace @param {() => void} arrived */
  constructor(client, trace, arrived) {
    this.client = client;
    this.trace = trace;
    this.arrived = arrived;
    /** null: the server does not know the region. @type {Map<number, Region | null>} */
    this.known = new Map();
    /** @type {Set<number>} */
    this.asked = new Set();
    /** @type {Set<number>} */
    this.wanted = new Set();
    /** @type {Uint8Array} */
    this.classes = new Uint8Array(0);
    this.waits = new Uint8Array(0); // 1 for each region that waits
    this.colours = new Int32Array(0); // of annotations; 0: none
  }

  async start() {
    const found = await this.client.table('regions', {trace: this.trace, rows: 'classes'});
    if (found) ({class: this.classes, waits: this.waits, colour: this.colours} = /** @type {any} */ (found.columns));
  }

  /** A region's name, '' until it has arrived. @param {number} region */
  name(region) {
    const found = this.known.get(region);
    if (found === undefined && region >= 0 && !this.asked.has(region)) {
      if (!this.wanted.size) setTimeout(() => this.ask(), 0);
      this.wanted.add(region);
    }
    return found?.name ?? '';
  }

  async ask() {
    const rows = [...this.wanted].slice(0, 500);
    this.wanted.clear();
    for (const row of rows) this.asked.add(row);
    const found = await this.client.json('regions', {trace: this.trace, rows: rows.join(',')});
    rows.forEach((row, at) => this.known.set(row, found?.[at] ?? null));
    this.arrived();
  }
}
