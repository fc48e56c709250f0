// SPDX-License-Identifier: BSD-3-Clause
// Notes of the user at a time and a row: a dialog that takes the text, and the panel that lists them. They lie in the
// address.

import {rowAtPoint} from '../draw/layout.js';
import {LONGEST_NOTE, MOST_NOTES, selectedKey} from '../model/address.js';
import {placesOfKey} from '../model/rows.js';
import {duration} from '../model/time.js';
import {button, element, fill, hint} from './dom.js';
import {nameOf} from './details.js';
import {table, times} from './table.js';

/** Asks for the text of a note at the mouse, else at the selection, else in the middle of the window. @param {App} app */
export function addNote(app) {
  const {state} = app.store, l = app.layout, {hover} = app;
  const under = hover && hover.x >= l.left ? rowAtPoint(l, state.scroll, hover.y) : undefined;
  const time = under && hover ? state.begin + ((hover.x - l.left) / l.width) * (state.end - state.begin)
    : state.selection ? (state.selection.begin + state.selection.end) / 2 : (state.begin + state.end) / 2;
  const trace = Number(state.row[0] || 0), of = app.traces[trace].meta.rows, [place] = placesOfKey(of, selectedKey(state.selection, of));
  const row = under ? `${under.trace}:${under.key}` : place === undefined ? state.row : `${trace}:l${of.locations[place]}`;
  if (!row || state.notes.length >= MOST_NOTES) return;
  const field = element('input', {type: 'text', id: 'note-text', maxLength: LONGEST_NOTE, size: 40, 'aria-label': 'Text of the note'});
  const dialog = element('dialog', {id: 'note', 'aria-label': 'Note', onclose: () => dialog.remove()});
  fill(dialog, element('form', {method: 'dialog', onsubmit: () => {
    const text = field.value.trim();
    if (text) app.store.set({notes: [...app.state.notes, {trace: Number(row[0]), time: Math.max(0, Math.round(time - state.shift[Number(row[0])])), row: row.slice(2), text}]});
  }}, element('p', {}, `Note at ${duration(time, 7)}: `, field), element('button', {type: 'submit'}, 'Add'), ' ', button('Cancel', () => dialog.close())));
  document.body.append(dialog);
  dialog.showModal();
}

/** The list of notes. @param {App} app */
export function notes(app) {
  const {notes: every} = app.state;
  if (!every.length) return hint('No notes. The key n adds a note at the mouse, else at the selection; the address and a saved page hold the notes.');
  /** @param {number} row */
  const place = (row) => (every[row].row[0] === 'l' ? nameOf(app, every[row].trace, Number(every[row].row.slice(1))) : every[row].row);
  const at = every.map(({trace, time}) => time + app.state.shift[trace]);
  /** The time since the note before; Infinity: there is none. @param {number} row */
  const since = (row) => at[row] - Math.max(...at.filter((time, other) => time < at[row] || (time === at[row] && other < row)));
  return element('div', {id: 'notes'}, table([
    {head: 'note', value: (row) => every[row].text, show: (row) => element('span', {className: 'sentence'}, every[row].text)},
    {head: 'row', value: place},
    times('time', (row) => every[row].time), times('distance', since, {title: 'from the note before it in time', show: (row) => (since(row) < Infinity ? duration(since(row)) : '')}),
    {head: '', tight: true, value: () => '', show: (row) => button('Remove', () => app.store.set({notes: every.filter((_, at) => at !== row)}), {'aria-label': `Remove the note ${every[row].text}`})},
  ], every.length, {id: 'notes-table', press: (row) => goTo(app, every[row])}));
}

/** Shows the time of a note, with the window's length. @param {App} app @param {Note} note */
function goTo(app, note) {
  app.showTime(note.time + app.state.shift[note.trace]);
  app.store.set({row: `${note.trace}:${note.row}`});
}
