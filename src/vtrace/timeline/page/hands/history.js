// SPDX-License-Identifier: BSD-3-Clause
// The address has the page's state. Each step that Back undoes is a new entry; steps in quick succession are one.

import {INITIAL, STEPS, same} from '../model/store.js';
import {clamped} from '../model/time.js';

const PAUSE = 600;
/** The address changes this many ms after the last change. */
const WRITE = 150;

/** @param {App} app @param {(state: State) => string} fragment @param {(text: string) => Partial<State>} values */
export function installHistory(app, fragment, values) {
  const {store} = app;
  const whole = {begin: store.state.begin, end: store.state.end, row: store.state.row};
  let last = 0, restoring = false, timer = 0;
  history.replaceState(null, '', fragment(store.state));
  store.subscribe((state, before) => {
    if (restoring) return;
    const isStep = !app.isQuiet && STEPS.some((key) => !same(state[key], before[key]));
    const now = performance.now();
    clearTimeout(timer);
    if (isStep && now - last > PAUSE) {
      history.replaceState(null, '', fragment(before));
      history.pushState(null, '', fragment(state));
    } else timer = window.setTimeout(() => history.replaceState(null, '', fragment(store.state)), WRITE);
    if (isStep) last = now;
  });
  window.addEventListener('popstate', () => {
    restoring = true;
    clearTimeout(timer);
    const found = {...INITIAL, ...whole, ...values(location.hash)};
    app.keepsPanel = true;
    store.set({...found, ...clamped(found, app.length)});
    app.keepsPanel = restoring = false;
    last = 0;
  });
}
