// SPDX-License-Identifier: BSD-3-Clause
// The bar above the chart and the legend below: search, rows, colours, filters, alignment, export.

import {button, byId, element, fill, hint} from './dom.js';
import {paperOf, windowOf} from '../draw/chart.js';
import {showKeys} from '../hands/keys.js';
import {short, shown} from '../model/curves.js';
import {LAST_TAG, naturalOf, options, tagOf} from '../model/address.js';
import {same} from '../model/store.js';
import {bytes, count, duration} from '../model/time.js';
import {css} from '../model/colours.js';
import {exportPicture, meanings, savePage} from './share.js';

/** @param {App} app */
export function installBar(app) {
  const {store, traces} = app, {state} = store;
  const search = element('input', {
    id: 'search', type: 'search', 'aria-label': 'Search a region', placeholder: 'Search ( / )', value: state.search, size: 20, spellcheck: false,
    oninput: () => store.set({search: search.value, exact: false, ...(search.value ? {panel: 'histogram'} : {})}),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Enter') byId('chart').focus();
    },
  });
  /** The menus of values of the state. @type {[keyof State, any][]} */
  const menus = [];
  /** A menu of a value of the state. @param {keyof State} key @param {string} id @param {string} label @param {(string | [string, string])[]} items
   * @param {string} [title] @param {Partial<State>} [also] what a choice sets, too */
  const chosen = (key, id, label, items, title = '', also = {}) => {
    const made = choice(id, label, items.map((one) => (typeof one === 'string' ? [one, one] : one)), String(state[key]), (value) => store.set({[key]: value, ...also}));
    made.title = title;
    menus.push([key, made.lastChild]);
    return made;
  };
  const fold = chosen('fold', 'rows', 'Rows', [['thread', 'threads'], ['process', 'processes'], ['node', 'nodes']], '', {scroll: 0});
  const order = chosen('order', 'order', 'Order', [['', 'by rank'], ['alike', 'alike joined'], ['wait', 'by waits'], ['found', 'by search'], ...traces[0].meta.classes.map(({name}, number) => /** @type {[string, string]} */ ([`c${number}`, `by ${name}`]))],
    'By the time in the window, the largest first; alike joined: one row stands for all that spend it alike', {apart: [], scroll: 0});
  const rare = chosen('rare', 'rare', 'Marks', ['auto', 'all', 'none'], 'Outliers: calls of at least 10 times the mean of their region. Waits: MPI waits of at least 1/1000 of the trace.');
  const counters = [...new Set(traces.flatMap((one) => one.meta.counters.map(({name}) => name)))];
  const colour = chosen('colour', 'colour', 'Colour', ['class', 'region', 'wait', ['work', 'work of the row'], ['heat', 'duration'], ...(counters.length ? ['counter'] : [])]);
  const curve = chosen('curve', 'curve', 'Counter', [['', 'none'], ...counters], 'A counter below all rows (v: the next one)');
  const sampled = traces.some((one) => one.meta.samples), offCore = traces.some((one) => one.meta.offCore);
  const messages = chosen('messages', 'messages', 'Messages', ['auto', 'lines', 'none']);
  const collectives = chosen('collectives', 'bands', 'Collectives', ['auto', 'bands', 'none']);
  const toggles = /** @type {const} */ (['counters', 'samples', 'processor']).filter((name) => ({counters: true, samples: sampled, processor: offCore})[name]).map((name) => {
    const box = element('input', {type: 'checkbox', checked: state[name], onchange: () => store.set({[name]: box.checked}), 'data-state': name});
    return element('label', {}, box, name);
  });
  fill(byId('bar'), element('h1', {title: about(traces[0].meta)}, traces.map((one) => one.meta.title).join(' / ')), search, fold, order, colour,
    menu('show', 'Show', rare, messages, collectives, counters.length > 0 && curve, ...toggles), filters(app), ...(traces.length > 1 ? [alignment(app)] : []),
    button('Whole', () => app.show({begin: 0, end: app.length}), {title: 'Show the whole trace (0)'}),
    button('Command', () => copyCommand(app), {title: 'Copy the command that shows this window', 'data-needs': 'server'}),
    button('Save page', () => savePage(app), {title: 'Save this page as one file, which needs no server', 'data-needs': 'server'}),
    button('SVG', () => exportPicture(app, 'svg')), button('PNG', () => exportPicture(app, 'png')),
    button('?', showKeys, {title: 'Keys', 'aria-label': 'Keys'}));
  const keys = [['none', 'no call'], sampled && ['sampled', 'samples, no call'], ['lost', 'not recorded'], ['pick', 'marker, found'], ['outlier', 'outlier, error'], ['wait', 'long wait'], ['pale', 'paler: waiting'], offCore && ['ready', 'edge: waits for a processor'], offCore && ['blocked', 'edge: blocked']];
  let explained = '';
  const legend = () => {
    const paper = paperOf(), now = `${store.state.colour} ${store.state.curve} ${paper.back}`, every = traces[0].meta.classes.map((_, number) => number);
    if (now === explained) return;
    explained = now;
    fill(byId('legend'), ...meanings(app, paper, every).map(([colour, text]) => element('span', {}, element('i', {style: `background: ${css(colour)}`}), text)),
      ...keys.map((one) => one && (one[0] !== 'pale' || ['class', 'region'].includes(store.state.colour)) && element('span', {}, element('i', {className: one[0]}), one[1])));
  };
  const status = () => {
    const {begin, end, selection} = store.state;
    const parts = [`window ${duration(end - begin)} from ${duration(begin, 6)}`];
    if (selection) parts.push(`selected ${duration(selection.end - selection.begin)}`);
    for (const [number, one] of traces.entries()) parts.push(...messagesText(app, one, number));
    for (const one of traces) {
      if (one.curves) parts.push(scaleText(one.curves));
      if (one.sums && store.state.colour === 'work') parts.push(`rows compute ${[one.sums.work.least, one.sums.work.most].map((share) => (100 * share).toFixed(0)).join(' to ')} % of the window`);
    }
    parts.push(...new Set(traces.flatMap((one) => [...(one.curveLines ?? []), ...(one.rareLines ?? [])])));
    fill(byId('status'), parts.join(' \u00b7 '));
    legend();
  };
  app.afterDraw = status;
  const keep = () => store.state.colour === 'counter' && !store.state.curve && store.set({curve: counters[0] ?? ''});
  keep();
  store.subscribe((now) => {
    keep();
    if (document.activeElement !== search) search.value = now.search;
    for (const [key, select] of menus) select.value = now[key];
    for (const label of toggles) label.firstChild.checked = /** @type {any} */ (now)[label.firstChild.dataset.state];
  });
}

