// SPDX-License-Identifier: BSD-3-Clause
// Makes elements. Texts of a trace become text nodes, never markup.

import {paperOf} from '../draw/chart.js';
import {CanvasSurface} from '../draw/surface.js';

/** @param {string} id @returns {HTMLElement} */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** An element with properties (on...: listeners; data-, aria-, role: attributes) and children.
 * @param {string} name @param {Record<string, any>} [properties] @param {...Child} children @returns {any} */
export function element(name, properties = {}, ...children) {
  const made = /** @type {any} */ (document.createElement(name));
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (/^(data-|aria-|role$|for$|colspan$)/.test(key)) made.setAttribute(key, String(value));
    else made[key] = value;
  }
  append(made, children);
  return made;
}

/** Replaces the children of an element. @param {Element} of @param {...Child} children */
export function fill(of, ...children) {
  of.replaceChildren();
  append(of, children);
}

/** @param {Element} to @param {Child[]} children */
function append(to, children) {
  for (const child of children) if (child !== null && child !== undefined && child !== false) to.append(child instanceof Node ? child : String(child));
}

/** A line that explains. @param {...Child} children */
export const hint = (...children) => element('p', {className: 'hint'}, ...children);

/** A button. @param {string} text @param {() => void} press @param {Record<string, any>} [more] */
export const button = (text, press, more = {}) => element('button', {type: 'button', onclick: press, ...more}, text);

/** A listener for arrow keys, which other parts of the page do not get: left -1, right 1. @param {(by: number) => void} move @returns {(event: KeyboardEvent) => void} */
export const arrows = (move) => (event) => {
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (!by) return;
  event.preventDefault();
  event.stopPropagation();
  move(by);
};

/** A canvas of a panel with a picture. @type {Plot} */
export function plot(width, height, draw, more) {
  /** @type {HTMLCanvasElement} */
  const made = element('canvas', {className: 'plot', ...more});
  [made.style.width, made.style.height] = [width ? `${width}px` : '', `${height}px`]; // before the first frame: the mouse needs them
  requestAnimationFrame(() => {
    const s = new CanvasSurface(made), paper = paperOf();
    s.begin(width || made.clientWidth || 420, height, paper.back);
    draw(s, paper);
  });
  return made;
}
