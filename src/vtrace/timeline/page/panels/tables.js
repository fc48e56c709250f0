// SPDX-License-Identifier: BSD-3-Clause
// Panels that are tables: profile, files, the differences between two traces.

import {css} from '../model/colours.js';
import {count, duration} from '../model/time.js';
import {brief} from '../model/curves.js';
import {element, fill, hint} from './dom.js';
import {counts, named, sizes, table, times} from './table.js';

/** @param {App} app @param {number} trace @param {number} region */
export const regionName = (app, trace, region) => app.traces[trace].regions.name(region) || `region ${region}`;

/** Draws, and draws again when missing names arrive. @type {WithNames} */
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

/** @type {Panel} */
export function profile(app, found, trace) {
  const c = found.columns, whole = c.exclusive.reduce((sum, ns) => sum + ns, 0) || 1, sampled = Boolean(c.samples);
  const {classes} = app.traces[trace].meta, name = (/** @type {number} */ row) => regionName(app, trace, c.region[row]);
  /** @type {TableColumn[]} */
  const sources = !sampled ? [] : [{head: 'from', title: 'source of the times', tight: true, value: (row) => (c.estimated[row] ? 'samples' : 'calls')}, counts('samples', (row) => c.samples[row])];
  const single = sampled ? [] : [times('mean', (row) => c.total[row] / Math.max(1, c.calls[row])), times('max', (row) => c.max[row])];
  const make = () => table([
    {head: 'region', value: name, show: (row) => named(name(row), app.own.has(name(row)) ? css(app.own.get(name(row)) ?? 0) : classes[c.class[row]]?.colour)},
    ...sources,
    counts('calls', (row) => c.calls[row]),
    times('exclusive', (row) => c.exclusive[row], {title: 'without the time of callees'}),
    {head: '%', value: (row) => c.exclusive[row] / whole, show: (row) => ((100 * c.exclusive[row]) / whole).toFixed(1)},
    times('inclusive', (row) => c.inclusive[row]),
    ...single,
  ], c.region.length, {sort: 2 + sources.length, id: 'profile', press: (row) => app.store.set({search: name(row), exact: true, ...(!sampled || c.calls[row] ? {panel: 'histogram'} : {})})});
  return withNames(app, trace, c.region, () => (sampled ? element('div', {}, fromSamples(found), make()) : make()));
}

/** The source of the times of a trace with samples. @param {Table} found of profile or flame */
export function fromSamples(found) {
  const {samples, sources} = found.notes;
  return hint(samples ? `Program's own code: ${count(samples)} samples (${sources.join(', ')}). MPI, I/O, memory, threads, barriers: recorded calls.`
    : 'No samples here: times of recorded calls.');
}

/** @param {App} _app @param {Table} found */
export function files(_app, found) {
  const c = found.columns;
  if (!found.notes.names.length) return hint('No operations on files here.');
  return table([
    {head: 'file', value: (row) => found.notes.names[row]},
    counts('reads', (row) => c.reads[row]),
    sizes('bytes read', (row) => c.bytes_read[row]),
    times('read time', (row) => c.read_ns[row]),
    counts('writes', (row) => c.writes[row]),
    sizes('bytes written', (row) => c.bytes_written[row]),
    times('write time', (row) => c.write_ns[row]),
  ], found.notes.names.length, {id: 'files'});
}

/** @type {Panel} */
export function counters(app, {columns: c}, trace) {
  const place = element('div', {}), of = (/** @type {number} */ row) => app.traces[trace].meta.counters[c.counter[row]];
  if (!c.counter.length) return hint('No values of counters here.');
  const draw = () => fill(place, hint('A click shows a counter below the rows, again hides it.'), table([
    {head: 'counter', value: (row) => of(row).name}, {head: 'unit', value: (row) => of(row).unit, tight: true}, counts('values', (row) => c.count[row]),
    ...Object.entries({low: 'minimum', mean: 'mean', high: 'maximum', sum: 'sum'}).map(([name, head]) => ({
      head, value: (/** @type {number} */ row) => c[name][row], show: (/** @type {number} */ row) => brief(c[name][row]),
    })),
  ], c.counter.length, {id: 'counters', marked: (row) => of(row).name === app.state.curve, press: (row) => {
    app.store.set({curve: of(row).name === app.state.curve ? '' : of(row).name});
    draw();
  }}));
  draw();
  return place;
}

/** A difference with its sign. @param {number} ns */
const signed = (ns) => `${ns > 0 ? '+' : ''}${duration(ns, 3)}`;

/** @param {App} app @param {Table} found */
export function compare(app, found) {
  const c = found.columns, {names} = found.notes, {classes} = app.traces[0].meta, titles = app.traces.map(({meta}) => meta.title);
  const short = titles.map((title) => (title.length > 14 ? `${title.slice(0, 5)}\u2026${title.slice(-8)}` : title)), heads = short[0] === short[1] ? ['first', 'second'] : short;
  /** @param {number} row */
  const more = (row) => c.second_ns[row] - c.first_ns[row];
  const sums = ['first_ns', 'second_ns'].map((name) => c[name].reduce((sum, ns) => sum + ns, 0));
  return element('div', {},
    element('p', {}, `All regions: ${duration(sums[0])} in ${titles[0]}, ${duration(sums[1])} in ${titles[1]}, ${signed(sums[1] - sums[0])}.`),
    table([
      {head: 'region', value: (row) => names[row], show: (row) => named(names[row], classes[c.class[row]]?.colour)},
      {head: 'difference', title: 'difference of the exclusive time, summed over all rows', value: (row) => Math.abs(more(row)), raw: more, unit: 'ns', show: (row) => signed(more(row))},
      ...titles.map((title, trace) => times(heads[trace], (row) => c[trace ? 'second_ns' : 'first_ns'][row], {title: `exclusive time in ${title}`})),
      ...titles.map((title, trace) => counts(`${heads[trace]} calls`, (row) => c[trace ? 'second_calls' : 'first_calls'][row], {title: `calls in ${title}`})),
    ], names.length, {sort: 1, id: 'compare', press: (row) => app.store.set({search: names[row], exact: true, panel: 'histogram'})}));
}
