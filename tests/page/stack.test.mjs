// SPDX-License-Identifier: BSD-3-Clause
// The pane of the selected row.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {CURVE, drawCounters, labelStack} from '../../src/vtrace/timeline/page/draw/stack_layer.js';

/** A surface that keeps its texts and lines. */
function surface() {
  const texts = [], lines = [];
  return {texts, lines, text: (...words) => texts.push(words), strokes: (ends) => lines.push(ends)};
}

const pane = {top: 0, bottom: 100, left: 100, width: 200, x: (time) => 100 + time};
const paint = {classes: [0, 0xffffff], waiting: [0, 0], classOf: [0, 1, 1], waits: [0, 0, 0], back: 0, idle: 0, washed: 0, colour: 'class', longest: 10, memo: new Map(), found: null};

test('short calls beside one another have one name and their number', () => {
  const begin = [0], end = [200], region = [0], depth = [0], calls = [1];
  for (let time = 0; time < 60; time += 1) {
    begin.push(time);
    end.push(time + 0.9);
    region.push(time < 30 ? 1 : 2);
    depth.push(1);
    calls.push(5);
  }
  const s = surface();
  labelStack(s, paint, {begin, end, region, depth, calls}, pane, (number) => `f${number}`);
  assert.deepEqual(s.texts.map(([text, x]) => [text, x]), [['f1: 150 calls', 103], ['f0', 103], ['f2: 150 calls', 133]]);
});

test('values that are no numbers are left out of a curve', () => {
  const s = surface(), columns = {series: [0, 0, 0, 0, 1], time: [0, 10, 20, 30, 0], value: [4, NaN, Infinity, 8, NaN]};
  drawCounters(s, {columns, notes: {series: [{name: 'a', unit: 'B'}, {name: 'b', unit: ''}]}}, pane, {});
  assert.deepEqual(s.lines, [[100, CURVE - 4, 130, CURVE - 4, 130, CURVE - 4, 130, 4, 130, 4, 300, 4]]);
  assert.deepEqual(s.texts.map(([text]) => text), ['a', '4 to 8 B']);
});
