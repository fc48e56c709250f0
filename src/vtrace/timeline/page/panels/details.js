// SPDX-License-Identifier: BSD-3-Clause
// The facts of the selected call or sample, with buttons to related calls, and the calls that a search finds.

import {fullName} from '../model/rows.js';
import {bytes, count, duration, exact} from '../model/time.js';
import {button, element, hint} from './dom.js';
import {colourField} from './own_colours.js';
import {chooseCall, go, goPartner, zoomToChoice} from '../hands/walk.js';

const ALL = 'on all rows', HERE = 'on this row';
/** Buttons that go to related calls: text, way, title. */
const WAYS = [['\u2190 previous', 'previous'], ['next \u2192', 'next'], ['caller', 'caller'], ['longest', 'longest', ALL], ['shortest', 'shortest', ALL], ['longest here', 'longest', HERE], ['shortest here', 'shortest', HERE]];

/** @param {App} app @param {number} trace @param {number} location */
export function nameOf(app, trace, location) {
  const {rows} = app.traces[trace].meta, place = rows.locations.indexOf(location);
  return place < 0 ? `location ${location}` : fullName(rows, place);
}

/** @param {App} app @param {CallFacts} found as the server describes the call @param {number} trace */
export function detailsOf(app, found, trace) {
  const {source} = found, long = found.end - found.begin;
  /** @type {[string, Child][]} */
  const facts = [
    ['region', source.name], ['class', source.activity],
    ['source', source.file && `${source.file}${source.line ? `:${source.line}` : ''}`],
    ['row', nameOf(app, trace, found.location)],
    ['start', exact(found.begin)], ['duration', `${duration(long, 6)} (${count(long)} ns)`],
    ['calls', found.calls > 1 && `${count(found.calls)}, which found nothing`],
    ['exclusive', `${duration(found.exclusive, 6)} (${count(found.exclusive)} ns)`],
    ['call', found.of ? `${count(found.number ?? 0)} of ${count(found.of)} on this row` : ''],
    ['calls inside', found.children ? count(found.children) : ''],
    ['called by', found.caller && button(found.caller.name, () => chooseCall(app, trace, found.caller))],
    ...found.waits.map((one) => /** @type {[string, string]} */ (['waits', `${duration(one.time, 6)} (${one.kind})${one.partner < 0 ? '' : ` for ${nameOf(app, trace, one.partner)}`}`])),
    ...found.values,
  ];
  for (const [way, word] of /** @type {const} */ ([['sends', 'sent'], ['receives', 'received']])) {
    const {length} = found[way], sum = found[way].reduce((all, one) => all + one.bytes, 0);
    if (length) facts.push([word, `${bytes(sum)} in ${length} message${length > 1 ? 's' : ''}`]);
  }
  return element('section', {id: 'call'},
    element('h2', {}, source.name),
    element('p', {className: 'ways'},
      ...WAYS.map(([text, way, title = '']) => button(text, () => go(app, way, title === ALL), {title})),
      button('all calls', () => app.store.set({search: source.name, exact: true, panel: 'histogram'})),
      button('zoom', () => zoomToChoice(app))),
    factsTable(facts),
    ...messages(app, found.sends, trace, 'to', 'go to the receive'), ...messages(app, found.receives, trace, 'from', 'go to the send'),
    ...found.collectives.map((one) => collective(app, one, trace)), colourField(app, source.name));
}

/** @param {[string, Child][]} facts those without a value are left out */
function factsTable(facts) {
  return element('table', {className: 'facts'}, ...facts.filter(([, value]) => value).map(([name, value]) => element('tr', {}, element('th', {}, name), element('td', {}, value))));
}

/** @type {MessagesOf} */
function messages(app, ends, trace, word, way) {
  return ends.map((end) => element('p', {className: 'message'},
    `${bytes(end.bytes)} ${word} ${nameOf(app, trace, end.partner)}, tag ${end.tag}, ${app.traces[trace].meta.comms[end.comm] ?? ''}, `,
    end.far < 0 ? '' : `${duration(Math.abs(end.far - end.time))} ${end.far > end.time ? 'later' : 'earlier'} `, button(way, () => goPartner(app, end))));
}

