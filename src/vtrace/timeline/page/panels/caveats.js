// SPDX-License-Identifier: BSD-3-Clause
// The limits of the numbers, as vtrace says them first in a terminal: each line once, until closed.

import {button, byId, element, fill} from './dom.js';

/** @type {Set<string>} */
const known = new Set();
let shown = /** @type {string[]} */ ([]);

/** Shows lines that have not been shown before. @param {string[]} lines */
export function addCaveats(lines) {
  for (const line of lines) if (!known.has(line)) shown.push(line);
  for (const line of lines) known.add(line);
  const place = byId('caveats');
  place.hidden = !shown.length;
  fill(place, element('ul', {}, ...shown.map((line) => element('li', {}, line))), button('\u2715', () => {
    shown = [];
    place.hidden = true;
  }, {'aria-label': 'Close these lines', title: 'Close these lines'}));
}
