// SPDX-License-Identifier: BSD-3-Clause
// The rows of the picture: one for each location, or folded by process or node; neighbours may share a row.

import {NO_LEVEL} from './tiles.js';

/** The rows of a trace. @type {RowsOf} */
export function rowsOf(rows, finest, fold, open, trace) {
  const found = /** @type {Row[]} */ ([]);
  for (const group of grouped(rows, fold, open)) {
    const {places, kind} = group;
    const process = rows.processes[places[0]];
    const single = places.length === 1;
    found.push({
      trace, places,
      key: single ? `l${rows.locations[places[0]]}` : kind === 'node' ? `n${nodeOf(rows, process)}` : `p${process}`,
      name: kind === 'node' ? rows.nodes[nodeOf(rows, process)] || 'node' : fold === 'node' && process >= 0 ? inNode(rows, process) : single ? locationName(rows, places[0]) : processName(rows, process),
      location: single ? rows.locations[places[0]] : -1,
      finest: Math.max(...places.map((place) => finest[place] % NO_LEVEL)),
    });
  }
  return found;
}

/** A process below its node, whose name stands before the first one. @param {TraceRows} rows @param {number} process */
function inNode(rows, process) {
  const node = rows.nodes[nodeOf(rows, process)], name = processName(rows, process).replace(` on ${node}`, ''); // of several nodes, names have theirs
  return processesOf(rows, nodeOf(rows, process))[0] === process ? `${node}, ${name}` : `  ${name}`;
}

/** The processes of a node. @param {TraceRows} rows @param {number} node */
export const processesOf = (rows, node) => [...new Set(rows.processes)].filter((process) => process >= 0 && nodeOf(rows, process) === node);

/** @param {TraceRows} rows @param {Fold} fold @param {ReadonlySet<number>} open */
function grouped(rows, fold, open) {
  /** @type {Map<string, {places: number[], kind: Fold}>} */
  const found = new Map();
  rows.processes.forEach((process, place) => {
    const folded = process >= 0 && (fold === 'node' || (open.has(process) ? fold === 'thread' : fold === 'process'));
    const kind = !folded ? 'thread' : fold === 'node' && !open.has(process) ? 'node' : 'process';
    const key = `${kind}${!folded ? place : kind === 'node' ? nodeOf(rows, process) : process}`;
    const known = found.get(key);
    if (known) known.places.push(place);
    else found.set(key, {places: [place], kind});
  });
  return [...found.values()];
}

/** @param {TraceRows} rows @param {number} process */
export const nodeOf = (rows, process) => rows.process_nodes[process] ?? -1;

/** @param {TraceRows} rows @param {number} process */
export const processName = (rows, process) => rows.process_names[process] ?? '';

/** @type {WeakMap<TraceRows, Map<number, number[]>>} */
const placesByProcess = new WeakMap();

/** The places of a process's locations, the master thread first. @param {TraceRows} rows @param {number} process */
export function placesOf(rows, process) {
  let known = placesByProcess.get(rows);
  if (!known) {
    known = new Map();
    for (const [place, each] of rows.processes.entries()) {
      const list = known.get(each);
      if (list) list.push(place);
      else known.set(each, [place]);
    }
    placesByProcess.set(rows, known);
  }
  return known.get(process) ?? [];
}

/** The process, with the thread if the process has several. @param {TraceRows} rows @param {number} place */
function locationName(rows, place) {
  const process = rows.processes[place];
  if (process < 0) return rows.names[place];
  const several = placesOf(rows, process).length > 1;
  if (!several) return processName(rows, process);
  return placesOf(rows, process)[0] === place ? `${processName(rows, process)}, ${rows.names[place]}` : `  ${rows.names[place]}`;
}

/** The process and the thread, as a name that stands alone. @param {TraceRows} rows @param {number} place */
export function fullName(rows, place) {
  const name = locationName(rows, place);
  return name.startsWith('  ') ? `${processName(rows, rows.processes[place])}, ${name.trim()}` : name;
}

/** The rows at the top that a person has pinned, alone or with their process, and the others. @param {Row[]} every
 * @param {TraceRows} rows @param {string[]} pins trace and key, as 0:l3, 0:p0 */
