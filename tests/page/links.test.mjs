// SPDX-License-Identifier: BSD-3-Clause
// Links between rows of which some are pinned and others scrolled away.

import assert from 'node:assert/strict';
import test from 'node:test';

import {drawCollectives, drawMarks, drawMessages} from '../../src/vtrace/timeline/page/draw/links_layer.js';

/** Two pinned rows of 20 px, and six others of 20 px, of which the first two are scrolled away and the last two are below. */
const PART = {pinned: 2, pinTop: 0, pinHigh: 20, begin: 0, high: 20, height: 160};
const VIEW = {
  l: {left: 0, width: 100, top: 0, band: 40, bottom: 80, parts: [PART]}, scroll: 40, trace: 0, x: (time) => time, paper: {},
  rowOf: new Map([0, 1, 2, 3, 4, 5, 6, 7].map((row) => [row, row])),
};
const LABELS = {take: () => true};

/** What a function draws: the arguments of each call of a surface. */
function drawn(draw) {
  const found = [];
  const s = new Proxy({}, {get: (_, name) => (...words) => (name === 'widthOf' ? 0 : found.push([name, ...words]))});
  draw(s);
  return found;
}

test('a message between two rows that are hidden at one border is not drawn', () => {
  const ends = [[0, 1], [2, 3], [6, 7], [2, 4], [0, 7]];
  const columns = {send: ends.map(() => 10), receive: ends.map(() => 20), sender: ends.map(([from]) => from), receiver: ends.map(([, to]) => to)};
  const [[, lines]] = drawn((s) => drawMessages(s, VIEW, {columns, notes: {bundled: false}}, 'lines', LABELS));
  assert.deepEqual(lines, [10, 10, 20, 30, 10, 40, 20, 50, 10, 10, 20, 80]);
});

test('a collective operation has a band on pinned rows and one on the others', () => {
  const columns = {part_instance: [0, 0, 0], part_location: [1, 2, 5], begin: [10], end: [20], op: [0]};
  const bands = drawn((s) => drawCollectives(s, VIEW, {columns, notes: {ops: ['BARRIER']}}, LABELS)).filter(([name]) => name === 'veil');
  assert.deepEqual(bands.map(([, x, y, wide, high]) => [x, y, wide, high]), [[10, 40, 10, 40], [10, 20, 10, 20]]);
});

test('a marker of a location without a row is not drawn, one of the run is as high as the chart', () => {
  const columns = {lost_begin: [], time: [10, 20, 30], location: [9, -1, 4]};
  const lines = drawn((s) => drawMarks(s, VIEW, {columns, notes: {severities: []}})).filter(([name]) => name === 'line');
  assert.deepEqual(lines.map(([, x, from, , to]) => [x, from, to]), [[20, 0, 80], [30, 40, 60]]);
});
