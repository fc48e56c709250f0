// SPDX-License-Identifier: BSD-3-Clause
// A picture of numbers by two axes: darker cells for more, on a logarithmic scale with a legend. A click on a cell picks the
// rows of its processes; picked processes are marked.

import {picksOf} from '../model/address.js';
import {heat} from '../model/colours.js';
import {placesOf, processName} from '../model/rows.js';
import {element, fill, hint, plot} from './dom.js';

const LEFT = 62, TOP = 34, SIDE = 340, WIDTH = LEFT + SIDE + 8, LEGEND = 46, STEPS = 60, HIGHEST = 24, LABEL = 26;
/** The scale of the colours covers at least this factor: nearly equal numbers look alike. */
const SPAN = 4, PALE = 0.1;

/** The processes of the picked rows. @param {App} app @param {number} trace */
export function pickedProcesses(app, trace) {
  const {rows} = app.traces[trace].meta;
  return new Set(picksOf(app.state, trace).map((key) => rows.processes[rows.locations.indexOf(Number(key.slice(1)))]));
}

/** The columns of an axis of processes, of which neighbours may share one. @param {App} app @param {number} trace
 * @param {number} size number of processes */
export function processAxis(app, trace, size) {
  const {rows} = app.traces[trace].meta, cells = Math.min(size, SIDE);
  const first = (/** @type {number} */ cell) => Math.ceil((cell * size) / cells);
  return {
    cells, cellOf: (/** @type {number} */ process) => Math.floor((process * cells) / size),
    number: (/** @type {number} */ cell) => String(first(cell)),
    members: (/** @type {number} */ cell) => Array.from({length: first(cell + 1) - first(cell)}, (_, n) => first(cell) + n),
    name: (/** @type {number} */ cell) => {
      const more = first(cell + 1) - first(cell) - 1;
      return `${processName(rows, first(cell)) || `process ${first(cell)}`}${more ? ` and ${more} more` : ''}`;
    },
  };
}

/** Picks the rows of processes. @type {PickProcesses} */
export function pickProcesses(app, trace, processes, between) {
  const {rows} = app.traces[trace].meta;
  const picks = [...new Set(processes)].flatMap((process) => placesOf(rows, process).map((at) => `${trace}:l${rows.locations[at]}`));
  app.store.set({picks, between});
}

/** @param {App} app @param {Heat} what */
export function heatmap(app, what) {
  const {down, across, values, text} = what, known = values.filter((each) => !Number.isNaN(each));
  const high = Math.max(0, ...known), low = Math.min(high, ...known);
  const least = Math.min(high / SPAN, ...known.filter((value) => value > 0));
  const wide = SIDE / across, each = Math.min(SIDE / down, Math.max(wide, HIGHEST)), tall = each * down;
  const said = element('p', {className: 'hint', role: 'status'}, 'Point at a cell for its numbers; a click picks the rows.');
  /** @param {number} value */
  const colour = (value) => heat(value > 0 ? PALE + ((1 - PALE) * Math.log(value / least)) / Math.log(high / least) : 0);
  const canvas = plot(WIDTH, TOP + tall + LEGEND, (s, paper) => {
    s.fill(LEFT, TOP, SIDE, tall, paper.idle);
    values.forEach((value, at) => {
      if (!Number.isNaN(value)) s.fill(LEFT + (at % across) * wide, TOP + Math.floor(at / across) * each, gapped(wide), gapped(each), colour(value));
    });
    for (let n = 0; n < STEPS; n += 1) s.fill(LEFT + (n * SIDE) / STEPS, TOP + tall + 16, SIDE / STEPS + 1, 10, colour(least * (high / least) ** (n / (STEPS - 1))));
    s.flush();
    for (let at = 0; at < down; at += Math.ceil(LABEL / 2 / each)) s.text(what.numbers[0](at), LEFT - 28, TOP + (at + 0.5) * each + 4, paper.faint, 24, 10);
    for (let at = 0; (at + 0.5) * wide + LABEL - 4 <= SIDE + 8; at += Math.ceil(LABEL / wide)) s.text(what.numbers[1](at), LEFT + (at + 0.5) * wide - 4, TOP - 5, paper.faint, LABEL, 10);
    s.text(`${what.axes[1]} \u2192`, LEFT + 8, 12, paper.text, 200, 10);
    s.text(`${what.axes[0]} \u2193`, 0, 12, paper.text, LEFT, 10);
    s.text(text(least), LEFT, TOP + tall + 40, paper.text, 120, 10);
    s.text(`${text(high)} (logarithmic)`, LEFT + SIDE - 150, TOP + tall + 40, paper.text, 158, 10);
    for (const row of what.markedRows) s.frame(LEFT, TOP + row * each, SIDE, Math.max(2, each), paper.pick, 1);
    for (const column of what.markedColumns) s.frame(LEFT + column * wide, TOP, Math.max(2, wide), tall, paper.pick, 1);
  }, {id: what.id, role: 'img', 'aria-label': what.label});
  /** @param {(row: number, column: number) => void} then @returns {(event: MouseEvent) => void} */
  const at = (then) => (event) => {
    const column = Math.floor(((event.offsetX * WIDTH) / canvas.clientWidth - LEFT) / wide), row = Math.floor((event.offsetY - TOP) / each);
    if (row >= 0 && column >= 0 && row < down && column < across) then(row, column);
  };
  canvas.onmousemove = at((row, column) => {
    const value = values[row * across + column];
    fill(said, `${what.name(row, column)}: ${Number.isNaN(value) ? 'none' : text(value)}`);
  });
  canvas.onclick = at(what.press);
  return element('div', {}, canvas, said, low < high && hint(`${text(low)} to ${text(high)}`));
}

/** The size of a cell, with a gap to the next one where there is room. @param {number} size */
const gapped = (size) => Math.max(1, size - (size > 6 ? 1 : 0));
