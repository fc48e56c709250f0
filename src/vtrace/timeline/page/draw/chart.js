// SPDX-License-Identifier: BSD-3-Clause
// The whole chart: axis, names, rows, the links between rows, and the pane of the selected row.

import {PAPER, needsLight, parsed, waiting} from '../model/colours.js';
import {covering, levelOf} from '../model/tiles.js';
import {ticks} from '../model/time.js';
import {paneHeights} from '../model/samples.js';
import {Places, label} from './labels.js';
import {AXIS, GAP, STACK_ROW, boxOf, rowEnds, rowHigh, seen, visible} from './layout.js';
import {drawCollectives, drawMarks, drawMessages, fillBands} from './links_layer.js';
import {callColour, callsPart, drawCalls, drawCurve, drawLeaves, drawRare, drawTile, labelCalls} from './rows_layer.js';
import {drawOffCore} from './processor_layer.js';
import {fitting} from './surface.js';
import {deepest, drawCounters, fillStack, labelStack, samplePane} from './stack_layer.js';

/** @type {any} */
const NONE = {begin: [], end: [], depth: []};

/** The times of a trace that the window shows. @param {App} app @param {number} trace */
export function windowOf(app, trace) {
  const {begin, end, shift} = app.store.state;
  return {begin: begin - (shift[trace] ?? 0), end: end - (shift[trace] ?? 0)};
}

/** The colours of the page itself, as the browser wants them. */
export function paperOf() {
  return matchMedia('(prefers-color-scheme: dark)').matches ? PAPER.dark : PAPER.light;
}

/** The paint of each trace, kept from frame to frame with its colours. @type {WeakMap<object, {key: string, paper: any, paint: Paint}>} */
const paints = new WeakMap();

/** @param {App} app @param {number} trace @param {any} paper @returns {Paint} */
export function paintOf(app, trace, paper) {
  const {state} = app.store, {regions, meta} = app.traces[trace];
  if (state.search) return freshPaint(app, trace, paper); // colours change when names arrive
  const key = `${state.colour} ${regions.classes.length} ${state.colour === 'heat' ? state.end - state.begin : ''} ${[...app.own]} ${app.own.size && regions.known.size}`, known = paints.get(meta);
  if (known?.key === key && known.paper === paper) return known.paint;
  const paint = freshPaint(app, trace, paper);
  paints.set(meta, {key, paper, paint});
  return paint;
}

/** @param {App} app @param {number} trace @param {any} paper @returns {Paint} */
function freshPaint(app, trace, paper) {
  const {state} = app.store;
  const regions = app.traces[trace].regions;
  const text = state.search.toLocaleLowerCase(), isWait = state.colour === 'wait', classes = app.traces[trace].meta.classes.map((one) => (isWait ? paper.other : parsed(one.colour)));
  return {
    classes, waiting: classes.map((/** @type {number} */ colour) => (isWait ? paper.wait : waiting(colour, paper.back))), classOf: regions.classes, waits: regions.waits,
    back: paper.back, idle: paper.idle, washed: paper.other, colour: state.colour, longest: Math.max(2, (state.end - state.begin) / 2),
    memo: new Map(), own: app.own.size && ['class', 'region'].includes(state.colour) ? (region) => app.own.get(regions.name(region)) : null,
    found: !state.search ? null : (region) => {
      const name = regions.name(region);
      return state.exact ? name === state.search : name.toLocaleLowerCase().includes(text);
    },
  };
}

