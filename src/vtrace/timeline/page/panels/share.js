// SPDX-License-Identifier: BSD-3-Clause
// Files to share: the picture as SVG and PNG with a legend, and the page as one file.

import {drawChart, paperOf} from '../draw/chart.js';
import {drawOver} from '../draw/over.js';
import {CanvasSurface, SvgSurface} from '../draw/surface.js';
import {fragment} from '../model/address.js';
import {COLOURS} from '../draw/processor_layer.js';
import {mixed, parsed, workColour} from '../model/colours.js';
import {BLOCKED, READY} from '../model/off_core.js';
import {WAIT} from '../model/rare.js';
import {covering, levelOf} from '../model/tiles.js';
import {duration} from '../model/time.js';
import {byId, element, fill} from './dom.js';
import {save} from './table.js';

const TITLE = 26, LINE = 18, GAP = 14, LETTER = 6.2;

/** The title of the picture: the runs and the window. @param {App} app */
function titleOf(app) {
  const {begin, end} = app.state, whole = begin <= 0 && end >= app.length;
  return `${app.traces.map(({meta}) => meta.title).join(' / ')}: ${whole ? `the whole run, ${duration(end)}` : `${duration(end - begin)} from ${duration(begin, 6)} of ${duration(app.length)}`}`;
}

/** The classes with time in the picture. @param {App} app */
function classesShown(app) {
  /** @type {Set<number>} */
  const found = new Set();
  for (const {trace, shown, window, begin, end} of app.tracesInWindow()) {
    const level = levelOf((window.end - window.begin) / app.layout.width, trace.meta.top);
    for (const row of shown) {
      const coarse = Math.min(trace.meta.top, Math.max(level, row.finest));
      for (const {tile, level: at, number, from, to} of covering((each, n) => trace.tiles.tile(row.key, each, n), begin, end, coarse, trace.meta.top)) {
        const first = Math.floor(from / 2 ** at) - number * 256, last = Math.ceil(to / 2 ** at) - number * 256;
        for (const [each, shares] of tile.classes) if (shares.subarray(Math.max(0, first), last).some((share) => share > 0)) found.add(each);
      }
    }
  }
  return [...found].sort((a, b) => a - b);
}

/** The meaning of the colours of calls. @type {Meanings} */
export function meanings({state, traces}, paper, classes) {
  const {meta} = traces[0];
  if (state.colour === 'class') return classes.map((each) => [parsed(meta.classes[each].colour), meta.classes[each].name]);
  if (state.colour === 'wait') return [[paper.other, 'calls that work'], [paper.wait, 'wait']];
  if (state.colour === 'work') return [[paper.other, 'other calls'], [workColour(0, paper.back), 'computes least'], [workColour(1, paper.back), 'computes most']];
  return [[paper.other, {region: 'calls, a colour for each region', heat: 'calls by duration: the darker, the longer', counter: `${state.curve}: the darker, the higher`}[state.colour]]];
}

/** The colours and texts of the legend. @param {App} app @param {any} paper @returns {[number, string][]} */
function legendOf(app, paper) {
  const {state} = app.store, found = meanings(app, paper, classesShown(app));
  if (['class', 'region'].includes(state.colour)) for (const {regions} of app.traces) for (const one of regions.known.values()) if (one && app.own.has(one.name)) found.push([app.own.get(one.name) ?? 0, one.name]);
  found.push([paper.idle, 'no call']);
  for (const {meta, marks, rare} of app.traces) {
    const {begin, end} = state, kinds = state.rare === 'none' || !rare ? [] : Array.from(rare.columns.kind);
    if (marks && Array.from(marks.columns.lost_begin).some((time, at) => time < end && marks.columns.lost_end[at] > begin)) found.push([paper.pick, 'not recorded']);
    if (kinds.some((kind) => kind !== WAIT)) found.push([paper.outlier, 'outlier']);
    if (kinds.includes(WAIT)) found.push([paper.wait, 'wait']);
    if (marks?.columns.time?.length) found.push([paper.pick, 'marker']);
    if (meta.offCore && state.processor) found.push([COLOURS[READY], 'edge: waits for a processor'], [COLOURS[BLOCKED], 'edge: blocked']);
    if (state.collectives !== 'none' && app.traces.some((one) => one.collectives?.columns.begin.length)) found.push([mixed(paper.back, paper.mark, 0.3), 'collectives']);
    if (meta === app.traces[0].meta && state.messages !== 'none' && app.traces.some((one) => one.messages?.notes.messages)) found.push([paper.mark, 'messages']);
  }
  return found.filter(([, text], at) => found.findIndex((other) => other[1] === text) === at);
}

