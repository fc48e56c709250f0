// SPDX-License-Identifier: BSD-3-Clause
// A row of the picture: tiles, single calls where tiles are too coarse, functions of samples, marks of rare calls, curves.

import {heat, mixed, shade, waiting} from '../model/colours.js';
import {BINS} from '../model/tiles.js';
import {OUTLIER, SQUARE, ofRow} from '../model/rare.js';
import {runs} from '../model/samples.js';
import {xOf} from '../model/time.js';
import {label} from './labels.js';
import {fitting} from './surface.js';

const STACKED = 6;
/** px of a call from which on it may have its name. */
const NAMED = 24;

/** The colour of a call. @param {Paint} paint @param {number} region @param {number} ns */
export function callColour(paint, region, ns) {
  const known = paint.colour === 'heat' ? undefined : paint.memo.get(region);
  if (known !== undefined) return known;
  const own = paint.classOf[region] ?? 0, base = (paint.waits[region] ? paint.waiting : paint.classes)[own] ?? 0x999999;
  let colour = paint.colour === 'heat' ? heat(Math.log(Math.max(1, ns)) / Math.log(Math.max(2, paint.longest)))
    : paint.own?.(region) ?? (paint.colour === 'region' ? shade(hue(paint, region), region) : paint.colour === 'work' ? base : shade(base, region));
  if (paint.found && !paint.found(region)) colour = mixed(colour, paint.washed, 0.8);
  paint.memo.set(region, colour);
  return colour;
}

const HUES = [0x56b4e9, 0xd55e00, 0x009e73, 0xf0e442, 0xcc79a7, 0x0072b2, 0x999999, 0xe69f00];

/** @param {Paint} paint @param {number} region */
function hue(paint, region) {
  const found = HUES[((region * 2654435761) >>> 8) % HUES.length];
  return paint.waits[region] ? waiting(found, paint.back) : found;
}

/** Draws a part of a tile in a row. @type {DrawTile} */
export function drawTile(s, paint, part, row) {
  const wide = 2 ** part.level, base = part.number * BINS, x = xOf(row);
  const first = Math.max(0, Math.floor(part.from / wide) - base), last = Math.min(BINS, Math.ceil(part.to / wide) - base);
  const place = {
    first, last, wide: wide * (row.width / (row.end - row.begin)), zero: x(base * wide), low: x(part.from), high: x(part.to),
  };
  if (row.h < STACKED && place.wide > 0.6) s.strip({...place, y: row.y, h: row.h, colours: thinColours(paint, part.tile)});
  else thickTile(s, paint, part.tile, place, row);
}

/** The colours of all bins, kept for later frames. @type {WeakMap<Tile, {paint: Paint, colours: Int32Array}>} */
const thin = new WeakMap();

/** @param {Paint} paint @param {Tile} tile */
function thinColours(paint, tile) {
  const known = thin.get(tile);
  if (known?.paint === paint) return known.colours;
  const colours = Int32Array.from({length: BINS}, (_, bin) => thinColour(paint, tile, bin));
  thin.set(tile, {paint, colours});
  return colours;
}

/** The colour of the class with the most time in a bin; -1: no call.
 * @param {Paint} paint @param {Tile} tile @param {number} bin */
function thinColour(paint, tile, bin) {
  const total = tile.total[bin];
  if (!total) return -1;
  const best = tile.best[bin], part = Math.min(7, total >> 5), key = -1 - (((tile.region[bin] * 16 + best) * 8 + part) * 2 + tile.idles[bin]);
  let colour = paint.memo.get(key);
  if (colour === undefined) {
    colour = mixed(paint.idle, classColour(paint, best, tile.region[bin] - 1, tile.idles[bin]), 0.3 + part / 10);
    paint.memo.set(key, colour);
  }
  return colour;
}

/** A class in a shade for its region with the most time. @type {ClassColour} */
function classColour(paint, number, top, waits) {
  if (top >= 0 && paint.classOf[top] === number && paint.waits[top] === waits) return callColour(paint, top, paint.longest ** 0.5);
  const plain = (waits ? paint.waiting : paint.classes)[number];
  return paint.found ? mixed(plain, paint.washed, 0.8) : plain;
}

