// SPDX-License-Identifier: BSD-3-Clause
// Colours that a user chooses for regions; the browser keeps them.

import {css, parsed} from '../model/colours.js';
import {button, element} from './dom.js';
import {tried} from './side.js';

const KEPT = 'vtrace colours', MOST = 0xffffff, UNUSED = 0x999999;

/** @param {App} app */
export function readColours(app) {
  for (const [name, colour] of Object.entries(tried(() => JSON.parse(localStorage.getItem(KEPT) ?? '{}')) ?? {})) {
    if (Number.isInteger(colour) && colour >= 0 && colour <= MOST) app.own.set(name, colour);
  }
}

/** A field for the colour of a region. @param {App} app @param {string} name */
export function colourField(app, name) {
  const keep = () => {
    tried(() => localStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(app.own))));
    app.redraw();
  };
  const field = element('input', {type: 'color', value: css(app.own.get(name) ?? UNUSED), oninput: () => {
    app.own.set(name, parsed(field.value));
    keep();
  }});
  return element('span', {className: 'own'}, element('label', {}, 'own colour ', field), ' ', button('colour of the class', () => {
    app.own.delete(name);
    field.value = css(UNUSED);
    keep();
  }));
}
