// SPDX-License-Identifier: BSD-3-Clause
// The page: owns the state and the data of the traces, and turns changes of the state into requests and pictures.

import {paneOf, windowOf} from './draw/chart.js';
import {STACK_ROW, layout, visible} from './draw/layout.js';
import {CURVE, deepest} from './draw/stack_layer.js';
import {picksOf} from './model/address.js';
import {scaleOf} from './model/curves.js';
import {fullName, keyFor, placesFor, placesOfKey} from './model/rows.js';
import {clamped} from './model/time.js';
import {callsByRow, levelOf} from './model/tiles.js';
import {Regions} from './net/regions.js';
import {TileStore} from './net/tile_store.js';

/** With more rows than this, a request for links has all of them as one. */
const MOST_LINKED = 512;
const SEARCH_BINS = 1024;
/** The least px between two ticks of the strip. */
const APART = 6;
/** Panels about the whole run. */
const OF_RUN = ['findings', 'iterations'];
/** ms without a change of the window before data other than tiles are requested. */
const REST = 150;
/** Answers with tiles that arrive within this many ms are drawn together. */
const JOIN = 50;
/** The most rows with a call stack in the pane. */
const MOST_STACKS = 4;

export class App {
  /** @param {Store} store @param {Client} client @param {any[]} metas */
  constructor(store, client, metas) {
    this.store = store;
    this.client = client;
    this.width = this.height = 0;
    this.draw = () => {};
    this.drawOver = () => {};
    this.afterDraw = () => {};
    /** @type {Point | null} */
    this.hover = null;
    /** The tick of the strip below the mouse, with its place on the page. @type {{x: number, y: number, text: string} | null} */
    this.overTick = null;
    /** The mouse selects a part or moves the window. */
    this.dragging = false;
    /** Colours that the user chose for regions, by name. @type {Map<string, number>} */
    this.own = new Map();
    /** The server's description of the selected call or sample. @type {any} */
    this.details = null;
    /** The path of the open finding's delay. @type {Delay | null} */
    this.delay = null;
    this.paneName = '';
    this.paneMost = 64;
    /** Row of each location, by the rows of a part. @type {WeakMap<Row[], Map<number, number>>} */
    this.rows = new WeakMap();
    /** @type {(() => void)[]} */
    this.onSettled = [];
    this.frame = this.overFrame = 0;
    this.timer = this.restTimer = this.later = 0;
    /** End of the selected call, ns. @type {number | undefined} */
    this.callEnd = undefined;
    /** @type {TraceData[]} */
    this.traces = metas.map((meta, number) => ({
      meta, regions: new Regions(client, number, () => this.redraw()), tiles: new TileStore(client, number, () => this.redrawLater()),
    }));
    store.subscribe((state, before) => {
      this.redraw();
      if (state.begin !== before.begin || state.end !== before.end || state.scroll !== before.scroll) this.refreshSoon(70);
      else this.refreshSoon(5);
    });
  }

  get state() {
    return this.store.state;
  }

  get needsSums() {
    return this.state.order !== '' || this.state.colour === 'work';
  }

  /** The length of the picture's time in ns: the length of the longest trace. */
  get length() {
    return Math.max(...this.traces.map(({meta}, number) => meta.duration + this.state.shift[number]));
  }

  async start() {
    await Promise.all(this.traces.map(async (trace, number) => {
      const [marks] = await Promise.all([this.client.table('marks', {trace: number}), trace.regions.start()]);
      trace.marks = marks;
    }));
    this.refreshSoon(0);
  }

  /** Shows another window. @param {Span} window */
  show(window) {
    this.store.set(clamped(window, this.length));
  }

  /** Shows a time of the page with the window's length, in the middle. @param {number} time @param {boolean} [always] also a time inside the window */
  showTime(time, always = false) {
    const {begin, end} = this.state, half = (end - begin) / 2;
    if (always || time < begin || time > end) this.show({begin: time - half, end: time + half});
  }

  /** The rows with a stack in the pane: the selected one, then picked ones. */
  get paneRows() {
    const {row, picks} = this.state;
    return [...new Set([row, ...picks])].filter((each) => each[2] === 'l').slice(0, MOST_STACKS);
  }

