// SPDX-License-Identifier: BSD-3-Clause
// The only store of the page's state. State and the address have all that is needed to show a view again.

/** @type {State} */
export const INITIAL = {
  begin: 0, end: 1, fold: 'thread', open: [], pins: [], order: '', apart: [], zoom: 1, scroll: 0, row: '', selection: null, call: null, sample: null, search: '',
  exact: false, colour: 'class', messages: 'auto', collectives: 'auto', counters: true, samples: true, processor: true, rare: 'auto', curve: '', smallest: 0, tag: '', comm: -1,
  picks: [], between: false, notes: [], finding: '', panel: 'profile', shift: [0, 0], align: '',
};

/** Changes that Back undoes. */
export const STEPS = /** @type {const} */ (['begin', 'end', 'fold', 'pins', 'order', 'apart', 'panel', 'search', 'selection', 'call', 'sample', 'picks', 'notes', 'finding']);

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
export const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);
