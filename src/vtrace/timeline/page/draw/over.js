// SPDX-License-Identifier: BSD-3-Clause
// The layer above the picture that changes with the mouse: the selection, the selected call, the mouse's time.

import {duration} from '../model/time.js';
import {drawChosen} from './chosen_layer.js';
import {paneOf, paneParts, paperOf, windowOf} from './chart.js';
import {selectedKey} from '../model/address.js';
import {placesOfKey} from '../model/rows.js';
import {AXIS, STACK_ROW, seen} from './layout.js';

/** @param {App} app @param {CanvasSurface} s @param {Layout} l */
export function drawOver(app, s, l) {
  const paper = paperOf(), {state} = app.store;
  const scale = l.width / (state.end - state.begin);
  /** @param {number} time */
  const x = (time) => Math.max(l.left, Math.min(l.left + l.width, l.left + (time - state.begin) * scale));
  const chosen = state.selection;
  if (chosen) {
    const [x0, x1] = [x(chosen.begin), x(chosen.end)];
    s.veil(l.left, AXIS, x0 - l.left, l.bottom - AXIS, paper.back, 0.45);
    s.veil(x1, AXIS, l.left + l.width - x1, l.bottom - AXIS, paper.back, 0.45);
    for (const [y0, y1] of selectedRows(app, l)) s.frame(x0, y0, Math.max(2, x1 - x0), y1 - y0, paper.pick, 1.5);
    drawLength(s, l, {x0, x1, text: duration(chosen.end - chosen.begin), paper});
  }
  drawChosen(app, s, l, paper);
  if (state.call) drawCall(app, s, l, paper);
  if (state.sample) drawSample(app, s, l, state.sample, paper);
  const {hover} = app;
  if (hover && hover.x >= l.left) {
    s.line(hover.x + 0.5, AXIS, hover.x + 0.5, l.height, paper.faint, 1, 0.6);
  }
}

/** The length of the selection, on the axis above it. @param {Surface} s
 * @param {Layout} l @param {{x0: number, x1: number, text: string, paper: any}} at */
function drawLength(s, l, {x0, x1, text, paper}) {
  const wide = s.widthOf(text), x = Math.max(l.left, Math.min(l.left + l.width - wide - 8, (x0 + x1 - wide) / 2 - 4));
  s.veil(x0, 0, x1 - x0, AXIS - 1, paper.pick, 0.2);
  s.veil(x, 3, wide + 8, 16, paper.back, 0.9);
  s.text(text, x + 4, 15, paper.pick);
}

/** The y and the end of each group of selected neighbours on the screen; of the chart, if all rows are selected.
 * @param {App} app @param {Layout} l */
function selectedRows(app, l) {
  const {selection, scroll} = app.store.state, found = /** @type {number[][]} */ ([]);
  for (const [trace, part] of l.parts.entries()) {
    const of = app.traces[trace].meta.rows, rowOf = app.rowOf(l, trace), key = selectedKey(selection, of);
    const numbers = new Set(key ? placesOfKey(of, key).map((place) => rowOf.get(of.locations[place]) ?? -1) : []);
    for (const number of [...numbers].sort((a, b) => a - b)) {
      const {y, high} = seen(l, scroll, part, number), last = found.at(-1);
      if (last && numbers.has(number - 1) && number !== part.pinned) last[1] = Math.max(last[1], Math.min(l.bottom, y + high));
      else found.push([y, Math.min(l.bottom, y + high)]);
    }
  }
  return found.length ? found.filter(([y0, y1]) => y1 > y0) : [[l.top, l.bottom]];
}

/** @param {App} app @param {CanvasSurface} s @param {Layout} l @param {SampleName} sample @param {any} paper */
function drawSample(app, s, l, sample, paper) {
  const window = windowOf(app, sample.trace), x = l.left + ((sample.time - window.begin) / (window.end - window.begin)) * l.width;
  if (x < l.left || x > l.left + l.width) return;
  const number = app.rowOf(l, sample.trace).get(sample.location), part = l.parts[sample.trace], pane = paneOf(app, l);
  if (number !== undefined && part) {
    const {y, high} = seen(l, app.store.state.scroll, part, number);
    if (high) s.line(x, y, x, Math.min(y + Math.max(3, high), l.bottom), paper.pick, 2);
  }
  const below = pane && paneParts(app, pane);
  if (below?.samples && app.store.state.row === `${sample.trace}:l${sample.location}`) s.line(x, below.sampled.top, x, below.sampled.bottom, paper.pick, 2);
}

/** @param {App} app @param {CanvasSurface} s @param {Layout} l @param {any} paper */
function drawCall(app, s, l, paper) {
  const {call, row, scroll} = app.store.state;
  if (!call) return;
  const window = windowOf(app, call.trace), scale = l.width / (window.end - window.begin);
  const end = app.callEnd ?? call.begin;
  const x0 = Math.max(l.left, l.left + (call.begin - window.begin) * scale);
  const x1 = Math.min(l.left + l.width, l.left + (end - window.begin) * scale);
  if (x1 < l.left || x0 > l.left + l.width) return;
  const number = app.rowOf(l, call.trace).get(call.location);
  const part = l.parts[call.trace];
  if (number !== undefined && part) {
    const {y, high} = seen(l, scroll, part, number);
    if (high) s.frame(x0 - 1, y, Math.max(3, x1 - x0 + 2), Math.max(3, high), paper.pick, 2);
  }
  const pane = paneOf(app, l);
  if (pane && row === `${call.trace}:l${call.location}`) {
    s.frame(x0 - 1, pane.top + call.depth * STACK_ROW - 1, Math.max(3, x1 - x0 + 2), STACK_ROW + 1, paper.pick, 2);
  }
}
