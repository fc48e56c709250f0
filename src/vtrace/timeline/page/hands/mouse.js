// SPDX-License-Identifier: BSD-3-Clause
// The mouse: wheel scrolls, Ctrl and wheel zooms, drag selects (on the axis: a range of all rows), a click chooses a call,
// a double click zooms in.

import {paneOf, paneParts, windowOf} from '../draw/chart.js';
import {AXIS, STACK_ROW, boxOf, rowAtPoint, rowEnds, rowHigh, seen, visible} from '../draw/layout.js';
import {stackCall} from '../draw/stack_layer.js';
import {keyFor} from '../model/rows.js';
import {moved, zoomed} from '../model/time.js';
import {byId} from '../panels/dom.js';
import {chooseAt, chooseCall, chooseRare, chooseSample, openCluster, rowUnder, togglePick, zoomToChoice} from './walk.js';

const DRAG = 4;

/** @param {App} app */
export function installMouse(app) {
  const chart = byId('chart'), {store} = app;
  /** @type {Press | null} */
  let press = null;
  let dragged = false;
  /** @param {MouseEvent} event */
  const place = (event) => {
    const box = chart.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  chart.addEventListener('wheel', (event) => {
    event.preventDefault();
    wheel(app, event, place(event).x);
  }, {passive: false});
  chart.addEventListener('mousedown', (event) => {
    if (event.button > 1 || event.ctrlKey) return;
    const {x, y} = place(event);
    const {begin, end} = store.state;
    press = {x, y, pan: event.button === 1 || event.shiftKey, begin, end};
    dragged = false;
    chart.focus();
    event.preventDefault();
  });
  window.addEventListener('mousemove', (event) => {
    const at = place(event);
    app.hover = at.x >= 0 && at.y >= 0 && at.x < app.width && at.y < app.height ? at : null;
    app.redrawOver();
    if (!press) return;
    dragged ||= Math.abs(at.x - press.x) > DRAG || Math.abs(at.y - press.y) > DRAG;
    if (!dragged) return;
    app.dragging = true;
    if (press.pan) app.show(moved(press, ((press.x - at.x) / app.layout.width) * (press.end - press.begin)));
    else select(app, press, at);
  });
  window.addEventListener('mouseup', (event) => {
    if (!press) return;
    const at = place(event), pressed = press;
    press = null;
    app.dragging = false;
    if (dragged && !pressed.pan) app.settle();
    else if (!dragged) click(app, at, event.shiftKey);
  });
  chart.addEventListener('dblclick', () => zoomToChoice(app));
}

/** @param {App} app @param {WheelEvent} event @param {number} x */
function wheel(app, event, x) {
  const {state} = app.store, l = app.layout;
  const step = event.deltaMode === 1 ? 30 : 1;
  if (event.ctrlKey || event.metaKey) {
    const at = state.begin + ((Math.max(l.left, x) - l.left) / l.width) * (state.end - state.begin);
    app.show(zoomed(state, Math.exp(event.deltaY * step * 0.002), at));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    app.show(moved(state, ((event.deltaX || event.deltaY) * step * (state.end - state.begin)) / l.width));
  } else {
    app.store.set({scroll: Math.max(0, Math.min(l.most, state.scroll + event.deltaY * step))});
  }
}

/** @param {App} app @param {Point} from @param {Point} to */
function select(app, from, to) {
  const l = app.layout, {state} = app.store;
  const [low, high] = [Math.min(from.x, to.x), Math.max(from.x, to.x)].map((x) => Math.max(0, x - l.left) / l.width);
  const part = from.y < AXIS ? undefined : l.parts[rowAtPoint(l, state.scroll, from.y)?.trace ?? -1];
  const rows = part ? visible(l, state.scroll, part).filter((row) => {
    const {y, high} = seen(l, state.scroll, part, row);
    return high > 0 && y <= Math.max(from.y, to.y) && y + high > Math.min(from.y, to.y);
  }) : [];
  const key = part && rows.length ? keyFor(rows.map((row) => part.rows[row])) : '';
  const wide = state.end - state.begin;
  const begin = Math.floor(state.begin + low * wide);
  app.store.set({selection: {
    begin: Math.max(0, begin), end: Math.max(begin + 1, Math.ceil(state.begin + Math.min(1, high) * wide)),
    first: key, last: key,
  }});
}

/** @param {App} app @param {Point} at @param {boolean} more picks a row */
async function click(app, at, more) {
  const l = app.layout, {state} = app.store, row = rowUnder(app, at);
  if (at.x < l.left) {
    if (more) togglePick(app, row);
    else if (row?.alike) openCluster(app, row);
    else if (row) app.store.set({row: `${row.trace}:${row.key}`});
    return;
  }
  const pane = paneOf(app, l);
  if (pane && at.y >= pane.top) return clickStack(app, at, pane);
  if (!row) return void app.store.set({selection: null, call: null, sample: null});
  const window = windowOf(app, row.trace);
  const time = Math.floor(window.begin + ((at.x - l.left) / l.width) * (window.end - window.begin));
  app.store.set({row: `${row.trace}:${row.key}`, selection: null});
  const part = l.parts[row.trace], number = part.rows.indexOf(row), below = at.y - rowEnds(l, state.scroll, part, number)[0];
  const {edge, y} = boxOf(rowHigh(part, number), state.rare !== 'none');
  if ((!edge || below <= y + 2) && await chooseRare(app, row, time, (2 * (window.end - window.begin)) / l.width)) return;
  if (row.location < 0) return;
  await chooseAt(app, row.trace, row.location, time);
}

/** @param {App} app @param {Point} at @param {PlacedPane} pane */
function clickStack(app, {x, y}, pane) {
  const l = app.layout, found = paneParts(app, l, pane).stacks.find(({place}) => y >= place.top && y < place.bottom);
  if (!found) return;
  const {trace, row, calls, sampled, place} = found, location = Number(row.slice(3)), scale = (place.end - place.begin) / l.width, time = place.begin + (x - l.left) * scale;
  if (sampled) return void chooseSample(app, trace, location, time, 2 * scale);
  const at = stackCall(calls, time, Math.floor((y - place.top) / STACK_ROW) + place.hidden, scale);
  if (at >= 0) chooseCall(app, trace, {location, begin: calls.begin[at], end: calls.end[at], depth: calls.depth[at]});
}
