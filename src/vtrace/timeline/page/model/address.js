// SPDX-License-Identifier: BSD-3-Clause
// Converts the state to the address's fragment and back. Initial values are left out, but not the panel: the page may begin
// with another one.

import {keyOf, placesOfKey} from './rows.js';
import {INITIAL} from './store.js';

/** The largest tag: OTF2 has 32 bits for tags. */
export const LAST_TAG = 2 ** 32 - 1;

const bit = (/** @type {boolean} */ value) => (value ? '1' : '0'), isOne = (/** @type {string} */ text) => text === '1';
const whole = (/** @type {string} */ text) => (/^-?\d{1,16}$/.test(text) ? Number(text) : NaN);
const KEYS = /^[01]\.[lpn]\d{1,9}$/;

/** @type {Record<string, AddressWord>} */
const WORDS = {
  fold: ['fold', String, oneOf('thread', 'process', 'node')],
  open: ['open', (list) => list.join('.'), (text) => text.split('.').map(whole)],
  pin: ['pins', (list) => list.join('_').replaceAll(':', '.'), (text) => keyList(text, KEYS)],
  order: ['order', String, matched(/^(wait|found|alike|c\d{1,2})$/)],
  apart: ['apart', (list) => list.join('_').replaceAll(':', '.'), (text) => keyList(text, KEYS)],
  zoom: ['zoom', (n) => String(Number(n.toPrecision(4))), positive],
  scroll: ['scroll', String, whole],
  row: ['row', String, matched(/^[01]:[lpnr][\d_-]+$/)],
  sel: ['selection', (s) => `${s.begin}-${s.end}${s.first ? `.${s.first}.${s.last}` : ''}`, selection],
  call: ['call', (c) => `${c.trace}.${c.location}.${c.begin}.${c.depth}`, numbersOf('trace', 'location', 'begin', 'depth')],
  sample: ['sample', (s) => `${s.trace}.${s.location}.${s.time}`, numbersOf('trace', 'location', 'time')],
  pick: ['picks', (list) => list.map((/** @type {string} */ pick) => pick.replace(':l', '.')).join('_'), picks],
  between: ['between', bit, isOne],
  note: ['notes', (list) => list.map(noteText).join('|'), notes],
  find: ['search', String, String],
  exact: ['exact', bit, isOne],
  colour: ['colour', String, oneOf('class', 'region', 'wait', 'work', 'heat', 'counter')],
  messages: ['messages', String, (text) => oneOf('auto', 'lines', 'none')({0: 'none', 1: 'lines'}[text] ?? text)],
  collectives: ['collectives', String, (text) => oneOf('auto', 'bands', 'none')({0: 'none', 1: 'bands'}[text] ?? text)],
  counters: ['counters', bit, isOne],
  samples: ['samples', bit, isOne],
  processor: ['processor', bit, isOne],
  rare: ['rare', String, oneOf('auto', 'all', 'none')],
  curve: ['curve', String, String],
  smallest: ['smallest', String, naturalOf],
  tag: ['tag', String, tagOf],
  comm: ['comm', String, (text) => (text === '-1' ? -1 : naturalOf(text))],
  finding: ['finding', String, matched(/^[01]\.[\da-z]{1,7}$/)],
  panel: ['panel', String, matched(/^[a-z]+$/)],
  shift: ['shift', (list) => list.join('.'), (text) => (/^-?\d+\.-?\d+$/.test(text) ? text.split('.').map(whole) : undefined)],
  align: ['align', String, String],
};

/** @param {State} state */
export function fragment(state) {
  const found = new URLSearchParams();
  found.set('w', `${state.begin}-${state.end}`);
  for (const [word, [key, write]] of Object.entries(WORDS)) {
    if (key === 'panel' || JSON.stringify(state[key]) !== JSON.stringify(INITIAL[key])) found.set(word, write(state[key]));
  }
  return `#${found}`;
}

