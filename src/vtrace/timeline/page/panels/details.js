// SPDX-License-Identifier: BSD-3-Clause
// The facts of the selected call, and buttons that go to related calls.

import {fullName} from '../model/rows.js';
import {bytes, count, duration, exact} from '../model/time.js';
import {button, element} from './dom.js';

/** @typedef {import('../app.js').App} App */

/** @param {App} app @param {number} trace @param {number} location */
export function nameOf(app, trace, location) {
  const {rows} = app.traces[trace].meta, place = rows.locations.indexOf(location);
  return place < 0 ? `location ${location}` : fullName(rows, place);
}

/** @param {App} app @param {any} found as the server describes the call @param {number} trace */
export function detailsOf(app, found, trace) {
  const {source} = found, long = found.end - found.begin;
  /** @type {[string, import('./dom.js').Child][]} */
  const facts = [
    ['region', source.name], ['class', source.activity],
    ['source', source.file && `${source.file}${source.line ? `:${source.line}` : ''}`],
    ['row', nameOf(app, trace, found.location)],
    ['start', exact(found.begin)], ['duration', `${duration(long, 6)} (${count(long)} ns)`],
    ...(found.calls > 1 ? [['calls', `${count(found.calls)}, which found nothing`]] : []),
    ['exclusive', `${duration(found.exclusive, 6)} (${count(found.exclusive)} ns)`],
    ['call', found.of ? `${count(found.number)} of ${count(found.of)} on this row` : ''],
    ['calls inside', found.children ? count(found.children) : ''],
    ['called by', found.caller && button(found.caller.name, () => app.chooseCall(trace, found.caller))],
    ...found.waits.map((/** @type {any} */ one) => ['waits', `${duration(one.time, 6)} (${one.kind})${one.partner < 0 ? '' : ` for ${nameOf(app, trace, one.partner)}`}`]),
    ...found.values.map((/** @type {[string, string]} */ pair) => pair),
  ];
  const sums = ['sends', 'receives'].map((way) => found[way].reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.bytes, 0));
  if (found.sends.length) facts.push(['sent', `${bytes(sums[0])} in ${found.sends.length} messages`]);
  if (found.receives.length) facts.push(['received', `${bytes(sums[1])} in ${found.receives.length} messages`]);
  return element('section', {id: 'call'},
    element('h2', {}, source.name),
    element('p', {className: 'ways'},
      button('\u2190 previous', () => app.go('previous')), button('next \u2192', () => app.go('next')),
      button('caller', () => app.go('caller')), button('longest', () => app.go('longest', true), {title: 'on all rows'}),
      button('shortest', () => app.go('shortest', true), {title: 'on all rows'}),
      button('longest here', () => app.go('longest'), {title: 'on this row'}),
      button('shortest here', () => app.go('shortest'), {title: 'on this row'}),
      button('all calls', () => app.store.set({search: source.name, exact: true, panel: 'histogram'})),
      button('zoom', () => app.zoomToChoice())),
    element('table', {className: 'facts'}, ...facts.filter(([, value]) => value !== '' && value).map(([name, value]) => element('tr', {}, element('th', {}, name), element('td', {}, value)))),
    ...messages(app, found.sends, trace, 'to', 'go to the receive'), ...messages(app, found.receives, trace, 'from', 'go to the send'),
    ...found.collectives.map((/** @type {any} */ one) => collective(app, one, trace)));
}

/** @param {App} app @param {any[]} ends @param {number} trace @param {string} word @param {string} way */
function messages(app, ends, trace, word, way) {
  return ends.map((end) => element('p', {className: 'message'},
    `${bytes(end.bytes)} ${word} ${nameOf(app, trace, end.partner)}, tag ${end.tag}, ${app.traces[trace].meta.comms[end.comm] ?? ''}, `,
    end.far < 0 ? '' : `${duration(Math.abs(end.far - end.time))} ${end.far > end.time ? 'later' : 'earlier'} `, button(way, () => app.goPartner(end))));
}

/** @param {App} app @param {any} one @param {number} trace */
function collective(app, one, trace) {
  const last = nameOf(app, trace, one.last);
  return element('p', {className: 'message'},
    `${one.op.toLowerCase()} of ${count(one.locations)} on ${app.traces[trace].meta.comms[one.comm] ?? ''}: sent ${bytes(one.sent)}, received ${bytes(one.received)}; `,
    `the last came ${duration(one.last_begin - one.begin)} after the first: ${last} `,
    button('go to the last', async () => app.chooseCall(trace, await app.client.json('at', {trace, location: one.last, time: one.last_begin}, 'at'))));
}
