// SPDX-License-Identifier: BSD-3-Clause
// The window of time on the screen: zoom, move, and the positions of times. `clamped` makes a window at least 10 ns long
// and moves the window into the trace.

/** @typedef {{begin: number, end: number}} Window */

export const SHORTEST = 10;

/** The window inside [0, length], with whole ns. @param {Window} window @param {number} length @returns {Window} */
export function clamped({begin, end}, length) {
  const wide = Math.max(SHORTEST, Math.min(Math.round(end - begin), Math.max(length, SHORTEST)));
  const first = Math.round(Math.max(0, Math.min(begin, Math.max(length, SHORTEST) - wide)));
  return {begin: first, end: first + wide};
}

/** Zooms by a factor (< 1: in) around a time. @param {Window} window @param {number} factor @param {number} at */
export function zoomed({begin, end}, factor, at) {
  const wide = Math.max(SHORTEST, (end - begin) * factor);
  const part = (at - begin) / (end - begin || 1);
  return {begin: at - part * wide, end: at + (1 - part) * wide};
}

/** @param {Window} window @param {number} ns */
export function moved({begin, end}, ns) {
  return {begin: begin + ns, end: end + ns};
}

/** A window with a part of the trace, and a quarter of its length on each side. @param {number} begin @param {number} end */
export function around(begin, end) {
  const margin = Math.max(SHORTEST, (end - begin) / 4);
  return {begin: begin - margin, end: end + margin};
}

/** @param {Window} window @param {number} width in px @param {number} time */
export function place(window, width, time) {
  return ((time - window.begin) / (window.end - window.begin)) * width;
}

/** @param {Window} window @param {number} width in px @param {number} x */
export function timeAt(window, width, x) {
  return Math.floor(window.begin + (x / width) * (window.end - window.begin));
}
