// SPDX-License-Identifier: BSD-3-Clause
// The client of a saved page: answers the page's requests from the data in the file (timeline/saved_data.py), without
// any request to a server. An answer that the file does not have is undefined, as that of a cancelled request.

import {values} from '../model/address.js';
import {duration} from '../model/time.js';
import {Client, decoded} from './client.js';
import {SavedCalls} from './saved_calls.js';
import {bundlesOf, messagesOf, messageTable, taken} from './saved_links.js';
import {Parts, resampled, tilesOf, unpacked} from './saved_parts.js';
import {SavedRows} from './saved_rows.js';

/** The client of a saved page, null on a page with a server. */
export function savedClient() {
  const head = document.getElementById('saved');
  return head && new SavedClient(JSON.parse(head.textContent ?? ''), bytesOf(document.getElementById('saved-data')?.textContent ?? ''));
}

/** @param {string} base64 */
function bytesOf(base64) {
  const text = atob(base64);
  return Uint8Array.from({length: text.length}, (_, at) => text.charCodeAt(at));
}

export class SavedClient extends Client {
  /** @param {SavedHead} head @param {Uint8Array} bytes */
  constructor({state, traces, parts}, bytes) {
    super();
    this.state = state;
    this.metas = traces;
    this.parts = new Parts({places: parts, bytes});
    this.rows = traces.map((meta) => new SavedRows(meta));
  }

  /** What the file has, in one line. */
  get contents() {
    const lines = this.metas.map(({saved, duration: whole}) => {
      const part = saved.from > 0 || saved.to < whole ? `${duration(saved.to - saved.from)} from ${duration(saved.from)}` : 'the whole run';
      const calls = saved.shortest === 0 ? 'all calls' : saved.shortest < 0 ? `no single calls, steps of ${duration(2 ** saved.tiles, 3)}` : `no calls shorter than ${duration(saved.shortest, 3)}`;
      return `${part}, ${calls}`;
    });
    return `Saved page: ${[...new Set(lines)].join('; ')}.${lines.some((line) => !line.endsWith('run, all calls')) ? ' For the rest, open the trace with vtrace view.' : ''}`;
  }

  /** @override @type {Asking<Table | undefined>} */
  async table(name, words) {
    this.count(1);
    try {
      const found = name === 'compare' ? marked(await this.parts.table(name)) : await (TABLES[name]?.(this, words.trace, words) ?? undefined);
      if (!found && ['panel', 'compare', 'curves', 'sums'].includes(name)) this.complain('This file does not have these data: open the trace with vtrace view.');
      return found;
    } finally {
      this.count(-1);
    }
  }

  /** @override @type {Asking<any>} */
  async json(name, words) {
    if (name === 'traces') return this.metas;
    this.count(1);
    try {
      return await (JSONS[name]?.(this, words.trace, words) ?? undefined);
    } finally {
      this.count(-1);
    }
  }

  /** @override */
  stay() {}

  /** @override */
  async reading() {
    return null;
  }

  /** Texts of regions by row. @param {number} trace @returns {Promise<Map<number, any>>} */
  async regions(trace) {
    const found = await this.parts.of(`${trace} regions`, (bytes) => new Map(Object.entries(JSON.parse(new TextDecoder().decode(bytes))).map(([row, one]) => [Number(row), one])));
    return found ?? new Map();
  }

  /** @param {number} trace @returns {Promise<SavedCalls | undefined>} */
  async calls(trace) {
    const regions = await this.regions(trace), {locations} = this.metas[trace].rows;
    return this.parts.of(`${trace} calls`, (bytes) => new SavedCalls(unpacked(decoded(bytes)).ints, locations, (region) => regions.get(region)?.name ?? ''));
  }

  /** Columns by bins of the saved window as columns by bins of another one. @param {number} trace @param {Table} found @param {string[]} names
   * @param {any} words of the request @param {number} [none] of bins without a value */
  again(trace, found, names, words, none = 0) {
    const {units, meta} = this.rows[trace], rows = this.rows[trace].unitsOf(words.rows);
    const known = (/** @type {number} */ value) => (none === 0 ? value > 0 : !Number.isNaN(value));
    return Object.fromEntries(names.map((name) => [name, resampled(found.columns[name], found.columns[name].length / units, meta.saved, words, {rows, known, none})]));
  }

  /** All messages of the file. @param {number} trace */
  messages(trace) {
    return this.parts.of(`${trace} messages`, (bytes) => messageTable(unpacked(decoded(bytes)).ints));
  }
}

