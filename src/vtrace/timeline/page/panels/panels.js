// SPDX-License-Identifier: BSD-3-Clause
// The tabs beside the chart. A panel shows the selection, else the window. Only the shown panel requests data.

import {compare, counters, files, profile} from './tables.js';
import {tree} from './tree.js';
import {chosen, values} from '../model/address.js';
import {INITIAL, same} from '../model/store.js';
import {duration} from '../model/time.js';
import {button, byId, element, fill, hint} from './dom.js';
import {addCaveats} from './caveats.js';
import {detailsOf, histogram, nameOf, sampleOf} from './details.js';
import {findings, markFinding, showEvidence} from './findings.js';
import {flame} from './flame.js';
import {iterations} from './iterations.js';
import {collectives, matrix} from './matrix.js';
import {notes} from './notes.js';
import {readColours} from './own_colours.js';
import {ranks} from './ranks.js';
import {installSide} from './side.js';

/** @type {Record<string, [string, Panel | null]>} */
const PANELS = {
  findings: ['Findings', findings], call: ['Call', null], profile: ['Profile', profile], tree: ['Tree', tree], flame: ['Flame', flame],
  iterations: ['Iterations', iterations], ranks: ['Ranks', ranks], matrix: ['Messages', matrix],
  collectives: ['Collectives', collectives], files: ['Files', files], memory: ['Memory', flame], counters: ['Counters', counters], histogram: ['Search', null], notes: ['Notes', null],
  compare: ['Compare', null],
};
const PAUSE = 250;
const FOLLOWED = /** @type {const} */ (['begin', 'end', 'selection', 'fold', 'picks']);
/** What panels say that may take seconds. @type {Record<string, string>} */
const SLOW = {findings: 'Looking for causes of lost time in all events ...', iterations: 'Looking for iterations in all events ...', memory: 'Looking for blocks ...'};
/** Panels that do not change with the window. */
const STAY = ['call', 'findings', 'histogram', 'iterations', 'memory', 'notes'];