/** @type {ThickTile} */
function thickTile(s, paint, tile, place, row) {
  const {first, last, wide, zero, low, high} = place;
  const kinds = paint.classes.length, sums = new Float64Array(2 * kinds);
  const {classes, waiting} = tile, waits = new Set(waiting.map(([number]) => number));
  const used = classes.flatMap(([number]) => (waits.has(number) ? [number, kinds + number] : [number]));
  const column = {x: NaN, end: NaN, bins: 0, region: 0, share: -1, sums, used, run: {x: 0, end: 0, colour: -1}};
  for (let bin = first; bin < last; bin += 1) {
    const x0 = Math.max(low, zero + bin * wide);
    if (column.bins && Math.floor(x0) !== Math.floor(column.x)) {
      paintColumn(s, paint, column, row);
      sums.fill(0);
      column.bins = 0;
      column.share = -1;
    }
    if (!column.bins) column.x = x0;
    column.end = Math.min(high, zero + (bin + 1) * wide);
    column.bins += 1;
    for (let each = 0; each < classes.length; each += 1) sums[classes[each][0]] += classes[each][1][bin];
    for (let each = 0; each < waiting.length; each += 1) {
      const share = waiting[each][1][bin];
      sums[waiting[each][0]] -= share;
      sums[kinds + waiting[each][0]] += share;
    }
    if (tile.share[bin] > column.share) {
      column.share = tile.share[bin];
      column.region = tile.region[bin];
    }
  }
  if (column.bins) paintColumn(s, paint, column, row);
  endRun(s, column.run, row);
}

/** Draws neighbouring columns of one colour at once. @type {EndRun} */
function endRun(s, run, row) {
  if (run.colour >= 0) s.fill(run.x, row.y, run.end - run.x, row.h, run.colour);
  run.colour = -1;
}

/** Draws a pixel column or a wide bin: classes stacked by their time, the part that waits above; a thin row has the class with the most time. @type {PaintColumn} */
function paintColumn(s, paint, column, row) {
  const x = Math.floor(column.x), width = Math.max(1, Math.ceil(column.end) - x);
  const whole = 255 * column.bins, kinds = paint.classes.length;
  const top = column.region - 1;
  let total = 0, best = -1;
  for (const c of column.used) {
    total += column.sums[c];
    if (column.sums[c] > 0 && (best < 0 || column.sums[c] > column.sums[best])) best = c;
  }
  const {run} = column;
  if (best < 0) return endRun(s, run, row);
  /** @param {number} c */
  const colour = (c) => classColour(paint, c % kinds, top, c < kinds ? 0 : 1);
  const one = row.h < STACKED ? mixed(paint.idle, colour(best), Math.min(1, 0.25 + (0.75 * total) / whole))
    : column.sums[best] === total && Math.round((total * row.h) / whole) >= row.h ? colour(best) : -1;
  if (one !== run.colour || x > run.end) {
    endRun(s, run, row);
    [run.x, run.colour] = [x, one];
  }
  run.end = x + width;
  if (one >= 0) return undefined;
  let y = row.y + row.h;
  const scale = row.h / Math.max(whole, total);
  let left = row.h;
  for (const c of column.used) {
    if (!column.sums[c] || left <= 0) continue;
    const high = Math.min(left, Math.max(1, Math.round(column.sums[c] * scale)));
    y -= high;
    left -= high;
    s.fill(x, y, width, high, colour(c));
  }
}

/** Draws the calls of a row above the tiles, outer calls first. @type {DrawCalls} */
export function drawCalls(s, paint, calls, row, from, to) {
  const x = xOf(row), low = x(Math.max(from, row.begin)), high = x(Math.min(to, row.end));
  for (let at = 0; at < calls.begin.length; at += 1) {
    if (calls.end[at] < from || calls.begin[at] >= to) continue;
    const x0 = Math.max(low, x(calls.begin[at])), x1 = Math.min(high, x(calls.end[at]));
    s.fill(x0, row.y, x1 - x0, row.h, callColour(paint, calls.region[at], calls.end[at] - calls.begin[at]));
  }
}

/** Writes the names of a row's calls where these first are the innermost. @type {LabelCalls} */
export function labelCalls(s, pieces, row, {name, ink, places}) {
  const x = xOf(row);
  /** @type {(Span & {region: number}) | null} */
  let last = null;
  /** @param {number} next */
  const write = (next) => {
    if (!last) return;
    const x0 = Math.max(row.left, x(last.begin)), x1 = Math.min(row.left + row.width, x(Math.min(next, last.end)));
    if (x1 - x0 < NAMED) return;
    const y = row.y + row.h / 2 + 4, text = fitting(name(last.region), x1 - x0 - 6, (part) => s.widthOf(part));
    if (text) label(s, places, text, {x: x0 + 3, y, colour: ink(last.region, last.end - last.begin)});
  };
  pieces.forEach(({tile, from}, piece) => {
    for (let at = 0; at < tile.begin.length; at += 1) {
      if (piece && tile.begin[at] < from) continue; // an earlier piece has it
      write(tile.begin[at]);
      last = {begin: tile.begin[at], end: tile.end[at], region: tile.region[at]};
    }
  });
  write(Infinity);
}

