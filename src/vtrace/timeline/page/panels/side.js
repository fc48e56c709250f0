// SPDX-License-Identifier: BSD-3-Clause
// The border between the chart and the panels: dragging it, or arrow keys on it, makes the panels wider. The browser keeps
// the width.

import {arrows, byId, element} from './dom.js';

const KEPT = 'vtrace side', LEAST = 280, STEP = 40;

export function installSide() {
  const side = byId('side');
  const border = element('div', {id: 'border', role: 'separator', tabIndex: 0, 'aria-orientation': 'vertical', 'aria-label': 'Width of the panels', 'aria-controls': 'side', title: 'Drag to make the panels wider, double click for the first width'});
  /** @param {number} width px, 0: the first width */
  const set = (width) => {
    const most = Math.round(window.innerWidth * 0.8), fits = Math.round(Math.max(LEAST, Math.min(most, width)));
    side.style.width = width ? `${fits}px` : '';
    const part = Math.round((100 * side.getBoundingClientRect().width) / window.innerWidth);
    border.setAttribute('aria-valuenow', String(part));
    tried(() => localStorage.setItem(KEPT, width ? String(fits) : ''));
  };
  side.before(border);
  border.onpointerdown = (/** @type {PointerEvent} */ event) => {
    border.setPointerCapture(event.pointerId);
    event.preventDefault();
    border.focus();
  };
  border.onpointermove = (/** @type {PointerEvent} */ event) => {
    if (border.hasPointerCapture(event.pointerId)) set(window.innerWidth - event.clientX);
  };
  border.ondblclick = () => set(0);
  border.onkeydown = arrows((by) => set(side.getBoundingClientRect().width - by * STEP));
  set(Number(tried(() => localStorage.getItem(KEPT))) || 0);
}

/** What a function of the browser's memory gives; undefined if the browser keeps nothing. @template T @param {() => T} what */
export function tried(what) {
  try {
    return what();
  } catch {
    return undefined;
  }
}
