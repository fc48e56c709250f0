// SPDX-License-Identifier: BSD-3-Clause
// A counter of all rows over time.

import {binAt} from './time.js';

/** The lowest and the highest value of all rows, since all curves have one scale.
 * @param {ArrayLike<number>} low @param {ArrayLike<number>} high */
export function scaleOf(low, high) {
  let least = Infinity, most = -Infinity;
  for (let at = 0; at < low.length; at += 1) {
    if (low[at] < least) least = low[at];
    if (high[at] > most) most = high[at];
  }
  return {least, most};
}

/** The values of a row at a time. @type {ValueAt} */
export function valueAt(curves, key, time) {
  const at = binAt(curves, key, time);
  return !curves || at < 0 || Number.isNaN(curves.mean[at]) ? undefined : {low: curves.low[at], mean: curves.mean[at], high: curves.high[at]};
}

/** The values at a time as text. @type {ValueText} */
export function valueText(curves, key, time) {
  const found = valueAt(curves, key, time);
  if (!curves || !found) return '';
  const range = found.low < found.high ? ` (${shown(found.low)} to ${shown(found.high)})` : '';
  return `, ${short(curves.name)} ${shown(found.mean)}${range}${curves.unit && ` ${curves.unit}`}`;
}

/** The name of a counter, shortened. @param {string} name */
export const short = (name) => (name.length > 60 ? `${name.slice(0, 59)}…` : name);

/** A value with at most 9 digits. @param {number} value */
export function shown(value) {
  if (Math.abs(value) >= 1e18) return value.toExponential(8);
  return Number(value.toPrecision(9)).toLocaleString('en-US', {maximumFractionDigits: 9});
}

/** A value with four digits. @param {number} value */
export const brief = (value) => (value && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-3) ? value.toExponential(3) : Number(value.toPrecision(4)).toLocaleString('en-US', {maximumFractionDigits: 9}));
