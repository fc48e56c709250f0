// SPDX-License-Identifier: BSD-3-Clause
// Makes elements. Texts of a trace become text nodes, never markup.

import {paperOf} from '../draw/chart.js';
import {CanvasSurface} from '../draw/surface.js';

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

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
export function hint(...children) {
  return element('p', {className: 'hint'}, ...children);
}

/** A button. @param {string} text @param {() => void} press @param {Record<string, any>} [more] */
export function button(text, press, more = {}) {
  return element('button', {type: 'button', onclick: press, ...more}, text);
}

/** A canvas of a panel with a picture. @param {number} width px; 0: as the style says @param {number} height px
 * @param {(s: CanvasSurface, paper: any) => void} draw @param {Record<string, any>} more */
export function plot(width, height, draw, more) {
  const made = element('canvas', {className: 'plot', ...more});
  [made.style.width, made.style.height] = [width ? `${width}px` : '', `${height}px`]; // before the first frame: the mouse needs them
  requestAnimationFrame(() => {
    const s = new CanvasSurface(made), paper = paperOf();
    s.begin(width || made.clientWidth || 420, height, paper.back);
    draw(s, paper);
  });
  return made;
}