/** An answer about the saved part, whatever part was asked for. @param {Table | undefined} found */
const marked = (found) => found && {...found, notes: {...found.notes, saved: true}};

/** The answers that are tables. @type {SavedAnswers} */
const TABLES = {
  regions: ({parts}, trace) => parts.table(`${trace} classes`),
  marks: ({parts}, trace) => parts.table(`${trace} marks`),
  ticks: ({parts}, trace) => parts.table(`${trace} ticks`),
  collectives: ({parts}, trace) => parts.table(`${trace} collectives`),
  panel: async ({parts}, trace, {name}) => {
    const found = (await parts.table(`${trace} panel ${name}`)) ?? (name === 'findings_here' && (await parts.table(`${trace} panel findings`)));
    return marked(found || undefined);
  },
  tiles: async (client, trace, {level, number, rows}) => {
    const found = await client.parts.ints(`${trace} tiles ${level}`), of = client.rows[trace];
    return found && tilesOf(found, of.units, number, of.unitsOf(rows));
  },
  calls: async (client, trace, {rows, from, to}) => (await client.calls(trace))?.window(client.rows[trace].locations(rows).map(([first]) => first), from, to),
  messages: async (client, trace, words) => {
    const of = client.rows[trace], numbers = (/** @type {number[][]} */ rows) => new Map(rows.flatMap((row, at) => row.map((each) => [each, at])));
    const near = words.between && {places: new Set(of.locations(words.between).flat()), units: new Set(of.unitsOf(words.between).flat().map(({unit}) => unit))};
    /** Between picked rows only. @param {Map<number, number>} known @param {Set<number> | undefined} picked */
    const among = (known, picked) => (picked ? new Map([...known].filter(([one]) => picked.has(one))) : known);
    const single = await client.messages(trace);
    if (single) return messagesOf(single, {...words, rows: among(numbers(of.locations(words.rows)), near?.places)});
    const found = words.smallest > 0 || words.tag !== '' || words.comm >= 0 ? undefined : await client.parts.table(`${trace} bundles`);
    return found && bundlesOf(found.columns, among(numbers(of.unitsOf(words.rows).map((row) => row.map(({unit}) => unit))), near?.units), words);
  },
  rare: async (client, trace, {rows, from, to}) => {
    const found = await client.parts.table(`${trace} rare`);
    if (!found) return undefined;
    const {begin, end, location} = found.columns, row = new Map(client.rows[trace].locations(rows).flatMap((each, at) => each.map((one) => [one, at])));
    const order = Array.from(begin, (_, at) => at).filter((at) => row.has(location[at]) && begin[at] < to && end[at] >= from);
    order.sort((a, b) => (row.get(location[a]) ?? 0) - (row.get(location[b]) ?? 0) || begin[a] - begin[b]);
    return {columns: {...taken(found.columns, order), row: Float64Array.from(order, (at) => row.get(location[at]) ?? 0)}, notes: found.notes};
  },
  leaves: async (client, trace, words) => {
    const found = await client.parts.table(`${trace} leaves`);
    return found && {columns: client.again(trace, found, ['region'], words), notes: {}};
  },
  processor: async (client, trace, words) => {
    const found = await client.parts.table(`${trace} processor`), of = client.rows[trace];
    if (!found) return undefined;
    const rows = of.unitsOf(words.rows), {ready, blocked, ...single} = found.columns;
    const rowOf = new Map(rows.flatMap((units, at) => (units.length === 1 ? [/** @type {[number, number]} */ ([units[0].unit, at])] : [])));
    const kept = Array.from(single.row, (_, at) => at).filter((at) => rowOf.has(single.row[at]));
    const columns = {...taken(single, kept), row: Float64Array.from(kept, (at) => rowOf.get(single.row[at]) ?? 0)};
    return {columns: {...columns, ...client.again(trace, found, ['ready', 'blocked'], words)}, notes: found.notes};
  },
  curves: async (client, trace, words) => {
    const found = await client.parts.table(`${trace} curves ${words.counter}`);
    return found && {columns: client.again(trace, found, ['low', 'mean', 'high'], words, NaN), notes: {bins: words.bins, lines: found.notes.lines}};
  },
  sums: async (client, trace, {text, exact}) => {
    const {search = '', exact: whole = false} = values(client.state);
    if (text && (text !== search || Boolean(exact) !== whole)) return undefined;
    const found = await client.parts.table(`${trace} sums`), {from, to} = client.metas[trace].saved;
    return found && {...found, notes: {length: to - from}};
  },
  samples: ({parts}, trace, {location}) => parts.table(`${trace} samples ${location}`),
  counters: async (client, trace, {rows}) => {
    const found = await client.parts.table(`${trace} counters`), of = client.rows[trace], [row] = of.placesOf(rows);
    if (!found || !row) return undefined;
    const {locations, processes} = of.meta.rows, mine = new Set(row.map((place) => locations[place])), near = new Set(row.map((place) => processes[place]));
    const kept = found.notes.series.map((/** @type {any} */ one) => mine.has(one.location) || (one.metric && near.has(one.process)));
    const number = kept.map((/** @type {boolean} */ _, /** @type {number} */ at) => kept.slice(0, at).filter(Boolean).length);
    const places = Array.from(found.columns.series, (_, at) => at).filter((at) => kept[found.columns.series[at]]);
    const {series} = found.columns, columns = {...taken(found.columns, places), series: Float64Array.from(places, (at) => number[series[at]])};
    return {columns, notes: {series: found.notes.series.filter((/** @type {any} */ _, /** @type {number} */ at) => kept[at])}};
  },
  search: async (client, trace, words) => (await client.calls(trace))?.search(words, client.rows[trace].locations(words.rows), await client.regions(trace)),
};

