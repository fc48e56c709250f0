// SPDX-License-Identifier: BSD-3-Clause
// Navigation: from call to call, from row to row, into the selection.

import {windowOf} from '../draw/chart.js';
import {rowAtPoint, rowEnds} from '../draw/layout.js';
import {hasSquares} from '../draw/rows_layer.js';
import {nodeOf, placesOf, processesOf} from '../model/rows.js';
import {workOf} from '../model/order.js';
import {valueText} from '../model/curves.js';
import {offCoreText} from '../model/off_core.js';
import {OUTLIER, SQUARE, rareAt} from '../model/rare.js';
import {leafAt} from '../model/samples.js';
import {BINS, covering, levelOf, span} from '../model/tiles.js';
import {around, count, duration} from '../model/time.js';

/** Selects a call and reads its facts; moves the window if the call is outside. @param {App} app @param {number} trace
 * @param {FoundCall} call */
export async function chooseCall(app, trace, call) {
  if (!call) return void app.store.set({call: null, sample: null});
  const {location, begin, end, depth} = call, {state} = app.store, shift = state.shift[trace];
  app.callEnd = end;
  if (end + shift < state.begin || begin + shift > state.end) app.showTime((Math.max(begin, 0) + Math.min(end, begin + state.end - state.begin)) / 2 + shift);
  app.store.set({call: {trace, location, begin, depth}, sample: null, selection: null, ...rowWith(app, trace, location)});
  scrollTo(app, trace, location);
}

/** Selects the sample at a time, or `step` samples later; moves the window if the sample is outside. @type {ChooseSample} */
export async function chooseSample(app, trace, location, time, slack, step = 0) {
  const found = await app.client.json('sample', {trace, location, time: Math.floor(time), slack: Math.ceil(slack), step}, 'at');
  if (!found) {
    if (!step) app.store.set({call: null, sample: null});
    return;
  }
  app.showTime(found.time + app.state.shift[trace]);
  app.store.set({call: null, sample: {trace, location, time: found.time}, selection: null, ...rowWith(app, trace, location)});
  scrollTo(app, trace, location);
}

/** Selects the row of a location, unless it folds or shares. @param {App} app
 * @param {number} trace @param {number} location */
function rowWith(app, trace, location) {
  const l = app.layout, row = l.parts[trace]?.rows[app.rowOf(l, trace).get(location) ?? -1];
  return row && row.location >= 0 ? {row: `${trace}:l${location}`} : {};
}

/** @param {App} app @param {number} trace @param {number} location */
function scrollTo(app, trace, location) {
  const l = app.layout, {scroll} = app.state, number = app.rowOf(l, trace).get(location), part = l.parts[trace];
  if (number === undefined || !part || number < part.pinned) return;
  const [y] = rowEnds(l, scroll, part, number), top = l.top + l.band;
  if (y < top) app.store.set({scroll: Math.max(0, scroll - (top - y) - 40)});
  else if (y + part.high > l.bottom) app.store.set({scroll: Math.min(l.most, scroll + y + part.high - l.bottom + 40)});
}

/** Selects another call. @param {App} app @param {string} way @param {boolean} [all] on all rows */
export async function go(app, way, all = false) {
  const {call, sample} = app.state;
  if (sample && (way === 'previous' || way === 'next')) await chooseSample(app, sample.trace, sample.location, sample.time, 0, way === 'next' ? 1 : -1);
  if (!call) return;
  const {trace, location, begin, depth} = call;
  const found = await app.client.json('go', {trace, location, begin, depth, way, rows: all ? '' : `l${location}`}, 'go');
  if (found) await chooseCall(app, trace, found);
}

/** Goes to the other end of the selected call's first message. @param {App} app @param {MessageEnd} [end] */
export async function goPartner(app, end) {
  const {details} = app, {call} = app.state;
  const to = end ?? details?.receives[0] ?? details?.sends[0];
  if (!call || !to || to.partner < 0) return;
  const {trace, location} = call, {partner, comm, tag, time} = to, sent = Number(details.sends.includes(to));
  const far = to.far < 0 ? await app.client.json('far', {trace, location, partner, comm, tag, time, sent}, 'at') : to.far;
  const found = await app.client.json('at', {trace, location: partner, time: far < 0 ? time : far}, 'at');
  if (found) await chooseCall(app, call.trace, found);
}

/** Selects the innermost call of the selected row in the middle of the window. @param {App} app */
export async function callAtCentre(app) {
  const {row, begin, end, shift} = app.state, trace = Number(row[0]);
  if (!row.slice(2).startsWith('l')) return;
  await chooseAt(app, trace, Number(row.slice(3)), Math.round((begin + end) / 2) - shift[trace]);
}

/** Selects the innermost call of a row at a time, else the sample at this time. @type {ChooseAt} */
export async function chooseAt(app, trace, location, time) {
  const found = await app.client.json('at', {trace, location, time}, 'at'), {begin, end, samples} = app.state;
  if (!found && samples && app.traces[trace].meta.samples) await chooseSample(app, trace, location, time, (2 * (end - begin)) / app.layout.width);
  else await chooseCall(app, trace, found);
}