  /** The height in px of the stacks of the pane and its counters: the largest so far, so that rows do not jump. */
  get paneHeight() {
    const {row, counters, samples} = this.state, of = this.traces[Number(row[0])], rows = this.paneRows, name = [row, ...rows].join();
    if (name !== this.paneName) [this.paneName, this.paneMost] = [name, 64];
    const stacks = rows.map((each) => this.traces[Number(each[0])]?.stacks?.get(each));
    if (rows.length < 2 && samples && of?.sampledOf === row) stacks.push(of.sampled);
    const curves = rows.length < 2 && counters && of?.counters ? of.counters.notes.series.length * CURVE : 0;
    this.paneMost = Math.max(this.paneMost, stacks.reduce((sum, each) => sum + (each ? deepest(each) * STACK_ROW + 8 : 0), curves));
    return this.paneMost;
  }

  get layout() {
    return layout(this.state, this.traces, this.width, this.height, this.paneHeight);
  }

  /** Row of each location that is drawn. @param {Layout} l @param {number} trace */
  rowOf(l, trace) {
    const {rows} = l.parts[trace], {locations} = this.traces[trace].meta.rows;
    let found = this.rows.get(rows);
    if (!found) {
      this.rows.set(rows, found = new Map());
      for (const [number, row] of rows.entries()) for (const place of placesFor(row)) if (!found.has(locations[place])) found.set(locations[place], number);
    }
    return found;
  }

  /** The number of the row with a key, else of the row with its first location; -1: none. @param {Layout} l @param {number} trace @param {string} key */
  rowNumber(l, trace, key) {
    const found = l.parts[trace]?.rows.findIndex((row) => row.key === key) ?? -1, of = this.traces[trace]?.meta.rows;
    return found >= 0 || !of || !key ? found : this.rowOf(l, trace).get(of.locations[placesOfKey(of, key)[0]]) ?? -1;
  }

  /** The name of a row by its trace and key. @param {Layout} l @param {string} row */
  rowName(l, row) {
    const found = l.parts[Number(row[0])]?.rows.find((each) => each.key === row.slice(2));
    const {rows} = this.traces[Number(row[0])]?.meta ?? this.traces[0].meta;
    const place = row[2] === 'l' ? rows.locations.indexOf(Number(row.slice(3))) : -1;
    return (place < 0 && found?.name.trim()) || (place < 0 ? row.slice(2) : fullName(rows, place));
  }

  /** Draws the parts that follow the mouse. */
  redrawOver() {
    if (!this.frame && !this.overFrame) this.overFrame = requestAnimationFrame(() => {
      this.overFrame = 0;
      this.drawOver();
    });
  }

  redraw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** Draws soon, since more answers may follow. */
  redrawLater() {
    if (!this.frame && !this.later) this.later = window.setTimeout(() => {
      this.later = 0;
      this.redraw();
    }, JOIN);
  }

