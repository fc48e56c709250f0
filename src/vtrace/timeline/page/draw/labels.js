// SPDX-License-Identifier: BSD-3-Clause
// Places for labels, so that no label lies over another one.

const BAND = 16;

export class Places {
  /** @param {{left: number, top: number, right: number, bottom: number}} inside labels stay in this box */
  constructor(inside) {
    this.inside = inside;
    /** The boxes by bands of their height. @type {Map<number, number[][]>} */
    this.bands = new Map();
  }

  /** Takes a place if it is free; else false. @param {number} x @param {number} y of the top @param {number} w @param {number} h */
  take(x, y, w, h) {
    const {left, top, right, bottom} = this.inside;
    if (x < left || y < top || x + w > right || y + h > bottom) return false;
    const first = Math.floor(y / BAND), last = Math.floor((y + h) / BAND);
    for (let band = first; band <= last; band += 1) {
      if (this.bands.get(band)?.some(([x0, y0, x1, y1]) => x < x1 && x + w > x0 && y < y1 && y + h > y0)) return false;
    }
    for (let band = first; band <= last; band += 1) {
      const found = this.bands.get(band);
      if (found) found.push([x, y, x + w, y + h]);
      else this.bands.set(band, [[x, y, x + w, y + h]]);
    }
    return true;
  }
}

/** Writes a text where its whole width is free. @type {LabelOf} */
export function label(s, places, text, {x, y, colour, room = Infinity, size = 11}) {
  const wide = s.widthOf(text, size);
  if (wide > room || !places.take(x, y - size * 0.8, wide, size)) return false;
  s.text(text, x, y, colour, Infinity, size);
  return true;
}
