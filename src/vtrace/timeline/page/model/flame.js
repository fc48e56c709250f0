// SPDX-License-Identifier: BSD-3-Clause
// The places of call paths in a flame graph.

/** Boxes of call paths: x and width are parts of the whole. The largest child stands first; boxes narrower than `least` are left out. @type {Boxes} */
export function boxes(paths, root, least) {
  const {inclusive, depth} = paths;
  const children = childrenOf(paths);
  let whole = root ? inclusive[root] : 0;
  if (!root) for (const path of children[0] ?? []) whole += inclusive[path];
  const found = /** @type {FlameBox[]} */ ([]), open = /** @type {[number, number][]} */ ([]);
  /** @param {number[]} of @param {number} x */
  const place = (of, x) => {
    let at = x;
    for (const path of of) {
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

/** The callees of each path, the one with the most time first. @param {Paths} paths @returns {number[][]} */
export function childrenOf({parent, inclusive}) {
  const found = Array.from(parent, () => /** @type {number[]} */ ([]));
  for (let path = 1; path < parent.length; path += 1) if (parent[path] >= 0) found[parent[path]].push(path);
  return found.map((paths) => paths.sort((a, b) => inclusive[b] - inclusive[a]));
}
