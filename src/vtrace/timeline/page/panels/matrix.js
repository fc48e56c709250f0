// SPDX-License-Identifier: BSD-3-Clause
// The message matrix: a cell for each pair of processes, darker for more; many processes share a cell. A click picks the two
// rows, and shows only their messages; picked rows are marked at the axes.

import {paperOf} from '../draw/chart.js';
import {CanvasSurface} from '../draw/surface.js';
import {heat} from '../model/colours.js';
import {bytes, count, duration} from '../model/time.js';
import {placesOf, processName} from '../model/rows.js';
import {choice} from './bar.js';
import {element, fill} from './dom.js';
import {counts, sizes, table, times} from './table.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {{columns: Record<string, any>, notes: any}} Found */

const LEFT = 42, TOP = 34, SIDE = 340, LEGEND = 46, STEPS = 60;
/** Name -> text, value of a pair from its sums, the value as text. @type {Record<string, [string, (count: number, bytes: number, ns: number) => number, (value: number) => string]>} */
const METRICS = {
  bytes: ['bytes', (_, size) => size, bytes], count: ['count', (n) => n, (n) => `${count(n)} messages`],
  time: ['time from send to receive', (_, __, ns) => ns, duration],
  rate: ['rate', (_, size, ns) => (ns > 0 ? (1e9 * size) / ns : 0), (rate) => `${bytes(Math.round(rate))}/s`],
};
let metric = 'bytes';

/** @param {App} app @param {import('../net/client.js').Table} found @param {number} trace */
export function matrix(app, found, trace) {
  const c = found.columns, {rows} = app.traces[trace].meta, {picks, between} = app.store.state;
  if (!c.sender.length) return element('p', {className: 'hint'}, 'No messages here.');
  const picked = new Set(picks.filter((pick) => Number(pick[0]) === trace).map((pick) => rows.processes[rows.locations.indexOf(Number(pick.slice(3)))]));
  const shown = Array.from(c.sender, (_, row) => row).filter((row) => !between || (picked.has(c.sender[row]) && picked.has(c.receiver[row])));
  const place = element('div', {});
  const draw = () => fill(place, plot(app, found, trace, picked));
  draw();
  const [, value, text] = METRICS.rate;
  const rate = (/** @type {number} */ row) => value(c.count[shown[row]], c.bytes[shown[row]], c.ns[shown[row]]);
  return element('div', {id: 'matrix'}, choice('matrix-metric', 'Show', Object.entries(METRICS).map(([name, [words]]) => [name, words]), metric, (chosen) => {
    metric = chosen;
    draw();
  }), place, between && element('p', {className: 'hint'}, 'Only messages between the picked rows; Escape shows all.'), table([
    {head: 'from', value: (row) => processName(rows, c.sender[shown[row]])},
    {head: 'to', value: (row) => processName(rows, c.receiver[shown[row]])},
    counts('messages', (row) => c.count[shown[row]]), sizes('bytes', (row) => c.bytes[shown[row]]),
    ...(found.notes.timed ? [times('time', (row) => c.ns[shown[row]], {title: 'from send to receive, summed; empty: an end is not on the page', show: (row) => (c.ns[shown[row]] ? duration(c.ns[shown[row]]) : '')}), {head: 'rate', unit: 'bytes/s', value: rate, show: (/** @type {number} */ row) => (rate(row) ? text(rate(row)) : '')}] : []),
  ], shown.length, {sort: 3, id: 'pairs', press: (row) => pickPair(app, trace, [c.sender[shown[row]], c.receiver[shown[row]]])}));
}

/** Picks the rows of processes. @param {App} app @param {number} trace @param {number[]} processes */
function pickPair(app, trace, processes) {
  const {rows} = app.traces[trace].meta;
  const picks = [...new Set(processes)].flatMap((process) => placesOf(rows, process).map((at) => `${trace}:l${rows.locations[at]}`));
  app.store.set({picks, between: true});
}

/** The sums of cells; neighbours share a cell where there are more processes than pixels. @param {Found} found */
function cellsOf({columns: c, notes: {processes: size}}) {
  const cells = Math.min(size, SIDE), sums = Array.from({length: 3}, () => new Float64Array(cells * cells));
  for (let at = 0; at < c.sender.length; at += 1) {
    const place = Math.floor((c.sender[at] * cells) / size) * cells + Math.floor((c.receiver[at] * cells) / size);
    [c.count[at], c.bytes[at], c.ns[at]].forEach((value, n) => { sums[n][place] += value; });
  }
  const [, value] = METRICS[metric], values = Array.from(sums[0], (n, at) => (n ? value(n, sums[1][at], sums[2][at]) : NaN));
  const known = values.filter((each) => !Number.isNaN(each));
  return {cells, cell: SIDE / cells, values, low: Math.min(...known), high: Math.max(...known)};
}

