// SPDX-License-Identifier: BSD-3-Clause
// Communication: the matrix of messages, a cell for each pair of processes, and collective operations by process. Many
// processes share a cell.

import {processName} from '../model/rows.js';
import {bytes, count, duration} from '../model/time.js';
import {choice} from './bar.js';
import {element, fill, hint} from './dom.js';
import {heatmap, pickProcesses, pickedProcesses, processAxis} from './heatmap.js';
import {counts, sizes, table, times} from './table.js';

/** The most lines of operations. */
const MOST = 40;
/** Name -> value of the sums of a cell, the value as text.
 * @type {Record<string, Metric>} */
const METRICS = {
  bytes: [(_, size) => size, bytes], count: [(n) => n, count], time: [(_, __, ns) => ns, duration],
  rate: [(_, size, ns) => (ns > 0 ? (1e9 * size) / ns : 0), (rate) => `${bytes(Math.round(rate))}/s`],
};
/** Metrics of messages that need the time of both ends. @type {[string, string][]} */
const TIMED = [['time', 'time from send to receive'], ['rate', 'rate']];
let messageMetric = 'bytes', operationMetric = 'time';

/** The values of cells: `down` rows, and columns in which neighbours may share one. @type {Cells} */
function cells(row, column, sums, down, across, metric) {
  const found = sums.map(() => new Float64Array(down * across));
  for (let at = 0; at < row.length; at += 1) sums.forEach((values, n) => { found[n][row[at] * across + column[at]] += values[at]; });
  return Array.from(found[0], (n, at) => (n ? METRICS[metric][0](n, found[1][at], found[2][at]) : NaN));
}

/** @type {Panel} */
export function matrix(app, found, trace) {
  const c = found.columns, size = found.notes.processes, {rows} = app.traces[trace].meta, {between} = app.state;
  if (!c.sender.length) return hint('No messages here.');
  const picked = pickedProcesses(app, trace), place = element('div', {}), axis = processAxis(app, trace, size), side = axis.cells;
  const shown = Array.from(c.sender, (_, row) => row).filter((row) => !between || (picked.has(c.sender[row]) && picked.has(c.receiver[row])));
  const marked = new Set([...picked].map(axis.cellOf));
  if (!found.notes.timed && ['time', 'rate'].includes(messageMetric)) messageMetric = 'bytes';
  const draw = () => fill(place, heatmap(app, {
    id: 'matrix-plot', label: `Messages between ${size} processes; the table below has the numbers`, axes: ['from rank', 'to rank'], down: side, across: side,
    values: cells(Array.from(c.sender, axis.cellOf), Array.from(c.receiver, axis.cellOf), [c.count, c.bytes, c.ns], side, side, messageMetric),
    text: METRICS[messageMetric][1], markedRows: marked, markedColumns: marked, numbers: [axis.number, axis.number],
    name: (row, column) => `${axis.name(row)} to ${axis.name(column)}`,
    press: (row, column) => pickProcesses(app, trace, [...axis.members(row), ...axis.members(column)], true),
  }));
  draw();
  const rate = (/** @type {number} */ row) => METRICS.rate[0](0, c.bytes[shown[row]], c.ns[shown[row]]);
  return element('div', {id: 'matrix'}, choice('matrix-metric', 'Show', [['bytes', 'bytes'], ['count', 'number of messages'], ...(found.notes.timed ? TIMED : [])], messageMetric, (chosen) => {
    messageMetric = chosen;
    draw();
  }), place, between && hint('Only messages between the picked rows; Escape shows all.'), table([
    {head: 'from', value: (row) => processName(rows, c.sender[shown[row]])},
    {head: 'to', value: (row) => processName(rows, c.receiver[shown[row]])},
    counts('messages', (row) => c.count[shown[row]]), sizes('bytes', (row) => c.bytes[shown[row]]),
    ...(found.notes.timed ? [
      times('time', (row) => c.ns[shown[row]], {title: 'from send to receive, summed; empty: an end is not on the page', show: (row) => (c.ns[shown[row]] ? duration(c.ns[shown[row]]) : '')}),
      {head: 'rate', unit: 'bytes/s', value: rate, show: (/** @type {number} */ row) => (rate(row) ? METRICS.rate[1](rate(row)) : '')},
    ] : []),
  ], shown.length, {sort: 3, id: 'pairs', press: (row) => pickProcesses(app, trace, [c.sender[shown[row]], c.receiver[shown[row]]], true)}));
}

/** Collective operations, and the same by process. @type {Panel} */
export function collectives(app, found, trace) {
  const c = found.columns, {ops, processes: size} = found.notes, {comms} = app.traces[trace].meta;
  if (!c.op.length) return hint('No collective operations here.');
  const axis = processAxis(app, trace, size), across = axis.cells, place = element('div', {}), down = Math.min(c.op.length, MOST);
  const mine = Array.from(c.cell_row, (_, at) => at).filter((at) => c.cell_row[at] < down);
  const title = (/** @type {number} */ row) => `${ops[row]} on ${comms[c.comm[row]] || 'a communicator'}`;
  const draw = () => fill(place, heatmap(app, {
    id: 'operations-plot', label: 'Collective operations by process; the table has the sums', axes: ['line', 'rank'], down, across,
    values: cells(mine.map((at) => c.cell_row[at]), mine.map((at) => axis.cellOf(c.cell_process[at])), ['cell_calls', 'cell_bytes', 'cell_ns'].map((name) => mine.map((at) => c[name][at])), down, across, operationMetric),
    text: METRICS[operationMetric][1], markedRows: new Set(), markedColumns: new Set([...pickedProcesses(app, trace)].map(axis.cellOf)),
    numbers: [String, axis.number], name: (row, column) => `${title(row)}, ${axis.name(column)}`,
    press: (_, column) => pickProcesses(app, trace, axis.members(column), false),
  }));
  draw();
  return element('div', {}, table([
    {head: 'line', value: (row) => row, show: (row) => row},
    {head: 'operation', value: (row) => ops[row], tight: true},
    {head: 'communicator', value: (row) => comms[c.comm[row]] ?? ''},
    counts('calls', (row) => c.calls[row]), times('time', (row) => c.ns[row]), times('mean', (row) => c.ns[row] / c.calls[row]),
    sizes('sent', (row) => c.sent[row]), sizes('received', (row) => c.received[row]),
  ], c.op.length, {sort: 4, id: 'collectives'}), choice('operations-metric', 'By rank', [['time', 'time'], ['count', 'calls'], ['bytes', 'bytes sent and received'], ['rate', 'rate']], operationMetric, (chosen) => {
    operationMetric = chosen;
    draw();
  }), place);
}
