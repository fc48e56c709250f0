// SPDX-License-Identifier: BSD-3-Clause
// A table whose columns sort at a click. Long tables show their first rows.

import {button, element, fill} from './dom.js';

const MOST = 300;

/**
 * @typedef {object} TableColumn
 * @property {string} head
 * @property {string} [title]
 * @property {(row: number) => number | string} value the value to sort by
 * @property {(row: number) => import('./dom.js').Child} [show]
 */

/**
 * @param {TableColumn[]} columns @param {number} rows @param {{sort?: number, press?: (row: number) => void, id?: string}} [more]
 */
export function table(columns, rows, more = {}) {
  const body = element('tbody'), heads = element('tr');
  let by = more.sort ?? -1, down = true;
  const draw = () => {
    const order = Array.from({length: rows}, (_, row) => row);
    if (by >= 0) {
      const keys = order.map((row) => columns[by].value(row));
      order.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0) * (down ? -1 : 1) || a - b);
    }
    fill(heads, ...columns.map((column, place) => element('th', {title: column.title ?? '', 'aria-sort': place !== by ? 'none' : down ? 'descending' : 'ascending'}, button(column.head, () => {
      [by, down] = [place, place === by ? !down : true];
      draw();
    }))));
    fill(body, ...order.slice(0, MOST).map((row) => element('tr', more.press ? {onclick: () => more.press?.(row), className: 'press', tabIndex: 0, onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Enter') more.press?.(row);
    }} : {}, ...columns.map((column) => {
      const value = column.value(row);
      return element('td', {className: typeof value === 'number' ? 'number' : ''}, column.show ? column.show(row) : value);
    }))), rows > MOST && element('tr', {}, element('td', {colspan: columns.length}, `${rows - MOST} more rows`)));
  };
  draw();
  return element('table', {className: 'data', id: more.id ?? ''}, element('thead', {}, heads), body);
}
