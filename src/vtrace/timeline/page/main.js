// SPDX-License-Identifier: BSD-3-Clause
// Starts the page: reads the traces' descriptions and the address, and connects all parts.

import {App} from './app.js';
import {drawChart, paperOf} from './draw/chart.js';
import {CanvasSurface} from './draw/surface.js';
import {installBar} from './panels/bar.js';
import {installHistory} from './hands/history.js';
import {installKeys} from './hands/keys.js';
import {installMouse} from './hands/mouse.js';
import {firstWindow, installOverview} from './hands/overview.js';
import {showTip} from './hands/tip.js';
import {installRowMenu} from './hands/row_menu.js';
import {installWaiting} from './hands/waiting.js';
import {installPanels} from './panels/panels.js';
import {addCaveats} from './panels/caveats.js';
import {byId, element, fill} from './panels/dom.js';
import {drawOver} from './draw/over.js';
import {drawOverview} from './draw/overview.js';
import {fragment, values} from './model/address.js';
import {INITIAL, Store} from './model/store.js';
import {clamped} from './model/time.js';
import {Client} from './net/client.js';
import {savedClient} from './net/saved.js';

const saved = savedClient(), client = saved ?? new Client();
client.complain = (line) => fill(byId('said'), line);
const metas = await client.json('traces', {});
if (metas) {
  client.loads = metas[0].loads;
  await start(metas);
}

/** @param {any[]} traces */
async function start(traces) {
  document.title = `${traces.map((one) => one.title).join(', ')} - vtrace`;
  addCaveats(traces.flatMap((one) => one.caveats));
  const meant = (/** @type {string} */ text) => values(text, traces.length, traces[0].classes.length);
  const first = traces[0].rows.locations[0];
  const whole = {begin: traces[0].from, end: Math.max(...traces.map((one) => one.to))};
  const initial = {...INITIAL, ...whole, ...firstWindow(traces), row: first === undefined ? '' : `0:l${first}`, ...meant(location.hash || saved?.state || '')};
  const store = new Store(initial);
  const app = new App(store, client, traces);
  store.state = {...initial, ...clamped(initial, app.length)};
  const picture = new CanvasSurface(/** @type {HTMLCanvasElement} */ (byId('picture')));
  const over = new CanvasSurface(/** @type {HTMLCanvasElement} */ (byId('over')));
  const strip = new CanvasSurface(/** @type {HTMLCanvasElement} */ (byId('strip')));
  app.draw = () => {
    if (!app.width) return;
    const l = app.layout;
    if (store.state.scroll > l.most) return void store.set({scroll: l.most});
    picture.begin(app.width, app.height, paperOf().back);
    drawChart(app, picture, l);
    drawOverview(app, strip, {l, height: 39});
    app.drawOver();
    document.body.dataset.frames = String(Number(document.body.dataset.frames ?? 0) + 1);
  };
  app.drawOver = () => {
    over.clear(app.width, app.height);
    drawOver(app, over, app.layout);
    app.afterDraw();
    showTip(app);
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => app.redraw());
  installBar(app);
  if (saved) byId('bar').append(element('span', {id: 'contents', className: 'hint'}, saved.contents));
  document.body.classList.toggle('saved', Boolean(saved));
  document.body.classList.toggle('calls', traces.every((one) => one.saved?.shortest >= 0));
  installPanels(app);
  installMouse(app);
  installOverview(app);
  installKeys(app);
  installRowMenu(app);
  installWaiting(app);
  installHistory(app, fragment, meant);
  new ResizeObserver(() => {
    const box = byId('chart').getBoundingClientRect();
    [app.width, app.height] = [Math.floor(box.width), Math.floor(box.height)];
    const {left, width} = app.layout;
    [strip.canvas.style.left, strip.canvas.style.width] = [`${left}px`, `${width}px`];
    app.redraw();
    app.refreshSoon(0);
  }).observe(byId('chart'));
  Object.assign(byId('chart'), {layout: () => app.layout, texts: () => [...picture.texts, ...over.texts]}); // for tests
  client.stay();
  await app.start();
  document.body.dataset.ready = '1';
}
