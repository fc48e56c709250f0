// SPDX-License-Identifier: BSD-3-Clause
// The pure part of the page: times, windows, tiles, rows, addresses, flame graphs. node --test tests/page

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {chosen, fragment, options, tagOf, values} from '../../src/vtrace/timeline/page/model/address.js';
import {heat, mixed, needsLight, parsed, shade} from '../../src/vtrace/timeline/page/model/colours.js';
import {boxes, childrenOf, heaviest, shownPaths} from '../../src/vtrace/timeline/page/model/flame.js';
import {fitted, rowAt, rowHeight, rowsOf} from '../../src/vtrace/timeline/page/model/rows.js';
import {hiddenLevels, leafAt, paneHeights, runs} from '../../src/vtrace/timeline/page/model/samples.js';
import {INITIAL, Store} from '../../src/vtrace/timeline/page/model/store.js';
import {covering, levelOf, numbers, span} from '../../src/vtrace/timeline/page/model/tiles.js';
import {around, bytes, clamped, duration, exact, moved, step, ticks, zoomed} from '../../src/vtrace/timeline/page/model/time.js';
import {decoded} from '../../src/vtrace/timeline/page/net/client.js';
import {SvgSurface, fitting} from '../../src/vtrace/timeline/page/draw/surface.js';

test('times as text', () => {
  assert.equal(duration(0), '0 ns');
  assert.equal(duration(1), '1 ns');
  assert.equal(duration(1500), '1.5 us');
  assert.equal(duration(23_100_000), '23.1 ms');
  assert.equal(duration(-2e9), '-2 s');
  assert.equal(exact(1_234_567_890).replace(/\u202f/g, ' '), '1.234 567 890 s');
  assert.equal(exact(5).replace(/\u202f/g, ' '), '0.000 000 005 s');
  assert.equal(bytes(1), '1 byte');
  assert.equal(bytes(1600), '1.6 kB');
});

test('axis: 1, 2 or 5 times a power of ten, at least as wide as wanted', () => {
  for (const least of [1, 3, 7, 99, 1001, 3.3e8]) {
    const wide = step(least);
    assert.ok(wide >= least && wide < 10 * least, `${least}: ${wide}`);
    assert.match(String(wide), /^[125]0*$/);
  }
  for (const [begin, end] of [[0, 1e9], [123, 456], [9e15 - 10, 9e15]]) {
    const found = ticks(begin, end, 8);
    assert.ok(found.length >= 1 && found.length <= 10);
    assert.ok(found.every(({time}) => time >= begin && time <= end));
    assert.equal(new Set(found.map(({text}) => text)).size, found.length);
  }
});

test('windows: whole ns, inside the trace, the time below the mouse stays', () => {
  assert.deepEqual(clamped({begin: -50, end: 50}, 1000), {begin: 0, end: 100});
  assert.deepEqual(clamped({begin: 950, end: 1050}, 1000), {begin: 900, end: 1000});
  assert.deepEqual(clamped({begin: 5, end: 5}, 1000), {begin: 5, end: 15});
  assert.deepEqual(clamped({begin: 0, end: 9999}, 1000), {begin: 0, end: 1000});
  const before = {begin: 100, end: 1100}, after = zoomed(before, 0.5, 300);
  const part = ({begin, end}) => (300 - begin) / (end - begin);
  assert.equal(part(before), part(after));
  assert.deepEqual(moved(before, -100), {begin: 0, end: 1000});
  const {begin, end} = around(400, 800);
  assert.ok(begin < 400 && end > 800);
  const far = 2 ** 53 - 1e6;
  assert.ok(Number.isSafeInteger(clamped({begin: far, end: far + 100}, 2 ** 53).end));
});

test('tiles: the level of a pixel, the numbers of a window, coarser tiles until finer ones come', () => {
  assert.equal(levelOf(1, 20), 0);
  assert.equal(levelOf(1000, 20), 10);
  assert.equal(levelOf(1e12, 20), 20);
  assert.deepEqual(numbers(0, span(3), 3), [0]);
  assert.deepEqual(numbers(span(3) - 1, span(3) + 1, 3), [0, 1]);
  const known = new Map([['5 0', 'top'], ['3 1', 'fine']]);
  const found = covering((level, number) => known.get(`${level} ${number}`), 0, span(5), 3, 5);
  assert.equal(found.map(({tile}) => tile).join(), 'top,fine,top,top');
  let at = 0;
  for (const {from, to} of found) {
    assert.equal(from, at);
    at = to;
  }
  assert.equal(at, span(5));
});

