// SPDX-License-Identifier: BSD-3-Clause
// Colours as 0xRRGGBB: of classes (Okabe and Ito's), shades of regions, heat.

/** @param {string} text #rrggbb */
export const parsed = (text) => parseInt(text.slice(1), 16);

/** @param {number} colour */
export const css = (colour) => `#${colour.toString(16).padStart(6, '0')}`;

/** Mixes two colours: part 0 is the first, 1 the second. @param {number} from @param {number} to @param {number} part */
export function mixed(from, to, part) {
  let found = 0;
  for (const shift of [16, 8, 0]) {
    const a = (from >> shift) & 255, b = (to >> shift) & 255;
    found |= Math.round(a + (b - a) * part) << shift;
  }
  return found;
}

/** A shade of a class's colour for a region, the same in all views, and unlike those of other classes.
 * @param {number} colour @param {number} region */
export function shade(colour, region) {
  const turn = ((region * 0x9e3779b1) >>> 0) / 2 ** 32; // neighbours differ
  return turn < 0.5 ? mixed(colour, 0xffffff, turn * 0.4) : mixed(colour, 0x000000, (turn - 0.5) * 0.4);
}

/** A call that waits: half of the paper. @param {number} colour @param {number} back the paper */
export const waiting = (colour, back) => mixed(colour, back, 0.5);

const HEAT = [0xfff3c4, 0xf0c040, 0xe08020, 0xc03020, 0x601030];

/** The colour of a duration between the shortest and longest, by its logarithm. @param {number} part 0 to 1 */
export function heat(part) {
  const at = Math.max(0, Math.min(1, part)) * (HEAT.length - 1), low = Math.min(HEAT.length - 2, Math.floor(at));
  return mixed(HEAT[low], HEAT[low + 1], at - low);
}

/** The colour of a row by its work, a part of the most of a row. @param {number} part 0 to 1 @param {number} back the paper */
export const workColour = (part, back) => heat(back > 0x808080 ? 0.1 + 0.9 * part : 0.9 - 0.9 * part);

/** True if text on a colour must be light. @param {number} colour */
export const needsLight = (colour) => 0.299 * (colour >> 16) + 0.587 * ((colour >> 8) & 255) + 0.114 * (colour & 255) < 120;

/** The colours of the page itself. */
export const PAPER = {
  light: {back: 0xffffff, idle: 0xf1f1ee, line: 0xdcdcd8, text: 0x202124, faint: 0x6a6d70, mark: 0x000000, other: 0xd9d9d6, pick: 0xc00060, outlier: 0xe00000, wait: 0x6a00c8},
  dark: {back: 0x16181c, idle: 0x22252a, line: 0x3a3e44, text: 0xe6e6e6, faint: 0x9a9ea4, mark: 0xffffff, other: 0x3a3e44, pick: 0xff5fa8, outlier: 0xff4040, wait: 0xb98cff},
};
