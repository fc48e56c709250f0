// SPDX-License-Identifier: BSD-3-Clause
// Exports the picture to a file: SVG is drawn again, PNG is a copy of the canvases.

import {drawChart, paperOf} from '../draw/chart.js';
import {drawOver} from '../draw/over.js';
import {SvgSurface} from '../draw/surface.js';
import {byId, element} from './dom.js';

/** The SVG of the chart. @param {import('../app.js').App} app @param {boolean} dark */
export function svgOf(app, dark) {
  const surface = new SvgSurface(app.width, app.height, paperOf(app, dark).back);
  drawChart(app, surface, app.layout, dark);
  drawOver(app, /** @type {any} */ (surface), app.layout, dark);
  return surface.toString();
}

/** @param {import('../app.js').App} app @param {'svg' | 'png'} kind */
export async function exportPicture(app, kind) {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const name = `${app.traces[0].meta.title.replace(/[^\w.-]+/g, '_')}.${kind}`;
  if (kind === 'svg') return save(new Blob([svgOf(app, dark)], {type: 'image/svg+xml'}), name);
  const [picture, over] = ['picture', 'over'].map((id) => /** @type {HTMLCanvasElement} */ (byId(id)));
  const both = element('canvas', {width: picture.width, height: picture.height});
  const context = both.getContext('2d');
  context.drawImage(picture, 0, 0);
  context.drawImage(over, 0, 0);
  return both.toBlob((/** @type {Blob | null} */ blob) => blob && save(blob, name));
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element('a', {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
