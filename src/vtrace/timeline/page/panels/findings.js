// SPDX-License-Identifier: BSD-3-Clause
// The panel of findings: each with its loss, certainty and action. A click picks the guilty rows, zooms to the worst
// occurrence, draws the path of the delay, and shows the facts of its call below the finding.

import {around, duration} from '../model/time.js';
import {element, fill, hint} from './dom.js';
import {table} from './table.js';
import {followDelay} from '../hands/delay.js';
import {chooseCall} from '../hands/walk.js';

/** The facts of the call of the open finding. */
const evidence = element('div', {id: 'evidence'});
/** Draw the table of each trace again. @type {(() => void)[]} */
const draws = [];
/** The shown findings by their keys. @type {Map<string, {finding: Finding, trace: number}>} */
const known = new Map();

/** @type {Panel} */
export function findings(app, found, trace) {
  const {lines, findings: rows} = found.notes;
  const key = (/** @type {number} */ row) => `${trace}.${numberOf(rows[row].text)}`;
  const isOpen = (/** @type {number} */ row) => key(row) === app.state.finding;
  /** @param {number} row */
  const lost = (row) => (rows[row].loss_ns ? `${duration(rows[row].loss_ns, 3)}, ${(100 * rows[row].share).toFixed(1)} %` : '');
  const place = element('div', {});
  const draw = () => fill(place, table([
    {head: 'lost', value: (row) => rows[row].loss_ns, unit: 'ns', show: lost},
    {head: 'finding', value: (row) => rows[row].text, show: (row) => element('div', {className: 'sentence'}, rows[row].text,
      hint([rows[row].doubts, rows[row].action].filter(Boolean).join('; ')),
      isOpen(row) && hint(element('code', {}, rows[row].command)),
      isOpen(row) && evidence)},
    ...['culprit', 'doubts', 'action', 'command'].map((name) => ({head: name, hidden: true, value: (/** @type {number} */ row) => rows[row][name]})),
  ], rows.length, {id: 'findings-table', marked: isOpen, press: (row) => {
    app.store.set({finding: key(row)});
    showFinding(app, rows[row], trace);
  }}));
  draws[trace] = draw;
  rows.forEach((/** @type {Finding} */ finding, /** @type {number} */ row) => known.set(key(row), {finding, trace}));
  draw();
  follow(app);
  return element('div', {id: 'findings'},
    rows.length ? place : element('p', {}, 'No findings here.'),
    element('h2', {}, 'Not recorded'),
    lines.length ? element('ul', {}, ...lines.map((/** @type {string} */ line) => element('li', {}, line))) : element('p', {}, `The archive reports no missing events in this part of ${app.traces[trace].meta.title}.`));
}

/** A number for a text, the same for each page, since a finding has no number of its own. @param {string} text */
const numberOf = (text) => Array.from(text).reduce((sum, letter) => (31 * sum + letter.charCodeAt(0)) % 2 ** 32, 0).toString(36);

/** Marks the finding that is open now. */
export function markFinding() {
  fill(evidence);
  for (const draw of draws) draw?.();
}

/** Keys of rows on the page. @param {App} app @param {number} trace @param {number[]} locations */
function keysOf(app, trace, locations) {
  const known = new Set(app.traces[trace].meta.rows.locations);
  return locations.filter((each) => known.has(each)).map((each) => `l${each}`);
}

/** @param {App} app @param {Finding} finding @param {number} trace */
async function showFinding(app, finding, trace) {
  const {start, stop, region, own} = finding, {finding: open} = app.state, {duration: length} = app.traces[trace].meta, shift = app.state.shift[trace];
  const [guilty, losers] = [finding.guilty, finding.losers].map((each) => keysOf(app, trace, each));
  const picks = (guilty.length ? guilty : losers).map((key) => `${trace}:${key}`);
  const whole = {from: start ?? 0, to: stop ?? length};
  if (start !== null && stop !== null) app.show({begin: start + shift, end: stop + shift});
  app.store.set({picks, between: false, selection: null, call: null, sample: null, ...(region ? {search: region, exact: true} : {})});
  if (!region) return;
  for (const keys of [...(own ? [guilty, losers] : [losers, guilty]).filter((each) => each.length), []]) {
    const found = await app.client.table('search', {trace, text: region, exact: 1, rows: (keys.length ? keys : keysOf(app, trace, app.traces[trace].meta.rows.locations.slice(0, 512))).join(','), ...whole, bins: 1}, 'worst');
    if (!found || open !== app.state.finding) return;
    const [worst] = found.notes.longest;
    if (!worst) continue;
    app.keepsPanel = true;
    return app.quietly(() => { // one step for Back, however late the answer
      if (start === null || stop === null) app.show(around(worst.begin + shift, worst.end + shift));
      chooseCall(app, trace, worst);
    });
  }
}

/** Shows the facts of the open finding's call. @param {App} app @param {Node} facts */
export function showEvidence(app, facts) {
  fill(evidence, facts);
  follow(app);
}

/** Draws the path of the open finding's delay, once the finding and the facts of its call are known. @param {App} app */
function follow(app) {
  const open = known.get(app.state.finding), {call} = app.state;
  if (open && call?.trace === open.trace && app.details) followDelay(app, call, open.finding);
}