/** Two processes on a node each; the first has three threads. */
const ROWS = {
  locations: [4, 7, 9, 5], names: ['master', 'omp 1', 'omp 2', 'main'], processes: [0, 0, 0, 1],
  process_names: {0: 'Rank 0', 1: 'Rank 1'}, process_nodes: {0: 0, 1: 1}, nodes: ['n1', 'n2'],
};

test('rows: a location each, folded by process and by node, neighbours that share a row', () => {
  const finest = [3, 4, 63, 5];
  const threads = rowsOf(ROWS, finest, 'thread', new Set(), 0);
  assert.deepEqual(threads.map(({key}) => key), ['l4', 'l7', 'l9', 'l5']);
  assert.deepEqual(threads.map(({name}) => name.trim()), ['Rank 0, master', 'omp 1', 'omp 2', 'Rank 1']);
  assert.equal(threads[2].finest, 0, 'a location without events');
  const folded = rowsOf(ROWS, finest, 'process', new Set(), 0);
  assert.deepEqual(folded.map(({key, finest: level}) => [key, level]), [['p0', 4], ['l5', 5]]);
  assert.deepEqual(rowsOf(ROWS, finest, 'process', new Set([0]), 0).map(({key}) => key), ['l4', 'l7', 'l9', 'l5']);
  assert.deepEqual(rowsOf(ROWS, finest, 'node', new Set(), 0).map(({key}) => key), ['n0', 'l5']);
  assert.deepEqual(fitted(threads, 2).map(({key}) => key), ['r0-1', 'r2-3']);
  assert.equal(fitted(threads, 4), threads);
});

test('row heights: all rows fit, at least a pixel each', () => {
  assert.equal(rowHeight(4, 600, 1), 90);
  assert.equal(rowHeight(64, 400, 1), 6.25, 'rows fill the height');
  assert.equal(rowHeight(100, 600, 1), 6);
  assert.ok(rowHeight(500, 600, 1) * 500 <= 600);
  assert.equal(rowHeight(10_000, 600, 1), 1);
  assert.equal(rowAt(25, 10, 5, 4), 3);
  assert.equal(rowAt(39, 10, 5, 4), -1);
});

test('the address holds the state, and ignores what has no meaning', () => {
  const state = {
    ...INITIAL, begin: 5, end: 99, fold: 'process', row: '0:l3', search: 'a&b=<c>', exact: true, counters: false, comm: 2,
    call: {trace: 1, location: 3, begin: 77, depth: 2}, selection: {begin: 6, end: 8, first: 'l3', last: 'r4-9'}, tag: '7', shift: [0, 12],
  };
  assert.deepEqual({...INITIAL, ...values(fragment(/** @type {any} */ (state)))}, state);
  assert.deepEqual(values('#w=9-3&fold=x&call=1.2&sel=a&zoom=-1&row=9:x&tag=q&scroll=1e9'), {});
  assert.deepEqual(values(`#tag=${'9'.repeat(20)}&smallest=${'9'.repeat(20)}&comm=-7`), {});
  const second = '#row=1:l0&call=1.0.5.0&sample=1.0.5'; // of two archives
  assert.deepEqual([Object.keys(values(second)), values(second, 1), values('#call=0.0.5.-1')], [['row', 'call', 'sample'], {}, {}]);
  assert.deepEqual([tagOf('4294967295'), tagOf('4294967296'), tagOf('-1')], ['4294967295', undefined, undefined]);
  assert.deepEqual(values(''), {});
  assert.deepEqual(values('#messages=0&collectives=1'), {messages: 'none', collectives: 'bands'}, 'addresses of older pages');
  assert.deepEqual(values('#messages=lines&collectives=some'), {messages: 'lines'});
});

test('the store tells of changes only, in their order', () => {
  const store = new Store({...INITIAL});
  const seen = [];
  store.subscribe((state) => {
    if (state.scroll === 1) store.set({scroll: 2});
  });
  store.subscribe((state, before) => seen.push([before.scroll, state.scroll]));
  store.set({scroll: 0});
  store.set({scroll: 1});
  assert.deepEqual(seen, [[0, 1], [1, 2]]);
});

test('panels are about the selection, else the window', () => {
  const rows = /** @type {any} */ ({locations: [1, 2, 3, 9], processes: [0, 0, 1, 1], process_nodes: {0: 0, 1: 0}});
  const state = {...INITIAL, begin: 100, end: 200};
  assert.deepEqual(chosen(state, rows, 0, 150), {from: 100, to: 150, rows: ''});
  const selection = {begin: 110, end: 120, first: 'l3', last: 'l2'};
  assert.deepEqual(chosen({...state, selection, shift: [10, 0]}, rows, 0, 150), {from: 100, to: 110, rows: 'r1-2'});
  const selected = (first, last) => chosen({...state, selection: {...selection, first, last}}, rows, 0, 150).rows;
  assert.deepEqual([selected('p1', 'p1'), selected('r0-0_3-3', 'r0-0_3-3'), selected('p0', 'l3'), selected('l7', 'l7')], ['p1', 'r0-0_3-3', 'r0-2', '']);
  assert.equal(options({from: 0, to: 150}, 150), '');
  assert.equal(options({from: 3, to: 150}, 150), ' --from 3ns --to 150ns');
});

