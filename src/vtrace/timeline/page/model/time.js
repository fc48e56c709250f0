// SPDX-License-Identifier: BSD-3-Clause
// Times as text, the lines of an axis, and windows of time. All times are whole ns since the start of the trace.

const UNITS = /** @type {[string, number][]} */ ([['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]]);

/** A duration with its unit: 23.1 ms. @param {number} ns @param {number} [digits] */
export function duration(ns, digits = 4) {
  const [unit, size] = UNITS.find(([, each]) => Math.abs(ns) >= each) ?? UNITS[3];
  const text = size === 1 ? String(Math.round(ns)) : Number((ns / size).toPrecision(digits)).toString();
  return `${text} ${unit}`;
}

/** A time with all digits to the ns, in groups: 1.234 567 890 s. @param {number} ns */
export function exact(ns) {
  const sign = ns < 0 ? '-' : '';
  const whole = Math.floor(Math.abs(ns) / 1e9);
  const rest = String(Math.round(Math.abs(ns) - whole * 1e9)).padStart(9, '0');
  return `${sign}${whole}.${rest.replace(/(\d{3})(?=\d)/g, '$1\u202f')} s`;
}

/** A count of bytes with its unit. @param {number} count */
export function bytes(count) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let at = 0;
  while (Math.abs(count) >= 1000 && at < units.length - 1) [count, at] = [count / 1000, at + 1];
  return `${at ? Number(count.toPrecision(3)) : count} ${at ? units[at] : count === 1 ? 'byte' : 'bytes'}`;
}

/** A count with separators. @param {number} n */
export const count = (n) => Math.round(n).toLocaleString('en-US');

/** The width between two lines of an axis: 1, 2 or 5 times a power of ten ns, at least `least`. @param {number} least */
export function step(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((n) => n * power).find((each) => each >= least) ?? 10 * power;
}

/** The lines of an axis and their texts. If times are long, lines have the time since the first. @type {TicksOf} */
export function ticks(begin, end, most) {
  const wide = step((end - begin) / Math.max(1, most));
  const first = Math.ceil(begin / wide) * wide;
  const [unit, size] = UNITS.find(([, each]) => 1000 * wide >= each && Math.abs(end) >= each) ?? UNITS[3];
  const long = Math.abs(end) / size >= 1e6;
  const found = [];
  for (let time = first; time <= end && found.length <= most + 1; time += wide) {
    /** @type {string} */
    const text = !found.length || !long ? `${trimmed(time / size)} ${unit}` : `+${trimmed((time - first) / size)} ${unit}`;
    found.push({time, text: !found.length && long ? duration(time, 10) : text});
  }
  return found;
}

/** @param {number} value */
const trimmed = (value) => Number(value.toPrecision(12)).toString();

const SHORTEST = 10;

/** The window inside [0, length], with whole ns. @param {Span} window @param {number} length @returns {Span} */
export function clamped({begin, end}, length) {
  const wide = Math.max(SHORTEST, Math.min(Math.round(end - begin), Math.max(length, SHORTEST)));
  const first = Math.round(Math.max(0, Math.min(begin, Math.max(length, SHORTEST) - wide)));
  return {begin: first, end: first + wide};
}

/** The x of times in a box that shows a window. @param {PlacedWindow} box @returns {(time: number) => number} */
export function xOf({left, width, begin, end}) {
  const scale = width / (end - begin);
  return (time) => left + (time - begin) * scale;
}

/** The place of a row's bin at a time among values by row and bin; -1: none. @type {BinAt} */
export function binAt(of, key, time) {
  const row = of?.index.get(key);
  return !of || row === undefined || time < of.begin || time >= of.end ? -1 : row * of.bins + Math.floor(((time - of.begin) / (of.end - of.begin)) * of.bins);
}

/** Zooms by a factor (< 1: in) around a time. @param {Span} window @param {number} factor @param {number} at */
export function zoomed({begin, end}, factor, at) {
  const wide = Math.max(SHORTEST, (end - begin) * factor);
  const part = (at - begin) / (end - begin || 1);
  return {begin: at - part * wide, end: at + (1 - part) * wide};
}

/** @param {Span} window @param {number} ns */
export const moved = ({begin, end}, ns) => ({begin: begin + ns, end: end + ns});

/** A window with a part of the trace, and a quarter of its length on each side. @param {number} begin @param {number} end */
export function around(begin, end) {
  const margin = Math.max(SHORTEST, (end - begin) / 4);
  return {begin: begin - margin, end: end + margin};
}