/** @param {App} app @param {Found} found @param {number} trace @param {Set<number>} picked */
function plot(app, found, trace, picked) {
  const {rows} = app.traces[trace].meta, size = found.notes.processes, {cells, cell, values, low, high} = cellsOf(found);
  const text = METRICS[metric][2], width = LEFT + SIDE + 8, tall = TOP + SIDE + LEGEND;
  const said = element('p', {className: 'hint', role: 'status'}, 'Point at a cell for its numbers; a click picks both rows.');
  const canvas = element('canvas', {className: 'plot', id: 'matrix-plot', role: 'img', 'aria-label': `Messages between ${size} processes: ${METRICS[metric][0]}; the table below has the numbers`});
  /** @param {number} value */
  const colour = (value) => heat(0.15 + (0.85 * Math.log(1 + value)) / (Math.log(1 + high) || 1));
  requestAnimationFrame(() => {
    const paper = paperOf(app, matchMedia('(prefers-color-scheme: dark)').matches), s = new CanvasSurface(canvas);
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${tall}px`];
    s.begin(width, tall, paper.back);
    s.fill(LEFT, TOP, SIDE, SIDE, paper.idle);
    const wide = Math.max(1, cell - (cell > 6 ? 1 : 0));
    values.forEach((value, at) => {
      if (!Number.isNaN(value)) s.fill(LEFT + (at % cells) * cell, TOP + Math.floor(at / cells) * cell, wide, wide, colour(value));
    });
    for (let n = 0; n < STEPS; n += 1) s.fill(LEFT + (n * SIDE) / STEPS, TOP + SIDE + 16, SIDE / STEPS + 1, 10, colour(Math.expm1((Math.log(1 + high) * n) / (STEPS - 1))));
    s.flush();
    for (let each = 0, every = Math.max(1, Math.ceil((size * 26) / SIDE)); each < size; each += every) {
      s.text(String(each), LEFT - 24, TOP + ((each + 0.5) * SIDE) / size + 4, paper.faint, 24, 10);
      s.text(String(each), LEFT + ((each + 0.5) * SIDE) / size - 4, TOP - 5, paper.faint, 26, 10);
    }
    s.text('to rank \u2192', LEFT, 12, paper.text, 100, 11);
    s.text('from', 2, 12, paper.text, 40, 11);
    s.text('rank \u2193', 2, 25, paper.text, 40, 11);
    s.text('0', LEFT, TOP + SIDE + 40, paper.text, 60, 10);
    s.text(`${text(high)} (logarithmic)`, LEFT + SIDE - 140, TOP + SIDE + 40, paper.text, 140, 10);
    for (const process of picked) {
      const at = Math.floor((process * cells) / size) * cell, high = Math.max(2, cell);
      s.frame(LEFT, TOP + at, SIDE, high, paper.pick, 1);
      s.frame(LEFT + at, TOP, high, SIDE, paper.pick, 1);
    }
  });
  /** @param {MouseEvent} event @returns {[number, number] | null} processes */
  const pair = (event) => {
    const x = Math.floor((event.offsetX - LEFT) / cell), y = Math.floor((event.offsetY - TOP) / cell);
    return x >= 0 && y >= 0 && x < cells && y < cells ? [Math.floor((y * size) / cells), Math.floor((x * size) / cells)] : null;
  };
  canvas.onmousemove = (/** @type {MouseEvent} */ event) => {
    const both = pair(event), value = both ? values[Math.floor((both[0] * cells) / size) * cells + Math.floor((both[1] * cells) / size)] : NaN;
    if (both) fill(said, `${both.map((each) => processName(rows, each) || `process ${each}`).join(' to ')}: ${Number.isNaN(value) ? 'no messages' : text(value)}`);
  };
  canvas.onclick = (/** @type {MouseEvent} */ event) => {
    const both = pair(event);
    if (both) pickPair(app, trace, both);
  };
  return element('div', {}, canvas, said, low < high && element('p', {className: 'hint'}, `${text(low)} to ${text(high)}`));
}
