// SPDX-License-Identifier: BSD-3-Clause
// Times in which the threads of rows could run but waited for a processor, or slept.

import {binAt, duration} from './time.js';

export const READY = 0, BLOCKED = 1;

/** Runs of bins with about the same share of a kind: first bin, last bin + 1, share from 0 to 1. @type {SharesOf} */
export function sharesOf(off, key, kind) {
  const row = off.index.get(key);
  if (row === undefined) return [];
  const shares = kind === READY ? off.columns.ready : off.columns.blocked, found = [];
  for (let bin = 0; bin < off.bins;) {
    const step = stepOf(shares[row * off.bins + bin]), first = bin;
    while (bin < off.bins && stepOf(shares[row * off.bins + bin]) === step) bin += 1;
    if (step) found.push(/** @type {[number, number, number]} */ ([first, bin, step / 4]));
  }
  return found;
}

/** A share in quarters, rounded up. @param {number} share of 255 */
const stepOf = (share) => Math.ceil((share * 4) / 255);

/** Words about a row at a time, '' for none. @type {OffCoreText} */
export function offCoreText(off, key, time) {
  const bin = binAt(off, key, time), row = off?.index.get(key);
  if (!off || bin < 0) return '';
  const c = off.columns, words = [];
  for (const [kind, name] of [[READY, 'waits for a processor'], [BLOCKED, 'blocked']]) {
    let best = -1;
    for (let at = 0; at < c.row.length; at += 1) {
      if (c.row[at] !== row || c.kind[at] !== kind || c.begin[at] > time || c.end[at] <= time) continue;
      if (best < 0 || c.end[at] - c.begin[at] < c.end[best] - c.begin[best]) best = at;
    }
    const share = (kind === READY ? c.ready : c.blocked)[bin];
    if (best >= 0) words.push(`${name} ${duration(c.ns[best])} of ${duration(c.end[best] - c.begin[best])}${c.text[best] ? ` in ${off.texts[c.text[best]]}` : ''}`);
    else if (share) words.push(`${name} ${Math.round(share / 2.55)} % of the time here`);
  }
  return words.map((each) => `, ${each}`).join('');
}
