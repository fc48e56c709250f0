// SPDX-License-Identifier: BSD-3-Clause
// The iterations of the program's main loop: a strip with a bar for each, the slow ones marked; a slow one beside the
// median one, by class and region.

import {iterationText} from '../model/overview.js';
import {around, count, duration} from '../model/time.js';
import {arrows, button, element, fill, hint, plot} from './dom.js';
import {nameOf} from './details.js';
import {regionName, withNames} from './tables.js';
import {named, table, times} from './table.js';

const HIGH = 90;
/** No process is longest where the mean is at least this part of the longest. */
const EVEN = 0.95;
/** The iteration of each trace that is compared with the median one. @type {number[]} */
const chosen = [];

/** @type {Panel} */
export function iterations(app, found, trace) {
  const {columns: c, notes} = found;
  if (!notes.region) return hint('No call repeats on all processes often enough to be an iteration.');
  const size = c.begin.length, slow = new Set(notes.slow.flatMap((/** @type {number[]} */ [first, last]) => Array.from({length: last - first + 1}, (_, n) => first + n)));
  const slowest = c.time_ns.indexOf(longest(c));
  if (!(chosen[trace] < size)) chosen[trace] = slowest;
  const said = element('p', {className: 'hint', role: 'status'}), beside = element('div', {id: 'beside'});
  /** @param {number} at */
  const about = (at) => `${iterationText(at + notes.first, c.time_ns[at], slow.has(at))}${c.mean_ns[at] < EVEN * c.time_ns[at] ? `, longest on ${nameOf(app, trace, c.location[at])}` : ''}`;
  const strip = plot(0, HIGH, (s, paper) => drawStrip(s, paper, c, slow, notes.median_ns), {className: 'plot strip', tabIndex: 0, role: 'img', 'aria-label': `${count(size)} iterations, ${count(slow.size)} of them slow`});
  /** @param {number} at */
  const go = (at) => {
    chosen[trace] = Math.max(0, Math.min(size - 1, at));
    fill(said, about(chosen[trace]));
    const by = app.state.shift[trace];
    app.show(around(c.begin[chosen[trace]] + by, c.end[chosen[trace]] + by));
    sideBySide(app, trace, found, beside);
  };
  /** @param {MouseEvent} event */
  const place = (event) => Math.max(0, Math.min(size - 1, Math.floor((event.offsetX / strip.clientWidth) * size)));
  strip.onmousemove = (event) => fill(said, about(place(event)));
  strip.onclick = (event) => go(place(event));
  strip.onkeydown = arrows((by) => go(chosen[trace] + by));
  fill(said, about(chosen[trace]));
  sideBySide(app, trace, found, beside);
  const loop = notes.basis === 'calls' ? notes.region : `the loop around ${notes.region}`;
  return element('div', {id: 'iterations'},
    element('p', {}, `${count(size)} iterations of ${loop}, median ${duration(notes.median_ns)}, ${count(slow.size)} slow${notes.drift > 1.1 ? `; the last quarter takes ${Number(notes.drift.toPrecision(3))} times the first` : ''}.`),
    strip, said, element('p', {className: 'ways'}, button('slowest', () => go(slowest)), button('median', () => go(notes.median)),
      ...[...slow].slice(0, 8).map((at) => button(`slow ${at + notes.first}`, () => go(at)))), beside);
}

/** The time of the longest iteration; there may be more of them than a call takes arguments. @param {Record<string, any>} c */
const longest = (c) => c.time_ns.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.max(a, b), 0);

/** @type {DrawStrip} */
function drawStrip(s, paper, c, slow, median) {
  const most = longest(c), size = c.begin.length, wide = s.width / size;
  s.flush();
  for (const marked of [false, true]) { // the slow ones last: many share a pixel
    for (let at = 0; at < size; at += 1) {
      if (slow.has(at) !== marked) continue;
      const high = (HIGH - 2) * (c.time_ns[at] / most);
      s.veil(at * wide, HIGH - high, Math.max(1, wide - (wide > 3 ? 1 : 0)), high, marked ? paper.pick : paper.faint, 1);
    }
  }
  s.veil(0, Math.round(HIGH - (HIGH - 2) * (median / most)), s.width, 1, paper.text, 1);
}

/** Exclusive times of an iteration and of the median one, by class and by region. @type {SideBySide} */
async function sideBySide(app, trace, found, place) {
  const {columns: c, notes} = found, at = chosen[trace];
  const sides = await Promise.all([at, notes.median].map((one, n) => app.client.table('panel', {trace, name: 'profile', rows: '', from: c.begin[one], to: c.end[one]}, `beside ${trace} ${n}`)));
  if (sides.some((side) => !side) || at !== chosen[trace]) return;
  if (sides.some((side) => side?.notes.saved)) return void fill(place, hint('A saved page has no profiles of single iterations: open the trace with vtrace view.'));
  const {classes} = app.traces[trace].meta;
  /** @type {Map<number, number[]>} */
  const regions = new Map(), byClass = new Map();
  sides.forEach((side, n) => side && Array.from(side.columns.region).forEach((region, row) => {
    for (const [sums, key] of /** @type {[Map<number, number[]>, number][]} */ ([[regions, Number(region)], [byClass, side.columns.class[row]]])) {
      const sum = sums.get(key) ?? [0, 0];
      sum[n] += side.columns.exclusive[row];
      sums.set(key, sum);
    }
  }));
  /** @param {string} head @param {Map<number, number[]>} sums @param {(key: number) => Node} show @param {(key: number) => string} name @param {string} id */
  const tableOf = (head, sums, show, name, id) => {
    const keys = [...sums.keys()], of = (/** @type {number} */ row) => sums.get(keys[row]) ?? [0, 0];
    return table([
      {head, value: (row) => name(keys[row]), show: (row) => show(keys[row])},
      times(`iteration ${at + notes.first}`, (row) => of(row)[0]), times(`median (${notes.median + notes.first})`, (row) => of(row)[1]),
      {head: 'more', value: (row) => of(row)[0] - of(row)[1], unit: 'ns', show: (row) => `${of(row)[0] > of(row)[1] ? '+' : ''}${duration(of(row)[0] - of(row)[1], 3)}`},
    ], keys.length, {sort: 3, id});
  };
  fill(place, tableOf('class', byClass, (key) => named(classes[key].name, classes[key].colour), (key) => classes[key].name, 'beside-class'),
    withNames(app, trace, [...regions.keys()], () => tableOf('region', regions, (key) => named(regionName(app, trace, key)), (key) => regionName(app, trace, key), 'beside-region')));
}
