// SPDX-License-Identifier: BSD-3-Clause
// The order of rows by their times, and clusters of alike rows.

import assert from 'node:assert/strict';
import test from 'node:test';

import {fragment, values} from '../../src/vtrace/timeline/page/model/address.js';
import {togglePin} from '../../src/vtrace/timeline/page/hands/walk.js';
import {clusters, inOrder, workOf} from '../../src/vtrace/timeline/page/model/order.js';
import {keyFor, placesFor, rowsOf, withPins} from '../../src/vtrace/timeline/page/model/rows.js';
import {INITIAL, Store} from '../../src/vtrace/timeline/page/model/store.js';

/** Three processes with a location each, the first with two. */
const OF = {
  locations: [4, 7, 9, 5], names: ['master', 'omp 1', 'main', 'main'], processes: [0, 0, 1, 2],
  process_names: {0: 'Rank 0', 1: 'Rank 1', 2: 'Rank 2'}, process_nodes: {0: 0, 1: 0, 2: 0}, nodes: ['n1'],
};
const NAMES = ['Rank 0, master', '  omp 1', 'Rank 1', 'Rank 2'];
const ROWS = OF.locations.map((location, place) => ({trace: 0, key: `l${location}`, name: NAMES[place], location, places: [place], finest: 0}));
/** Two classes: work, and waits in the second one. */
const SUMS = {
  key: '', length: 100, kinds: [50, 0, 0, 10, 80, 0, 0, 20, 51, 0, 0, 10, 30, 0, 0, 60], regions: [50, 10, 80, 20, 51, 10, 30, 60], found: [0, 0, 3, 1],
};

test('rows in the order of a class, of waits, of a search; equal ones by rank', () => {
  const order = (name) => inOrder(ROWS, OF, name, SUMS, []).map(({name: each}) => each);
  assert.deepEqual(order('c0'), ['Rank 0, omp 1', 'Rank 1', 'Rank 0, master', 'Rank 2']);
  assert.deepEqual(order('wait'), ['Rank 2', 'Rank 0, omp 1', 'Rank 0, master', 'Rank 1']);
  assert.deepEqual(order('c1'), order('wait'));
  assert.deepEqual(order('found'), ['Rank 1', 'Rank 2', 'Rank 0, master', 'Rank 0, omp 1']);
  assert.equal(inOrder(ROWS, OF, '', SUMS, []), ROWS);
  assert.equal(inOrder(ROWS, OF, 'c0', undefined, []), ROWS);
});

test('a folded row counts with the mean of its locations', () => {
  const process = {...ROWS[0], key: 'p0', name: 'Rank 0', location: -1, places: [0, 1]};
  assert.deepEqual(inOrder([ROWS[2], process], OF, 'c0', SUMS, []).map(({key}) => key), ['p0', 'l9']);
});

test('alike rows are one, with their number; opened, all of them follow it', () => {
  const shown = (apart) => inOrder(ROWS, OF, 'alike', SUMS, apart).map(({key, name, alike}) => [key, name, alike]);
  const others = [['l7', 'Rank 0, omp 1', undefined], ['l5', 'Rank 2', undefined]];
  assert.deepEqual(shown([]), [['l4', 'Rank 0, master and 1 alike', 2], ...others]);
  assert.deepEqual(shown(['0:l4']), [['l4', 'Rank 0, master and 1 alike', 1], ['l9', '  Rank 1', undefined], ...others]);
});

test('never more than 32 clusters, whatever the rows', () => {
  const shares = Array.from({length: 10000}, (_, at) => Float64Array.of((at * 7919 % 10000) / 10000, 0.1));
  const found = clusters(shares, 0.001);
  assert.ok(found.length > 4 && found.length <= 32, String(found.length));
  assert.deepEqual(found.flat().sort((a, b) => a - b), [...shares.keys()]);
  assert.deepEqual(found, clusters(shares, 0.001));
  assert.ok(found.every((one, at) => !at || one.length <= found[at - 1].length));
  assert.deepEqual(clusters([Float64Array.of(0.2), Float64Array.of(0.9), Float64Array.of(0.21)], 0.05), [[0, 2], [1]]);
});