/** What of the state decides which messages count. */
const COUNTED = /** @type {const} */ (['begin', 'end', 'shift', 'smallest', 'tag', 'comm', 'between', 'picks']);

/** The number of messages in the window, as one text or none. @param {App} app @param {TraceData} trace @param {number} number */
function messagesText(app, {meta, messages, messagesOf, crowded}, number) {
  const {state} = app.store, {begin, end} = windowOf(app, number);
  if (state.messages === 'none' || end <= 0 || begin >= meta.duration) return [];
  if (!messagesOf || !COUNTED.every((key) => same(state[key], messagesOf[key]))) return ['counting messages'];
  return messages ? [`${count(messages.notes.messages)} messages, ${bytes(messages.notes.bytes)}${crowded ? ' (too many to draw: zoom in)' : ''}`] : [];
}

/** @param {Curves} curves */
function scaleText(curves) {
  const {least, most} = curves.scale;
  return least <= most ? `${short(curves.name)}: ${shown(least)} to ${shown(most)} ${curves.unit}` : `${short(curves.name)}: no values here`;
}

/** @param {any} meta */
const about = (meta) => `${meta.creator}, ${count(meta.events)} events, ${count(meta.rows.locations.length)} locations, ${duration(meta.duration)}`;

/** @type {Choice} */
export function choice(id, label, items, value, change) {
  const select = element('select', {id, onchange: () => change(select.value)}, ...items.map(([one, text]) => element('option', {value: one, selected: one === value}, text)));
  return element('label', {}, `${label} `, select);
}

/** A menu that opens below its name; Escape and the loss of the focus close it. @param {string} id @param {string} text
 * @param {...Child} items */
