// SPDX-License-Identifier: BSD-3-Clause
// The layer above the picture that changes with the mouse: the selection, the selected call, the mouse's time.

import {duration, xOf} from '../model/time.js';
import {drawChosen, drawDelay} from './chosen_layer.js';
import {paneOf, paneParts, paperOf, windowOf} from './chart.js';
import {selectedKey} from '../model/address.js';
import {placesOfKey} from '../model/rows.js';
import {same} from '../model/store.js';
import {AXIS, STACK_ROW, seen} from './layout.js';

/** @param {App} app @param {CanvasSurface} s @param {Layout} l */
export function drawOver(app, s, l) {
  const paper = paperOf(), {state} = app.store, {hover} = app, right = l.left + l.width;
  const chosen = state.selection;
  if (chosen) {
    const place = xOf({...l, begin: state.begin, end: state.end}), [x0, x1] = [chosen.begin, chosen.end].map((time) => Math.max(l.left, Math.min(right, place(time))));
    s.veil(l.left, AXIS, x0 - l.left, l.bottom - AXIS, paper.back, 0.45);
    s.veil(x1, AXIS, right - x1, l.bottom - AXIS, paper.back, 0.45);
    for (const [y0, y1] of selectedRows(app, l)) s.frame(x0, y0, Math.max(2, x1 - x0), y1 - y0, paper.pick, 1.5);
    drawLength(s, l, {x0, x1, text: duration(chosen.end - chosen.begin), paper});
  }
  drawChosen(app, s, l, paper);
  if (app.delay && same(app.delay.call, state.call)) drawDelay(app, s, l, app.delay, paper);
  if (state.call) drawSelected(app, s, l, {...state.call, time: state.call.begin, end: app.callEnd ?? state.call.begin, paper});
  if (state.sample) drawSelected(app, s, l, {...state.sample, end: state.sample.time, depth: -1, paper});
  if (hover && hover.x >= l.left) s.line(hover.x + 0.5, AXIS, hover.x + 0.5, l.height, paper.faint, 1, 0.6);
}

/** The length of the selection, on the axis above it. @type {DrawLength} */
function drawLength(s, l, {x0, x1, text, paper}) {
  const wide = s.widthOf(text), x = Math.max(l.left, Math.min(l.left + l.width - wide - 8, (x0 + x1 - wide) / 2 - 4));
  s.veil(x0, 0, x1 - x0, AXIS - 1, paper.pick, 0.2);
  s.veil(x, 3, wide + 8, 16, paper.back, 0.9);
  s.text(text, x + 4, 15, paper.pick);
}

/** The y and the end of each group of selected rows on the screen.
 * @param {App} app @param {Layout} l */
function selectedRows(app, l) {
  const {selection, scroll} = app.state, found = /** @type {number[][]} */ ([]);
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

/** A frame around the selected call, a line at the selected sample, in its row and in the pane. @type {DrawSelected} */
function drawSelected(app, s, l, {trace, location, time, end, depth, paper}) {
  const x = xOf({...l, ...windowOf(app, trace)}), x0 = Math.max(l.left, x(time)), x1 = Math.min(l.left + l.width, x(end));
  if (x1 < l.left || x0 > l.left + l.width) return;
  /** @param {number} y @param {number} high */
  const mark = (y, high) => (depth < 0 ? s.line(x0, y, x0, Math.min(y + high, l.height), paper.pick, 2) : s.frame(x0 - 1, y, Math.max(3, x1 - x0 + 2), high, paper.pick, 2));
  const number = app.rowOf(l, trace).get(location), part = l.parts[trace], pane = paneOf(app, l);
  if (number !== undefined && part) {
    const {y, high} = seen(l, app.state.scroll, part, number);
    if (high) mark(y, Math.max(3, high));
  }
  for (const {row, sampled, place} of pane ? paneParts(app, l, pane).stacks : []) {
    if (row !== `${trace}:l${location}` || sampled !== depth < 0) continue;
    const y = place.top + (depth - place.hidden) * STACK_ROW - 1;
    if (sampled) mark(place.top, place.bottom - place.top);
    else if (y >= place.top - 1 && y + STACK_ROW <= place.bottom) mark(y, STACK_ROW + 1);
  }
}
