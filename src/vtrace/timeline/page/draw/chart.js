// SPDX-License-Identifier: BSD-3-Clause
// The whole chart: axis, names, rows, the links between rows, and the pane of the selected row.

import {PAPER, needsLight, parsed, waiting, workColour} from '../model/colours.js';
import {workOf} from '../model/order.js';
import {SQUARE} from '../model/rare.js';
import {placesOfKey} from '../model/rows.js';
import {covering, levelOf} from '../model/tiles.js';
import {ticks, xOf} from '../model/time.js';
import {paneHeights} from '../model/samples.js';
import {Places, label} from './labels.js';
import {AXIS, GAP, STACK_ROW, boxOf, rowEnds, rowHigh, seen, visible} from './layout.js';
import {drawCollectives, drawMarks, drawMessages, fillBands} from './links_layer.js';
import {MOST_SQUARES, callColour, callsPart, drawCalls, drawCurve, drawLeaves, drawRare, drawTile, labelCalls} from './rows_layer.js';
import {drawOffCore} from './processor_layer.js';
import {fitting} from './surface.js';
import {deepest, drawCounters, fillStack, fittingLevels, labelStack} from './stack_layer.js';

/** In rows lower than this, marks of a search are a pixel high; in still lower ones squares, if few. */
const THIN = 12;
const WORK_STEPS = 15;

/** The times of a trace that the window shows. @param {App} app @param {number} trace */
export function windowOf(app, trace) {
  const {begin, end, shift} = app.state;
  return {begin: begin - shift[trace], end: end - shift[trace]};
}

/** The colours of the page itself, as the browser wants them. */
export const paperOf = () => matchMedia('(prefers-color-scheme: dark)').matches ? PAPER.dark : PAPER.light;

/** The paint of each trace, kept from frame to frame. @type {WeakMap<object, {key: string, paper: any, paint: Paint}>} */
const paints = new WeakMap();

/** @type {PaintOf} */
export function paintOf(app, trace, paper) {
  const {state} = app.store, {regions, meta} = app.traces[trace];
  const named = (app.own.size || state.search) && regions.known.size; // names arrive
  const key = `${state.colour} ${regions.classes.length} ${state.colour === 'heat' ? state.end - state.begin : ''} ${[...app.own]} ${named} ${state.exact} ${state.search}`, known = paints.get(meta);
  if (known?.key === key && known.paper === paper) return known.paint;
  const paint = freshPaint(app, trace, paper);
  paints.set(meta, {key, paper, paint});
  return paint;
}

/** @type {FreshPaint} */
function freshPaint(app, trace, paper) {
  const {state} = app.store;
  const regions = app.traces[trace].regions;
  const text = state.search.toLocaleLowerCase(), isWait = state.colour === 'wait', isGrey = isWait || state.colour === 'work';
  const classes = app.traces[trace].meta.classes.map((one) => (isGrey ? paper.other : parsed(one.colour)));
  return {
    classes, waiting: classes.map((/** @type {number} */ colour) => (isWait ? paper.wait : isGrey ? colour : waiting(colour, paper.back))), classOf: regions.classes, waits: regions.waits,
    back: paper.back, idle: paper.idle, washed: paper.other, colour: state.colour, longest: Math.max(2, (state.end - state.begin) / 2),
    memo: new Map(), own: ['class', 'region'].includes(state.colour) ? (region) => app.own.get(app.own.size ? regions.name(region) : '') ?? (regions.colours[region] || undefined) : null,
    found: !state.search ? null : (region) => {
      const name = regions.name(region);
      return state.exact ? name === state.search : name.toLocaleLowerCase().includes(text);
    },
  };
}

/** The paints of rows by steps of their work, made from another one. @type {WeakMap<Paint, Map<number, Paint>>} */
const tinted = new WeakMap();

/** A trace with the paint of a row: with *Colour: work*, the time in which it computes has a colour by its sum, from that of
 * the row that computes least to that of the one that computes most. @param {View} v @param {{places: number[]}} row @returns {View} */
function ofRow(v, {places}) {
  const {of: {sums}, paint} = v;
  if (paint.colour !== 'work' || !sums) return v;
  const step = Math.round((WORK_STEPS * (workOf(sums, places) - sums.work.least)) / (sums.work.most - sums.work.least || 1)), known = tinted.get(paint) ?? new Map();
  tinted.set(paint, known);
  if (!known.has(step)) known.set(step, {...paint, classes: paint.classes.map((colour, n) => (n ? colour : workColour(step / WORK_STEPS, v.paper.back))), memo: new Map()});
  return {...v, paint: known.get(step)};
}

