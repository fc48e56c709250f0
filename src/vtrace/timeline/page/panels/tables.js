// SPDX-License-Identifier: BSD-3-Clause
// Panels that are tables: profile, collective operations, files, findings, the differences between two traces. Their
// columns sort at a click; long tables show their first rows.

import {bytes, count, duration} from '../model/time.js';
import {button, element, fill} from './dom.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {import('../net/client.js').Table} Table */

/** @param {App} app @param {number} trace @param {number} region */
export function regionName(app, trace, region) {
  return app.traces[trace].regions.name(region) || `region ${region}`;
}

/** Draws, and draws again when missing names arrive. @param {App} app @param {number} trace
 * @param {ArrayLike<number>} regions @param {() => Node} draw */
export function withNames(app, trace, regions, draw) {
  const place = element('div', {}, draw());
  const known = app.traces[trace].regions;
  const wait = () => {
    const missing = Array.from(regions).slice(0, 500).some((region) => region >= 0 && known.known.get(region) === undefined);
    if (place.isConnected || !missing) place.replaceChildren(draw());
    if (missing) setTimeout(wait, 60);
  };
  setTimeout(wait, 40);
  return place;
}

/** @param {App} app @param {Table} found @param {number} trace */
export function profile(app, found, trace) {
  if (found.columns.samples) return sampledProfile(app, found, trace);
  const c = found.columns, whole = c.exclusive.reduce((/** @type {number} */ sum, /** @type {number} */ ns) => sum + ns, 0) || 1;
  const {classes} = app.traces[trace].meta;
  return withNames(app, trace, c.region, () => table([
    {head: 'region', value: (row) => regionName(app, trace, c.region[row]), show: (row) => named(regionName(app, trace, c.region[row]), classes[c.class[row]]?.colour)},
    {head: 'calls', value: (row) => c.calls[row], show: (row) => count(c.calls[row])},
    {head: 'exclusive', title: 'without the time of callees', value: (row) => c.exclusive[row], show: (row) => duration(c.exclusive[row])},
    {head: '%', value: (row) => c.exclusive[row] / whole, show: (row) => ((100 * c.exclusive[row]) / whole).toFixed(1)},
    {head: 'inclusive', value: (row) => c.inclusive[row], show: (row) => duration(c.inclusive[row])},
    {head: 'mean', value: (row) => c.total[row] / c.calls[row], show: (row) => duration(c.total[row] / Math.max(1, c.calls[row]))},
    {head: 'max', value: (row) => c.max[row], show: (row) => duration(c.max[row])},
  ], c.region.length, {sort: 2, id: 'profile', press: (row) => app.store.set({search: regionName(app, trace, c.region[row]), exact: true, panel: 'histogram'})}));
}

/** The profile of a trace with samples: a column shows the source of the times. @param {App} app @param {Table} found
 * @param {number} trace */
function sampledProfile(app, found, trace) {
  const c = found.columns, whole = c.exclusive.reduce((sum, ns) => sum + ns, 0) || 1;
  const {classes} = app.traces[trace].meta;
  return withNames(app, trace, c.region, () => element('div', {}, fromSamples(found), table([
    {head: 'region', value: (row) => regionName(app, trace, c.region[row]), show: (row) => named(regionName(app, trace, c.region[row]), classes[c.class[row]]?.colour)},
    {head: 'from', title: 'source of the times', value: (row) => (c.estimated[row] ? 'samples' : 'calls')},
    {head: 'samples', value: (row) => c.samples[row], show: (row) => count(c.samples[row])},
    {head: 'calls', value: (row) => c.calls[row], show: (row) => count(c.calls[row])},
    {head: 'exclusive', title: 'without the time of callees', value: (row) => c.exclusive[row], show: (row) => duration(c.exclusive[row])},
    {head: '%', value: (row) => c.exclusive[row] / whole, show: (row) => ((100 * c.exclusive[row]) / whole).toFixed(1)},
    {head: 'inclusive', value: (row) => c.inclusive[row], show: (row) => duration(c.inclusive[row])},
  ], c.region.length, {sort: 4, id: 'profile', press: (row) => app.store.set({search: regionName(app, trace, c.region[row]), exact: true, ...(c.calls[row] ? {panel: 'histogram'} : {})})})));
}

