// SPDX-License-Identifier: BSD-3-Clause
// The flame graph: a box for each call path, as wide as its inclusive time over all rows, or its bytes.

import {paintOf, paperOf} from '../draw/chart.js';
import {callColour} from '../draw/rows_layer.js';
import {CanvasSurface} from '../draw/surface.js';
import {needsLight} from '../model/colours.js';
import {boxes} from '../model/flame.js';
import {bytes, count, duration} from '../model/time.js';
import {arrows, element, fill, hint} from './dom.js';
import {fromSamples, regionName, withNames} from './tables.js';

const HIGH = 17;

/** @type {Panel} */
export function flame(app, found, trace) {
  const paths = /** @type {any} */ (found.columns), {names} = found.notes;
  let root = 0;
  const said = hint(`${names ? 'Bytes in use when heaps are largest. ' : ''}A click enlarges a box, again shows all.`);
  const nameOf = (/** @type {number} */ path) => names?.[path] ?? regionName(app, trace, paths.region[path]), amount = names ? bytes : duration;
  return element('div', {id: 'flame'}, paths.samples && fromSamples(found), said, withNames(app, trace, names ? [] : paths.region, () => {
    let shown = /** @type {FlameBox[]} */ ([]);
    /** @type {HTMLCanvasElement} */
    const canvas = element('canvas', {className: 'plot', tabIndex: 0, role: 'img', 'aria-label': 'Flame graph: arrow keys go from box to box, Enter enlarges'});
    let focused = -1;
    const draw = () => {
      const width = canvas.parentElement?.clientWidth || 420;
      shown = boxes(paths, root, 1 / width);
      const high = HIGH * (1 + shown.reduce((most, box) => Math.max(most, box.depth), 0));
      canvas.style.width = `${width}px`;
      canvas.style.height = `${high}px`;
      const s = new CanvasSurface(canvas), paper = paperOf();
      s.begin(width, high, paper.back);
      const paint = {...paintOf(app, trace, paper), colour: /** @type {const} */ ('class'), memo: new Map()};
      const tints = shown.map(({path}) => callColour(paint, paths.region[path], 1));
      shown.forEach((box, at) => s.fill(box.x * width, box.depth * HIGH, Math.max(1, box.width * width - 1), HIGH - 1, tints[at]));
      s.flush();
      shown.forEach((box, at) => {
        if (box.width * width > 24) s.text(nameOf(box.path), box.x * width + 3, box.depth * HIGH + 12, needsLight(tints[at]) ? 0xffffff : 0, box.width * width - 6);
      });
    };
    /** @param {MouseEvent} event */
    const at = (event) => shown.find((box) => {
      const x = event.offsetX / canvas.clientWidth, row = Math.floor(event.offsetY / HIGH);
      return box.depth === row && x >= box.x && x < box.x + box.width;
    });
    /** @param {FlameBox | undefined} box */
    const tell = (box) => {
      if (box) fill(said, `${nameOf(box.path)}: ${amount(paths.inclusive[box.path])}, exclusive ${amount(paths.exclusive[box.path])}, ${count(paths.calls[box.path])} calls${paths.samples ? `, ${count(paths.samples[box.path])} samples` : ''}`);
    };
    /** @param {FlameBox | undefined} box */
    const enlarge = (box) => {
      root = !box || box.path === root ? 0 : box.path;
      draw();
    };
    canvas.onmousemove = (event) => tell(at(event));
    canvas.onclick = (event) => enlarge(at(event));
    const along = arrows((by) => {
      const place = shown.findIndex((box) => box.path === focused), next = shown[Math.max(0, Math.min(shown.length - 1, place + by))];
      focused = next?.path ?? -1;
      tell(next);
    });
    canvas.onkeydown = (event) => {
      along(event);
      if (event.key !== 'Enter') return;
      event.stopPropagation();
      enlarge(shown.find((box) => box.path === focused));
    };
    requestAnimationFrame(draw);
    return canvas;
  }));
}