/** @param {View} v @param {string} row trace and key */
const ofKey = (v, row) => ofRow(v, {places: placesOfKey(v.of.meta.rows, row.slice(2))});

/** @param {App} app @param {Surface} s @param {Layout} l */
export function drawChart(app, s, l) {
  const paper = paperOf(), views = l.parts.map((_, trace) => viewOf(app, l, trace, paper));
  for (const pinned of [false, true]) {
    if (pinned && l.band) s.fill(0, l.top, l.left + l.width, l.band, paper.back);
    for (const v of views) {
      if (v.of.collectives && v.state.collectives === 'auto') fillBands(s, v, v.of.collectives, pinned);
      drawRows(s, v, pinned);
    }
  }
  const pane = paneOf(app, l), parts = pane && paneParts(app, l, pane);
  s.fill(0, 0, l.left + l.width, AXIS, paper.back);
  if (l.bottom < l.height) s.fill(0, l.bottom, l.left + l.width, l.height - l.bottom, paper.back);
  for (const {trace, row, calls, place} of parts?.stacks ?? []) fillStack(s, ofKey(views[trace], row).paint, calls, place);
  s.flush();
  drawAbove(s, views, l, paper);
  if (parts) drawPane(s, views, parts);
  drawAxis(app, s, l, paper);
}

/** @type {ViewOf} */
function viewOf(app, l, trace, paper) {
  const window = windowOf(app, trace), {state} = app.store, of = app.traces[trace];
  return {
    app, l, trace, paper, window, state, of, part: l.parts[trace], scroll: state.scroll, rowOf: app.rowOf(l, trace), paint: paintOf(app, trace, paper),
    level: levelOf((window.end - window.begin) / l.width, of.meta.top), x: xOf({...l, ...window}),
  };
}

/** @param {Surface} s @param {View} v @param {boolean} pinned draws the pinned rows, else the others */
function drawRows(s, v, pinned) {
  const {l, of, part, paint, paper, state, window} = v, {curves} = of, isCounter = curves && state.colour === 'counter';
  const numbers = visible(l, state.scroll, part).filter((number) => (number < part.pinned) === pinned);
  const begin = Math.max(window.begin, 0), end = Math.min(window.end, of.meta.duration), x0 = v.x(begin), x1 = v.x(end);
  for (const number of numbers) {
    const row = part.rows[number], mine = ofRow(v, row), whole = rowPlace(v, number), place = curves && !isCounter ? callsPart(whole) : whole;
    if (x1 > x0) s.fill(x0, place.y, x1 - x0, place.h, paint.idle);
    if (!isCounter) {
      drawLeaves(s, mine, row.key, place, begin, end);
      drawTimes(s, mine, row, place, {begin, end});
    }
    if (curves) drawCurve(s, paper, curves, row.key, whole, isCounter || undefined);
  }
  if (state.processor) for (const number of numbers) drawOffCore(s, paper, of.offCore, part.rows[number].key, rowPlace(v, number));
  for (const number of numbers) drawRare(s, paper, of.rare, part.rows[number].key, rowPlace(v, number), state.rare === 'all');
}

/** The place of a row: y and height of its colours, of its edge for marks, and the window. @param {View} v @param {number} number of the row */
function rowPlace({l, state, part, window}, number) {
  const box = boxOf(rowHigh(part, number), state.rare !== 'none'), [y, next] = rowEnds(l, state.scroll, part, number);
  return {...box, y: y + box.y, h: next - y - box.gap - box.edge, edgeY: y + box.edgeY, left: l.left, width: l.width, ...window};
}

/** The calls of a row in a part of the window, where tiles are too coarse. @param {View} v @param {Row} row @param {Span} window */
const callPieces = ({of, level}, row, {begin, end}) => covering((at, n) => (at === level ? of.tiles.callsOf(row.key, at, n) : undefined), begin, end, level, level);

/** The tiles of a row, and its calls where tiles are too coarse. @type {DrawTimes} */
function drawTimes(s, v, row, place, window) {
  const {of, level, paint, x} = v, {top} = of.meta;
  for (const piece of covering((at, n) => of.tiles.tile(row.key, at, n), window.begin, window.end, Math.min(top, Math.max(level, row.finest)), top)) drawTile(s, paint, piece, place);
  if (row.finest <= level || row.location < 0) return;
  for (const piece of callPieces(v, row, window)) {
    const from = Math.max(piece.from, place.begin), to = Math.min(piece.to, place.end);
    s.fill(x(from), place.y, x(to) - x(from), place.h, paint.idle);
    drawLeaves(s, v, row.key, place, from, to);
    drawCalls(s, paint, piece.tile, place, from, to);
  }
}