/** @type {Collective} */
function collective(app, one, trace) {
  const last = nameOf(app, trace, one.last);
  return element('p', {className: 'message'},
    `${one.op.toLowerCase()} of ${count(one.locations)} on ${app.traces[trace].meta.comms[one.comm] ?? ''}: sent ${bytes(one.sent)}, received ${bytes(one.received)}; `,
    `the last came ${duration(one.last_begin - one.begin)} after the first: ${last} `,
    button('go to the last', async () => chooseCall(app, trace, await app.client.json('at', {trace, location: one.last, time: one.last_begin}, 'at'))));
}

/** @param {App} app @param {number} trace */
export function histogram(app, trace) {
  const {found} = app.traces[trace], {search} = app.state;
  if (!search) return hint('Search for a region ( / ): the chart marks its calls, and this panel shows their durations.');
  if (app.traces[trace].meta.saved?.shortest < 0) return hint('This file has no single calls: open the trace with vtrace view.');
  if (!found) return hint('Searching ...');
  const {notes} = found, bars = found.columns.histogram;
  const first = bars.findIndex((n) => n > 0), last = bars.length - 1 - [...bars].reverse().findIndex((n) => n > 0);
  const most = bars.reduce((a, b) => Math.max(a, b), 1);
  const lines = first < 0 ? [] : Array.from(bars).slice(first, last + 1).map((n, at) => {
    const bar = element('i', {className: 'bar', style: `width: ${n ? Math.max(1, (100 * Math.log(1 + n)) / Math.log(1 + most)) : 0}%`});
    return element('tr', {}, element('td', {className: 'number'}, `from ${duration(2 ** (first + at), 3)}`), element('td', {className: 'wide'}, bar), element('td', {className: 'number'}, count(n)));
  });
  return element('section', {id: 'histogram'},
    element('h2', {}, app.traces.length > 1 ? `${app.traces[trace].meta.title}: ${search}` : search),
    element('p', {}, `${count(notes.count)} calls in the window, ${duration(notes.total)} in total; ${notes.regions === 1 ? notes.names[0] : `${count(notes.regions)} regions`}`),
    element('table', {className: 'bars'}, ...lines),
    notes.longest.length > 0 && element('h3', {}, 'The longest'),
    element('ol', {className: 'longest'}, ...notes.longest.map((/** @type {any} */ call) => element('li', {}, button(duration(call.end - call.begin), () => chooseCall(app, trace, call)), ` ${call.name} on ${nameOf(app, trace, call.location)}`))));
}

/** @param {Frame} frame */
const place = (frame) => frame.file && `${frame.file}${frame.line ? `:${frame.line}` : ''}`;

/** @param {App} app @param {SampleFacts} found as the server describes the sample @param {number} trace */
export function sampleOf(app, found, trace) {
  const leaf = found.path[found.path.length - 1];
  /** @type {[string, string][]} */
  const facts = [
    ['function', leaf.name], ['class', leaf.activity], ['source', place(leaf)], ['row', nameOf(app, trace, found.location)],
    ['time', exact(found.time)], ['weight', `${duration(found.weight, 6)} (${count(found.weight)} ns)${found.exact ? '' : ', estimated'}`],
    ['taken by', found.source], ['inside the call', found.inside],
  ];
  return element('section', {id: 'sample'},
    element('h2', {}, `Sample in ${leaf.name}`),
    element('p', {className: 'ways'},
      ...WAYS.slice(0, 2).map(([text, way]) => button(text, () => go(app, way))),
      button('zoom', () => zoomToChoice(app))),
    factsTable(facts),
    element('h3', {}, 'Call path'),
    element('ol', {className: 'longest'}, ...found.path.map((frame) => element('li', {}, frame.name, place(frame) && element('span', {className: 'hint'}, ` ${place(frame)}`)))));
}
