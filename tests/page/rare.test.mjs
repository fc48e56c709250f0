// SPDX-License-Identifier: BSD-3-Clause
// Marks of what is rare: outliers and waits, markers, losses.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {drawMarks} from '../../src/vtrace/timeline/page/draw/links_layer.js';
import {drawRare} from '../../src/vtrace/timeline/page/draw/rows_layer.js';
import {OUTLIER, WAIT, isFirst, ofRow, rareAt} from '../../src/vtrace/timeline/page/model/rare.js';
import {SvgSurface} from '../../src/vtrace/timeline/page/draw/surface.js';

const MARKS = [
  // row, kind, begin, end, size
  [0, OUTLIER, 100, 150, 12], [0, WAIT, 100, 120, 900], [0, OUTLIER, 400, 401, 30], [2, WAIT, 5, 9, 4],
];
const rare = {
  index: new Map([['l7', 0], ['l8', 1], ['l9', 2]]),
  columns: Object.fromEntries(['row', 'kind', 'begin', 'end', 'size'].map((name, at) => [name, MARKS.map((mark) => mark[at])])),
};

test('the marks of a row, and that at a time: outliers first, then the largest', () => {
  assert.deepEqual(['l7', 'l8', 'l9', 'l1'].map((key) => ofRow(rare, key)), [{first: 0, last: 3}, {first: 3, last: 3}, {first: 3, last: 4}, {first: 0, last: 0}]);
  assert.equal(rareAt(rare, 'l7', 110, 0), 0);
  assert.equal(rareAt(rare, 'l7', 300, 0), -1);
  assert.equal(rareAt(rare, 'l7', 395, 5), 2);
  assert.equal(rareAt(rare, 'l9', 2, 3), 3);
  assert.equal(rareAt(rare, 'l8', 5, 1000), -1);
  assert.equal(rareAt(undefined, 'l7', 100, 0), -1);
});

/** The rectangles that are drawn, as x, y, w, h, colour. @param {number} edge px of the edge above a row of 20 px, 0: a thin row */
function drawn(edge, begin, end, every = false, marks = rare) {
  const found = [], row = edge ? {y: 50, h: 20, edge, edgeY: 50 - edge} : {y: 50, h: 1, edge: 0, edgeY: 50};
  drawRare({fill: (...each) => found.push(each)}, {outlier: 1, wait: 2}, marks, 'l7', {...row, left: 10, width: 100, begin, end}, every);
  return found;
}

test('a mark is above its row at any zoom, outliers over waits', () => {
  assert.deepEqual(drawn(3, 0, 1000), [[20, 47, 3, 3, 2], [20, 47, 5, 3, 1], [50, 47, 3, 3, 1]]);
  assert.deepEqual(drawn(2, 110, 160), [[10, 48, 20, 2, 2], [10, 48, 80, 2, 1]]);
  assert.deepEqual(drawn(3, 500, 1000), []);
});

test('thin rows have squares of outliers, unless these would hide the rows; all marks if a person wants them', () => {
  assert.deepEqual(drawn(0, 0, 1000), [[19, 49, 3, 3, 1], [49, 49, 3, 3, 1]]);
  assert.deepEqual(drawn(0, 0, 1000, true), [[19, 49, 3, 3, 2], [19, 49, 3, 3, 1], [49, 49, 3, 3, 1]]);
  const many = {...rare, columns: {...rare.columns, kind: Array.from({length: 201}, () => OUTLIER)}};
  assert.deepEqual(drawn(0, 0, 1000, false, many), []);
});

test('of markers and losses the first on each pixel of a row', () => {
  const lost = [[0, 100, 101], [0, 102, 103], [0, 500, 900], [1, 100, 101]];
  const table = {
    columns: {
      lost_location: lost.map((one) => one[0]), lost_begin: lost.map((one) => one[1]), lost_end: lost.map((one) => one[2]),
      time: [200, 201, 202, 200, 5000], location: [0, 0, 0, -1, 0],
    },
    notes: {severities: ['LOW', 'HIGH', 'MEDIUM', 'HIGH', 'HIGH']},
  };
  const part = {begin: 0, high: 4, pinned: 0, pinTop: 0, pinHigh: 4, rows: [{}, {}]};
  const view = {
    l: {top: 24, band: 0, left: 0, width: 10, bottom: 40, parts: [part]}, scroll: 0, trace: 0, rowOf: new Map([[0, 0], [1, 1]]),
    x: (time) => time / 100, paper: {back: 0xffffff, pick: 0x0000aa, outlier: 0xaa0000, faint: 0},
  };
  const s = new SvgSurface(10, 40, 0xffffff);
  drawMarks(s, view, table);
  const text = s.toString(), rects = [...text.matchAll(/<rect x="(-?[\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill="(#\w+)" opacity="1"/g)];
  const losses = rects.filter((one) => one[4] === '2').map((one) => one.slice(1, 4).map(Number));
  assert.deepEqual(losses, [[1, 24, 1], [5, 24, 4], [1, 28, 1]]);
  const flags = rects.filter((one) => one[4] !== '2').map((one) => [Number(one[1]), Number(one[2]), one[5]]);
  assert.deepEqual(flags, [[-1, 24, '#0000aa'], [-0.99, 24, '#aa0000'], [-1, 24, '#aa0000']]);
  assert.equal(text.match(/<line/g).length, 3);
});

test('the first on a pixel', () => {
  const seen = new Set();
  assert.deepEqual([[0, 5.2, 0], [0, 4.8, 0], [0, 5, 1], [1, 5, 0], [-1, 5, 0]].map((one) => isFirst(seen, ...one)), [true, false, true, true, true]);
});
