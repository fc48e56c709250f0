// SPDX-License-Identifier: BSD-3-Clause
// The places of call paths in a flame graph.

/** Boxes of call paths: x and width are parts of the whole. The largest child stands first; boxes narrower than `least` are left out. @type {Boxes} */
export function boxes(paths, root, least) {
  const {inclusive, depth} = paths, children = childrenOf(paths), outer = root ? [root] : children[0] ?? [];
  const whole = outer.reduce((sum, path) => sum + inclusive[path], 0) || 1, base = root ? depth[root] : 1;
  const found = /** @type {FlameBox[]} */ ([]), open = /** @type {[number, number][]} */ ([]);
  /** @param {number[]} of @param {number} x */
  const place = (of, x) => {
    let at = x;
    for (const path of of) {
      open.push([path, at]);
      at += inclusive[path] / whole;
    }
  };
  place(outer, 0);
  while (open.length) {
    const [path, x] = /** @type {[number, number]} */ (open.pop()), width = inclusive[path] / whole;
    if (width < least) continue;
    found.push({path, x, width, depth: depth[path] - base});
    place(children[path], x);
  }
  return found;
}

/** The callees of each path, the one with the most time first. @param {Paths} paths @returns {number[][]} */
export function childrenOf({parent, inclusive}) {
  const found = Array.from(parent, () => /** @type {number[]} */ ([]));
  for (let path = 1; path < parent.length; path += 1) if (parent[path] >= 0) found[parent[path]].push(path);
  return found.map((paths) => paths.sort((a, b) => inclusive[b] - inclusive[a]));
}

/** The heaviest path, open until `most` paths are shown. @param {number[][]} callees of each path @param {number} most */
export function heaviest(callees, most) {
  const open = new Set();
  for (let at = 0, shown = 0; callees[at]?.length && shown < most; shown += callees[at].length, [at] = callees[at]) open.add(at);
  return open;
}

/** The paths inside open ones, callers first. @param {number[][]} callees @param {Set<number>} open */
export function shownPaths(callees, open) {
  const found = [], next = [0];
  for (let path; (path = next.pop()) !== undefined;) {
    if (path) found.push(path);
    if (open.has(path)) for (let at = callees[path].length; at; at -= 1) next.push(callees[path][at - 1]);
  }
  return found;
}
