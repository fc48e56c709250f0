// SPDX-License-Identifier: BSD-3-Clause
// What the first picture has: messages by their density, labels beside one another, the whole run at a glance.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Places, label} from '../../src/vtrace/timeline/page/draw/labels.js';
import {boxOf} from '../../src/vtrace/timeline/page/draw/layout.js';
import {SvgSurface} from '../../src/vtrace/timeline/page/draw/surface.js';
import {drawTile} from '../../src/vtrace/timeline/page/draw/rows_layer.js';
import {messagesAs} from '../../src/vtrace/timeline/page/model/density.js';
import {COLUMNS, overviewOf} from '../../src/vtrace/timeline/page/model/overview.js';
import {BINS} from '../../src/vtrace/timeline/page/model/tiles.js';

test('messages: lines where one can follow them, else faint, else none; a person decides otherwise', () => {
  const lines = (count) => Array.from({length: count}, () => [0, 0, 30, 40]).flat(); // 50 px each
  const at = (count, high, bundled = false) => ({high, area: 100 * 500, ends: lines(count), bundled});
  assert.equal(messagesAs('auto', at(40, 10)), 'lines');
  assert.equal(messagesAs('auto', at(41, 10)), 'faint');
  assert.equal(messagesAs('auto', at(40, 9)), 'faint');
  assert.equal(messagesAs('auto', at(40, 20, true)), 'faint');
  assert.equal(messagesAs('auto', at(150, 3)), 'faint');
  assert.equal(messagesAs('auto', at(151, 3)), 'none');
  assert.equal(messagesAs('auto', at(1, 2)), 'none');
  assert.equal(messagesAs('lines', at(5000, 1)), 'lines');
  assert.equal(messagesAs('none', at(1, 90)), 'none');
});

test('a label that would touch another one, or leave the picture, is left out', () => {
  const places = new Places({left: 0, top: 0, right: 100, bottom: 50}), s = new SvgSurface(100, 50, 0);
  assert.ok(places.take(10, 10, 30, 12));
  for (const [x, y] of [[35, 15], [5, 21], [10, 10], [-1, 30], [80, 30], [50, 45]]) assert.ok(!places.take(x, y, 30, 12), `${x} ${y}`);
  assert.ok(places.take(40, 10, 30, 12) && places.take(10, 22, 30, 12));
  assert.ok(label(s, places, 'name', {x: 75, y: 20, colour: 0}));
  assert.ok(!label(s, places, 'name', {x: 75, y: 40, colour: 0, room: 10}), 'no room');
  assert.equal(String(s).match(/<text/g).length, 1);
});

test('the edge for marks and the gap of a row, which thin rows do not have', () => {
  assert.deepEqual(boxOf(90, true), {gap: 4, edgeY: 2, edge: 3, y: 5});
  assert.deepEqual(boxOf(10, true), {gap: 1, edgeY: 0, edge: 2, y: 2});
  assert.deepEqual(boxOf(10, false), {gap: 1, edgeY: 0, edge: 0, y: 0});
  assert.deepEqual(boxOf(2, true), {gap: 0, edgeY: 0, edge: 0, y: 0});
});

/** A tile whose first half works in class 0 and whose second half waits in class 1, by a quarter. */
function tile() {
  const half = (first, second) => Uint8Array.from({length: BINS}, (_, bin) => (bin < BINS / 2 ? first : second));
  return {
    region: half(1, 2), share: half(255, 255), events: half(1, 1), depth: half(1, 1), classes: [[0, half(255, 0)], [1, half(0, 255)]],
    waiting: [[1, half(0, 64)]], best: half(0, 1), idles: half(0, 0), total: half(255, 255),
  };
}

test('the overview has the share of each class and of its waits over time', () => {
  const rows = [0, 1].map((row) => [{tile: tile(), level: 4, number: 0, from: 0, to: row ? 2048 : 4096}]);
  const {classes, waits} = overviewOf(rows, 4096, 2);
  const at = (part) => [...classes, ...waits].map((shares) => Number(shares[Math.floor(part * COLUMNS)].toFixed(3)));
  assert.deepEqual(at(0.1), [1, 0, 0, 0]);
  assert.deepEqual(at(0.9), [0, 0.5, 0, 0.125], 'the second row ends in the middle');
});

test('a column of a row: work below, waits above, neighbours of one colour at once', () => {
  const found = [], paint = {
    classes: [0x0000ff, 0xff0000], waiting: [0x8080ff, 0xff8080], classOf: [0, 1], waits: [0, 0], back: 0xffffff, idle: 0xeeeeee, washed: 0,
    colour: 'class', longest: 100, memo: new Map([[0, 0x0000ff], [1, 0xff0000]]), found: null,
  };
  const row = {y: 0, h: 40, left: 0, width: BINS, begin: 0, end: BINS};
  drawTile({fill: (...each) => found.push(each)}, paint, {tile: tile(), level: 0, number: 0, from: 0, to: BINS}, row);
  assert.deepEqual(found[0], [0, 0, BINS / 2, 40, 0x0000ff]);
  assert.deepEqual(found.slice(1, 3), [[128, 10, 1, 30, 0xff0000], [128, 0, 1, 10, 0xff8080]]);
  assert.equal(found.length, 1 + BINS);
});
