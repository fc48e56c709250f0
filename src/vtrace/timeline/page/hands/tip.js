// SPDX-License-Identifier: BSD-3-Clause
// The box at the mouse: the row, the time and the call there.

import {byId} from '../panels/dom.js';

const AWAY = 14;

/** Shows the text of the place of the mouse beside the mouse, inside the page. @param {App} app */
export function showTip(app) {
  const tip = byId('tip'), text = app.hover && !app.dragging ? app.placeText(app.hover) : '';
  tip.hidden = !text;
  if (!text || !app.hover) return;
  if (tip.textContent !== text) tip.textContent = text;
  const chart = byId('chart').getBoundingClientRect(), {offsetWidth: wide, offsetHeight: high} = tip;
  const x = chart.left + app.hover.x, y = chart.top + app.hover.y;
  tip.style.left = `${Math.max(2, x + AWAY + wide > innerWidth ? x - AWAY - wide : x + AWAY)}px`;
  tip.style.top = `${Math.max(2, y + AWAY + high > innerHeight ? y - AWAY - high : y + AWAY)}px`;
}