/** Rows higher than this have room for a curve, px. */
export const ROOM = 14;

/** The part of a row for its calls; the rest is for the curve. @template {{y: number, h: number}} T @param {T} row @returns {T} */
export const callsPart = (row) => row.h < ROOM ? row : {...row, h: Math.floor(row.h * 0.5)};

/** A counter as a curve, in thin rows as colour. @type {DrawCurve} */
export function drawCurve(s, paper, curves, key, row, thin = row.h < ROOM) {
  const number = curves.index.get(key), {least, most} = curves.scale;
  if (number === undefined || !(least <= most)) return;
  const {low, mean, high, bins, begin, end} = curves, x = xOf(row), wide = (end - begin) / bins;
  const top = thin ? row.y : row.y + callsPart(row).h + 1, tall = thin ? row.h : row.y + row.h - top;
  const unit = (tall - 1) / (most - least || 1), area = mixed(paper.back, paper.text, 0.3);
  /** @param {number} value */
  const y = (value) => top + tall - 1 - (value - least) * unit;
  if (!thin) s.fill(row.left, top, row.width, tall, paper.back);
  for (let bin = 0; bin < bins; bin += 1) {
    const at = number * bins + bin, x0 = Math.max(row.left, x(begin + bin * wide)), x1 = Math.min(row.left + row.width, x(begin + (bin + 1) * wide));
    if (Number.isNaN(mean[at]) || x1 <= x0) continue;
    if (thin) {
      s.fill(x0, top, x1 - x0, tall, heat((mean[at] - least) / (most - least || 1)));
      continue;
    }
    s.fill(x0, y(high[at]), x1 - x0, Math.max(1, y(low[at]) - y(high[at])), area);
    s.fill(x0, y(mean[at]), x1 - x0, 1, paper.text);
  }
}

/** With more outliers than this, squares would hide thin rows. */
export const MOST_SQUARES = 200;

/** Marks of outliers and waits above the colours; in thin rows squares, of outliers only. @type {DrawRare} */
export function drawRare(s, paper, rare, key, row, every = false) {
  if (!rare || (!row.edge && !every && !hasSquares(rare))) return;
  const {first, last} = ofRow(rare, key), {kind, begin, end} = rare.columns;
  const x = xOf(row), right = row.left + row.width;
  for (const pass of row.edge || every ? [1, 0] : [0]) {
    for (let at = first; at < last; at += 1) {
      if (kind[at] !== pass) continue;
      const x0 = Math.max(row.left, x(begin[at])), x1 = Math.min(right, x(end[at]));
      if (x1 < row.left || x0 >= right) continue;
      const colour = pass === OUTLIER ? paper.outlier : paper.wait;
      if (row.edge) s.fill(x0, row.edgeY, Math.max(SQUARE, x1 - x0), row.edge, colour);
      else s.fill(Math.max(row.left, x0 - 1), row.y + (row.h - SQUARE) / 2, SQUARE, SQUARE, colour);
    }
  }
}

/** The outliers of all rows. @type {WeakMap<object, number>} */
const counted = new WeakMap();

/** True if thin rows have the squares of outliers. @param {Rare} rare */
export function hasSquares(rare) {
  let found = counted.get(rare);
  if (found === undefined) counted.set(rare, found = Array.prototype.filter.call(rare.columns.kind, (kind) => kind === OUTLIER).length);
  return found <= MOST_SQUARES;
}

/** Draws a thin mark for each function of samples. @type {DrawLeaves} */
export function drawLeaves(s, {of: {leaves}, state, paint, x}, key, row, from, to) {
  if (!leaves || !state.samples) return;
  const thin = row.h >= 6 ? Math.ceil(row.h * 0.4) : row.h;
  const y = row.y + Math.floor((row.h - thin) / 2);
  for (const run of runs(leaves, key)) {
    const begin = Math.max(run.begin, from, row.begin), end = Math.min(run.end, to, row.end);
    if (end > begin) s.fill(x(begin), y, x(end) - x(begin), thin, callColour(paint, run.region, run.end - run.begin));
  }
}