/** The source of the times of a trace with samples. @param {Table} found of profile or flame */
export function fromSamples(found) {
  const {samples, sources} = found.notes;
  return element('p', {className: 'hint'}, samples ? `Program's own code: ${count(samples)} samples (${sources.join(', ')}). MPI, I/O, memory, threads, barriers: recorded calls.`
    : 'No samples here: times of recorded calls.');
}

/** @param {string} name @param {string} [colour] */
export function named(name, colour) {
  const swatch = element('i', {className: 'swatch'});
  if (colour) swatch.style.background = colour;
  return element('span', {title: name}, swatch, name);
}

/** @param {App} app @param {Table} found @param {number} trace */
export function collectives(app, found, trace) {
  const c = found.columns, {comms} = app.traces[trace].meta;
  if (!c.op.length) return element('p', {className: 'hint'}, 'No collective operations here.');
  return table([
    {head: 'operation', value: (row) => found.notes.ops[row]},
    {head: 'communicator', value: (row) => comms[c.comm[row]] ?? ''},
    {head: 'calls', value: (row) => c.calls[row], show: (row) => count(c.calls[row])},
    {head: 'time', value: (row) => c.ns[row], show: (row) => duration(c.ns[row])},
    {head: 'mean', value: (row) => c.ns[row] / c.calls[row], show: (row) => duration(c.ns[row] / c.calls[row])},
    {head: 'sent', value: (row) => c.sent[row], show: (row) => bytes(c.sent[row])},
    {head: 'received', value: (row) => c.received[row], show: (row) => bytes(c.received[row])},
  ], c.op.length, {sort: 3, id: 'collectives'});
}

/** @param {App} _app @param {Table} found */
export function files(_app, found) {
  const c = found.columns;
  if (!found.notes.names.length) return element('p', {className: 'hint'}, 'No operations on files here.');
  return table([
    {head: 'file', value: (row) => found.notes.names[row]},
    {head: 'reads', value: (row) => c.reads[row], show: (row) => count(c.reads[row])},
    {head: 'bytes read', value: (row) => c.bytes_read[row], show: (row) => bytes(c.bytes_read[row])},
    {head: 'time', value: (row) => c.read_ns[row], show: (row) => duration(c.read_ns[row])},
    {head: 'writes', value: (row) => c.writes[row], show: (row) => count(c.writes[row])},
    {head: 'bytes written', value: (row) => c.bytes_written[row], show: (row) => bytes(c.bytes_written[row])},
    {head: 'time', value: (row) => c.write_ns[row], show: (row) => duration(c.write_ns[row])},
  ], found.notes.names.length, {id: 'files'});
}

/** Findings of the diagnosis, which a click shows in the chart; lines about missing events. @param {App} app @param {Table} found
 * @param {number} trace */
export function findings(app, found, trace) {
  const {lines, findings: rows} = found.notes;
  /** @param {number} row */
  const show = (row) => {
    const {start, stop, region} = rows[row];
    if (start !== null && stop !== null) app.show({begin: start, end: stop});
    if (region) app.store.set({search: region, exact: true});
  };
  return element('div', {id: 'findings'},
    rows.length ? table([
      {head: 'lost', value: (row) => rows[row].loss_ns, show: (row) => (rows[row].loss_ns ? `${duration(rows[row].loss_ns, 3)}, ${(100 * rows[row].share).toFixed(1)} %` : '')},
      {head: 'finding', value: (row) => rows[row].text, show: (row) => element('span', {className: 'sentence', title: rows[row].command}, rows[row].text)},
      {head: 'certainty', value: (row) => rows[row].doubts},
    ], rows.length, {press: show}) : element('p', {}, 'No findings here.'),
    element('h2', {}, 'Not recorded'),
    lines.length ? element('ul', {}, ...lines.map((/** @type {string} */ line) => element('li', {}, line))) : element('p', {}, `The archive reports no missing events in this part of ${app.traces[trace].meta.title}.`));
}

