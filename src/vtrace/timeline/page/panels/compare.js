// SPDX-License-Identifier: BSD-3-Clause
// The differences between two traces: regions by the difference of their exclusive time.

import {count, duration} from '../model/time.js';
import {element} from './dom.js';
import {table} from './table.js';
import {named} from './tables.js';

/** A difference with its sign. @param {number} ns */
function signed(ns) {
  return `${ns > 0 ? '+' : ''}${duration(ns, 3)}`;
}

/** @param {import('../app.js').App} app @param {import('../net/wire.js').Table} found */
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
