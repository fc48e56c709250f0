// SPDX-License-Identifier: BSD-3-Clause
// The path of a delay: where it begins, and the calls that it reaches.

import assert from 'node:assert/strict';
import test from 'node:test';

import {drawDelay} from '../../src/vtrace/timeline/page/draw/chosen_layer.js';
import {followDelay} from '../../src/vtrace/timeline/page/hands/delay.js';

const WORK = 0, RECV = 1, ALL = 2, JOIN = 3, LOCK = 4;
const CALL = {trace: 0, location: 2, begin: 100, depth: 1};
/** What each location does at any time: region and begin of its calls, outer ones first. */
const DOES = {1: [[WORK, 0]], 2: [[WORK, 0], [LOCK, 100]], 3: [[WORK, 0], [ALL, 120]], 4: [[JOIN, 10]], 5: [[WORK, 0], [LOCK, 150]]};

/** The path of a call with these facts. before: the path of another finding with the same call. */
async function path(facts, finding, before = null) {
  let asked = null;
  const app = {
    delay: before,
    traces: [{regions: {waits: [0, 1, 1, 1, 1]}, meta: {rows: {locations: [1, 2, 3, 4, 5]}}}], state: {call: CALL}, redrawOver: () => {},
    details: {location: 2, begin: 100, end: 200, region: LOCK, collectives: [], receives: [], waits: [], ...facts},
    client: {table: async (name, words) => {
      asked = words;
      const rows = words.rows.split(',').map((key) => DOES[key.slice(1)]), all = rows.flat(), column = (value) => Float64Array.from(all, value);
      return {columns: {count: rows.map((row) => row.length), begin: column(([, begin]) => begin), end: column(() => 900), region: column(([region]) => region), depth: column(() => 0), calls: column(() => 1)}};
    }},
  };
  await followDelay(app, CALL, {guilty: [1], losers: [2, 3, 4, 5], own: false, ...finding});
  return {from: app.delay?.from, waits: app.delay?.waits.map(({location, begin}) => [location, begin]), asked};
}

test('code of the program ends late: all that wait then', async () => {
  const {from, waits, asked} = await path({location: 1, region: WORK}, {own: true});
  assert.deepEqual([from, asked.from, asked.to], [{location: 1, time: 200}, 199, 200]);
  assert.deepEqual(waits, [[2, 100], [3, 120], [4, 10], [5, 150]]);
});

test('a lock is held: calls of its region only, until the wait ends', async () => {
  const {from, waits} = await path({}, {});
  assert.deepEqual([from, waits], [{location: 1, time: 200}, [[2, 100], [5, 150]]]);
});

test('a message is sent late, a process comes late, a wait names its process', async () => {
  assert.deepEqual((await path({receives: [{partner: 5, far: 50}, {partner: 3, far: 180}]}, {})).from, {location: 3, time: 180});
  assert.deepEqual((await path({region: ALL, collectives: [{last: 4, last_begin: 190}]}, {})).from, {location: 4, time: 190});
  assert.deepEqual((await path({waits: [{partner: -1}, {partner: 5}]}, {})).from, {location: 5, time: 200});
});

test('nobody waits: no path', async () => {
  assert.equal((await path({region: RECV}, {losers: [1, 3]})).from, undefined);
  assert.equal((await path({}, {guilty: [2], losers: [2], own: true}, {from: {}, waits: []})).from, undefined, 'one row, and a path before');
});

test('a row that the page does not have comes late: no path', async () => {
  assert.equal((await path({waits: [{partner: 9}]}, {})).from, undefined);
});

/** The places of what the path draws: waits of row 0 for row 1 of two rows of 40 px. @param {number} scroll */
function drawn(scroll) {
  const ys = [], rows = [{places: [0]}, {places: [1]}];
  const l = {left: 100, width: 100, top: 24, bottom: 64, band: 0, height: 64, parts: [{rows, pinned: 0, begin: 0, high: 40}]};
  const app = {state: {begin: 0, end: 100, shift: [0], scroll}, rowOf: () => new Map([[1, 0], [2, 1]])};
  const s = {
    widthOf: () => 10, veil: () => {}, text: () => {}, line: (x0, y0, x1, y1) => ys.push(y0, y1),
    strokes: (ends) => ys.push(...ends.filter((_, at) => at % 2)),
  };
  drawDelay(app, s, l, {call: CALL, from: {location: 2, time: 50}, waits: [{location: 1, begin: 10}]}, {});
  return [...new Set(ys)].sort((a, b) => a - b);
}

test('the path to rows that are scrolled away ends at the border of the rows', () => {
  assert.deepEqual(drawn(0), [54, 64]);
  assert.deepEqual(drawn(38), [24, 56]);
});
