// SPDX-License-Identifier: BSD-3-Clause
// The keys of the page, and the list of them.

import {button, byId, element, fill} from '../panels/dom.js';
import {addNote} from '../panels/notes.js';
import {moved, zoomed} from '../model/time.js';
import {callAtCentre, clear, foldProcess, go, goPartner, nextRow, selectedRow, togglePick, togglePin, zoomToChoice} from './walk.js';

/** @type {[string[], string, (app: App) => void][]} */
const KEYS = [
  [['w'], 'zoom in', (app) => zoom(app, 0.6)],
  [['s'], 'zoom out', (app) => zoom(app, 1 / 0.6)],
  [['a'], 'move left', (app) => move(app, -0.2)],
  [['d'], 'move right', (app) => move(app, 0.2)],
  [['0'], 'show the whole trace', (app) => app.show({begin: 0, end: app.length})],
  [['Enter', 'f'], 'zoom to the selection or the selected call', zoomToChoice],
  [['ArrowUp'], 'row above', (app) => nextRow(app, -1)],
  [['ArrowDown'], 'row below', (app) => nextRow(app, 1)],
  [['ArrowLeft'], 'previous call of the region on the row', (app) => go(app, 'previous')],
  [['ArrowRight'], 'next call of the region on the row', (app) => go(app, 'next')],
  [['u'], 'calling function', (app) => go(app, 'caller')],
  [['i'], 'first call inside', (app) => go(app, 'callee')],
  [['m'], 'other end of the message', (app) => goPartner(app)],
  [['l'], 'longest call of the region on all rows', (app) => go(app, 'longest', true)],
  [['k'], 'shortest call of the region on all rows', (app) => go(app, 'shortest', true)],
  [['c'], 'call in the middle of the window on the selected row', callAtCentre],
  [['x'], 'select the time of the window', (app) => app.selectWindow()],
  [['+', '='], 'higher rows', (app) => app.store.set({zoom: Math.min(64, app.state.zoom * 1.5)})],
  [['-'], 'lower rows', (app) => app.store.set({zoom: Math.max(1, app.state.zoom / 1.5)})],
  [['t'], 'fold rows: threads, processes, nodes', (app) => {
    const {fold} = app.state;
    app.store.set({fold: fold === 'thread' ? 'process' : fold === 'process' ? 'node' : 'thread', scroll: 0});
  }],
  [['o'], 'fold or unfold the process, node or alike rows of the selected row', foldProcess],
  [['y'], 'keep the selected row at the top, or let it go back', (app) => togglePin(app, selectedRow(app))],
  [['Y'], 'the same for its process with all threads', (app) => togglePin(app, selectedRow(app), true)],
  [['e'], 'pick the selected row for panels and stacks, or leave it', (app) => togglePick(app, selectedRow(app))],
  [['v'], 'next counter below rows', (app) => app.nextCurve()],
  [['n'], 'add a note at the mouse or the selection', addNote],
  [['p'], 'next panel', (app) => app.nextPanel()],
  [['/'], 'search a region', () => byId('search').focus()],
  [['Escape'], 'clear the selection and the picked rows, then the search', clear],
  [['?'], 'this list', () => showKeys()],
];

/** @param {App} app */
export function installKeys(app) {
  window.addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
      if (event.key === 'Escape') byId('chart').focus();
      return;
    }
    if (document.querySelector('dialog[open]') || (event.key === 'Enter' && target.closest('button, summary, tr.press'))) return;
    const found = KEYS.find(([keys]) => keys.includes(event.key));
    if (!found) return;
    event.preventDefault();
    found[2](app);
  });
}

/** @param {App} app @param {number} factor */
function zoom(app, factor) {
  const {state} = app.store, l = app.layout;
  const at = app.hover && app.hover.x > l.left ? (app.hover.x - l.left) / l.width : 0.5;
  app.show(zoomed(state, factor, state.begin + at * (state.end - state.begin)));
}

/** @param {App} app @param {number} part */
function move(app, part) {
  const {state} = app.store;
  app.show(moved(state, part * (state.end - state.begin)));
}

export function showKeys() {
  const dialog = /** @type {HTMLDialogElement} */ (byId('keys'));
  const rows = KEYS.map(([keys, text]) => element('tr', {}, element('td', {}, ...keys.flatMap((key) => [element('kbd', {}, key), ' '])), element('td', {}, text)));
  const mouse = [
    ['wheel', 'scroll rows; with Shift move in time'], ['Ctrl and wheel', 'zoom at the mouse'], ['drag', 'select a part; the panels follow'], ['drag on the axis', 'measure a range'],
    ['drag with Shift', 'move in time'], ['click on names with Shift', 'pick rows'], ['right click on the name of a row; Shift and F10', 'menu of the row'], ['click', 'select the call'], ['double click', 'zoom to the call'],
  ].map(([what, text]) => element('tr', {}, element('td', {}, what), element('td', {}, text)));
  fill(dialog, element('h2', {}, 'Keys'), element('table', {}, ...rows, ...mouse), button('Close', () => dialog.close()));
  dialog.showModal();
}
