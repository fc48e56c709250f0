// SPDX-License-Identifier: BSD-3-Clause
// The pane of the selected row: its call stack over time, and its counters.

import {shown} from '../model/curves.js';
import {needsLight} from '../model/colours.js';
import {hiddenLevels} from '../model/samples.js';
import {STACK_ROW} from './layout.js';
import {callColour} from './rows_layer.js';

export const CURVE = 34;
/** px of a call from which on it has its name. */
const NAMED = 22;

/** @type {OnScreen} */
function onScreen(calls, pane, each) {
  const right = pane.left + pane.width;
  for (let at = 0; at < calls.begin.length; at += 1) {
    const y = pane.top + (calls.depth[at] - (pane.hidden ?? 0)) * STACK_ROW;
    const x0 = Math.max(pane.left, pane.x(calls.begin[at])), x1 = Math.min(right, pane.x(calls.end[at]));
    if (y >= pane.top && y + STACK_ROW <= pane.bottom && x1 >= pane.left && x0 <= right) each(at, x0, x1, y);
  }
}

/** @type {FillStack} */
export function fillStack(s, paint, calls, pane) {
  onScreen(calls, pane, (at, x0, x1, y) => {
    s.fill(x0, y, Math.max(1, x1 - x0 - 0.5), STACK_ROW - 1, callColour(paint, calls.region[at], calls.end[at] - calls.begin[at]));
  });
}

/** The names of calls where they fit; short calls of a region beside one another have one name and their number. @type {LabelStack} */
export function labelStack(s, paint, calls, pane, name) {
  /** @type {Map<number, Run>} the last ones, by their height */
  const last = new Map();
  /** @param {Run} run */
  const label = ({at, x0, x1, y, count}) => {
    if (x1 - x0 < NAMED) return;
    const region = calls.region[at], colour = callColour(paint, region, calls.end[at] - calls.begin[at]);
    const text = count > 1 ? `${name(region)}: ${count.toLocaleString('en')} calls` : name(region);
    s.text(text, x0 + 3, y + 11, needsLight(colour) ? 0xffffff : 0x000000, x1 - x0 - 5);
  };
  onScreen(calls, pane, (at, x0, x1, y) => {
    const run = last.get(y), count = calls.calls?.[at] ?? 1;
    if (run?.thin && calls.calls && x1 - x0 < 2 && x0 - run.x1 < 2 && calls.region[run.at] === calls.region[at]) {
      [run.x1, run.count] = [x1, run.count + count];
    } else {
      if (run) label(run);
      last.set(y, {at, x0, x1, y, count, thin: x1 - x0 < 2});
    }
  });
  for (const run of last.values()) label(run);
}

/** The call of the stack at a place, -1: none. @type {StackCall} */
export function stackCall(calls, time, depth, slack) {
  let best = -1;
  for (let at = 0; at < calls.begin.length; at += 1) {
    if (calls.depth[at] === depth && calls.begin[at] - slack <= time && calls.end[at] + slack >= time) best = at;
  }
  return best;
}

/** The deepest call's depth + 1. @param {Calls} calls */
export function deepest(calls) {
  let found = 0;
  for (let at = 0; at < calls.depth.length; at += 1) found = Math.max(found, calls.depth[at] + 1);
  return found;
}

/** Draws curves of counters below `top`, each with its name, lowest and highest value. @type {DrawCounters} */
export function drawCounters(s, table, pane, paper) {
  const {series, time, value} = table.columns;
  table.notes.series.forEach((/** @type {any} */ one, /** @type {number} */ number) => {
    const y = pane.top + number * CURVE;
    if (y + CURVE > pane.bottom) return;
    let low = Infinity, high = -Infinity;
    for (let at = 0; at < series.length; at += 1) {
      if (series[at] === number && Number.isFinite(value[at])) [low, high] = [Math.min(low, value[at]), Math.max(high, value[at])];
    }
    if (low > high) return;
    const scale = (CURVE - 8) / (high - low || 1);
    const ends = /** @type {number[]} */ ([]); // of the lines of steps
    let [x0, y0] = [NaN, 0];
    for (let at = 0; at < series.length; at += 1) {
      if (series[at] !== number || !Number.isFinite(value[at])) continue;
      const x = Math.max(pane.left, Math.min(pane.left + pane.width, pane.x(time[at])));
      const next = y + CURVE - 4 - (value[at] - low) * scale;
      if (x0 >= 0) ends.push(x0, y0, x, y0, x, y0, x, next);
      [x0, y0] = [x, next];
    }
    s.strokes([...ends, x0, y0, pane.left + pane.width, y0], paper.text, 1, 1);
    s.text(one.name, 6, y + 14, paper.text, pane.left - 12);
    s.text(`${shown(low)} to ${shown(high)} ${one.unit}`, 6, y + 27, paper.faint, pane.left - 12, 10);
  });
}

/** The numbers of outer and of inner levels that are left out. @param {Calls} stacks @param {Span & {top: number, bottom: number}} pane */
export function fittingLevels(stacks, pane) {
  const {outer, inner} = hiddenLevels(stacks, (pane.bottom - pane.top) / STACK_ROW, pane);
  return {hidden: outer, cut: inner};
}