/** @type {DrawAbove} */
function drawAbove(s, views, l, paper) {
  const places = new Places({left: l.left, top: l.top, right: l.left + l.width, bottom: l.bottom});
  for (const v of views) {
    const {of, state} = v;
    drawLabels(s, v, places);
    if (of.marks) drawMarks(s, v, of.marks);
    if (state.collectives === 'bands' && of.collectives) drawCollectives(s, v, of.collectives, places);
    if (state.messages !== 'none' && of.messages && of.messagesRows === v.part.id) of.crowded = !drawMessages(s, v, of.messages, state.messages, places);
    if (state.search && of.found) drawFound(s, v);
  }
  s.veil(0, l.top, l.left, l.bottom - l.top, paper.back, 1);
  for (const v of views) drawNames(s, v);
  s.veil(0, 0, l.left + l.width, AXIS, paper.back, 1);
  if (l.bottom < l.height) s.veil(0, l.bottom, l.left, l.height - l.bottom, paper.back, 1);
}

/** @param {Surface} s @param {View} v @param {Places} places */
function drawLabels(s, v, places) {
  const {l, of, part, state, level, window} = v;
  if (of.curves && state.colour === 'counter') return;
  for (const number of visible(l, state.scroll, part)) {
    const row = part.rows[number];
    if (rowHigh(part, number) < 14 || row.finest <= level || row.location < 0) continue;
    const whole = rowPlace(v, number);
    if (number >= part.pinned && whole.y + whole.h / 2 < l.top + l.band + 6) continue; // below pinned rows
    const {paint} = ofRow(v, row), ink = (/** @type {number} */ region, /** @type {number} */ ns) => (needsLight(callColour(paint, region, ns)) ? 0xffffff : 0x000000);
    labelCalls(s, callPieces(v, row, window), of.curves ? callsPart(whole) : whole, {name: (region) => of.regions.name(region), ink, places});
  }
}