test('picked rows and notes in the address', () => {
  const NO_ROWS = /** @type {any} */ ({locations: []});
  const state = {...INITIAL, begin: 1, end: 20, picks: ['0:l3', '1:l7'], between: true, notes: [{trace: 1, time: 5, row: 'p2', text: 'a|b.c ~ \u00e4 % _'}]};
  const text = fragment(/** @type {any} */ (state));
  assert.deepEqual({...INITIAL, ...values(text)}, state);
  assert.deepEqual(values(text, 1).picks, ['0:l3']);
  assert.deepEqual(values(text, 1).notes, []);
  for (const odd of ['#pick=x', '#pick=', '#note=0.1.l0', '#note=0.1.l0.%25', '#note=2.1.l0.a', '#pick=0.-1']) assert.deepEqual(values(odd), {});
  assert.deepEqual(chosen(/** @type {any} */ (state), NO_ROWS, 1, 150), {from: 1, to: 20, rows: 'l7'});
  assert.equal(chosen(/** @type {any} */ ({...state, picks: []}), NO_ROWS, 1, 150).rows, '');
});

test('flame graph: children inside their parents, the largest first', () => {
  const paths = {parent: [-1, 0, 1, 1, 0], inclusive: [0, 60, 10, 40, 40], depth: [0, 1, 2, 2, 1]};
  const found = new Map(boxes(paths, 0, 0.001).map((box) => [box.path, box]));
  assert.equal(found.get(1).x, 0);
  assert.equal(found.get(4).x, 0.6);
  assert.equal(found.get(3).x, 0);
  assert.equal(found.get(2).x, 0.4);
  assert.equal(boxes(paths, 1, 0.001).find((box) => box.path === 1).width, 1);
  assert.equal(boxes(paths, 0, 0.2).length, 3);
});

test('sampled functions: equal neighbours are one mark', () => {
  const leaves = {index: new Map([['l0', 0], ['l3', 1]]), region: [0, 5, 5, 0, 7, 7, 7, 8], bins: 4, begin: 100, end: 300};
  assert.deepEqual(runs(leaves, 'l0'), [{region: 4, begin: 150, end: 250}]);
  assert.deepEqual(runs(leaves, 'l3'), [{region: 6, begin: 100, end: 250}, {region: 7, begin: 250, end: 300}]);
  assert.deepEqual(runs(leaves, 'p0'), []);
  assert.deepEqual([99, 100, 150, 249, 250, 299, 300].map((time) => leafAt(leaves, 'l0', time)), [-1, -1, 4, 4, -1, -1, -1]);
  assert.equal(leafAt(leaves, 'l3', 299), 7);
  assert.equal(leafAt(undefined, 'l3', 299), -1);
});

test('the room of call stacks in the pane', () => {
  assert.deepEqual(paneHeights(200, [50, 60], 36), {stacks: [50, 60], counters: 110});
  assert.deepEqual(paneHeights(200, [50], 0), {stacks: [200], counters: 200});
  assert.deepEqual(paneHeights(200, [0, 500], 0), {stacks: [0, 200], counters: 200});
  assert.deepEqual(paneHeights(200, [300, 300], 0), {stacks: [100, 100], counters: 200});
  assert.deepEqual(paneHeights(200, [300, 40], 400), {stacks: [60, 40], counters: 100});
  assert.deepEqual(paneHeights(240, [300, 40, 300], 0), {stacks: [80, 40, 120], counters: 240});
});

test('a level that fills the window counts as such', () => {
  const stacks = {begin: [0, 10, 20], end: [100, 60, 50], depth: [0, 1, 2]};
  assert.deepEqual(hiddenLevels(stacks, 2), {outer: 0, inner: 1});
  assert.deepEqual(hiddenLevels(stacks, 2, {begin: 20, end: 60}), {outer: 1, inner: 0});
});

