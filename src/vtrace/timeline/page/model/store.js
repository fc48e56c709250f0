// SPDX-License-Identifier: BSD-3-Clause
// The only store of the page's state. State and the address have all that is needed to show a view again.

/**
 * @typedef {{trace: number, location: number, begin: number, depth: number}} CallName
 * @typedef {{trace: number, location: number, time: number}} SampleName
 * @typedef {{begin: number, end: number, first: string, last: string} | null} Selection first, last: keys of rows
 * @typedef {{trace: number, time: number, row: string, text: string}} Note row: a key
 * @typedef {object} State
 * @property {number} begin ns, of the window
 * @property {number} end
 * @property {import('./rows.js').Fold} fold
 * @property {number[]} open processes whose folding differs from `fold`
 * @property {number} zoom factor of the height of rows; 1: all rows fit
 * @property {number} scroll px
 * @property {string} row trace and key of the selected row: 0:l3
 * @property {Selection} selection
 * @property {string[]} picks picked rows, of one location each: trace and key, as in `row`
 * @property {boolean} between true: only messages between picked rows
 * @property {Note[]} notes
 * @property {CallName | null} call
 * @property {SampleName | null} sample a selected sample; then no call is selected
 * @property {string} search
 * @property {boolean} exact true if the search is the whole name of a region
 * @property {'class' | 'region' | 'heat'} colour
 * @property {'auto' | 'lines' | 'none'} messages auto: as their density allows
 * @property {'auto' | 'bands' | 'none'} collectives auto: between the rows; bands: over the rows
 * @property {boolean} counters
 * @property {boolean} samples
 * @property {boolean} processor times in which threads waited for a processor or slept
 * @property {string} curve name of the counter below all rows, '' for none
 * @property {'auto' | 'all' | 'none'} rare marks of outliers and waits; all: also the marks that take long to find
 * @property {number} smallest least bytes of a shown message
 * @property {string} tag
 * @property {number} comm
 * @property {string} panel
 * @property {number[]} shift of each trace, ns
 * @property {string} align number and region of the call at which traces are aligned: 2*MPI_Barrier
 */

/** @type {State} */
export const INITIAL = {
  begin: 0, end: 1, fold: 'thread', open: [], zoom: 1, scroll: 0, row: '', selection: null, call: null, sample: null, search: '',
  exact: false, colour: 'class', messages: 'auto', collectives: 'auto', counters: true, samples: true, processor: true, rare: 'auto', curve: '', smallest: 0, tag: '', comm: -1,
  picks: [], between: false, notes: [], panel: 'profile', shift: [0, 0], align: '',
};

/** Changes that Back undoes. */
export const STEPS = /** @type {const} */ (['begin', 'end', 'fold', 'panel', 'search', 'selection', 'call', 'sample', 'picks', 'notes']);

export class Store {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    /** @type {((state: State, before: State) => void)[]} */
    this.listeners = [];
    /** @type {[State, State][]} */
    this.untold = [];
  }

  /** @param {(state: State, before: State) => void} listener */
  subscribe(listener) {
    this.listeners.push(listener);
  }

  /** Changes some values, and calls the listeners if any value differs. @param {Partial<State>} values */
  set(values) {
    const before = this.state;
    const after = {...before, ...values};
    if (same(before, after)) return;
    this.state = after;
    this.untold.push([after, before]);
    if (this.untold.length > 1) return; // a listener changed the state: all listeners get the changes in order
    for (let change; (change = this.untold[0]); this.untold.shift()) for (const listener of this.listeners) listener(...change);
  }
}

/** @param {unknown} a @param {unknown} b */
export function same(a, b) {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
