// SPDX-License-Identifier: BSD-3-Clause
// The menu of a row, which a right click on the row's name opens.

import {rowAtPoint} from '../draw/layout.js';
import {placesOf} from '../model/rows.js';
import {button, byId, element, fill} from '../panels/dom.js';
import {openCluster, togglePin} from './walk.js';

/** @param {App} app */
export function installRowMenu(app) {
  const chart = byId('chart'), menu = element('div', {id: 'row-menu', role: 'menu', 'aria-label': 'Row', hidden: true});
  const close = () => {
    menu.hidden = true;
    chart.focus();
  };
  menu.addEventListener('focusout', (/** @type {FocusEvent} */ event) => {
    if (!(event.relatedTarget instanceof Node && menu.contains(event.relatedTarget))) menu.hidden = true;
  });
  menu.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    event.stopPropagation();
    if (event.key === 'Escape') close();
  });
  byId('work').append(menu);
  chart.addEventListener('contextmenu', (event) => {
    const box = chart.getBoundingClientRect(), l = app.layout, row = rowAtPoint(l, app.store.state.scroll, event.clientY - box.top);
    if (!row || event.clientX - box.left >= l.left) return;
    event.preventDefault();
    app.store.set({row: `${row.trace}:${row.key}`});
    fill(menu, ...itemsOf(app, row).map(([text, act]) => button(text, () => {
      close();
      act();
    }, {role: 'menuitem'})));
    menu.hidden = false;
    menu.style.left = `${event.clientX}px`;
    menu.style.top = `${Math.min(event.clientY, window.innerHeight - menu.offsetHeight - 4)}px`;
    menu.firstChild.focus();
  });
}

/** @param {App} app @param {Row} row @returns {[string, () => void][]} */
function itemsOf(app, row) {
  const part = app.layout.parts[row.trace], {rows} = app.traces[row.trace].meta, process = rows.processes[row.places[0]];
  if (part.rows.indexOf(row) < part.pinned) return [['Let go back', () => togglePin(app, row)], ['Let all rows go back', () => app.store.set({pins: []})]];
  const threads = row.key[0] === 'l' && process >= 0 && placesOf(rows, process).length > 1;
  /** @type {[string, () => void][]} */
  const found = row.key[0] === 'n' ? [] : [['Keep at the top (y)', () => togglePin(app, row)]];
  if (row.alike) found.push([`${row.alike > 1 ? 'Show' : 'Join'} the alike rows`, () => openCluster(app, row)]);
  if (threads) found.push(['Keep its process at the top (Y)', () => togglePin(app, row, true)]);
  return found;
}
