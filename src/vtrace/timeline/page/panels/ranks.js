// SPDX-License-Identifier: BSD-3-Clause
// Time by class of each process: bars, and one class on the program's grid (MPI_Cart_create).

import {heat, parsed} from '../model/colours.js';
import {duration} from '../model/time.js';
import {processName} from '../model/rows.js';
import {choice} from './bar.js';
import {pickProcesses} from './heatmap.js';
import {element, fill, hint, plot} from './dom.js';
import {table, times} from './table.js';

let chosenClass = 1;

/** @type {Panel} */
export function ranks(app, found, trace) {
  const c = found.columns, {processes, classes, grid} = found.notes, {meta} = app.traces[trace];
  const used = Array.from({length: classes}, (_, n) => n).filter((n) => Array.from({length: processes}, (_, p) => c.ns[p * classes + n]).some((ns) => ns > 0));
  const known = Array.from({length: processes}, (_, p) => p).filter((p) => c.threads[p] > 0);
  const place = element('div', {});
  const draw = () => fill(place, bars(app, found, known), grid && gridOf(app, found, trace), table([
    {head: 'process', value: (row) => processName(meta.rows, known[row])},
    ...used.map((n) => times(meta.classes[n].name, (row) => c.ns[known[row] * classes + n])),
  ], known.length, {id: 'ranks-table', press: (row) => pickProcesses(app, trace, [known[row]], false)}));
  if (used.length && !used.includes(chosenClass)) [chosenClass] = used;
  draw();
  return element('div', {id: 'ranks'}, choice('ranks-class', 'Class', used.map((n) => [String(n), meta.classes[n].name]), String(chosenClass), (value) => {
    chosenClass = Number(value);
    draw();
  }), place);
}

const TALL = 300;

/** Bars of all classes by process; many processes share lines, with their mean.
 * @param {App} app @param {any} found @param {number[]} known */
function bars(app, found, known) {
  const {classes} = found.notes, {ns} = found.columns, width = 420, each = Math.ceil(known.length / TALL);
  const lines = Array.from({length: Math.ceil(known.length / each)}, (_, line) => known.slice(line * each, (line + 1) * each));
  const high = Math.max(1, Math.min(12, TALL / Math.max(1, lines.length))), height = Math.ceil(high * lines.length);
  const times = lines.map((line) => Array.from({length: classes}, (_, n) => line.reduce((sum, p) => sum + ns[p * classes + n], 0) / line.length));
  const most = Math.max(1, ...times.map((line) => line.reduce((a, b) => a + b, 0)));
  return plot(width, height, (s, paper) => {
    s.fill(0, 0, width, height, paper.idle);
    times.forEach((line, row) => {
      let x = 0;
      line.forEach((time, n) => {
        const wide = (time / most) * width;
        if (wide > 0) s.fill(x, row * high, wide, Math.max(1, high - (high > 4 ? 1 : 0)), parsed(app.traces[0].meta.classes[n].colour));
        x += wide;
      });
    });
    s.flush();
  }, {role: 'img', 'aria-label': 'Time by class of each process; the table has the numbers'});
}

/** The chosen class on the largest grid; a grid of three dimensions as planes side by side.
 * @param {App} app @param {any} found @param {number} trace */
function gridOf(app, found, trace) {
  const {process, x, y, z, ns} = found.columns, {classes, grid} = found.notes, {meta} = app.traces[trace];
  const [a, b, d] = [grid.lengths[0] || 1, grid.lengths[1] || 1, grid.lengths[2] || 1];
  const cell = Math.max(2, Math.min(28, 400 / Math.max(a, b * d + d)));
  const width = Math.ceil(d * (b * cell + 6)), height = Math.ceil(a * cell);
  const said = hint();
  const title = `${grid.name || 'grid'}: ${grid.lengths.join(' \u00d7 ')} processes, time in ${meta.classes[chosenClass].name}`;
  fill(said, title);
  const times = Array.from(process, (p) => (Number(p) >= 0 ? ns[Number(p) * classes + chosenClass] : 0));
  const low = Math.min(...times), high = Math.max(...times);
  /** @param {number} at */
  const corner = (at) => [Math.max(0, z[at]) * (b * cell + 6) + Math.max(0, y[at]) * cell, Math.max(0, x[at]) * cell];
  const canvas = plot(width, height, (s) => {
    times.forEach((time, at) => s.fill(corner(at)[0], corner(at)[1], cell - 1, cell - 1, heat(high > low ? (time - low) / (high - low) : 0.5)));
    s.flush();
  }, {id: 'grid'});
  canvas.onmousemove = (event) => {
    const at = times.findIndex((_, n) => event.offsetX >= corner(n)[0] && event.offsetX < corner(n)[0] + cell && event.offsetY >= corner(n)[1] && event.offsetY < corner(n)[1] + cell);
    if (at >= 0) fill(said, `${processName(meta.rows, process[at])} at (${[x[at], y[at], z[at]].slice(0, grid.lengths.length).join(', ')}): ${duration(times[at])}`);
  };
  return element('div', {}, said, canvas, hint(`${duration(low)} to ${duration(high)}`));
}