/** @param {App} app */
export function installPanels(app) {
  const {store} = app;
  let timer = 0;
  const missing = {compare: app.traces.length < 2, memory: !app.traces.some(({meta}) => meta.memory), counters: !app.traces.some(({meta}) => meta.counters.length)};
  const shown = Object.entries(PANELS).filter(([name]) => !(/** @type {any} */ (missing)[name]));
  const tabs = shown.map(([name, [text]]) => button(text, () => store.set({panel: name}), {role: 'tab', id: `tab-${name}`, 'data-panel': name, 'aria-controls': 'panel'}));
  fill(byId('tabs'), ...tabs);
  byId('tabs').style.gridTemplateColumns = `repeat(${Math.ceil(tabs.length / 2)}, auto)`;
  byId('tabs').addEventListener('keydown', (event) => alongTabs(event, tabs));
  const waits = begin(app);
  if (!shown.some(([name]) => name === store.state.panel)) store.set({panel: INITIAL.panel}); // an address may name any
  const soon = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => show(app), PAUSE);
  };
  const mark = () => tabs.forEach((tab) => {
    const chosen = tab.dataset.panel === store.state.panel;
    tab.setAttribute('aria-selected', String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen) byId('panel').setAttribute('aria-labelledby', tab.id);
  });
  store.subscribe((state, before) => {
    if (!same(state.call, before.call) || !same(state.sample, before.sample)) describe(app);
    if (state.finding !== before.finding) markFinding();
    if (state.panel !== before.panel) {
      mark();
      show(app);
    } else if (state.panel === 'notes' && !same(state.notes, before.notes)) show(app);
    else if (!STAY.includes(state.panel) && FOLLOWED.some((key) => !same(state[key], before[key]))) soon();
    if (FOLLOWED.some((key) => !same(state[key], before[key]))) head(app);
  });
  app.onSettled.push(() => {
    if (store.state.panel === 'histogram' || (store.state.selection && !STAY.includes(store.state.panel))) soon();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', soon);
  app.nextPanel = () => {
    const names = shown.map(([name]) => name);
    store.set({panel: names[(names.indexOf(store.state.panel) + 1) % names.length]});
  };
  installSide();
  readColours(app);
  mark();
  head(app);
  if (store.state.call || store.state.sample) describe(app);
  if (store.state.panel !== 'call' || !(store.state.call || store.state.sample)) show(app, waits);
}

/** Begins with the comparison, else the findings where there are any, unless the address says more. Returns true if this is unknown. @param {App} app */
function begin(app) {
  const {state} = app.store, [{meta}] = app.traces, asked = values(location.hash || app.client.state);
  app.keepsPanel = Boolean(asked.panel && (state.call || state.sample));
  const two = app.traces.length > 1;
  if (asked.panel || state.call || state.sample || (!two && (meta.findings === 0 || meta.findings < -1))) return false;
  app.store.set({panel: two ? 'compare' : 'findings'});
  return !two && meta.findings < 0;
}

/** Moves the focus from tab to tab. @param {KeyboardEvent} event @param {HTMLElement[]} tabs */
function alongTabs(event, tabs) {
  const at = tabs.indexOf(/** @type {HTMLElement} */ (event.target)), last = tabs.length - 1;
  /** @type {Record<string, number>} */
  const ways = {ArrowLeft: at ? at - 1 : last, ArrowRight: at < last ? at + 1 : 0, Home: 0, End: last};
  const to = tabs[ways[event.key] ?? -1];
  if (at < 0 || !to) return;
  event.preventDefault();
  event.stopPropagation();
  to.click();
  to.focus();
}

/** The lines above the panel: the selected time with its share of the window, and the picked rows. @param {App} app */
function head(app) {
  const {selection, picks, begin: from, end} = app.state;
  const share = selection ? (100 * (selection.end - selection.begin)) / (end - from) : 0;
  fill(byId('picked'),
    selection && element('span', {}, `selected ${duration(selection.end - selection.begin)}${selection.first && ' of the framed rows'}, ${Number(share.toPrecision(3))} % of the window `,
      button('diagnose this range', () => diagnose(app), {id: 'diagnose', title: 'Findings of the selected time and rows'}), ' ',
      button('\u2715', () => app.store.set({selection: null}), {'aria-label': 'Clear the selection of time', title: 'Clear the selection (Escape)'})),
    picks.length > 0 && element('span', {}, `rows: ${pickedNames(app)} `,
      button('\u2715', () => app.store.set({picks: [], between: false}), {'aria-label': 'Clear the picked rows', title: 'Clear the picked rows (Escape)'})));
}

/** @param {App} app */
function pickedNames(app) {
  const {picks} = app.state, names = picks.slice(0, 3).map((pick) => nameOf(app, Number(pick[0]), Number(pick.slice(3))));
  return `${names.join(', ')}${picks.length > 3 ? ` and ${picks.length - 3} more` : ''}`;
}

/** The parts of the traces that panels show. Matrices show picked rows among all. @param {App} app */
function partsOf(app) {
  const {state} = app.store, shown = ['matrix', 'collectives'].includes(state.panel) ? {...state, picks: []} : state;
  return app.traces.map((trace, number) => chosen(shown, trace.meta.rows, number, trace.meta.duration));
}

/** Shows the findings of the selection, else of the window. @param {App} app */
function diagnose(app) {
  app.findingsHere = partsOf(app);
  if (app.state.panel === 'findings') show(app);
  else app.store.set({panel: 'findings'});
}

/** Reads the facts of the selected call or sample and shows them. @param {App} app */
async function describe(app) {
  const {call, sample} = app.state;
  const keeps = app.keepsPanel;
  app.keepsPanel = false;
  app.details = null;
  if (!call && !sample) {
    if (app.state.panel === 'call') show(app);
    return;
  }
  if (!keeps) app.store.set({panel: 'call'});
  const found = call ? await app.client.json('call', {...call}, 'call') : await app.client.json('sample', {...sample, slack: 0, step: 0}, 'call');
  if (!found || !same(call, app.state.call) || !same(sample, app.state.sample)) return;
  app.details = found;
  app.callEnd = call ? found.end : undefined;
  app.redraw();
  if (app.state.panel === 'call') fill(byId('panel'), facts(app));
  else if (keeps) showEvidence(app, facts(app));
}

/** The facts of the selected call or sample. @param {App} app */
function facts(app) {
  const {call, sample} = app.state;
  if (app.details && call) return detailsOf(app, app.details, call.trace);
  if (app.details && sample) return sampleOf(app, app.details, sample.trace);
  return hint('Click a call, or press c to select the call in the middle of the window.');
}

/** The differences of two traces in their parts. @param {App} app @param {ReturnType<typeof partsOf>} parts */
async function differences(app, parts) {
  const words = Object.fromEntries(parts.flatMap((part, number) => Object.entries(part).map(([name, value]) => [`${name}${number}`, value])));
  const found = await app.client.table('compare', words, 'compare');
  return found && [hint(found.notes.saved ? 'the saved part' : `${app.state.selection ? 'selection' : 'window'}: ${parts.map((part) => duration(part.to - part.from)).join(' and ')}`), compare(app, found)];
}

/** Counts the panels that were asked for: only the last one is shown. */
let turn = 0;

/** @param {App} app @param {boolean} [mayFail] shows the profile where there are no findings */
async function show(app, mayFail = false) {
  const {state} = app.store, panel = byId('panel'), make = PANELS[state.panel]?.[1];
  panel.classList.remove('waits');
  if (state.panel === 'call') return void fill(panel, facts(app));
  if (state.panel === 'histogram') return void fill(panel, ...app.traces.map((_, trace) => histogram(app, trace)));
  if (state.panel === 'notes') return void fill(panel, notes(app));
  const isPair = state.panel === 'compare';
  if (!make && !isPair) return;
  const mine = (turn += 1);
  panel.classList.add('waits');
  if (SLOW[state.panel]) fill(panel, element('p', {className: 'hint', role: 'status'}, SLOW[state.panel]));
  const isFindings = state.panel === 'findings', here = isFindings ? app.findingsHere : null;
  const places = here ?? partsOf(app), ofRun = (isFindings && !here) || state.panel === 'iterations';
  const parts = isPair ? [await differences(app, places)] : await Promise.all(app.traces.map(async (trace, number) => {
    const part = places[number];
    const found = await app.client.table('panel', {trace: number, name: here ? 'findings_here' : state.panel === 'tree' ? 'flame' : state.panel, ...part}, `panel ${number}`);
    if (found && isFindings && ofRun) addCaveats(found.notes.limits);
    if (found && ofRun && (trace.meta.quick || !isFindings)) {
      trace.hasLoop = true;
      app.askTicks(number);
    }
    if (mayFail && !found?.notes.findings.length) return undefined;
    return found && [
      app.traces.length > 1 && element('h2', {}, trace.meta.title),
      hint(ofRun ? 'the whole run' : found.notes.saved ? `the saved part: ${duration(app.traces[number].meta.saved.to - app.traces[number].meta.saved.from)}` : `${state.selection ? 'selection' : 'window'}: ${duration(part.to - part.from)}${part.rows ? ', selected rows' : ''}`),
      make?.(app, found, number),
    ];
  }));
  if (mine !== turn || app.state.panel !== state.panel) return;
  if (mayFail && parts.some((part) => !part)) return app.quietly(() => app.store.set({panel: INITIAL.panel}));
  panel.classList.remove('waits');
  if (parts.some((part) => !part)) return void fill(panel, hint('No answer: the line below the chart says why.'));
  const others = isFindings && element('p', {className: 'ways'},
    button('findings of this window', () => diagnose(app), {id: 'other-findings'}),
    here && button('findings of the whole run', () => {
      app.findingsHere = null;
      show(app);
    }, {id: 'run-findings'}));
  fill(panel, others, ...parts.flatMap((part) => part || []));
}
