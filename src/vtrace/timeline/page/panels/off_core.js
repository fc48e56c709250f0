// SPDX-License-Identifier: BSD-3-Clause
// The toggle and the legend of the times in which threads were off the processor, and the request for them.

import {byId, element} from './dom.js';
import {COLOURS} from '../draw/processor_layer.js';
import {BLOCKED, READY} from '../model/off_core.js';

/** @typedef {import('../app.js').App} App */

/** @param {App} app */
export function installOffCore(app) {
  if (!app.traces.some((one) => one.meta.offCore)) return;
  const {store} = app;
  const box = element('input', {type: 'checkbox', checked: store.state.processor, onchange: () => store.set({processor: box.checked}), 'data-state': 'processor'});
  byId('bar').append(element('label', {title: 'Below rows: times in which threads could run but waited for a processor, and in which they slept'}, box, 'processor'));
  byId('legend').append(key(READY, 'edge: waits for a processor'), key(BLOCKED, 'edge: blocked'));
  store.subscribe((now) => {
    box.checked = now.processor;
  });
}

/** @param {number} kind @param {string} text */
function key(kind, text) {
  const swatch = element('i', {});
  swatch.style.background = `linear-gradient(transparent 70%, #${COLOURS[kind].toString(16)} 70%)`;
  return element('span', {}, swatch, text);
}
