// SPDX-License-Identifier: BSD-3-Clause
// The pixels of thin rows.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {CanvasSurface, SvgSurface} from '../../src/vtrace/timeline/page/draw/surface.js';

/** The pixels of a picture of 40 x 6, 0 where nothing is drawn. @param {any} strip @param {number} scale */
function painted(strip, scale) {
  const pixels = new Uint32Array(40 * 6);
  CanvasSurface.prototype.strip.call({across: 40, down: 6, scale, pixels}, strip);
  return pixels;
}

/** A colour as the pixel of a little-endian machine. @param {number} colour */
function pixel(colour) {
  return (0xff000000 | ((colour & 255) << 16) | (colour & 0xff00) | (colour >> 16)) >>> 0;
}

test('each pixel has the colour of the bin in its middle', () => {
  const colours = Int32Array.from({length: 30}, (_, bin) => (bin % 7 === 3 ? -1 : 0x10203 * bin));
  for (const scale of [1, 2]) for (const wide of [0.7, 1, 1.3, 4]) for (const zero of [-5.25, 0, 3.5]) for (const [first, last] of [[0, 30], [4, 20]]) {
    const low = Math.max(1, zero + first * wide), high = Math.min(18, zero + last * wide);
    const pixels = painted({y: 1, h: 1, zero, wide, first, last, low, high, colours}, scale);
    for (let line = 0; line < 6; line += 1) for (let x = 0; x < 40; x += 1) {
      const inside = line >= scale && line < 2 * scale && x >= Math.round(low * scale) && x < Math.round(high * scale);
      const at = ((x + 0.5) / scale - zero) / wide, bin = Math.max(first, Math.min(last - 1, Math.floor(at)));
      if (Math.abs(at - Math.round(at)) < 1e-6) continue; // the middle of a pixel between two bins
      assert.equal(pixels[line * 40 + x], inside && colours[bin] >= 0 ? pixel(colours[bin]) : 0, `${scale} ${wide} ${zero} ${first}: ${x}, ${line}`);
    }
  }
});

test('a row of less than a pixel has one, and svg has the same rectangles', () => {
  const colours = Int32Array.from([0xff0000, 0xff0000, -1, 0x00ff00]);
  const strip = {y: 2.4, h: 0.2, zero: 0, wide: 3, first: 0, last: 4, low: 0, high: 12, colours};
  assert.deepEqual([...painted(strip, 1)].map((value, at) => [value, at]).filter(([value]) => value).map(([, at]) => at), [0, 1, 2, 3, 4, 5, 9, 10, 11].map((x) => 80 + x));
  const s = new SvgSurface(20, 6, 0xffffff);
  s.strip(strip);
  const found = [...s.toString().matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill="(#\w+)"/g)].map((one) => one.slice(1, 6).join(' '));
  assert.deepEqual(found, ['0 2.4 6 0.2 #ff0000', '9 2.4 3 0.2 #00ff00']);
});