const MOST = 300;

/**
 * @typedef {object} TableColumn
 * @property {string} head
 * @property {string} [title]
 * @property {(row: number) => number | string} value the value to sort by
 * @property {(row: number) => import('./dom.js').Child} [show]
 */

/**
 * @param {TableColumn[]} columns @param {number} rows @param {{sort?: number, press?: (row: number) => void, id?: string}} [more]
 */
export function table(columns, rows, more = {}) {
  const body = element('tbody'), heads = element('tr');
  let by = more.sort ?? -1, down = true;
  const draw = () => {
    const order = Array.from({length: rows}, (_, row) => row);
    if (by >= 0) {
      const keys = order.map((row) => columns[by].value(row));
      order.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0) * (down ? -1 : 1) || a - b);
    }
    fill(heads, ...columns.map((column, place) => element('th', {title: column.title ?? '', 'aria-sort': place !== by ? 'none' : down ? 'descending' : 'ascending'}, button(column.head, () => {
      [by, down] = [place, place === by ? !down : true];
      draw();
    }))));
    fill(body, ...order.slice(0, MOST).map((row) => element('tr', more.press ? {onclick: () => more.press?.(row), className: 'press', tabIndex: 0, onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Enter') more.press?.(row);
    }} : {}, ...columns.map((column) => {
      const value = column.value(row);
      return element('td', {className: typeof value === 'number' ? 'number' : ''}, column.show ? column.show(row) : value);
    }))), rows > MOST && element('tr', {}, element('td', {colspan: columns.length}, `${rows - MOST} more rows`)));
  };
  draw();
  return element('table', {className: 'data', id: more.id ?? ''}, element('thead', {}, heads), body);
}

/** A difference with its sign. @param {number} ns */
function signed(ns) {
  return `${ns > 0 ? '+' : ''}${duration(ns, 3)}`;
}

/** @param {import('../app.js').App} app @param {import('../net/client.js').Table} found */
export function compare(app, found) {
  const c = found.columns, {names} = found.notes, {classes} = app.traces[0].meta, titles = app.traces.map(({meta}) => meta.title);
  /** @param {number} row */
  const more = (row) => c.second_ns[row] - c.first_ns[row];
  const sums = ['first_ns', 'second_ns'].map((name) => c[name].reduce((sum, ns) => sum + ns, 0));
  return element('div', {},
    element('p', {}, `All regions: ${duration(sums[0])} in ${titles[0]}, ${duration(sums[1])} in ${titles[1]}, ${signed(sums[1] - sums[0])}.`),
    table([
      {head: 'region', value: (row) => names[row], show: (row) => named(names[row], classes[c.class[row]]?.colour)},
      {head: 'difference', title: 'difference of the exclusive time, summed over all rows', value: (row) => Math.abs(more(row)), show: (row) => signed(more(row))},
      ...titles.map((title, trace) => ({head: trace ? 'second' : 'first', title: `exclusive time in ${title}`, value: (/** @type {number} */ row) => c[trace ? 'second_ns' : 'first_ns'][row], show: (/** @type {number} */ row) => duration(c[trace ? 'second_ns' : 'first_ns'][row])})),
      ...titles.map((title, trace) => ({head: trace ? 'second calls' : 'first calls', title: `calls in ${title}`, value: (/** @type {number} */ row) => c[trace ? 'second_calls' : 'first_calls'][row], show: (/** @type {number} */ row) => count(c[trace ? 'second_calls' : 'first_calls'][row])})),
    ], names.length, {sort: 1, id: 'compare', press: (row) => app.store.set({search: names[row], exact: true, panel: 'histogram'})}));
}
