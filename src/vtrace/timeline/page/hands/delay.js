// SPDX-License-Identifier: BSD-3-Clause
// The path of a delay: from the call for which others wait to the calls that wait.

import {callsByRow} from '../model/tiles.js';
import {same} from '../model/store.js';

/** The most rows that the path reaches; of more, each n-th. */
const MOST = 64;

/** Finds the path through the selected call of a finding, and draws it: to waits for the program's own code, else to calls of
 * the region that waits. Rows outside of the page have none. @param {App} app @param {CallName} call @param {Finding} finding */
export async function followDelay(app, call, {guilty, losers, own}) {
  const {trace} = call, {regions, meta} = app.traces[trace], facts = app.details, from = originOf(facts, own, guilty);
  const every = [...new Set([call.location, ...guilty, ...(losers.length ? losers : meta.rows.locations)])].filter((each) => each !== from.location);
  app.delay = null;
  const rows = every.filter((_, at) => at % Math.ceil(every.length / MOST) === 0);
  const found = rows.length && await app.client.table('calls', {trace, rows: rows.map((each) => `l${each}`).join(','), from: from.time - 1, to: from.time, shortest: 0}, 'delay');
  if (!found || !same(call, app.state.call)) return;
  const waits = callsByRow(found.columns).flatMap(({begin, end, region}, at) => {
    const open = Array.from(begin.keys()).filter((n) => (own ? regions.waits[region[n]] : region[n] === facts.region) && begin[n] < from.time && end[n] >= from.time).pop();
    return open === undefined ? [] : [{location: rows[at], begin: begin[open]}];
  });
  if (waits.length && meta.rows.locations.includes(from.location)) app.delay = {call, from, waits};
  app.redrawOver();
}

/** The row that comes late, and when it comes: a call of the program's own code ends then; others wait until then.
 * @param {CallFacts} call @param {boolean} own @param {number[]} guilty */
function originOf({location, begin, end, collectives: [operation], receives, waits}, own, guilty) {
  if (own) return {location, time: end};
  if (operation && operation.last !== location) return {location: operation.last, time: operation.last_begin};
  const late = receives.find(({far, partner}) => far > begin && partner >= 0);
  return late ? {location: late.partner, time: late.far} : {location: waits.find(({partner}) => partner >= 0)?.partner ?? guilty[0] ?? location, time: end};
}
