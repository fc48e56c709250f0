// SPDX-License-Identifier: BSD-3-Clause
// The results of a search: a histogram of durations, and the longest calls as buttons.

import {count, duration} from '../model/time.js';
import {button, element} from './dom.js';
import {nameOf} from './details.js';

/** @param {import('../app.js').App} app @param {number} trace */
export function histogram(app, trace) {
  const {found} = app.traces[trace], {search} = app.store.state;
  if (!search) return element('p', {className: 'hint'}, 'Search for a region ( / ): the chart marks its calls, and this panel shows their durations.');
  if (!found) return element('p', {className: 'hint'}, 'Searching ...');
  const {notes} = found, bars = found.columns.histogram;
  const first = bars.findIndex((n) => n > 0), last = bars.length - 1 - [...bars].reverse().findIndex((n) => n > 0);
  const most = bars.reduce((a, b) => Math.max(a, b), 1);
  const lines = first < 0 ? [] : Array.from(bars).slice(first, last + 1).map((n, at) => {
    const bar = element('i', {className: 'bar'});
    bar.style.width = n ? `${Math.max(1, (100 * Math.log(1 + n)) / Math.log(1 + most))}%` : '0';
    return element('tr', {}, element('td', {className: 'number'}, `from ${duration(2 ** (first + at), 3)}`), element('td', {className: 'wide'}, bar), element('td', {className: 'number'}, count(n)));
  });
  return element('section', {id: 'histogram'},
    element('h2', {}, app.traces.length > 1 ? `${app.traces[trace].meta.title}: ${search}` : search),
    element('p', {}, `${count(notes.count)} calls in the window, ${duration(notes.total)} in total; ${notes.regions === 1 ? notes.names[0] : `${count(notes.regions)} regions`}`),
    element('table', {className: 'bars'}, ...lines),
    notes.longest.length > 0 && element('h3', {}, 'The longest'),
    element('ol', {className: 'longest'}, ...notes.longest.map((/** @type {any} */ call) => element('li', {}, button(duration(call.end - call.begin), () => app.chooseCall(trace, call)), ` ${call.name} on ${nameOf(app, trace, call.location)}`))));
}

