// SPDX-License-Identifier: BSD-3-Clause
// The call tree as a table of paths with their time. The heaviest path is open.

import {childrenOf, heaviest, shownPaths} from '../model/flame.js';
import {button, element, fill} from './dom.js';
import {counts, named, table, times} from './table.js';
import {fromSamples, regionName, withNames} from './tables.js';

/** px of a level; deeper levels than the last one have its indentation. At OPENED rows the heaviest path ends: a table has 300. */
const STEP = 9, LAST = 24, OPENED = 100;

/** @type {Panel} */
export function tree(app, found, trace) {
  const c = found.columns, callees = childrenOf(/** @type {any} */ (c)).map((paths) => paths.filter((path) => c.inclusive[path] > 0)), open = heaviest(callees, OPENED);
  const place = element('div', {}), {classes, waits} = app.traces[trace].regions;
  /** @param {number} [changed] the path whose button keeps the focus */
  const draw = (changed) => {
    const rows = shownPaths(callees, open), name = (/** @type {number} */ row) => regionName(app, trace, c.region[rows[row]]);
    /** @param {number} path */
    const fold = (path) => button(open.has(path) ? '\u25be' : '\u25b8', () => {
      if (!open.delete(path)) open.add(path);
      draw(path);
    }, {className: 'fold', 'aria-expanded': open.has(path), 'aria-label': `Calls inside ${regionName(app, trace, c.region[path])}`});
    fill(place, table([
      {head: 'call path', value: name, show: (row) => {
        const {colour} = app.traces[trace].meta.classes[classes[c.region[rows[row]]]] ?? {};
        return element('span', {className: waits[c.region[rows[row]]] ? 'path waiting' : 'path', style: `padding-left: ${STEP * Math.min(LAST, c.depth[rows[row]] - 1)}px`},
          callees[rows[row]].length ? fold(rows[row]) : element('span', {className: 'fold'}), named(name(row), colour));
      }},
      counts('calls', (row) => c.calls[rows[row]]), times('inclusive', (row) => c.inclusive[rows[row]]), times('exclusive', (row) => c.exclusive[rows[row]]),
    ], rows.length, {id: 'tree', inOrder: true, press: (row) => app.store.set({search: name(row), exact: true})}));
    if (changed !== undefined) place.querySelectorAll('tbody tr')[rows.indexOf(changed)]?.querySelector('button').focus();
    return place;
  };
  return element('div', {}, c.samples && fromSamples(found), withNames(app, trace, c.region, draw));
}
