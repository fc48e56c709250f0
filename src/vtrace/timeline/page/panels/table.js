// SPDX-License-Identifier: BSD-3-Clause
// A table of a panel. Numbers are never cut; names take the remaining width and lose their middle.

import {bytes, count, duration} from '../model/time.js';
import {button, element, fill} from './dom.js';

const MOST = 300;
/** The end of a name that stays when the middle does not fit. */
const TAIL = 10;

/** @type {ColumnOf} */
export const times = (head, value, more) => ({head, value, show: (row) => duration(value(row)), unit: 'ns', ...more});

/** @type {ColumnOf} */
export const sizes = (head, value, more) => ({head, value, show: (row) => bytes(value(row)), unit: 'bytes', ...more});

/** @type {ColumnOf} */
export const counts = (head, value, more) => ({head, value, show: (row) => count(value(row)), ...more});

/** @param {string} name @param {string} [colour] */
export function named(name, colour) {
  const swatch = colour && element('i', {className: 'swatch', style: `background: ${colour}`});
  if (name.length < 2 * TAIL) return element('span', {className: 'name', title: name}, swatch, element('span', {className: 'start'}, name));
  return element('span', {className: 'name', title: name}, swatch, element('span', {className: 'start'}, name.slice(0, -TAIL)), element('span', {}, name.slice(-TAIL)));
}

/** @type {TableOf} */
export function table(every, rows, more = {}) {
  const columns = every.filter((column) => !column.hidden), body = element('tbody'), heads = element('tr');
  let by = more.sort ?? -1, down = true;
  const ordered = () => {
    const order = Array.from({length: rows}, (_, row) => row);
    if (by < 0) return order;
    const keys = order.map((row) => columns[by].value(row));
    return order.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0) * (down ? -1 : 1) || a - b);
  };
  /** @param {number} row */
  const line = (row) => element('tr', more.press ? {...pressed(() => more.press?.(row)), 'aria-current': Boolean(more.marked?.(row))} : {}, ...columns.map((column) => {
    return element('td', {className: isNumber(column, rows) ? 'number' : column.tight ? 'tight' : 'text'}, column.show ? column.show(row) : named(String(column.value(row))));
  }));
  const draw = () => {
    fill(heads, ...columns.map((column, place) => element('th', {className: isNumber(column, rows) ? 'number' : '', title: column.title ?? '', 'aria-sort': place !== by ? 'none' : down ? 'descending' : 'ascending'}, column.head && (more.inOrder ? column.head : button(column.head, () => {
      [by, down] = [place, place === by ? !down : true];
      draw();
    })))));
    fill(body, ...ordered().slice(0, MOST).map(line), rows > MOST && element('tr', {}, element('td', {colspan: columns.length}, `${count(rows - MOST)} more rows`)));
  };
  draw();
  const name = more.id || 'table', words = () => [every.map((one) => (one.unit ? `${one.head} (${one.unit})` : one.head)), ...ordered().map((row) => every.map((one) => String((one.raw ?? one.value)(row))))];
  const copy = button('Copy', async () => {
    const text = words().map((cells) => cells.map((cell) => cell.replace(/[\t\r\n]+/g, ' ')).join('\t')).join('\n');
    const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    fill(copy, done ? 'Copied' : 'No clipboard');
    setTimeout(() => fill(copy, 'Copy'), 1500);
  }, {title: 'Copy all rows of the table, separated by tabs', 'aria-label': `Copy the table ${name}`});
  const keep = button('CSV', () => save(new Blob([words().map((cells) => cells.map(quoted).join(',')).join('\r\n') + '\r\n'], {type: 'text/csv'}), `${name}.csv`), {title: 'Save all rows of the table as CSV', 'aria-label': `Save the table ${name} as CSV`});
  return element('table', {className: 'data', id: more.id ?? ''}, element('caption', {}, copy, keep), element('thead', {}, heads), body);
}

/** @param {TableColumn} column @param {number} rows */
const isNumber = (column, rows) => Boolean(column.unit) || (rows > 0 && typeof column.value(0) === 'number');

/** Properties of a row that mouse and keyboard press; its own buttons do not press the row. @param {() => void} press */
function pressed(press) {
  return {
    className: 'press', tabIndex: 0,
    onclick: (/** @type {MouseEvent} */ event) => {
      if (!(/** @type {Element} */ (event.target).closest('button, #evidence'))) press();
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Enter' && event.target === event.currentTarget) press();
    },
  };
}

/** @param {string} cell */
const quoted = (cell) => /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

/** @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element('a', {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