/** @param {App} app */
export function zoomToChoice(app) {
  const {selection, call, sample, shift} = app.state;
  if (selection) {
    app.store.set({selection: null});
    app.show(selection);
  } else if (call && app.callEnd !== undefined) {
    const by = shift[call.trace];
    app.show(around(call.begin + by, app.callEnd + by));
  } else if (sample && app.details) {
    const by = shift[sample.trace];
    app.show(around(sample.time + by, app.details.end + by));
  }
}

/** @param {App} app @param {number} step */
export function nextRow(app, step) {
  const l = app.layout, {row} = app.state;
  const all = l.parts.flatMap((part) => part.rows), trace = Number(row[0]);
  const chosen = l.parts[trace]?.rows[app.rowNumber(l, trace, row.slice(2))], at = chosen ? all.indexOf(chosen) : -1;
  const next = all[Math.max(0, Math.min(all.length - 1, at + step))];
  if (next) app.store.set({row: `${next.trace}:${next.key}`});
  if (next && next.location >= 0) scrollTo(app, next.trace, next.location);
}

/** Shows all rows of a row's cluster, or joins them again. @param {App} app @param {Row} row */
export function openCluster(app, row) {
  const name = `${row.trace}:${row.key}`, all = new Set(row.members?.map(({trace, key}) => `${trace}:${key}`));
  const apart = app.state.apart.filter((each) => !all.has(each));
  app.store.set({apart: row.alike === 1 ? apart : [...apart, name], row: name});
}

/** Folds or unfolds the process, or the node, of the selected row. @param {App} app */
export function foldProcess(app) {
  const l = app.layout, {row, open, fold} = app.state, trace = Number(row[0]);
  const found = l.parts[trace]?.rows[app.rowNumber(l, trace, row.slice(2))];
  if (found?.alike) return openCluster(app, found);
  if (!found) return;
  const {rows} = app.traces[trace].meta, process = rows.processes[found.places[0]];
  if (fold === 'node') {
    const node = nodeOf(rows, process), all = processesOf(rows, node), isOpen = open.includes(all[0]);
    return void app.store.set({open: isOpen ? open.filter((each) => !all.includes(each)) : [...open, ...all], row: `${trace}:${isOpen ? `n${node}` : found.key}`});
  }
  const others = open.filter((each) => each !== process), now = others.length < open.length ? others : [...open, process];
  const folded = now.includes(process) === (fold === 'thread');
  const key = folded && placesOf(rows, process).length > 1 ? `p${process}` : `l${rows.locations[placesOf(rows, process)[0]]}`;
  app.store.set({open: now, row: `${trace}:${key}`});
}

/** Picks the locations of a row, or leaves them. @param {App} app @param {Pinned | undefined} row */
export function togglePick(app, row) {
  if (!row) return;
  const {picks} = app.state, {locations} = app.traces[row.trace].meta.rows, mine = row.places.map((place) => `${row.trace}:l${locations[place]}`);
  app.store.set({picks: mine.every((pick) => picks.includes(pick)) ? picks.filter((pick) => !mine.includes(pick)) : [...new Set([...picks, ...mine])]});
}

/** The most pins that a row gets at once. */
const MOST_PINS = 64;

/** The pins of a row, or of those that share it, and that of its process. @param {App} app @param {Pinned} row */
function pinsOf(app, {trace, key, places}) {
  const {rows} = app.traces[trace].meta, shared = new Set(places), all = (/** @type {number} */ place) => placesOf(rows, rows.processes[place]);
  const single = (/** @type {number} */ place) => `l${rows.locations[place]}`, process = (/** @type {number} */ place) => (rows.processes[place] < 0 ? single(place) : `p${rows.processes[place]}`);
  const own = (/** @type {number} */ place) => (all(place).every((each) => shared.has(each)) ? process(place) : single(place));
  const [mine, whole] = [own, process].map((name) => [...new Set(places.map(name))].slice(0, MOST_PINS).map((each) => `${trace}:${each}`));
  return {own: key[0] === 'r' ? mine : [`${trace}:${key}`], whole};
}

/** Keeps a row at the top, or lets it go back. @type {TogglePin} */
export function togglePin(app, row, whole = false) {
  if (!row || row.key[0] === 'n') return;
  const {pins} = app.state, of = pinsOf(app, row), ways = whole ? [of.whole] : [of.own, of.whole];
  const known = ways.find((way) => way.some((pin) => pins.includes(pin)));
  app.store.set({pins: known ? pins.filter((pin) => !known.includes(pin)) : [...pins, ...ways[0]]});
}

