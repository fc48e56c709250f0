// SPDX-License-Identifier: BSD-3-Clause
// The box at the mouse: the row, the time and the call there, or the iteration of a tick.

import {byId} from '../panels/dom.js';
import {placeText} from './walk.js';

const AWAY = 14;

/** Shows the text of the place of the mouse beside the mouse, left of the panels. @param {App} app */
export function showTip(app) {
  const tip = byId('tip'), chart = byId('chart').getBoundingClientRect(), {hover, overTick} = app;
  const text = hover && !app.dragging ? placeText(app, hover) : overTick?.text ?? '';
  tip.hidden = !text;
  if (!text) return;
  if (tip.textContent !== text) tip.textContent = text;
  const {offsetWidth: wide, offsetHeight: high} = tip, x = hover ? chart.left + hover.x : overTick?.x ?? 0, y = hover ? chart.top + hover.y : overTick?.y ?? 0;
  tip.style.left = `${Math.max(2, x + AWAY + wide > chart.right ? x - AWAY - wide : x + AWAY)}px`;
  tip.style.top = `${Math.max(2, y + AWAY + high > innerHeight ? y - AWAY - high : y + AWAY)}px`;
}
