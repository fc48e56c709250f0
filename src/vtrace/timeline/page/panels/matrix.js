// SPDX-License-Identifier: BSD-3-Clause
// The message matrix: a cell for each pair of processes, darker for more bytes; many processes share a cell.

import {paperOf} from '../draw/chart.js';
import {CanvasSurface} from '../draw/surface.js';
import {heat} from '../model/colours.js';
import {bytes, count} from '../model/time.js';
import {processName} from '../model/rows.js';
import {element, fill} from './dom.js';
import {table} from './tables.js';

/** @param {import('../app.js').App} app @param {import('../net/client.js').Table} found @param {number} trace */
export function matrix(app, found, trace) {
  const c = found.columns, size = found.notes.processes, {rows} = app.traces[trace].meta;
  if (!c.sender.length) return element('p', {className: 'hint'}, 'No messages here.');
  const said = element('p', {className: 'hint'}, 'Rows are senders, columns are receivers.');
  const canvas = element('canvas', {className: 'plot'});
  const side = 360, cells = Math.min(size, side), cell = side / cells;
  const sums = new Float64Array(cells * cells), counts = new Float64Array(cells * cells);
  for (let at = 0; at < c.sender.length; at += 1) {
    const place = Math.floor((c.sender[at] * cells) / size) * cells + Math.floor((c.receiver[at] * cells) / size);
    sums[place] += c.bytes[at];
    counts[place] += c.count[at];
  }
  const most = Math.log(1 + sums.reduce((a, b) => Math.max(a, b), 1));
  requestAnimationFrame(() => {
    const paper = paperOf(app, matchMedia('(prefers-color-scheme: dark)').matches), s = new CanvasSurface(canvas);
    canvas.style.width = canvas.style.height = `${side}px`;
    s.begin(side, side, paper.idle);
    sums.forEach((sum, at) => {
      if (counts[at]) s.fill((at % cells) * cell, Math.floor(at / cells) * cell, Math.max(1, cell - (cell > 6 ? 1 : 0)), Math.max(1, cell - (cell > 6 ? 1 : 0)), heat(0.15 + (0.85 * Math.log(1 + sum)) / most));
    });
    s.flush();
  });
  canvas.onmousemove = (/** @type {MouseEvent} */ event) => {
    const x = Math.floor(event.offsetX / cell), y = Math.floor(event.offsetY / cell), at = y * cells + x;
    if (x < cells && y < cells) fill(said, `${name(y)} to ${name(x)}: ${count(counts[at])} messages, ${bytes(sums[at])}`);
  };
  /** @param {number} at */
  const name = (at) => processName(rows, Math.floor((at * size) / cells)) || `process ${at}`;
  return element('div', {id: 'matrix'}, said, canvas, table([
    {head: 'from', value: (row) => c.sender[row], show: (row) => processName(rows, c.sender[row])},
    {head: 'to', value: (row) => c.receiver[row], show: (row) => processName(rows, c.receiver[row])},
    {head: 'messages', value: (row) => c.count[row], show: (row) => count(c.count[row])},
    {head: 'bytes', value: (row) => c.bytes[row], show: (row) => bytes(c.bytes[row])},
  ], c.sender.length, {sort: 3}));
}