/** Places the legend in lines of a width. @param {[number, string][]} items @param {number} width */
function placed(items, width) {
  let x = 8, line = 0;
  const found = items.map(([colour, text]) => {
    const wide = 16 + text.length * LETTER + GAP;
    if (x > 8 && x + wide > width) [x, line] = [8, line + 1];
    const at = {colour, text, x, y: 4 + line * LINE};
    x += wide;
    return at;
  });
  return {found, high: 8 + (line + 1) * LINE};
}

/** Draws the title, or the legend. @param {any} s a surface @param {any} paper @param {string} title
 * @param {ReturnType<typeof placed>['found']} items */
function drawAround(s, paper, title, items) {
  for (const {colour, x, y} of items) {
    s.fill(x, y + 1, 12, 12, paper.line);
    s.fill(x + 1, y + 2, 10, 10, colour);
  }
  s.flush();
  for (const {text, x, y} of items) s.text(text, x + 16, y + 11, paper.text, Infinity, 11);
  if (title) s.text(title, 8, 18, paper.text, s.width ? s.width - 16 : Infinity, 13);
}

/** The SVG of the picture. @param {App} app */
function svgOf(app) {
  const {width, height} = app, paper = paperOf(), legend = placed(legendOf(app, paper), width);
  const [head, chart, foot] = [TITLE, height, legend.high].map((high) => new SvgSurface(width, high, paper.back));
  drawAround(head, paper, titleOf(app), []);
  drawChart(app, chart, app.layout);
  drawOver(app, /** @type {any} */ (chart), app.layout);
  drawAround(foot, paper, '', legend.found);
  const whole = TITLE + height + legend.high;
  /** @type {[SvgSurface, number][]} */
  const parts = [[head, 0], [chart, TITLE], [foot, TITLE + height]];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${whole}" viewBox="0 0 ${width} ${whole}">\n${parts.map(([one, y]) => one.toString().replace('<svg ', `<svg y="${y}" `)).join('')}</svg>\n`;
}

/** The picture as on the screen, between title and legend. @param {App} app @returns {HTMLCanvasElement} */
function pngOf(app) {
  const {width} = app, paper = paperOf(), legend = placed(legendOf(app, paper), width);
  const [picture, over] = ['picture', 'over'].map((id) => /** @type {HTMLCanvasElement} */ (byId(id)));
  const [head, foot] = [element('canvas', {}), element('canvas', {})];
  for (const [canvas, high, title, items] of [[head, TITLE, titleOf(app), []], [foot, legend.high, '', legend.found]]) {
    const s = new CanvasSurface(canvas);
    s.begin(width, high, paper.back);
    drawAround(s, paper, title, items);
  }
  const both = element('canvas', {width: picture.width, height: head.height + picture.height + foot.height}), context = both.getContext('2d');
  context.drawImage(head, 0, 0);
  context.drawImage(picture, 0, head.height);
  context.drawImage(over, 0, head.height);
  context.drawImage(foot, 0, head.height + picture.height);
  return both;
}

/** @param {App} app @param {string} ending */
const nameOf = (app, ending) => `${app.traces[0].meta.title.replace(/[^\w.-]+/g, '_')}.${ending}`;

/** @param {App} app @param {'svg' | 'png'} kind */
export async function exportPicture(app, kind) {
  if (kind === 'svg') return save(new Blob([svgOf(app)], {type: 'image/svg+xml'}), nameOf(app, kind));
  return pngOf(app).toBlob((/** @type {Blob | null} */ blob) => blob && save(blob, nameOf(app, kind)));
}

/** Saves the page with the window, the rows and the panel that it shows as one file. @param {App} app */
export async function savePage(app) {
  const {state} = app.store;
  fill(byId('said'), 'Saving the page ...');
  const answer = await app.client.get('save', {from: Math.floor(state.begin), to: Math.ceil(state.end), shift: state.shift.join(','), state: fragment(state)}, 'save');
  const blob = await answer?.blob().catch(() => undefined);
  if (!blob) return;
  fill(byId('said'), '');
  save(blob, nameOf(app, 'html'));
}