  /** Requests missing data after a pause. @param {number} ms */
  refreshSoon(ms) {
    const now = performance.now();
    if (!this.timer) this.since = now;
    else clearTimeout(this.timer);
    const wait = Math.max(0, Math.min(ms, 120 - (now - (this.since ?? now))));
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.refresh();
    }, wait);
  }

  /** The traces that the window touches. @returns {Generator<InWindow>} */
  * tracesInWindow() {
    const l = this.layout;
    for (const [number, trace] of this.traces.entries()) {
      const part = l.parts[number], shown = visible(l, this.state.scroll, part).map((row) => part.rows[row]);
      const window = windowOf(this, number);
      const begin = Math.max(0, window.begin), end = Math.min(trace.meta.duration, window.end);
      if (end > begin) yield {number, trace, part, shown, keys: shown.map((row) => row.key), window, begin, end};
    }
  }

  refresh() {
    if (!this.width) return;
    const l = this.layout;
    for (const {number, trace, shown, window, begin, end} of this.tracesInWindow()) {
      if (this.needsSums && !trace.sums) this.askSums(number, begin, end); // before the tiles of rows that will not stay
      trace.tiles.want(shown, begin, end, levelOf((window.end - window.begin) / l.width, trace.meta.top), trace.meta.top);
    }
    clearTimeout(this.restTimer);
    this.restTimer = window.setTimeout(() => this.refreshRest(), REST);
  }

  /** Requests all data but tiles and calls, once the window rests. */
  refreshRest() {
    const {state} = this.store, l = this.layout;
    for (const at of this.tracesInWindow()) {
      const {number, trace} = at;
      this.askLinks(at);
      if (trace.meta.samples && state.samples) this.askBins(at, 'leaves', 2048, ({columns: {region}}, place) => { trace.leaves = {...place, region}; });
      if (trace.meta.offCore && state.processor) this.askBins(at, 'processor', 4096, ({columns, notes}, place) => { trace.offCore = {...place, columns, texts: notes.texts}; });
      this.askRare(at);
      this.askCurves(at);
      if (this.needsSums) this.askSums(number, at.begin, at.end);
      if (state.search) this.askFound(at);
      else trace.found = undefined;
      this.askTicks(number);
      this.askPane(at, l);
    }
  }

  /** Requests messages and collective operations. @param {InWindow} at */
  askLinks({number, trace, part: {rows, id}, begin, end}) {
    const {state} = this.store, isOne = rows.length > MOST_LINKED;
    const words = {trace: number, rows: isOne ? keyFor(rows) : rows.map((row) => keyFor([row])).join(','), from: begin, to: end};
    if (!words.rows) return;
    const mine = (trace.messagesAsked = {});
    const filter = {lines: Math.round(this.width / 4), smallest: state.smallest, tag: state.tag, comm: state.comm, ...(state.between ? {between: picksOf(state, number).join(',')} : {})};
    if (state.messages !== 'none') this.client.table('messages', {...words, ...filter}, `messages ${number}`).then((found) => {
      if (trace.messagesAsked !== mine) return; // a newer request
      [trace.messages, trace.messagesRows, trace.messagesOf] = [found, isOne && found?.notes.bundled ? '' : id, state];
      if (!trace.messagesRows) trace.crowded = found?.notes.messages > 0;
      this.redraw();
    });
    if (isOne && (state.order || state.pins.length)) trace.collectives = undefined; // the answer names the first and the last rank only
    else if (state.collectives !== 'none') this.client.table('collectives', words, `collectives ${number}`).then((found) => {
      if (found) trace.collectives = found;
      this.redraw();
    });
  }

  /** Requests a table about rows by bins of a pixel, of which there are at most `most`. @param {InWindow} at @param {string} name @param {number} most
   * @param {(found: Table, place: PlacedBins) => void} keep @param {object} [more] words of the request */
  async askBins({number, keys, begin, end}, name, most, keep, more = {}) {
    const {state} = this.store, bins = Math.max(1, Math.min(most, Math.round((this.layout.width * (end - begin)) / (state.end - state.begin))));
    const found = await this.client.table(name, {trace: number, rows: keys.join(','), from: begin, to: end, bins, ...more}, `${name} ${number}`);
    if (found) keep(found, {index: new Map(keys.map((key, at) => [key, at])), bins, begin, end});
    this.redraw();
  }

  /** Requests outliers and waits. @param {InWindow} at */
  askRare(at) {
    const {trace} = at, {state} = this.store;
    if (state.rare === 'none') return void ([trace.rare, trace.rareLines] = [undefined, []]);
    this.askBins(at, 'rare', 4096, ({columns, notes}, {index}) => {
      if (this.state.rare !== 'none') [trace.rare, trace.rareLines] = [{index, columns}, notes.lines];
    }, {every: state.rare === 'all' ? 1 : 0});
  }

  /** Requests the counter below rows. @param {InWindow} at */
  askCurves(at) {
    const {trace} = at, name = this.state.curve, counter = trace.meta.counters.findIndex((one) => one.name === name);
    if (counter < 0) return void ([trace.curves, trace.curveLines] = [undefined, []]);
    this.askBins(at, 'curves', 2048, ({columns: {low, mean, high}, notes}, place) => {
      if (this.state.curve !== name) return;
      trace.curves = {...place, low, mean, high, bins: notes.bins, name, unit: trace.meta.counters[counter].unit, scale: scaleOf(low, high)};
      trace.curveLines = notes.lines;
    }, {counter});
  }

  /** Requests the times by which rows are in order. @param {number} number @param {number} begin @param {number} end */
  async askSums(number, begin, end) {
    const {order, search, exact} = this.state, trace = this.traces[number], isFound = order === 'found' && search !== '';
    const words = {trace: number, from: begin, to: end, text: isFound ? search : '', exact: isFound && exact ? 1 : 0}, key = JSON.stringify(words);
    if (trace.sumsAsked === key) return;
    trace.sumsAsked = key;
    const found = await this.client.table('sums', words, `sums ${number}`);
    if (trace.sumsAsked !== key) return;
    if (!found) return void (trace.sumsAsked = undefined);
    const {kinds, regions, found: searched} = found.columns;
    const length = found.notes.length ?? end - begin, locations = trace.meta.rows.locations.length, wide = kinds.length / locations;
    const shares = Array.from({length: locations}, (_, place) => kinds[place * wide] / length); // of class 0: the program's own code
    const work = {shares, least: shares.reduce((a, b) => Math.min(a, b), 1), most: shares.reduce((a, b) => Math.max(a, b), 0)};
    trace.sums = {key, text: words.text, exact: words.exact === 1, length, kinds, regions, found: searched, work};
    this.refreshSoon(0);
    this.redraw();
  }

  /** Requests the ticks of iterations, if these are known: a panel that looks for them comes first.
   * @param {number} number */
  async askTicks(number) {
    const trace = this.traces[number], {meta} = trace;
    if (meta.saved || (meta.quick && !OF_RUN.includes(this.state.panel))) trace.hasLoop = true;
    const most = Math.max(1, Math.floor(((this.layout.width * meta.duration) / this.length) / APART));
    if (!trace.hasLoop || trace.ticksAsked === most) return;
    trace.ticksAsked = most;
    const found = await this.client.table('ticks', {trace: number, most}, `ticks ${number}`);
    if (found) trace.ticks = found;
    else if (trace.ticksAsked === most) trace.ticksAsked = undefined;
    this.redraw();
  }

  /** Shows the next counter below rows; after the last counter, none. */
  nextCurve() {
    const names = ['', ...new Set(this.traces.flatMap(({meta}) => meta.counters.map((one) => one.name)))];
    this.store.set({curve: names[(names.indexOf(this.state.curve) + 1) % names.length]});
  }

  /** Requests the calls that a search finds. @param {InWindow} at */
  async askFound({number, trace, part: {rows, id}, begin, end}) {
    const {search, exact} = this.state;
    const words = {trace: number, text: search, exact: exact ? 1 : 0, rows: rows.map((row) => keyFor([row])).join(','), from: begin, to: end, bins: SEARCH_BINS};
    const found = await this.client.table('search', words, `search ${number}`);
    if (!found || search !== this.state.search) return;
    trace.found = found;
    trace.foundAt = {rows: id, bins: SEARCH_BINS, begin, end};
    this.redraw();
    this.settle();
  }

  /** Notifies the panels that a selection or an answer is complete. */
  settle() {
    for (const each of this.onSettled) each();
  }

  /** Requests the stacks of the pane in a trace, and the samples and the counters of the selected row. @param {InWindow} at @param {Layout} l */
  askPane({number, trace, begin, end, window}, l) {
    const {row, samples} = this.state, key = row.slice(2), location = Number(key.slice(1));
    if (!paneOf(this, l)) return;
    const rows = this.paneRows.filter((each) => Number(each[0]) === number), shortest = Math.floor((window.end - window.begin) / l.width / 2);
    const words = {trace: number, rows: key, from: begin, to: end};
    if (rows.length) this.client.table('calls', {...words, rows: rows.map((each) => each.slice(2)).join(','), shortest}, `stack ${number}`).then((found) => {
      if (found) [trace.stacks, trace.cut] = [new Map(callsByRow(found.columns).map((calls, at) => [rows[at], calls])), found.notes.cut];
      this.paneArrived();
    });
    else trace.stacks = trace.cut = undefined;
    if (Number(row[0]) !== number) return;
    if (key.startsWith('l') && trace.meta.samples && samples) this.client.table('samples', {...words, location, shortest}, 'samples').then((found) => {
      if (found) [trace.sampled, trace.sampledOf] = [/** @type {any} */ (found.columns), row];
      this.paneArrived();
    });
    else trace.sampled = undefined;
    this.client.table('counters', words, 'counters').then((found) => {
      if (found) trace.counters = found;
      this.paneArrived();
    });
  }

  /** A higher pane leaves less room for rows, so other neighbours may share a row. */
  paneArrived() {
    const before = this.paneMost;
    if (this.paneHeight !== before) this.refreshSoon(0);
    this.redraw();
  }

  selectWindow() {
    const {begin, end} = this.state;
    this.store.set({selection: {begin, end, first: '', last: ''}});
    this.settle();
  }

  /** The panel of findings shows those of these parts of the traces, null: of the whole run.
   * @type {{from: number, to: number, rows: string}[] | null} */
  findingsHere = null;
  /** The panel that is open stays when a call is selected next. */
  keepsPanel = false;
  isQuiet = false;

  /** Changes the state without a step for Back. @param {() => void} change */
  quietly(change) {
    this.isQuiet = true;
    change();
    this.isQuiet = false;
  }

  /** Set by the panels. */
  nextPanel() {}
}
