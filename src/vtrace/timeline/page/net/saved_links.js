// SPDX-License-Identifier: BSD-3-Clause
// The messages of a saved page: of a window, as lines or bundles, as the server sends them.

const STEPS = 24, MOST = 600;

/** @param {Ints} ints as saved_data.py packs them @returns {Ints} */
export function messageTable(ints) {
  const {sender, receiver, bytes, tag, comm} = ints, send = new Float64Array(sender.length), receive = new Float64Array(sender.length);
  let time = 0;
  for (let at = 0; at < send.length; at += 1) {
    time += ints.step[at];
    [send[at], receive[at]] = [time, time + ints.late[at]];
  }
  return {sender, receiver, send, receive, bytes, tag, comm};
}

/** Some rows of a table. @param {Record<string, ArrayLike<number>>} columns @param {number[]} rows */
export const taken = (columns, rows) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, Float64Array.from(rows, (at) => column[at])]));

/** @param {Record<string, Float64Array>} all of messageTable @param {Asked} asked */
export function messagesOf(all, asked) {
  const {sender, receiver, send, receive, bytes, tag, comm} = all, {rows, from, to} = asked;
  const inside = /** @type {number[]} */ ([]);
  let size = 0;
  for (let at = 0; at < send.length; at += 1) {
    if (Math.min(send[at], receive[at]) >= to || Math.max(send[at], receive[at]) < from || bytes[at] < asked.smallest) continue;
    if (!rows.has(sender[at]) || !rows.has(receiver[at]) || (asked.tag !== '' && tag[at] !== Number(asked.tag)) || (asked.comm >= 0 && comm[at] !== asked.comm)) continue;
    inside.push(at);
    size += bytes[at];
  }
  const notes = {messages: inside.length, bytes: size, share: 1};
  if (inside.length <= asked.lines) return {columns: taken(all, inside), notes: {...notes, bundled: false}};
  const parts = inside.map((at) => ({from: rows.get(sender[at]) ?? 0, to: rows.get(receiver[at]) ?? 0, count: 1, bytes: bytes[at], send: send[at], receive: receive[at]}));
  return bundled(parts, asked, notes);
}

/** Bundles of units as those of rows. @type {BundlesOf} */
export function bundlesOf(c, rowOf, asked) {
  const parts = Array.from(c.count, (count, at) => ({from: rowOf.get(c.from_row[at]) ?? -1, to: rowOf.get(c.to_row[at]) ?? -1, count, bytes: c.bytes[at], send: c.send[at], receive: c.receive[at]}))
    .filter((one) => one.from >= 0 && one.to >= 0 && Math.min(one.send, one.receive) < asked.to && Math.max(one.send, one.receive) >= asked.from);
  const notes = {messages: parts.reduce((sum, one) => sum + one.count, 0), bytes: parts.reduce((sum, one) => sum + one.bytes, 0), share: 1};
  return bundled(parts, asked, notes);
}

/** @type {BundledOf} */
function bundled(parts, {from, to}, notes) {
  /** @type {Map<string, Bundle>} */
  const joined = new Map();
  for (const one of parts) {
    const step = Math.max(-1, Math.min(STEPS, Math.floor(((one.send - from) * STEPS) / Math.max(1, to - from)))), key = `${one.from} ${one.to} ${step}`;
    const known = joined.get(key) ?? {...one, count: 0, bytes: 0, send: 0, receive: 0};
    joined.set(key, {...known, count: known.count + one.count, bytes: known.bytes + one.bytes, send: known.send + one.send * one.count, receive: known.receive + one.receive * one.count});
  }
  const order = [...joined.values()].sort((a, b) => b.bytes - a.bytes).slice(0, MOST);
  /** @param {(one: any) => number} value */
  const column = (value) => Float64Array.from(order, value);
  return {
    columns: {
      from_row: column((one) => one.from), to_row: column((one) => one.to), count: column((one) => one.count), bytes: column((one) => one.bytes),
      send: column((one) => one.send / one.count), receive: column((one) => one.receive / one.count),
    },
    notes: {...notes, bundled: true, bundles: joined.size},
  };
}
