// SPDX-License-Identifier: BSD-3-Clause
// The whole chart: axis, names, rows, the links between rows, and the pane of the selected row.

import {PAPER, needsLight, parsed} from '../model/colours.js';
import {covering, levelOf} from '../model/tiles.js';
import {ticks} from '../model/time.js';
import {paneHeights} from '../model/samples.js';
import {AXIS, GAP, STACK_ROW, rowTop, visible} from './layout.js';
import {drawCollectives, drawMarks, drawMessages} from './links_layer.js';
import {callColour, callsPart, drawCalls, drawCurve, drawLeaves, drawRare, drawTile, labelCalls} from './rows_layer.js';
import {drawOffCore} from './processor_layer.js';
import {deepest, drawCounters, fillStack, labelStack, samplePane} from './stack_layer.js';

/** @type {any} */
const NONE = {begin: [], end: [], depth: []};

/** @typedef {import('./surface.js').Surface} Surface */
/** @typedef {import('../app.js').App} App */
/** @typedef {import('./layout.js').Layout} Layout */

/** The times of a trace that the window shows. @param {App} app @param {number} trace */
export function windowOf(app, trace) {
  const {begin, end, shift} = app.store.state;
  return {begin: begin - (shift[trace] ?? 0), end: end - (shift[trace] ?? 0)};
}

/** @param {App} app @param {boolean} dark */
export function paperOf(app, dark) {
  return dark ? PAPER.dark : PAPER.light;
}

/** The paint of each trace, kept from frame to frame with its colours. @type {WeakMap<object, {key: string, paper: any, paint: import('./rows_layer.js').Paint}>} */
const paints = new WeakMap();

/** @param {App} app @param {number} trace @param {any} paper @returns {import('./rows_layer.js').Paint} */
export function paintOf(app, trace, paper) {
  const {state} = app.store, {regions, meta} = app.traces[trace];
  if (state.search) return freshPaint(app, trace, paper); // colours change when names arrive
  const key = `${state.colour} ${regions.classes.length} ${state.colour === 'heat' ? state.end - state.begin : ''}`, known = paints.get(meta);
  if (known?.key === key && known.paper === paper) return known.paint;
  const paint = freshPaint(app, trace, paper);
  paints.set(meta, {key, paper, paint});
  return paint;
}