/** Marks of the calls that a search found, below each row. @param {Surface} s @param {View} v */
function drawFound(s, {l, of: {found, foundAt}, part, state, x, paper}) {
  if (!found || foundAt?.rows !== part.id) return;
  const {marks} = found.columns, {bins, begin, end} = foundAt, right = l.left + l.width;
  for (const row of visible(l, state.scroll, part)) {
    const tall = rowHigh(part, row), high = tall < 4 ? SQUARE : tall < THIN ? 1 : Math.min(4, Math.floor(tall / 6)), y = rowEnds(l, state.scroll, part, row)[1] - high;
    if ((row >= part.pinned && y < l.top + l.band) || (high > tall && found.notes.count > MOST_SQUARES)) continue;
    for (let bin = 0; bin < bins; bin += 1) {
      if (!marks[row * bins + bin]) continue;
      let stop = bin + 1;
      while (stop < bins && marks[row * bins + stop]) stop += 1;
      const [x0, x1] = [bin, stop].map((each) => x(begin + (each * (end - begin)) / bins));
      if (x1 > l.left && x0 < right) s.veil(Math.max(l.left, x0), y, tall < 4 ? SQUARE : Math.max(1, Math.min(x1, right) - Math.max(l.left, x0)), high, paper.pick, 1);
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

/** @param {Surface} s @param {View} v */
function drawNames(s, {app, l, trace, of, part, paper, state: {row, scroll}}) {
  const shown = visible(l, scroll, part), every = Math.max(1, Math.ceil(13 / part.high)), places = new Places({left: 0, top: l.top, right: l.left, bottom: l.bottom});
  const chosen = Number(row[0]) === trace ? app.rowNumber(l, trace, row.slice(2)) : -1;
  /** @param {number} number */
  const write = (number) => {
    const {name} = part.rows[number], x = name.startsWith('  ') ? 18 : 6, room = l.left - 6 - x;
    const least = l.top + (number < part.pinned ? 0 : l.band) + 6;
    const middle = Math.max(least, rowEnds(l, scroll, part, number)[0] + Math.min(rowHigh(part, number), 13 * every) / 2);
    if (places.take(x, middle - 6, room, 12)) s.text(shortName(s, name.trim(), room), x, middle + 4, paper.text);
  };
  if (shown.includes(chosen)) {
    const {y, high} = seen(l, scroll, part, chosen);
    s.veil(0, y, l.left - 2, Math.max(high, 2), paper.pick, 0.12);
    s.veil(0, y, 3, Math.max(high, 2), paper.pick, 1);
    write(chosen);
  }
  for (const number of shown) if ((number < part.pinned || (number - part.pinned) % every === 0) && number !== chosen) write(number);
  if (l.parts.length > 1) {
    const y = rowEnds(l, scroll, part, part.pinned)[0] - 5;
    if (y > l.top + l.band && y < l.bottom) s.text(of.meta.title, 6, y, paper.faint, l.left + l.width - 20, 12);
  }
}

/** @param {App} app @param {Surface} s @param {Layout} l @param {any} paper */
function drawAxis(app, s, l, paper) {
  const {begin, end} = app.state, places = new Places({left: l.left, top: 0, right: l.left + l.width, bottom: AXIS}), xs = xOf({...l, begin, end});
  for (const {time, text} of ticks(begin, end, Math.max(2, Math.floor(l.width / 110)))) {
    const x = xs(time);
    s.line(x, AXIS - 6, x, AXIS, paper.faint);
    s.line(x, AXIS, x, l.bottom, paper.line, 1, 0.35);
    label(s, places, text, {x: x + 3, y: AXIS - 8, colour: paper.text});
  }
  s.line(0, AXIS - 0.5, l.left + l.width, AXIS - 0.5, paper.line);
  if (l.band) s.line(0, AXIS + l.band - 0.5, l.left + l.width, AXIS + l.band - 0.5, paper.faint, 2);
}

/** The pane of the selected row; undefined without one. @param {App} app @param {Layout} l */
export function paneOf(app, l) {
  const {row} = app.state, trace = Number(row[0]);
  if (!row || l.bottom >= l.height) return undefined;
  return {trace, top: l.bottom + GAP, bottom: l.height};
}

/** The contents of the pane: stacks of calls, of one row also stacks of samples and counters, each with its place.
 * @param {App} app @param {Layout} l @param {PlacedPane} pane */
export function paneParts(app, l, {trace, top, bottom}) {
  const of = app.traces[trace], {state} = app.store, rows = app.paneRows, isOne = rows.length < 2;
  const counters = isOne && state.counters && of.counters?.notes.series.length ? of.counters : undefined;
  const sampled = isOne && state.samples && of.sampled?.begin.length && of.sampledOf === state.row ? [{row: state.row, trace, calls: of.sampled, sampled: true}] : [];
  const found = [...rows.flatMap((row) => {
    const number = Number(row[0]), calls = app.traces[number].stacks?.get(row);
    return calls ? [{row, trace: number, calls, sampled: false}] : [];
  }), ...sampled];
  const high = paneHeights(bottom - top, found.map(({calls}) => (calls.depth.length ? deepest(calls) * STACK_ROW + 4 : 0)), 36 * (counters?.notes.series.length ?? 0));
  let y = top;
  const stacks = found.map((each, at) => {
    const window = windowOf(app, each.trace), box = {left: l.left, width: l.width, ...window, top: y, bottom: y += high.stacks[at]};
    const fits = isOne && !each.sampled ? {hidden: 0, cut: 0} : fittingLevels(each.calls, box);
    return {...each, place: {...box, ...fits, x: xOf(box)}};
  });
  const box = {left: l.left, width: l.width, ...windowOf(app, trace), top: top + high.counters, bottom};
  return {trace, stacks, counters, curves: {...box, x: xOf(box)}};
}

/** @param {Surface} s @param {View[]} views @param {ReturnType<typeof paneParts>} parts */
function drawPane(s, views, {trace, stacks, counters, curves}) {
  const {app, l, paper} = views[trace];
  s.line(0, l.bottom + 0.5, l.left + l.width, l.bottom + 0.5, paper.line);
  s.text(app.rowName(l, app.state.row), 6, l.bottom + 13, paper.text, l.left + 200, 12);
  for (const [at, {row, trace: number, calls, sampled, place}] of stacks.entries()) {
    labelStack(s, ofKey(views[number], row).paint, calls, place, (region) => app.traces[number].regions.name(region));
    if (at) s.line(0, place.top - 2.5, l.left + l.width, place.top - 2.5, paper.line);
    if (sampled || at) s.text(sampled ? 'samples' : app.rowName(l, row), 6, place.top + 12, paper.text, l.left - 12);
    const left = [[place.hidden, 'outer'], [place.cut, 'inner']].filter(([levels]) => levels).map((each) => each.join(' '));
    if (left.length && place.bottom - place.top > 24) s.text(`not shown: ${left.join(', ')} levels`, 6, place.top + 25, paper.faint, l.left - 12, 10);
  }
  if (app.traces[trace].cut) s.text('Too many calls for the stack: zoom in', l.left + 6, l.bottom + 30, paper.text);
  if (counters) drawCounters(s, counters, curves, paper);
}