/** @param {App} app @param {Surface} s @param {Layout} l */
export function drawChart(app, s, l) {
  const paper = paperOf(), {state} = app.store;
  for (const pinned of [false, true]) {
    if (pinned && l.band) s.fill(0, l.top, l.left + l.width, l.band, paper.back);
    for (let trace = 0; trace < l.parts.length; trace += 1) {
      const {collectives} = app.traces[trace];
      if (collectives && state.collectives === 'auto') fillBands(s, viewOf(app, l, trace, paper), collectives, pinned);
      drawRows(app, s, l, trace, {paper, pinned});
    }
  }
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

/** @param {App} app @param {Surface} s @param {Layout} l @param {number} trace @param {{paper: any, pinned: boolean}} how pinned: draws
 *   the pinned rows, else the others */
function drawRows(app, s, l, trace, {paper, pinned}) {
  const {state} = app.store, part = l.parts[trace], of = app.traces[trace];
  const window = windowOf(app, trace), paint = paintOf(app, trace, paper);
  const level = levelOf((window.end - window.begin) / l.width, of.meta.top);
  const numbers = visible(l, state.scroll, part).filter((number) => (number < part.pinned) === pinned);
  const {curves} = of, isCounter = curves && state.colour === 'counter';
  /** @param {number} number */
  const placeOf = (number) => rowPlace(app, l, trace, number);
  for (const number of numbers) {
    const row = part.rows[number], place = curves && !isCounter ? callsPart(placeOf(number)) : placeOf(number);
    const end = Math.min(window.end, of.meta.duration), begin = Math.max(window.begin, 0);
    const x0 = l.left + ((begin - window.begin) / (window.end - window.begin)) * l.width;
    const x1 = l.left + ((end - window.begin) / (window.end - window.begin)) * l.width;
    if (x1 > x0) s.fill(x0, place.y, x1 - x0, place.h, paint.idle);
    const leaves = state.samples ? of.leaves : undefined;
    if (!isCounter) {
      drawLeaves(s, paint, leaves, row.key, place, begin, end);
      drawTimes(app, s, paint, trace, row, {place, begin, end, level, leaves});
    }
    if (curves) drawCurve(s, paper, curves, row.key, placeOf(number), isCounter || undefined);
  }
  if (state.processor) for (const number of numbers) drawOffCore(s, paper, of.offCore, part.rows[number].key, placeOf(number));
  for (const number of numbers) drawRare(s, paper, of.rare, part.rows[number].key, placeOf(number), state.rare === 'all');
}

/** The place of a row: y and height of its colours, of its edge for marks, and the window. @param {App} app @param {Layout} l
 * @param {number} trace @param {number} number of the row */
function rowPlace(app, l, trace, number) {
  const {state} = app.store, part = l.parts[trace], box = boxOf(rowHigh(part, number), state.rare !== 'none');
  const [y, next] = rowEnds(l, state.scroll, part, number);
  return {...box, y: y + box.y, h: next - y - box.gap - box.edge, edgeY: y + box.edgeY, left: l.left, width: l.width, ...windowOf(app, trace)};
}

/** @param {App} app @param {Layout} l @param {number} trace @param {any} paper @returns {View} */
function viewOf(app, l, trace, paper) {
  const window = windowOf(app, trace), scale = l.width / (window.end - window.begin);
  return {l, scroll: app.store.state.scroll, trace, rowOf: app.rowOf(l, trace), paper, x: (time) => l.left + (time - window.begin) * scale};
}

/** The tiles of a row, and its calls where tiles are too coarse.
 * @param {App} app @param {Surface} s @param {Paint} paint @param {number} trace
 * @param {Row} row @param {{place: any, begin: number, end: number, level: number, leaves: any}} at */
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
  const {state} = app.store, places = new Places({left: l.left, top: l.top, right: l.left + l.width, bottom: l.bottom});
  for (let trace = 0; trace < l.parts.length; trace += 1) {
    const of = app.traces[trace], view = viewOf(app, l, trace, paper);
    drawLabels(app, s, l, trace, {paper, places});
    if (of.marks) drawMarks(s, view, of.marks);
    if (state.collectives === 'bands' && of.collectives) drawCollectives(s, view, of.collectives, places);
    if (state.messages !== 'none' && of.messages && of.messagesRows === l.parts[trace].id) of.crowded = !drawMessages(s, view, of.messages, state.messages, places);
    if (state.search && of.found) drawFound(app, s, l, trace, paper);
  }
  s.veil(0, l.top, l.left, l.bottom - l.top, paper.back, 1);
  for (let trace = 0; trace < l.parts.length; trace += 1) drawNames(app, s, l, trace, paper);
  s.veil(0, 0, l.left + l.width, AXIS, paper.back, 1);
  if (l.bottom < l.height) s.veil(0, l.bottom, l.left, l.height - l.bottom, paper.back, 1);
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {number} trace @param {{paper: any, places: Places}} on */
function drawLabels(app, s, l, trace, {paper, places}) {
  const {state} = app.store, part = l.parts[trace], of = app.traces[trace], window = windowOf(app, trace);
  if (of.curves && state.colour === 'counter') return;
  const paint = paintOf(app, trace, paper);
  const level = levelOf((window.end - window.begin) / l.width, of.meta.top);
  /** @param {number} region @param {number} ns */
  const ink = (region, ns) => (needsLight(callColour(paint, region, ns)) ? 0xffffff : 0x000000);
  for (const number of visible(l, state.scroll, part)) {
    const row = part.rows[number];
    if (rowHigh(part, number) < 14 || row.finest <= level || row.location < 0) continue;
    const whole = rowPlace(app, l, trace, number);
    if (number >= part.pinned && whole.y + whole.h / 2 < l.top + l.band + 6) continue; // below pinned rows
    const place = of.curves ? callsPart(whole) : whole;
    const pieces = covering((at, n) => (at === level ? of.tiles.callsOf(row.key, at, n) : undefined), window.begin, window.end, level, level);
    labelCalls(s, pieces, place, {name: (region) => of.regions.name(region), ink, places});
  }
}

/** Marks of the calls that a search found, below each row. @param {App} app @param {Surface} s @param {Layout} l
 * @param {number} trace @param {any} paper */
function drawFound(app, s, l, trace, paper) {
  const of = app.traces[trace], part = l.parts[trace], {found, foundAt} = of;
  if (!found || !foundAt || foundAt.rows !== l.parts[trace].id) return;
  const window = windowOf(app, trace), {marks} = found.columns, {bins, begin, end} = foundAt;
  const scale = l.width / (window.end - window.begin), wide = (end - begin) / bins;
  for (const row of visible(l, app.store.state.scroll, part)) {
    const high = Math.max(1, Math.min(4, rowHigh(part, row) / 3)), y = rowEnds(l, app.store.state.scroll, part, row)[0] + rowHigh(part, row) - high;
    if (row >= part.pinned && y < l.top + l.band) continue;
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

/** The name of a row in its room; of a shared row the number of its other rows stays. @param {Surface} s @param {string} name
 * @param {number} room */
function shortName(s, name, room) {
  const tail = / (\+ \d+|and \d+ alike)$/.exec(name)?.[0] ?? '', head = name.slice(0, name.length - tail.length);
  return `${fitting(head, room - s.widthOf(tail), (part) => s.widthOf(part))}${tail}`;
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {number} trace @param {any} paper */
function drawNames(app, s, l, trace, paper) {
  const {state} = app.store, part = l.parts[trace], shown = visible(l, state.scroll, part);
  const every = Math.max(1, Math.ceil(13 / part.high)), places = new Places({left: 0, top: l.top, right: l.left, bottom: l.bottom});
  const chosen = Number(state.row[0]) === trace ? app.rowNumber(l, trace, state.row.slice(2)) : -1;
  /** @param {number} number */
  const write = (number) => {
    const {name} = part.rows[number], x = name.startsWith('  ') ? 18 : 6, room = l.left - 6 - x;
    const least = l.top + (number < part.pinned ? 0 : l.band) + 6;
    const middle = Math.max(least, rowEnds(l, state.scroll, part, number)[0] + Math.min(rowHigh(part, number), 13 * every) / 2);
    if (places.take(x, middle - 6, room, 12)) s.text(shortName(s, name.trim(), room), x, middle + 4, paper.text);
  };
  if (shown.includes(chosen)) {
    const {y, high} = seen(l, state.scroll, part, chosen);
    s.veil(0, y, l.left - 2, Math.max(high, 2), paper.pick, 0.12);
    s.veil(0, y, 3, Math.max(high, 2), paper.pick, 1);
    write(chosen);
  }
  for (const number of shown) if ((number < part.pinned || (number - part.pinned) % every === 0) && number !== chosen) write(number);
  if (l.parts.length > 1) {
    const y = rowEnds(l, state.scroll, part, part.pinned)[0] - 5;
    if (y > l.top + l.band && y < l.bottom) s.text(app.traces[trace].meta.title, 6, y, paper.faint, l.left + l.width - 20, 12);
  }
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {any} paper */
function drawAxis(app, s, l, paper) {
  const {begin, end} = app.store.state, places = new Places({left: l.left, top: 0, right: l.left + l.width, bottom: AXIS});
  for (const {time, text} of ticks(begin, end, Math.max(2, Math.floor(l.width / 110)))) {
    const x = l.left + ((time - begin) / (end - begin)) * l.width;
    s.line(x, AXIS - 6, x, AXIS, paper.faint);
    s.line(x, AXIS, x, l.bottom, paper.line, 1, 0.35);
    label(s, places, text, {x: x + 3, y: AXIS - 8, colour: paper.text});
  }
  s.line(0, AXIS - 0.5, l.left + l.width, AXIS - 0.5, paper.line);
  if (l.band) s.line(0, AXIS + l.band - 0.5, l.left + l.width, AXIS + l.band - 0.5, paper.faint, 2);
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

/** The contents of the pane: calls, stacks of samples and counters, each with its place.
 * @param {App} app @param {PlacedPane} pane */
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

/** @param {App} app @param {Surface} s @param {Layout} l @param {PlacedPane} pane @param {any} paper */
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