test('pinned rows, alone and with their process, and their place in the address', () => {
  const keys = (pins) => Object.values(withPins(ROWS, OF, pins)).map((rows) => rows.map(({key}) => key).join());
  assert.deepEqual(keys([]), ['', 'l4,l7,l9,l5']);
  assert.deepEqual(keys(['0:l7']), ['l7', 'l4,l9,l5']);
  assert.deepEqual(keys(['0:p0', '1:l5']), ['l4,l7', 'l9,l5']);
  assert.equal(withPins(ROWS, OF, ['0:l7']).pinned[0].name, 'Rank 0, omp 1');
  const folded = (fold) => withPins(rowsOf(OF, [0, 0, 0, 0], fold, new Set(), 0), OF, ['0:p0']).pinned.map(({key}) => key).join();
  assert.deepEqual(['thread', 'process', 'node'].map(folded), ['l4,l7', 'p0', '']);
  const state = {...INITIAL, pins: ['0:l7', '1:p0'], order: 'alike', apart: ['0:l4']};
  assert.deepEqual(values(fragment(state)), {begin: 0, end: 1, pins: state.pins, order: 'alike', apart: state.apart, panel: 'profile'});
  assert.deepEqual([values('#order=c7', 1, 7), values('#order=c6', 1, 7)], [{}, {order: 'c6'}]);
  assert.deepEqual(values('pin=0.l7_0.r1-2_x&order=none&apart=1.l2', 1), {pins: ['0:l7'], apart: []});
});

test('the keys y and Y: a row, its process, and a row that several share', () => {
  /** The pins after each press. @param {[string, number[], boolean][]} presses @param {any} rows */
  const pins = (presses, rows = OF) => {
    const store = new Store({...INITIAL}), app = /** @type {any} */ ({store, get state() { return store.state; }, traces: [{meta: {rows}}]});
    return presses.map(([key, places, whole]) => {
      togglePin(app, {trace: 0, key, places}, whole);
      return store.state.pins.join();
    });
  };
  assert.deepEqual(pins([['l4', [0], false], ['l4', [0], true], ['l4', [0], false], ['l7', [1], false]]), ['0:l4', '0:l4,0:p0', '0:p0', '']);
  assert.deepEqual(pins([['l4', [0], true], ['l7', [1], true], ['n0', [0, 1, 2, 3], false]]), ['0:p0', '', '']);
  assert.deepEqual(pins([['r1-2', [1, 2], false], ['r1-2', [1, 2], false]]), ['0:l7,0:p1', '']);
  const many = Array.from({length: 1000}, (_, at) => at), wide = {locations: many, processes: many};
  assert.equal(pins([['r0-999', many, false]], wide)[0].split(',').length, 64);
});

test('joined rows: their places and key; any of them opens all', () => {
  const [head] = inOrder(ROWS, OF, 'alike', SUMS, []);
  assert.deepEqual([placesFor(head), keyFor([head]), keyFor([ROWS[0]]), keyFor([head, ROWS[1]])], [[0, 2], 'r0-0_2-2', 'l4', 'r0-2']);
  assert.deepEqual(inOrder(ROWS, OF, 'alike', SUMS, ['0:l9']), inOrder(ROWS, OF, 'alike', SUMS, ['0:l4']));
});

test('nodes open into processes, whose names stand below the node', () => {
  const rows = {...OF, process_nodes: {0: 0, 1: 0, 2: 1}, nodes: ['n1', 'n2']}, names = (open) => rowsOf(rows, [0, 0, 0, 0], 'node', new Set(open), 0).map(({key, name}) => `${key} ${name}`);
  assert.deepEqual(names([]), ['n0 n1', 'l5 n2']);
  assert.deepEqual(names([0, 1]), ['p0 n1, Rank 0', 'l9   Rank 1', 'l5 n2']);
  assert.deepEqual(names([2]), ['n0 n1', 'l5 n2, Rank 2']);
});

test('the share of the window that rows compute', () => {
  const work = {shares: [0.5, 0.8, 0.51, 0.3], least: 0.3, most: 0.8};
  assert.equal(workOf({...SUMS, work}, [0, 1]), 0.65);
});
