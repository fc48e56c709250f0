// SPDX-License-Identifier: BSD-3-Clause
// Counters below rows.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {drawCurve} from '../../src/vtrace/timeline/page/draw/rows_layer.js';
import {scaleOf, short, shown, valueAt, valueText} from '../../src/vtrace/timeline/page/model/curves.js';

const low = [NaN, 2, 4, 8], mean = [NaN, 3, 4, 9], high = [NaN, 4, 4, 12];
const curves = {index: new Map([['l0', 0], ['l5', 1]]), low, mean, high, bins: 2, begin: 100, end: 300, name: 'faults', unit: '#', scale: scaleOf(low, high)};

test('the value at a time, and the scale of all rows', () => {
  assert.deepEqual(curves.scale, {least: 2, most: 12});
  assert.equal(valueAt(curves, 'l0', 150), undefined);
  assert.deepEqual(valueAt(curves, 'l0', 200), {low: 2, mean: 3, high: 4});
  assert.deepEqual(valueAt(curves, 'l5', 100), {low: 4, mean: 4, high: 4});
  assert.equal(valueAt(curves, 'l5', 300), undefined);
  assert.equal(valueAt(curves, 'l7', 150), undefined);
  assert.equal(valueText(curves, 'l5', 299), ', faults 9 (8 to 12) #');
  assert.equal(valueText(curves, 'l5', 100), ', faults 4 #');
  assert.equal(valueText(undefined, 'l5', 100), '');
});

/** What is drawn for a row of 1 px a ns: x, y, w, h. @param {string} key @param {number} h */
function drawn(key, h) {
  const found = [];
  drawCurve({fill: (x, y, w, high) => found.push([x, y, w, high])}, {back: 0, text: 0xffffff}, curves, key, {y: 10, h, left: 0, width: 200, begin: 100, end: 300});
  return found;
}

test('the area from lowest to highest value, and the mean', () => {
  // a row of 23 px: 11 for the calls, a line between, 11 for the curve, with the value 2 at y = 32 and 12 at y = 22
  assert.deepEqual(drawn('l5', 23).map((one) => one.map((n) => Math.round(n * 10) / 10)), [
    [0, 22, 200, 11], [0, 30, 100, 1], [0, 30, 100, 1], [100, 22, 100, 4], [100, 25, 100, 1],
  ]);
  assert.deepEqual(drawn('l0', 23).map(([x]) => x), [0, 100, 100]);
  assert.deepEqual(drawn('l5', 2), [[0, 10, 100, 2], [100, 10, 100, 2]]);
  assert.deepEqual(drawn('l9', 23), []);
});

test('long names and large values stay short', () => {
  assert.equal(short('faults'), 'faults');
  assert.equal(short('x'.repeat(6000)).length, 60);
  assert.equal(shown(-1.25e300), '-1.25000000e+300');
  assert.equal(shown(123456789012), '123,456,789,000');
});
