// SPDX-License-Identifier: BSD-3-Clause
// The tabs beside the chart. A panel shows the selection, else the window. Only the shown panel requests data.

import {collectives, compare, files, findings, profile} from './tables.js';
import {chosen} from '../model/address.js';
import {INITIAL, same} from '../model/store.js';
import {duration} from '../model/time.js';
import {button, byId, element, fill} from './dom.js';
import {detailsOf, histogram, sampleOf} from './details.js';
import {flame} from './flame.js';
import {matrix} from './matrix.js';
import {ranks} from './ranks.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {(app: App, table: import('../net/client.js').Table, trace: number) => Node} Panel */

/** @type {Record<string, [string, Panel | null]>} */
const PANELS = {
  call: ['Call', null], profile: ['Profile', profile], flame: ['Flame', flame], matrix: ['Messages', matrix],
  collectives: ['Collectives', collectives], files: ['Files', files], histogram: ['Search', null], ranks: ['Ranks', ranks],
  findings: ['Findings', findings], compare: ['Compare', null],
};
const PAUSE = 250;
const FOLLOWED = /** @type {const} */ (['begin', 'end', 'selection', 'fold']);

/** @param {App} app */
export function installPanels(app) {
  const {store} = app;
  let timer = 0;
  const shown = Object.entries(PANELS).filter(([name]) => name !== 'compare' || app.traces.length > 1);
  const tabs = shown.map(([name, [text]]) => button(text, () => store.set({panel: name}), {role: 'tab', 'data-panel': name}));
  fill(byId('tabs'), ...tabs);
  if (!shown.some(([name]) => name === store.state.panel)) store.set({panel: INITIAL.panel}); // an address may name any
  const soon = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => show(app), PAUSE);
  };
  const mark = () => tabs.forEach((tab) => tab.setAttribute('aria-selected', String(tab.dataset.panel === store.state.panel)));
  store.subscribe((state, before) => {
    if (!same(state.call, before.call) || !same(state.sample, before.sample)) describe(app);
    if (state.panel !== before.panel) {
      mark();
      show(app);
    } else if (state.panel !== 'call' && state.panel !== 'histogram' && FOLLOWED.some((key) => !same(state[key], before[key]))) soon();
  });
  app.onSettled.push(() => {
    if (store.state.panel === 'histogram' || store.state.selection) soon();
  });
  app.nextPanel = () => {
    const names = shown.map(([name]) => name);
    store.set({panel: names[(names.indexOf(store.state.panel) + 1) % names.length]});
  };
  mark();
  if (store.state.call || store.state.sample) describe(app);
  else show(app);
}

/** Reads the facts of the selected call or sample and shows them. @param {App} app */
async function describe(app) {
  const {call, sample} = app.store.state;
  app.details = null;
  if (!call && !sample) {
    if (app.store.state.panel === 'call') show(app);
    return;
  }
  app.store.set({panel: 'call'});
  const found = call ? await app.client.json('call', {...call}, 'call') : await app.client.json('sample', {...sample, slack: 0, step: 0}, 'call');
  if (!found || !same(call, app.store.state.call) || !same(sample, app.store.state.sample)) return;
  app.details = found;
  app.callEnd = call ? found.end : undefined;
  app.redraw();
  if (app.store.state.panel === 'call') fill(byId('panel'), facts(app));
}

/** The facts of the selected call or sample. @param {App} app */
function facts(app) {
  const {call, sample} = app.store.state;
  if (app.details && call) return detailsOf(app, app.details, call.trace);
  if (app.details && sample) return sampleOf(app, app.details, sample.trace);
  return element('p', {className: 'hint'}, 'Click a call, or press c to select the call in the middle of the window.');
}

/** @param {App} app */
async function showDifferences(app) {
  const {state} = app.store, panel = byId('panel');
  panel.classList.add('waits');
  const parts = app.traces.map((trace, number) => chosen(state, app.layout.parts[number]?.rows ?? [], number, trace.meta.duration));
  const words = Object.fromEntries(parts.flatMap((part, number) => Object.entries(part).map(([name, value]) => [`${name}${number}`, value])));
  const found = await app.client.table('compare', words, 'compare');
  if (!found || app.store.state.panel !== 'compare') return;
  panel.classList.remove('waits');
  fill(panel, element('p', {className: 'hint'}, `${state.selection ? 'selection' : 'window'}: ${parts.map((part) => duration(part.to - part.from)).join(' and ')}`), compare(app, found));
}

/** @param {App} app */
async function show(app) {
  const {state} = app.store, panel = byId('panel'), make = PANELS[state.panel]?.[1];
  if (state.panel === 'call') return void fill(panel, facts(app));
  if (state.panel === 'histogram') return void fill(panel, ...app.traces.map((_, trace) => histogram(app, trace)));
  if (state.panel === 'compare') return showDifferences(app);
  if (!make) return;
  panel.classList.add('waits');
  const ofRun = state.panel === 'findings' && !app.findingsHere, name = state.panel === 'findings' && app.findingsHere ? 'findings_here' : state.panel;
  const parts = await Promise.all(app.traces.map(async (trace, number) => {
    const part = chosen(state, app.layout.parts[number]?.rows ?? [], number, trace.meta.duration);
    const found = await app.client.table('panel', {trace: number, name, ...part}, `panel ${number}`);
    return found && [
      app.traces.length > 1 && element('h2', {}, trace.meta.title),
      element('p', {className: 'hint'}, ofRun ? 'the whole run' : found.notes.saved ? `the saved part: ${duration(app.traces[number].meta.saved.to - app.traces[number].meta.saved.from)}` : `${state.selection ? 'selection' : 'window'}: ${duration(part.to - part.from)}${part.rows ? ', selected rows' : ''}`),
      make(app, found, number),
    ];
  }));
  if (parts.some((part) => !part) || app.store.state.panel !== state.panel) return;
  panel.classList.remove('waits');
  const other = state.panel === 'findings' && button(ofRun ? 'findings of this window' : 'findings of the whole run', () => {
    app.findingsHere = ofRun;
    show(app);
  }, {id: 'other-findings'});
  fill(panel, other, ...parts.flatMap((part) => part || []));
}