export function withPins(every, rows, pins) {
  const keys = new Set(pins);
  /** @param {Row} row */
  const isPinned = ({trace, key, places}) => keys.has(`${trace}:${key}`) || (places.length > 0 && key[0] !== 'n' && keys.has(`${trace}:p${rows.processes[places[0]]}`));
  if (!pins.length) return {pinned: [], others: every};
  /** @param {Row} row */
  const alone = (row) => (row.name.startsWith('  ') ? {...row, name: fullName(rows, row.places[0])} : row);
  return {pinned: every.filter(isPinned).map(alone), others: every.filter((row) => !isPinned(row))};
}

/** The places of the locations of a row by its key; none for a row that is not on the page. @param {TraceRows} of @param {string} key */
export function placesOfKey(of, key) {
  if (!key) return [];
  const number = Number(key.slice(1)), count = of.locations.length;
  if (key[0] === 'p') return placesOf(of, number);
  if (key[0] === 'l') return [of.locations.indexOf(number)].filter((place) => place >= 0);
  if (key[0] === 'n') return [...of.processes.keys()].filter((place) => nodeOf(of, of.processes[place]) === number);
  return key.slice(1).split('_').map((range) => range.split('-').map(Number)).flatMap(([first, end]) => Array.from({length: Math.max(0, Math.min(end, count - 1) - first + 1)}, (_, n) => first + n));
}

/** The places for which a row stands: its own, and those of the rows that are joined with it. @param {Row} row */
export const placesFor = (row) => row.members && Number(row.alike) > 1 ? row.members.flatMap(({places}) => places).sort((a, b) => a - b) : row.places;

/** The key of all locations for which rows stand. @param {Row[]} rows */
export function keyFor(rows) {
  const [{key, alike}] = rows;
  return rows.length === 1 && !(Number(alike) > 1) ? key : keyOf(rows.flatMap(placesFor).sort((a, b) => a - b));
}

/** The key of a row of places: r0-3_6-6. @param {number[]} places ascending */
export function keyOf(places) {
  const found = /** @type {[number, number][]} */ ([]);
  for (const place of places) {
    const last = found.at(-1);
    if (last && last[1] === place - 1) last[1] = place;
    else found.push([place, place]);
  }
  return `r${found.map((each) => each.join('-')).join('_')}`;
}

/** The rows to show: with more rows than `most`, neighbours share a row.
 * @param {Row[]} rows of one trace @param {number} most @returns {Row[]} */
export function fitted(rows, most) {
  if (rows.length <= most || rows.some((row) => row.key.startsWith('n'))) return rows;
  const each = Math.ceil(rows.length / Math.max(1, most));
  const found = /** @type {Row[]} */ ([]);
  for (let at = 0, next = 0; at < rows.length; at = next) {
    next = at + 1;
    if (rows[at].alike) { // it stands for others already
      found.push(rows[at]);
      continue;
    }
    while (next < Math.min(at + each, rows.length) && !rows[next].alike) next += 1;
    const part = rows.slice(at, next);
    const places = part.flatMap((row) => row.places).sort((a, b) => a - b);
    found.push({
      trace: part[0].trace, key: keyOf(places), location: -1, places,
      name: part.length > 1 ? `${part[0].name.trim()} + ${part.length - 1}` : part[0].name,
      finest: Math.max(...part.map((row) => row.finest)),
    });
  }
  return found;
}

const THICK = 90, THIN = 1;

/** The height of a row in px: as large as fits, from 1 to THICK; `zoom` makes rows higher.
 * @param {number} count @param {number} height px of the chart @param {number} zoom 1: all rows fit */
export function rowHeight(count, height, zoom) {
  const fit = Math.min(THICK, height / Math.max(1, count));
  return Math.min(120, Math.max(THIN, fit) * zoom);
}

/** The row below a point, -1: none. @type {RowAt} */
export function rowAt(y, high, scroll, count) {
  const row = Math.floor((y + scroll) / high);
  return y >= 0 && row >= 0 && row < count ? row : -1;
}
