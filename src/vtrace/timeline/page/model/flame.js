// SPDX-License-Identifier: BSD-3-Clause
// The places of call paths in a flame graph.

/** Boxes of call paths: x and width are parts of the whole. Children stand side by side, the largest first; boxes that
 * are narrower than `least` are left out.
 * @param {{parent: ArrayLike<number>, inclusive: ArrayLike<number>, depth: ArrayLike<number>}} paths parents before children
 * @param {number} root the path whose children fill the width @param {number} least
 * @returns {FlameBox[]} */
export function boxes(paths, root, least) {
  const {parent, inclusive, depth} = paths, n = parent.length;
  /** @type {number[][]} */
  const children = Array.from({length: n}, () => []);
  for (let path = 1; path < n; path += 1) if (parent[path] >= 0) children[parent[path]].push(path);
  let whole = root ? inclusive[root] : 0;
  if (!root) for (const path of children[0] ?? []) whole += inclusive[path];
  const found = /** @type {FlameBox[]} */ ([]);
  const open = /** @type {[number, number][]} */ ([]);
  /** @param {number[]} of @param {number} x */
  const place = (of, x) => {
    let at = x;
    for (const path of of.sort((a, b) => inclusive[b] - inclusive[a])) {
      open.push([path, at]);
      at += inclusive[path] / (whole || 1);
    }
  };
  place(root ? [root] : children[0] ?? [], 0);
  const base = root ? depth[root] : 1;
  while (open.length) {
    const [path, x] = /** @type {[number, number]} */ (open.pop()), width = inclusive[path] / (whole || 1);
    if (width < least) continue;
    found.push({path, x, width, depth: depth[path] - base});
    place(children[path], x);
  }
  return found;
}
