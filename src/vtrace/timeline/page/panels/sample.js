// SPDX-License-Identifier: BSD-3-Clause
// The facts of the selected sample.

import {count, duration, exact} from '../model/time.js';
import {nameOf} from './details.js';
import {button, element} from './dom.js';

/** @param {any} frame */
function place(frame) {
  return frame.file && `${frame.file}${frame.line ? `:${frame.line}` : ''}`;
}

/** @param {import('../app.js').App} app @param {any} found as the server describes the sample @param {number} trace */
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
      button('\u2190 previous', () => app.go('previous')), button('next \u2192', () => app.go('next')),
      button('zoom', () => app.zoomToChoice())),
    element('table', {className: 'facts'}, ...facts.filter(([, value]) => value).map(([name, value]) => element('tr', {}, element('th', {}, name), element('td', {}, value)))),
    element('h3', {}, 'Call path'),
    element('ol', {className: 'longest'}, ...found.path.map((/** @type {any} */ frame) => element('li', {}, frame.name, place(frame) && element('span', {className: 'hint'}, ` ${place(frame)}`)))));
}
