// SPDX-License-Identifier: BSD-3-Clause
// The mouse on the overview: a drag zooms to a part of the run, a click moves the window there.

import {tickText} from '../model/overview.js';
import {byId, button, element, fill} from '../panels/dom.js';

/** px from a tick at which the box tells its iteration. */
const DRAG = 3, NEAR = 3;

/** @param {App} app */
export function installOverview(app) {
  const strip = byId('strip');
  /** @type {number | null} */
  let press = null;
  let dragged = false;
  /** @param {MouseEvent} event */
  const timeAt = (event) => {
    const box = strip.getBoundingClientRect();
    return (Math.max(0, Math.min(box.width, event.clientX - box.left)) / box.width) * app.length;
  };
  strip.addEventListener('mousedown', (event) => {
    if (event.button) return;
    [press, dragged] = [timeAt(event), false];
    event.preventDefault();
  });
  const title = strip.title;
  strip.addEventListener('mousemove', (event) => {
    const number = Math.floor(((event.clientY - strip.getBoundingClientRect().top) / strip.clientHeight) * app.traces.length);
    const text = tickText(app.traces[number]?.ticks, timeAt(event) - app.state.shift[number], (NEAR * app.length) / strip.clientWidth);
    app.overTick = text ? {x: event.clientX, y: event.clientY, text} : null;
    strip.title = text ? '' : title;
  });
  strip.addEventListener('mouseleave', () => {
    app.overTick = null;
    app.redrawOver();
  });
  window.addEventListener('mousemove', (event) => {
    if (press === null) return;
    const at = timeAt(event);
    dragged ||= Math.abs(at - press) > (DRAG * app.length) / strip.clientWidth;
    if (dragged) app.show({begin: Math.min(press, at), end: Math.max(press, at)});
  });
  window.addEventListener('mouseup', (event) => {
    if (press === null) return;
    if (!dragged) app.showTime(timeAt(event), true);
    press = null;
  });
  showChip(app);
}

/** Says that the first window is a part of the run. @param {App} app */
function showChip(app) {
  const first = firstWindow(app.traces.map(({meta}) => meta)), chip = byId('chip');
  const show = () => {
    const {begin, end} = app.state;
    chip.hidden = !first || begin !== first.begin || end !== first.end;
  };
  fill(chip, element('span', {}, 'without MPI_Init and MPI_Finalize: '), button('0 shows all', () => app.show({begin: 0, end: app.length}), {title: 'Show the whole run (0)'}),
    button('\u00d7', () => chip.remove(), {title: 'Close', 'aria-label': 'Close this note'}));
  app.store.subscribe(show);
  show();
}

/** The part between MPI_Init and MPI_Finalize; null: there is none, or two traces have other ones. @param {any[]} metas @returns {Span | null} */
export function firstWindow(metas) {
  const [one, two] = metas;
  return two || !one.body ? null : {begin: one.body[0], end: one.body[1]};
}