/** The answers in JSON. @type {SavedAnswers} */
const JSONS = {
  regions: async (client, trace, {rows}) => {
    const known = await client.regions(trace);
    return rows.split(',').map((/** @type {string} */ row) => known.get(Number(row)) ?? null);
  },
  at: async (client, trace, {location, time}) => {
    const calls = await client.calls(trace);
    return calls?.brief(location, calls.at(location, time));
  },
  go: async (client, trace, words) => {
    const {locations} = client.rows[trace].meta.rows;
    return (await client.calls(trace))?.go(words, words.rows ? client.rows[trace].locations(words.rows).flat() : locations);
  },
  call: (client, trace, words) => described(client, trace, words),
  sample: async (client) => void client.complain('This file has no single samples: open the trace with vtrace view.'),
};

/** The facts of a call, as the server describes it, as far as the file has them. @type {Described} */
async function described(client, trace, {location, begin, depth}) {
  const calls = await client.calls(trace), at = calls?.find(location, begin, depth) ?? -1;
  if (!calls || at < 0) return undefined;
  const source = (await client.regions(trace)).get(calls.region[at]) ?? {name: '', file: '', line: 0, activity: '', description: ''};
  const all = await client.messages(trace), end = calls.end[at];
  /** @param {string} mine @param {string} other @param {string} time @param {string} far */
  const ends = (mine, other, time, far) => Array.from(all?.send ?? [], (_, n) => n)
    .filter((n) => all && all[mine][n] === location && all[time][n] >= begin && all[time][n] <= end).slice(0, 50)
    .map((n) => ({partner: all?.[other][n], time: all?.[time][n], far: all?.[far][n], bytes: all?.bytes[n], tag: all?.tag[n], comm: all?.comm[n]}));
  const caller = calls.brief(location, calls.parent[at]);
  return {
    ...calls.brief(location, at), exclusive: calls.exclusive[at], calls: 1, source, values: [], waits: [],
    ...(caller ? {caller} : {}), sends: ends('sender', 'receiver', 'send', 'receive'), receives: ends('receiver', 'sender', 'receive', 'send'),
    collectives: await operations(client, trace, {location, begin, end}),
  };
}

/** The collective operation of a call. @type {Operations} */
async function operations(client, trace, {location, begin, end}) {
  const found = await client.parts.table(`${trace} collectives`);
  if (!found) return [];
  const c = found.columns, part = c.part_location.findIndex((one, at) => one === location && c.part_begin[at] >= begin && c.part_end[at] <= end);
  if (part < 0) return [];
  const of = c.part_instance[part], members = Array.from(c.part_instance, (_, at) => at).filter((at) => c.part_instance[at] === of);
  const last = members.reduce((best, at) => (c.part_begin[at] > c.part_begin[best] ? at : best));
  return [{op: found.notes.ops[c.op[of]], comm: c.comm[of], begin: c.begin[of], end: c.end[of], last_begin: c.last_begin[of], last: c.part_location[last], locations: c.locations[of], sent: c.sent[of], received: c.received[of], root: c.root[of]}];
}

