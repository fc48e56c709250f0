// SPDX-License-Identifier: BSD-3-Clause
// Surfaces to draw on: a canvas or SVG. Rectangles of rows go into pixels, other shapes are drawn above.
// All positions are in CSS pixels.

import {css} from '../model/colours.js';

const WIDTHS = 5000;

/** A canvas on the screen. @implements {Surface} */
export class CanvasSurface {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', {alpha: true}));
    this.scale = 1;
    this.width = this.height = 0;
    /** @type {Map<string, number>} */
    this.widths = new Map();
    this.image = new ImageData(1, 1);
    this.across = this.down = 1; // of the image, whose own properties are slow to ask
    this.pixels = new Uint32Array(this.image.data.buffer);
    /** The texts of the picture and their boxes, for tests. @type {{text: string, x: number, y: number, w: number, h: number}[]} */
    this.texts = [];
  }

  /** Starts a picture. @param {number} width @param {number} height @param {number} back colour */
  begin(width, height, back) {
    this.resize(width, height);
    const w = this.canvas.width, h = this.canvas.height;
    if (this.across !== w || this.down !== h) {
      this.image = new ImageData(w, h);
      [this.across, this.down] = [w, h];
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(pixel(back));
  }

  /** @param {number} width @param {number} height */
  resize(width, height) {
    this.texts = [];
    this.scale = window.devicePixelRatio || 1;
    [this.width, this.height] = [width, height];
    const w = Math.max(1, Math.round(width * this.scale)), h = Math.max(1, Math.round(height * this.scale));
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
  }

  /** @type {Surface['fill']} */
  fill(x, y, w, h, colour) {
    const {across, down, pixels} = this, s = this.scale;
    const x0 = Math.max(0, Math.round(x * s)), x1 = Math.min(across, Math.max(x0 + 1, Math.round((x + w) * s)));
    const y0 = Math.max(0, Math.round(y * s)), y1 = Math.min(down, Math.max(y0 + 1, Math.round((y + h) * s)));
    const value = pixel(colour), wide = x1 - x0;
    for (let line = y0; line < y1; line += 1) {
      const first = line * across + x0;
      if (wide > 12) pixels.fill(value, first, first + wide);
      else for (let at = first; at < first + wide; at += 1) pixels[at] = value; // a call of fill costs more
    }
  }

  /** If rectangles share a pixel, draws the one in the pixel's middle. @type {Surface['strip']} */
  strip({y, h, zero, wide, first, last, low, high, colours}) {
    const {across, down, pixels} = this, s = this.scale;
    const x0 = Math.max(0, Math.round(low * s)), x1 = Math.min(across, Math.round(high * s));
    const y0 = Math.max(0, Math.round(y * s)), y1 = Math.min(down, Math.max(y0 + 1, Math.round((y + h) * s)));
    const step = 1 / (wide * s);
    for (let x = x0; x < x1; x += 1) {
      const colour = colours[Math.max(first, Math.min(last - 1, Math.floor((x + 0.5 - zero * s) * step)))];
      if (colour < 0) continue;
      const value = pixel(colour);
      for (let line = y0; line < y1; line += 1) pixels[line * across + x] = value;
    }
  }

  flush() {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.putImageData(this.image, 0, 0);
    this.context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
  }

  /** Starts a picture with lines only, on a transparent background. @param {number} width @param {number} height */
  clear(width, height) {
    this.resize(width, height);
    this.context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.context.clearRect(0, 0, width, height);
  }

  /** @type {Surface['line']} */
  line(x0, y0, x1, y1, colour, width = 1, alpha = 1) {
    this.strokes([x0, y0, x1, y1], colour, width, alpha);
  }

  /** @type {Surface['veil']} */
  veil(x, y, w, h, colour, alpha) {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = css(colour);
    this.context.fillRect(x, y, Math.max(w, 1 / this.scale), h);
    this.context.globalAlpha = 1;
  }

  /** @type {Surface['frame']} */
  frame(x, y, w, h, colour, width = 1) {
    this.context.strokeStyle = css(colour);
    this.context.lineWidth = width;
    this.context.strokeRect(x + width / 2, y + width / 2, Math.max(w - width, 1), Math.max(h - width, 1));
  }

  /** @type {Surface['strokes']} */
  strokes(ends, colour, width, alpha) {
    const c = this.context;
    [c.globalAlpha, c.strokeStyle, c.lineWidth] = [alpha, css(colour), width];
    c.beginPath();
    for (let at = 0; at < ends.length; at += 4) {
      c.moveTo(ends[at], ends[at + 1]);
      c.lineTo(ends[at + 2], ends[at + 3]);
    }
    c.stroke();
    c.globalAlpha = 1;
  }

  /** The width of a text, cached since each frame has the same names. @type {Surface['widthOf']} */
  widthOf(text, size = 11) {
    const key = `${size} ${text}`, known = this.widths.get(key);
    if (known !== undefined) return known;
    if (this.widths.size > WIDTHS) this.widths.clear();
    this.context.font = `${size}px system-ui, sans-serif`;
    const {width} = this.context.measureText(text);
    this.widths.set(key, width);
    return width;
  }

  /** @type {Surface['text']} */
  text(text, x, y, colour, room = Infinity, size = 11) {
    const c = this.context;
    const shown = fitting(text, room, (part) => this.widthOf(part, size));
    if (!shown) return;
    c.font = `${size}px system-ui, sans-serif`;
    c.fillStyle = css(colour);
    c.fillText(shown, x, y);
    this.texts.push({text: shown, x, y: y - size * 0.8, w: this.widthOf(shown, size), h: size});
  }
}