/** The selected row, which may share a row of the page with others. @param {App} app @returns {Pinned | undefined} */
export function selectedRow(app) {
  const {row} = app.state, trace = Number(row[0]), key = row.slice(2), locations = app.traces[trace]?.meta.rows.locations ?? [];
  const place = key[0] === 'l' ? locations.indexOf(Number(key.slice(1))) : -1;
  const l = app.layout, found = l.parts[trace]?.rows[app.rowNumber(l, trace, key)];
  return place < 0 || found?.key === key ? found : {trace, key, places: [place]};
}

/** The row at a place; at the square of an outlier, that of the outlier.
 * @param {App} app @param {Point} at */
export function rowUnder(app, {x, y}) {
  const l = app.layout, near = [0, -1, 1].map((by) => rowAtPoint(l, app.state.scroll, y + by)), [row] = near;
  if (!row || l.parts[row.trace].high >= SQUARE) return row;
  const {begin, end} = windowOf(app, row.trace), perPixel = (end - begin) / l.width, time = begin + (x - l.left) * perPixel;
  const {rare} = app.traces[row.trace], slack = 2 * perPixel;
  return near.find((each) => {
    const found = rare && each?.trace === row.trace && hasSquares(rare) ? rareAt(rare, each.key, time, slack) : -1;
    return found >= 0 && rare?.columns.kind[found] === OUTLIER && Math.abs(rare.columns.begin[found] - time) <= slack;
  }) ?? row;
}

/** Describes a place: the row, the time, the innermost call or the region with the most time.
 * @param {App} app @param {Point} at */
export function placeText(app, at) {
  const l = app.layout, {state} = app.store, row = rowUnder(app, at);
  if (!row || at.x < l.left) return '';
  const of = app.traces[row.trace], window = windowOf(app, row.trace), perPixel = (window.end - window.begin) / l.width;
  const time = window.begin + (at.x - l.left) * perPixel, level = levelOf(perPixel, of.meta.top);
  const head = `${row.name.trim()} at ${duration(time, 7)}${valueText(of.curves, row.key, time)}${rareText(app, row, time, perPixel)}${state.processor ? offCoreText(of.offCore, row.key, time) : ''}${state.colour === 'work' && of.sums ? `, computes ${(100 * workOf(of.sums, row.places)).toFixed(0)} % of the window` : ''}`;
  const calls = row.finest > level && row.location >= 0 ? of.tiles.callsOf(row.key, level, Math.floor(time / span(level))) : undefined;
  if (calls) {
    let found = -1;
    for (let n = 0; n < calls.begin.length && calls.begin[n] <= time; n += 1) if (calls.end[n] > time) found = n;
    return found < 0 ? `${head}: ${nothing(app, row, time)}` : `${head}: ${of.regions.name(calls.region[found])}, ${duration(calls.end[found] - calls.begin[found])}`;
  }
  const coarse = Math.max(level, row.finest), [piece] = covering((each, n) => of.tiles.tile(row.key, each, n), time, time + 1, coarse, of.meta.top);
  if (!piece) return `${head}: ${nothing(app, row, time)}`;
  const bin = Math.floor(time / 2 ** piece.level) % BINS, {region, share, events} = piece.tile;
  return region[bin] ? `${head}: about ${Math.round((100 * share[bin]) / 255)} % ${of.regions.name(region[bin] - 1)}, ${count(events[bin])} events in ${duration(2 ** piece.level)}` : `${head}: ${nothing(app, row, time)}`;
}

/** The rare call of a row at a time, as text. @type {RareText} */
function rareText(app, row, time, perPixel) {
  const of = app.traces[row.trace], found = rareAt(of.rare, row.key, time, 2 * perPixel);
  if (!of.rare || found < 0) return '';
  const {kind, size, begin, end, region} = of.rare.columns, name = of.regions.name(region[found]);
  return kind[found] === OUTLIER ? `, outlier: ${name}, ${duration(end[found] - begin[found])}, ${Number(size[found].toPrecision(3))} times the mean`
    : `, ${name} waits ${duration(size[found])}`;
}

/** Selects the rare call of a row at a time; false: there is none. @type {ChooseRare} */
export async function chooseRare(app, row, time, slack) {
  const {rare} = app.traces[row.trace], found = rareAt(rare, row.key, time, slack);
  if (!rare || found < 0) return false;
  const [location, begin, end, depth] = ['location', 'begin', 'end', 'depth'].map((name) => rare.columns[name][found]);
  await chooseCall(app, row.trace, {location, begin, end, depth});
  return true;
}

/** @param {App} app @param {Row} row @param {number} time */
function nothing(app, row, time) {
  const of = app.traces[row.trace], region = app.state.samples ? leafAt(of.leaves, row.key, time) : -1;
  return region < 0 ? 'no call' : `no call, samples in ${of.regions.name(region)}`;
}

/** @param {App} app */
export function clear(app) {
  const {selection, call, sample, picks} = app.state;
  app.store.set(selection || call || sample || picks.length ? {selection: null, call: null, sample: null, picks: [], between: false} : {search: '', exact: false});
}