function menu(id, text, ...items) {
  const made = element('details', {className: 'menu', id, onkeydown: (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape' && made.open) {
      made.open = false;
      made.firstChild.focus();
      event.stopPropagation();
    }
  }, onfocusout: (/** @type {FocusEvent} */ event) => {
    if (event.relatedTarget instanceof Node && !made.contains(event.relatedTarget)) made.open = false;
  }}, element('summary', {}, text), element('div', {}, ...items));
  return made;
}

/** Filters of messages: smallest bytes, tag, communicator. @param {App} app */
function filters(app) {
  const {store, traces} = app, {state} = store;
  const said = element('output', {className: 'hint'});
  /** Takes a value, or shows a hint for an invalid text. @param {string} text @param {unknown} value @param {string} hint @param {() => void} take */
  const checked = (text, value, hint, take) => {
    fill(said, text && value === undefined ? hint : '');
    if (!text || value !== undefined) take();
  };
  const smallest = element('input', {type: 'number', min: 0, value: state.smallest || '', placeholder: 'bytes', title: 'Show messages of at least this many bytes', onchange: () => {
    const value = naturalOf(smallest.value);
    checked(smallest.value, value, 'bytes must be a whole number of at most 15 digits', () => store.set({smallest: value ?? 0}));
  }});
  const tag = element('input', {type: 'text', size: 5, value: state.tag, placeholder: 'tag', title: 'Show messages with this tag', onchange: () => {
    const value = tagOf(tag.value.trim());
    checked(tag.value.trim(), value, `the tag must be a number from 0 to ${LAST_TAG}`, () => store.set({tag: value ?? ''}));
  }});
  const comms = traces[0].meta.comms.map((name, row) => /** @type {[string, string]} */ ([String(row), name || `communicator ${row}`]));
  return menu('filter', 'Filter', element('label', {}, 'at least ', smallest), element('label', {}, 'tag ', tag),
    choice('comm', 'in', [['-1', 'all communicators'], ...comms], String(state.comm), (value) => store.set({comm: Number(value)})), said);
}

/** The menu that aligns two traces at the start or at a call of a region. @param {App} app */
function alignment(app) {
  const {store} = app;
  const number = element('input', {type: 'number', min: 1, value: 1, title: 'The number of the call, counted over all rows of a trace in the order of starts'});
  const name = element('input', {type: 'text', size: 16, placeholder: 'region', value: store.state.align.split('*')[1] ?? ''});
  const said = element('output', {});
  const apply = async () => {
    const text = name.value.trim(), n = Math.max(1, naturalOf(number.value) ?? 1);
    if (!text) return void store.set({shift: [0, 0], align: ''});
    const found = await Promise.all(app.traces.map((_, trace) => app.client.json('nth', {trace, region: text, number: n}, `nth ${trace}`)));
    if (!found.every(Boolean)) return undefined; // a newer request, or an error that the page shows
    const lacks = found.flatMap((one, at) => (one.begin === null ? [`${app.traces[at].meta.title} has ${one.known ? `${count(one.calls)} calls of` : 'no region'} ${text}`] : []));
    fill(said, lacks.join(', '));
    if (lacks.length) return undefined;
    const times = found.map((one) => one.begin), latest = Math.max(...times);
    store.set({shift: times.map((time) => latest - time), align: `${n}*${text}`});
  };
  return menu('align', 'Align', element('label', {}, 'call ', number), element('label', {}, 'of ', name), button('Align', apply),
    button('At the start', () => {
      name.value = '';
      apply();
    }), said);
}

/** The command that shows the window. @param {App} app */
export function commandOf(app) {
  const {state} = app.store, {meta} = app.traces[0];
  return `${app.traces.map((one) => one.meta.command).join(' ').replace(/ vtrace view /g, ' ')}${meta.options}${options({from: state.begin, to: state.end}, meta.duration)}`;
}

/** @param {App} app */
async function copyCommand(app) {
  const text = commandOf(app), dialog = /** @type {HTMLDialogElement} */ (byId('command'));
  const said = hint();
  fill(dialog, element('p', {}, 'This command shows the window:'), element('code', {}, text), said, button('Close', () => dialog.close()));
  dialog.showModal();
  await navigator.clipboard?.writeText(text).then(() => fill(said, 'The command is in the clipboard.'), () => undefined);
}