/** SVG, for export. @implements {Surface} */
export class SvgSurface {
  /** @param {number} width @param {number} height @param {number} back */
  constructor(width, height, back) {
    this.width = width;
    this.height = height;
    /** @type {string[]} */
    this.parts = [`<rect width="${width}" height="${height}" fill="${css(back)}"/>`];
  }

  /** @type {Surface['fill']} */
  fill(x, y, w, h, colour) {
    const last = this.last;
    if (last && last.colour === colour && last.y === y && last.h === h && Math.abs(last.x + last.w - x) < 0.01) {
      last.w = x + w - last.x;
      return;
    }
    this.flush();
    this.last = {x, y, w, h, colour};
  }

  /** @type {Surface['strip']} */
  strip({y, h, zero, wide, first, last, low, high, colours}) {
    for (let at = first; at < last; at += 1) {
      const x = Math.max(low, zero + at * wide), end = Math.min(high, zero + (at + 1) * wide);
      if (colours[at] >= 0 && end > x) this.fill(x, y, end - x, h, colours[at]);
    }
  }

  flush() {
    const {last} = this;
    if (last) this.parts.push(`<rect x="${n(last.x)}" y="${n(last.y)}" width="${n(Math.max(last.w, 0.5))}" height="${n(last.h)}" fill="${css(last.colour)}"/>`);
    this.last = undefined;
  }

  /** Adds a shape above the earlier ones. @param {string} shape */
  add(shape) {
    this.flush();
    this.parts.push(shape);
  }

  /** @type {Surface['line']} */
  line(x0, y0, x1, y1, colour, width = 1, alpha = 1) {
    this.add(`<line x1="${n(x0)}" y1="${n(y0)}" x2="${n(x1)}" y2="${n(y1)}" stroke="${css(colour)}" stroke-width="${width}" opacity="${alpha}"/>`);
  }

  /** @type {Surface['veil']} */
  veil(x, y, w, h, colour, alpha) {
    this.add(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${css(colour)}" opacity="${alpha}"/>`);
  }

  /** @type {Surface['frame']} */
  frame(x, y, w, h, colour, width = 1) {
    this.add(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="none" stroke="${css(colour)}" stroke-width="${width}"/>`);
  }

  /** @type {Surface['strokes']} */
  strokes(ends, colour, width, alpha) {
    const path = [];
    for (let at = 0; at < ends.length; at += 4) path.push(`M${n(ends[at])} ${n(ends[at + 1])}L${n(ends[at + 2])} ${n(ends[at + 3])}`);
    if (path.length) this.add(`<path d="${path.join('')}" fill="none" stroke="${css(colour)}" stroke-width="${width}" opacity="${alpha}"/>`);
  }

  /** @type {Surface['widthOf']} */
  widthOf(text, size = 11) {
    return text.length * size * 0.55;
  }

  /** @type {Surface['text']} */
  text(text, x, y, colour, room = Infinity, size = 11) {
    const shown = fitting(text, room, (part) => this.widthOf(part, size));
    if (shown) this.add(`<text x="${n(x)}" y="${n(y)}" fill="${css(colour)}" font-size="${size}">${escaped(shown)}</text>`);
  }

  /** The file's text. */
  toString() {
    this.flush();
    const {width, height} = this;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif">\n${this.parts.join('\n')}\n</svg>\n`;
  }
}

/** The fewest letters of a shortened text: fewer do not name anything. */
const LETTERS = 12;

/** The start of a text that fits, '' if too few characters fit. @type {Fitting} */
export function fitting(text, room, measure) {
  if (room === Infinity || measure(text) <= room) return text;
  if (room < 14) return '';
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(`${text.slice(0, middle)}\u2026`) <= room) low = middle;
    else high = middle - 1;
  }
  return low >= LETTERS ? `${text.slice(0, low)}\u2026` : '';
}

/** @param {number} colour */
const pixel = (colour) => (0xff000000 | ((colour & 255) << 16) | (colour & 0xff00) | (colour >> 16)) >>> 0;

/** @param {number} value */
const n = (value) => String(Math.round(value * 100) / 100);

/** @param {string} text */
const escaped = (text) => text.replace(/[&<>"\u0000-\u001f]/g, (each) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[each] ?? '?');
