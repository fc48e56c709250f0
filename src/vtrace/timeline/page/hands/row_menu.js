// SPDX-License-Identifier: BSD-3-Clause
// The menu of a row, which a right click on the row's name opens, or the key for menus.

import {rowAtPoint, seen} from '../draw/layout.js';
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
    const items = [...menu.children], step = {ArrowDown: 1, ArrowUp: items.length - 1}[event.key];
    if (event.key === 'Escape') close();
    if (!step) return;
    event.preventDefault();
    items[(items.indexOf(document.activeElement) + step) % items.length].focus();
  });
  menu.addEventListener('contextmenu', (/** @type {MouseEvent} */ event) => event.preventDefault()); // of the key that opens this menu
  byId('work').append(menu);
  chart.addEventListener('contextmenu', (event) => {
    const box = chart.getBoundingClientRect(), l = app.layout, row = rowAtPoint(l, app.state.scroll, event.clientY - box.top);
    if (!row || event.clientX - box.left >= l.left) return;
    event.preventDefault();
    app.store.set({row: `${row.trace}:${row.key}`});
    open(row, event.clientX, event.clientY);
  });
  chart.addEventListener('keydown', (event) => {
    const {row, scroll} = app.state, trace = Number(row[0]), l = app.layout, number = app.rowNumber(l, trace, row.slice(2));
    if ((event.key !== 'ContextMenu' && !(event.key === 'F10' && event.shiftKey)) || number < 0) return;
    event.preventDefault();
    const box = chart.getBoundingClientRect(), part = l.parts[trace];
    open(part.rows[number], box.left + 20, box.top + Math.min(l.bottom, seen(l, scroll, part, number).y));
  });
  /** @param {Row} row @param {number} x @param {number} y */
  const open = (row, x, y) => {
    fill(menu, ...itemsOf(app, row).map(([text, act]) => button(text, () => {
      close();
      act();
    }, {role: 'menuitem'})));
    menu.hidden = !menu.firstChild;
    menu.style.left = `${x}px`;
    menu.style.top = `${Math.min(y, window.innerHeight - menu.offsetHeight - 4)}px`;
    menu.firstChild?.focus();
  };
}

/** @param {App} app @param {Row} row @returns {[string, () => void][]} */
function itemsOf(app, row) {
  const part = app.layout.parts[row.trace], {rows} = app.traces[row.trace].meta, process = rows.processes[row.places[0]];
  const pinned = part.rows.slice(0, part.pinned).some(({key}) => key === row.key);
  const threads = row.key[0] === 'l' && process >= 0 && placesOf(rows, process).length > 1;
  /** @type {[string, () => void][]} */
  const found = row.key[0] === 'n' ? [] : [[pinned ? 'Let go back (y)' : 'Keep at the top (y)', () => togglePin(app, row)]];
  if (row.alike) found.push([`${row.alike > 1 ? 'Show' : 'Join'} the alike rows`, () => openCluster(app, row)]);
  if (threads && !pinned) found.push(['Keep its process at the top (Y)', () => togglePin(app, row, true)]);
  if (app.state.pins.length) found.push(['Let all rows go back', () => app.store.set({pins: []})]);
  return found;
}