/** The values of a fragment that have a meaning with these numbers of traces and classes. @type {ValuesOf} */
export function values(text, traces = 2, classes = 100) {
  const found = new URLSearchParams(text.replace(/^#/, ''));
  /** @type {any} */
  const state = {};
  const ends = /^(\d+)-(\d+)$/.exec(found.get('w') ?? '');
  if (ends && whole(ends[2]) > whole(ends[1])) [state.begin, state.end] = [whole(ends[1]), whole(ends[2])];
  for (const [word, [key, , read]] of Object.entries(WORDS)) {
    const value = found.has(word) ? read(found.get(word) ?? '') : undefined;
    if (value !== undefined && ![value].flat().some(Number.isNaN)) state[key] = value;
  }
  if (Number(state.row?.[0]) >= traces) delete state.row;
  if (Number(state.order?.slice(1)) >= classes) delete state.order;
  for (const key of ['picks', 'pins', 'apart', 'notes']) if (state[key]) state[key] = state[key].filter((/** @type {any} */ each) => Number(each.trace ?? each[0]) < traces);
  for (const key of ['call', 'sample']) if (state[key]?.trace >= traces) delete state[key];
  return state;
}

/** The tag of messages in a text, undefined for other texts. @param {string} text */
export function tagOf(text) {
  return /^\d{1,10}$/.test(text) && Number(text) <= LAST_TAG ? text : undefined;
}

/** A number of at most 15 digits, which is exact in JavaScript; undefined for other texts. @param {string} text */
export function naturalOf(text) {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** @param {string} text */
function positive(text) {
  const value = Number(text);
  return value > 0 && value < 1e4 ? value : NaN;
}

/** @param {...string} known */
function oneOf(...known) {
  return (/** @type {string} */ text) => (known.includes(text) ? text : undefined);
}

/** @param {RegExp} pattern */
function matched(pattern) {
  return (/** @type {string} */ text) => (pattern.test(text) ? text : undefined);
}

/** @param {string} text */
function selection(text) {
  const found = /^(\d+)-(\d+)(?:\.([lpnr][\d_-]+)\.([lpnr][\d_-]+))?$/.exec(text);
  return found ? {begin: whole(found[1]), end: whole(found[2]), first: found[3] ?? '', last: found[4] ?? ''} : undefined;
}

/** A reader of numbers with these names; times may be negative. @param {...string} names @returns {(text: string) => unknown} */
function numbersOf(...names) {
  return (text) => {
    const found = text.split('.').map(whole), isWrong = (/** @type {number} */ n, /** @type {number} */ at) => Number.isNaN(n) || (n < 0 && at !== 2);
    return found.length === names.length && !found.some(isWrong) ? Object.fromEntries(names.map((name, at) => [name, found[at]])) : undefined;
  };
}

/** @param {string} text */
function picks(text) {
  return keyList(text, /^[01]\.\d{1,9}$/)?.map((each) => each.replace(':', ':l'));
}

/** The keys of rows in a text, which has a point after their traces. @param {string} text @param {RegExp} pattern */
function keyList(text, pattern) {
  const found = text.split('_').filter((each) => pattern.test(each)).map((each) => each.replace('.', ':'));
  return found.length ? found : undefined;
}

export const MOST_NOTES = 50, LONGEST_NOTE = 200;

/** @param {Note} note */
const noteText = ({trace, time, row, text}) => `${trace}.${time}.${row}.${encodeURIComponent(text)}`;

/** The notes that have a meaning. @param {string} text */
function notes(text) {
  const found = text.split('|').slice(0, MOST_NOTES).flatMap((each) => {
    const parts = /^([01])\.(\d{1,16})\.([lpnr][\d_-]+)\.(.+)$/s.exec(each);
    try {
      return parts ? [{trace: Number(parts[1]), time: Number(parts[2]), row: parts[3], text: decodeURIComponent(parts[4]).slice(0, LONGEST_NOTE)}] : [];
    } catch {
      return []; // no text of encodeURIComponent
    }
  });
  return found.length ? found : undefined;
}

/** The key of the selected rows, '' for all rows; the order of the rows on the page does not matter. @param {SelectedPart} selection @param {TraceRows} of */
export function selectedKey(selection, of) {
  if (!selection?.first) return '';
  const {first, last} = selection, [here, there] = [first, last].map((key) => placesOfKey(of, key));
  if (!here.length || !there.length || first === last) return here.length && there.length ? first : '';
  const all = [...here, ...there], least = Math.min(...all);
  return keyOf(Array.from({length: Math.max(...all) - least + 1}, (_, n) => least + n));
}

/** The keys of the picked rows of a trace. @param {State} state @param {number} trace */
export const picksOf = ({picks}, trace) => picks.filter((pick) => Number(pick[0]) === trace).map((pick) => pick.slice(2));

/** The times and the rows, by keys; '' for all rows. @type {Chosen} */
export function chosen(state, of, trace, duration) {
  const {selection} = state, shift = state.shift[trace];
  const begin = Math.max(0, (selection ? selection.begin : state.begin) - shift);
  const end = Math.min(duration, (selection ? selection.end : state.end) - shift);
  const picked = selection?.first ? selectedKey(selection, of) : picksOf(state, trace).join(',');
  return {from: begin, to: Math.max(begin + 1, end), rows: picked};
}

/** The part as options of a command: --from and --to. @param {{from: number, to: number}} part @param {number} duration */
export const options = (part, duration) => part.from <= 0 && part.to >= duration ? '' : ` --from ${part.from}ns --to ${part.to}ns`;
