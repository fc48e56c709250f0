// SPDX-License-Identifier: BSD-3-Clause
// The strip above the chart: the whole run, with classes over time, the waits below, and the window.

import {parsed, waiting} from '../model/colours.js';
import {COLUMNS, overviewOf} from '../model/overview.js';
import {covering, levelOf} from '../model/tiles.js';
import {paperOf} from './chart.js';

/** px of the line of waits, and of the tick of an iteration. */
const WAITS = 6, TICK = 6;
/** With more rows, only the coarsest tiles are summed. */
const MANY = 256;

/** The sums of each trace. Rows outside of the picture have no tiles, so sums of more locations stay. @type {WeakMap<object, KeptSums>} */
const kept = new WeakMap();

/** @param {App} app @param {number} number of the trace @param {Layout} l */
function sumsOf(app, number, l) {
  const {meta, tiles} = app.traces[number], {rows} = l.parts[number];
  /** @param {Row} row */
  const piecesOf = (row) => covering((at, n) => tiles.tile(row.key, at, n), 0, meta.duration, Math.min(meta.top, Math.max(level, row.finest)), meta.top);
  const level = rows.length > MANY ? meta.top : levelOf(meta.duration / COLUMNS, meta.top);
  let covered = 0, levels = 0;
  const pieces = rows.map((row) => {
    const found = piecesOf(row);
    const weight = row.alike ?? 1;
    if (found.length) covered += row.places.length;
    for (const one of found) levels += one.level + 1;
    return {found, weight};
  }).filter(({found}) => found.length);
  const key = `${rows.length} ${rows[0]?.key} ${levels} ${pieces.filter(({weight}) => weight > 1).map(({weight}) => weight)}`, known = kept.get(tiles);
  if (known && (known.key === key || known.covered > covered)) return known.sums;
  const sums = overviewOf(pieces.map(({found}) => found), meta.duration, meta.classes.length, pieces.map(({weight}) => weight));
  kept.set(tiles, {key, covered, sums});
  return sums;
}

/** What a surface shows, since most frames change the window only. @type {WeakMap<object, unknown[]>} */
const painted = new WeakMap();

/** @type {DrawOverview} */
export function drawOverview(app, s, {l, height}) {
  const paper = paperOf(), {begin, end, shift} = app.state, {width} = l, scale = width / app.length;
  const sums = app.traces.map((_, number) => sumsOf(app, number, l)), shown = [paper, width, app.length, window.devicePixelRatio, ...sums, ...app.traces.map(({ticks}) => ticks)];
  const before = painted.get(s);
  if (!before || shown.some((each, at) => each !== before[at])) {
    painted.set(s, shown);
    s.begin(width, height, paper.back);
    const tall = Math.floor(height / app.traces.length);
    app.traces.forEach(({meta, ticks}, number) => {
      const place = {x0: shift[number] * scale, wide: meta.duration * scale, top: number * tall + 1, room: tall - WAITS - 4};
      paint(s, sums[number], place, meta.classes.map((one) => parsed(one.colour)), paper);
      if (ticks) mark(s, ticks.columns, place, scale, paper);
    });
  }
  s.flush();
  const x0 = begin * scale, x1 = end * scale;
  s.veil(0, 0, x0, height, paper.back, 0.6);
  s.veil(x1, 0, width - x1, height, paper.back, 0.6);
  s.frame(x0, 0, Math.max(3, x1 - x0), height, paper.text, 1);
}

/** Ticks at the begins of iterations, with paper around them. @type {Mark} */
function mark(s, {begin, slow}, {x0, top}, scale, paper) {
  for (let at = 0; at < (begin?.length ?? 0); at += 1) {
    const x = Math.floor(x0 + begin[at] * scale);
    s.fill(x - 1, top, 3, TICK + 1, paper.back);
    s.fill(x, top, 1, TICK, slow[at] ? paper.pick : paper.text);
  }
}

/** @type {PaintStrip} */
function paint(s, {classes, waits}, {x0, wide, top, room}, colours, paper) {
  const pale = colours.map((colour) => waiting(colour, paper.back)), step = wide / COLUMNS;
  s.fill(x0, top, wide, room, paper.idle);
  for (let column = 0; column < COLUMNS; column += 1) {
    let sum = 0, waited = 0;
    /** @param {number} share @param {number} colour */
    const stack = (share, colour) => {
      const high = Math.min(room, sum + share * room);
      if (Math.round(high) > Math.round(sum)) s.fill(x0 + column * step, top + room - high, step, high - sum, colour);
      sum = high;
    };
    for (let each = 0; each < classes.length; each += 1) {
      const part = Math.min(waits[each][column], classes[each][column]);
      stack(classes[each][column] - part, colours[each]);
      stack(part, pale[each]);
      waited += part;
    }
    const deep = Math.round(Math.min(1, waited) * WAITS);
    if (deep) s.fill(x0 + column * step, top + room + 1, step, deep, paper.wait);
  }
}