/** @param {App} app @param {number} trace @param {any} paper @returns {import('./rows_layer.js').Paint} */
function freshPaint(app, trace, paper) {
  const {state} = app.store;
  const regions = app.traces[trace].regions;
  const text = state.search.toLocaleLowerCase();
  return {
    classes: app.traces[trace].meta.classes.map((/** @type {any} */ one) => parsed(one.colour)), classOf: regions.classes,
    idle: paper.idle, washed: paper.other, colour: state.colour, longest: Math.max(2, (state.end - state.begin) / 2),
    memo: new Map(),
    found: !state.search ? null : (region) => {
      const name = regions.name(region);
      return state.exact ? name === state.search : name.toLocaleLowerCase().includes(text);
    },
  };
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {boolean} dark */
export function drawChart(app, s, l, dark) {
  const paper = paperOf(app, dark);
  for (let trace = 0; trace < l.parts.length; trace += 1) drawRows(app, s, l, trace, paper);
  const pane = paneOf(app, l);
  s.fill(0, 0, l.left + l.width, AXIS, paper.back);
  if (l.bottom < l.height) s.fill(0, l.bottom, l.left + l.width, l.height - l.bottom, paper.back);
  const below = pane && paneParts(app, pane);
  if (pane && below?.calls) fillStack(s, paintOf(app, pane.trace, paper), below.calls, below.stack);
  if (pane && below?.samples) fillStack(s, paintOf(app, pane.trace, paper), below.samples, below.sampled);
  s.flush();
  drawAbove(app, s, l, paper);
  if (pane) drawPane(app, s, l, pane, paper);
  drawAxis(app, s, l, paper);
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {number} trace @param {any} paper */
function drawRows(app, s, l, trace, paper) {
  const {state} = app.store, part = l.parts[trace], of = app.traces[trace];
  const window = windowOf(app, trace), paint = paintOf(app, trace, paper);
  const level = levelOf((window.end - window.begin) / l.width, of.meta.top);
  const {first, last} = visible(l, state.scroll, part);
  const {curves} = of;
  /** @param {number} number */
  const placeOf = (number) => {
    const y = rowTop(l, state.scroll, part, number) + (part.high > 8 ? 1 : 0);
    return {y, h: part.high - (part.high > 8 ? 2 : part.high >= 4 ? 1 : 0), left: l.left, width: l.width, ...window};
  };
  for (let number = first; number < last; number += 1) {
    const row = part.rows[number], place = curves ? callsPart(placeOf(number)) : placeOf(number);
    const end = Math.min(window.end, of.meta.duration), begin = Math.max(window.begin, 0);
    const x0 = l.left + ((begin - window.begin) / (window.end - window.begin)) * l.width;
    const x1 = l.left + ((end - window.begin) / (window.end - window.begin)) * l.width;
    if (x1 > x0) s.fill(x0, place.y, x1 - x0, place.h, paint.idle);
    const leaves = state.samples ? of.leaves : undefined;
    drawLeaves(s, paint, leaves, row.key, place, begin, end);
    drawTimes(app, s, paint, trace, row, {place, begin, end, level, leaves});
    if (curves) drawCurve(s, paper, curves, row.key, placeOf(number));
  }
  if (state.processor) for (let number = first; number < last; number += 1) drawOffCore(s, paper, of.offCore, part.rows[number].key, placeOf(number));
  for (let number = first; number < last; number += 1) drawRare(s, paper, of.rare, part.rows[number].key, placeOf(number));
}

/** The tiles of a row, and its calls where tiles are too coarse.
 * @param {App} app @param {Surface} s @param {import('./rows_layer.js').Paint} paint @param {number} trace
 * @param {import('../model/rows.js').Row} row @param {{place: any, begin: number, end: number, level: number, leaves: any}} at */
function drawTimes(app, s, paint, trace, row, {place, begin, end, level, leaves}) {
  const of = app.traces[trace], coarse = Math.min(of.meta.top, Math.max(level, row.finest));
  for (const piece of covering((at, n) => of.tiles.tile(row.key, at, n), begin, end, coarse, of.meta.top)) drawTile(s, paint, piece, place);
  if (row.finest <= level || row.location < 0) return;
  for (const piece of covering((at, n) => (at === level ? of.tiles.callsOf(row.key, at, n) : undefined), begin, end, level, level)) {
    const from = Math.max(piece.from, place.begin), to = Math.min(piece.to, place.end), scale = place.width / (place.end - place.begin);
    s.fill(place.left + (from - place.begin) * scale, place.y, (to - from) * scale, place.h, paint.idle);
    drawLeaves(s, paint, leaves, row.key, place, from, to);
    drawCalls(s, paint, piece.tile, place, from, to);
  }
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {any} paper */
function drawAbove(app, s, l, paper) {
  const {state} = app.store;
  for (let trace = 0; trace < l.parts.length; trace += 1) {
    const of = app.traces[trace], window = windowOf(app, trace);
    const scale = l.width / (window.end - window.begin);
    const view = {l, scroll: state.scroll, trace, rowOf: app.rowOf(l, trace), paper, x: (/** @type {number} */ time) => l.left + (time - window.begin) * scale};
    drawLabels(app, s, l, trace, paper);
    if (of.marks) drawMarks(s, view, of.marks);
    if (state.collectives && of.collectives) drawCollectives(s, view, of.collectives);
    if (state.messages && of.messages && of.messagesRows === rowKeys(l, trace)) drawMessages(s, view, of.messages);
    if (state.search && of.found) drawFound(app, s, l, trace, paper);
  }
  s.veil(0, l.top, l.left, l.bottom - l.top, paper.back, 1);
  for (let trace = 0; trace < l.parts.length; trace += 1) drawNames(app, s, l, trace, paper);
  s.veil(0, 0, l.left + l.width, AXIS, paper.back, 1);
  if (l.bottom < l.height) s.veil(0, l.bottom, l.left, l.height - l.bottom, paper.back, 1);
}

/** @param {Layout} l @param {number} trace */
export function rowKeys(l, trace) {
  const {rows} = l.parts[trace];
  return `${rows.length} ${rows[0]?.key} ${rows.at(-1)?.key}`;
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {number} trace @param {any} paper */
function drawLabels(app, s, l, trace, paper) {
  const {state} = app.store, part = l.parts[trace], of = app.traces[trace], window = windowOf(app, trace);
  if (part.high < 14) return;
  const paint = paintOf(app, trace, paper);
  const level = levelOf((window.end - window.begin) / l.width, of.meta.top);
  const {first, last} = visible(l, state.scroll, part);
  /** @param {number} region @param {number} ns */
  const ink = (region, ns) => (needsLight(callColour(paint, region, ns)) ? 0xffffff : 0x000000);
  for (let number = first; number < last; number += 1) {
    const row = part.rows[number];
    if (row.finest <= level || row.location < 0) continue;
    const whole = {y: rowTop(l, state.scroll, part, number) + 1, h: part.high - 2, left: l.left, width: l.width, ...window};
    const place = of.curves ? callsPart(whole) : whole;
    const pieces = covering((at, n) => (at === level ? of.tiles.callsOf(row.key, at, n) : undefined), window.begin, window.end, level, level);
    labelCalls(s, pieces, place, (region) => of.regions.name(region), ink);
  }
}

/** Marks of the calls that a search found, below each row. @param {App} app @param {Surface} s @param {Layout} l
 * @param {number} trace @param {any} paper */
function drawFound(app, s, l, trace, paper) {
  const of = app.traces[trace], part = l.parts[trace], {found, foundAt} = of;
  if (!found || !foundAt || foundAt.rows !== rowKeys(l, trace)) return;
  const window = windowOf(app, trace), {marks} = found.columns, {bins, begin, end} = foundAt;
  const scale = l.width / (window.end - window.begin), wide = (end - begin) / bins;
  const high = Math.max(1, Math.min(4, part.high / 3));
  const {first, last} = visible(l, app.store.state.scroll, part);
  for (let row = first; row < last; row += 1) {
    const y = rowTop(l, app.store.state.scroll, part, row) + part.high - high;
    for (let bin = 0; bin < bins; bin += 1) {
      if (!marks[row * bins + bin]) continue;
      let stop = bin + 1;
      while (stop < bins && marks[row * bins + stop]) stop += 1;
      const x0 = l.left + (begin + bin * wide - window.begin) * scale, x1 = l.left + (begin + stop * wide - window.begin) * scale;
      if (x1 > l.left && x0 < l.left + l.width) s.veil(Math.max(l.left, x0), y, Math.max(1, Math.min(x1, l.left + l.width) - Math.max(l.left, x0)), high, paper.pick, 1);
      bin = stop;
    }
  }
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {number} trace @param {any} paper */
function drawNames(app, s, l, trace, paper) {
  const {state} = app.store, part = l.parts[trace];
  const {first, last} = visible(l, state.scroll, part);
  const every = Math.max(1, Math.ceil(13 / part.high));
  for (let number = first; number < last; number += 1) {
    const row = part.rows[number], y = rowTop(l, state.scroll, part, number);
    const chosen = state.row === `${trace}:${row.key}`;
    if (chosen) s.veil(0, y, l.left - 2, Math.max(part.high, 2), paper.pick, 0.25);
    if (number % every && !chosen) continue;
    const middle = y + Math.min(part.high, 13 * every) / 2 + 4;
    if (middle > l.bottom || middle < l.top + 6) continue;
    s.text(row.name, row.name.startsWith('  ') ? 18 : 6, middle, paper.text, l.left - 12);
  }
  if (l.parts.length > 1) {
    const y = rowTop(l, state.scroll, part, 0) - 5;
    if (y > l.top && y < l.bottom) s.text(app.traces[trace].meta.title, 6, y, paper.faint, l.left + l.width - 20, 12);
  }
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {any} paper */
function drawAxis(app, s, l, paper) {
  const {begin, end} = app.store.state;
  for (const {time, text} of ticks(begin, end, Math.max(2, Math.floor(l.width / 110)))) {
    const x = l.left + ((time - begin) / (end - begin)) * l.width;
    s.line(x, AXIS - 6, x, AXIS, paper.faint);
    s.line(x, AXIS, x, l.bottom, paper.line, 1, 0.35);
    s.text(text, x + 3, AXIS - 8, paper.text, 105);
  }
  s.line(0, AXIS - 0.5, l.left + l.width, AXIS - 0.5, paper.line);
}

/** The pane of the selected row; undefined without one. @param {App} app @param {Layout} l */
export function paneOf(app, l) {
  const row = app.store.state.row;
  if (!row || l.bottom >= l.height) return undefined;
  const trace = Number(row[0]), window = windowOf(app, trace);
  const scale = l.width / (window.end - window.begin);
  return {
    trace, top: l.bottom + GAP, bottom: l.height, left: l.left, width: l.width, window,
    x: (/** @type {number} */ time) => l.left + (time - window.begin) * scale,
  };
}

/**
 * The contents of the pane: calls, stacks of samples and counters, each with its place.
 * @param {App} app @param {NonNullable<ReturnType<typeof paneOf>>} pane
 */
export function paneParts(app, pane) {
  const of = app.traces[pane.trace], {state} = app.store;
  const calls = of.stack && of.stackOf === state.row ? of.stack : undefined;
  const counters = state.counters && of.counters?.notes.series.length ? of.counters : undefined;
  const samples = state.samples && of.sampled?.begin.length && of.sampledOf === state.row ? of.sampled : undefined;
  const wanted = [calls, samples].map((each) => (each && each.depth.length ? deepest(each) * STACK_ROW + 4 : 0));
  const high = paneHeights(pane.bottom - pane.top, wanted[0], wanted[1], 36 * (counters?.notes.series.length ?? 0));
  const [below, end] = [high.calls, high.counters].map((px) => pane.top + px);
  return {
    calls, samples, counters, stack: {...pane, bottom: below}, curves: {...pane, top: end},
    sampled: samplePane(samples ?? NONE, {...pane, top: below, bottom: end}),
  };
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {NonNullable<ReturnType<typeof paneOf>>} pane @param {any} paper */
function drawPane(app, s, l, pane, paper) {
  const {calls, samples, counters, stack, sampled, curves} = paneParts(app, pane);
  s.line(0, l.bottom + 0.5, l.left + l.width, l.bottom + 0.5, paper.line);
  s.text(app.rowName(l), 6, l.bottom + 13, paper.text, l.left + 200, 12);
  if (calls) labelStack(s, paintOf(app, pane.trace, paper), calls, stack, (region) => app.traces[pane.trace].regions.name(region));
  if (samples) {
    labelStack(s, paintOf(app, pane.trace, paper), samples, sampled, (region) => app.traces[pane.trace].regions.name(region));
    s.text('samples', 6, sampled.top + 12, paper.text, pane.left - 12);
    const left = [[sampled.hidden, 'outer'], [sampled.cut, 'inner']].filter(([levels]) => levels).map((each) => each.join(' '));
    if (left.length) s.text(`not shown: ${left.join(', ')} levels`, 6, sampled.top + 25, paper.faint, pane.left - 12, 10);
    if (calls?.begin.length) s.line(0, sampled.top - 2.5, l.left + l.width, sampled.top - 2.5, paper.line);
  }
  if (counters) drawCounters(s, counters, curves, paper);
}