test('levels of stacks that do not fit', () => {
  /** Slices of stacks: their time and depth. @param {[number, number][]} parts */
  const stacks = (parts) => {
    const found = {begin: [], end: [], depth: []};
    let now = 0;
    for (const [time, deep] of parts) {
      for (let depth = 0; depth < deep; depth += 1) {
        found.begin.push(now);
        found.end.push(now + time);
        found.depth.push(depth);
      }
      now += time;
    }
    return found;
  };
  assert.deepEqual(hiddenLevels(stacks([]), 4), {outer: 0, inner: 0});
  assert.deepEqual(hiddenLevels(stacks([[100, 3]]), 4), {outer: 0, inner: 0});
  assert.deepEqual(hiddenLevels(stacks([[100, 10]]), 4.5), {outer: 6, inner: 0});
  assert.deepEqual(hiddenLevels(stacks([[99, 5], [1, 60]]), 8), {outer: 0, inner: 52});
  assert.deepEqual(hiddenLevels(stacks([[50, 10], [50, 30]]), 8), {outer: 9, inner: 13});
  assert.deepEqual(hiddenLevels(stacks([[100, 3]]), 0), {outer: 2, inner: 0});
});

test('colours', () => {
  assert.equal(parsed('#56b4e9'), 0x56b4e9);
  assert.equal(mixed(0x000000, 0xffffff, 0.5), 0x808080);
  assert.equal(shade(0x56b4e9, 7), shade(0x56b4e9, 7));
  assert.notEqual(shade(0x56b4e9, 7), shade(0x56b4e9, 8));
  assert.notEqual(heat(0), heat(1));
  assert.ok(needsLight(0x0072b2) && !needsLight(0xf0e442));
});

test('the bytes of a table', () => {
  const head = new TextEncoder().encode(JSON.stringify({columns: [['a', 'f8', 2, 0], ['b', 'u1', 3, 16]], notes: {n: 1}}).padEnd(96));
  const bytes = new Uint8Array(8 + 96 + 24);
  bytes.set(new TextEncoder().encode('VTW1'));
  new DataView(bytes.buffer).setUint32(4, 96, true);
  bytes.set(head, 8);
  new Float64Array(bytes.buffer, 104, 2).set([2 ** 52 + 1, -1]);
  bytes.set([1, 2, 3], 120);
  const {columns, notes} = decoded(bytes.buffer);
  assert.deepEqual([...columns.a], [2 ** 52 + 1, -1]);
  assert.deepEqual([...columns.b], [1, 2, 3]);
  assert.equal(notes.n, 1);
  assert.throws(() => decoded(new ArrayBuffer(4)));
  assert.throws(() => decoded(new TextEncoder().encode('<html>....').buffer));
});

test('svg: names are text, equal neighbours one rectangle', () => {
  const s = new SvgSurface(100, 50, 0xffffff);
  s.fill(0, 0, 10, 5, 0xff0000);
  s.fill(10, 0, 10, 5, 0xff0000);
  s.text('<script>&"', 1, 2, 0);
  const text = String(s);
  assert.equal(text.match(/<rect/g).length, 2);
  assert.ok(text.includes('&lt;script&gt;&amp;&quot;') && !text.includes('<script'));
  assert.equal(fitting('abcdefghijklmnop', 130, (part) => part.length * 10), 'abcdefghijkl\u2026');
  assert.equal(fitting('abcdefghijklmnop', 120, (part) => part.length * 10), '', 'fewer letters name nothing');
  assert.equal(fitting('abc', 8, (part) => part.length * 10), '');
});

/** A path of `levels` calls, beside it at each level `others` shorter ones. */
function deep(levels, others) {
  const parent = [-1], inclusive = [0];
  for (let level = 0, above = 0; level < levels; level += 1) {
    const heavy = parent.length;
    for (let at = 0; at <= others; at += 1) [parent[heavy + at], inclusive[heavy + at]] = [above, at ? 1 : 2 * (levels - level)];
    above = heavy;
  }
  return childrenOf({parent, inclusive});
}

test('the heaviest path of the tree is open until it fills a screen or two, deep recursion may be opened whole', () => {
  const few = deep(5, 2), recursion = deep(20000, 0), beside = deep(20000, 1), wide = deep(3, 400);
  assert.deepEqual(shownPaths(few, heaviest(few, 100)), [1, 4, 7, 10, 13, 14, 15, 11, 12, 8, 9, 5, 6, 2, 3]);
  assert.equal(shownPaths(recursion, heaviest(recursion, 100)).length, 100);
  assert.deepEqual(shownPaths(beside, heaviest(beside, 100)).slice(-3), [6, 4, 2]);
  assert.equal(shownPaths(wide, heaviest(wide, 100)).length, 401);
  assert.equal(shownPaths(recursion, new Set(recursion.keys())).length, 20000);
  for (const none of [[], deep(0, 0)]) assert.deepEqual(shownPaths(none, heaviest(none, 100)), []);
});
