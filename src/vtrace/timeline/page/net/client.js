// SPDX-License-Identifier: BSD-3-Clause
// Requests to the server, and the tables of its answers; timeline/answers.py describes their bytes. A newer request with
// the same purpose cancels an older one.

const DATA = 'data/1/';

export class Client {
  constructor() {
    /** @type {Map<string, AbortController>} */
    this.open = new Map();
    /** The server's count of reopened archives: it refuses an older one. */
    this.loads = 0;
    /** The fragment of the address at which a saved page begins; '' on a page with a server. */
    this.state = '';
    /** @type {(line: string) => void} */
    this.complain = () => undefined;
  }

  /** A table; undefined if the request was cancelled or failed. @type {Asking<Table | undefined>} */
  async table(name, words, purpose) {
    const answer = await this.get(name, words, purpose);
    const bytes = answer && (await answer.arrayBuffer().catch(() => undefined));
    return bytes?.byteLength ? decoded(bytes) : undefined;
  }

  /** JSON; undefined if the request was cancelled or failed. @type {Asking<any>} */
  async json(name, words, purpose) {
    const answer = await this.get(name, words, purpose);
    return answer && answer.json().catch(() => undefined);
  }

  /** @type {Asking<Response | undefined>} */
  async get(name, words, purpose) {
    const control = purpose instanceof AbortController ? purpose : new AbortController();
    if (typeof purpose === 'string') {
      this.open.get(purpose)?.abort();
      this.open.set(purpose, control);
    }
    this.count(1);
    const query = new URLSearchParams(Object.entries({...words, loads: this.loads}).map(([key, value]) => [key, String(value)]));
    try {
      const answer = await fetch(`${DATA}${name}?${query}`, {signal: control.signal});
      if (answer.ok) return answer;
      const line = await answer.text();
      this.complain(answer.status === 409 ? line : `${name}: ${line}`);
    } catch (error) {
      if (!control.signal.aborted) this.complain('the server does not answer: start vtrace view again');
    } finally {
      this.count(-1);
    }
  }

  /** Writes the number of open requests into the page, for tests. @param {number} change */
  count(change) {
    document.body.dataset.requests = String(Number(document.body.dataset.requests ?? 0) + change);
  }

  /** The share of the events that the server has read for its open answers; null: unknown. @returns {Promise<number | null>} */
  async reading() {
    const answer = await fetch(`${DATA}reading?loads=${this.loads}`).catch(() => undefined);
    const found = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
    return found?.share ?? null;
  }

  /** Keeps the server running while the page is open. */
  stay() {
    setInterval(() => fetch('alive').catch(() => undefined), 20000);
  }
}

/** @type {Record<string, any>} */
const KINDS = {f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array};

/** @param {ArrayBuffer} bytes @returns {Table} throws for other bytes */
export function decoded(bytes) {
  const head = new Uint8Array(bytes, 0, Math.min(8, bytes.byteLength));
  if (bytes.byteLength < 8 || String.fromCharCode(...head.subarray(0, 4)) !== 'VTW1') throw new Error('not a table of this version');
  const size = new DataView(bytes).getUint32(4, true);
  const found = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, size)));
  /** @type {Record<string, Column>} */
  const columns = {};
  for (const [name, kind, rows, offset] of found.columns) columns[name] = new KINDS[kind](bytes, 8 + size + offset, rows);
  return {columns, notes: found.notes};
}
