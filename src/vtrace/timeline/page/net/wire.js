// SPDX-License-Identifier: BSD-3-Clause
// Reads the tables of the server; timeline/columns.py describes the bytes.

/** @type {Record<string, any>} */
const KINDS = {f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array};

/** @typedef {Float64Array} Column the type for code that reads any column */
/** @typedef {{columns: Record<string, Column>, notes: any}} Table */

/** @param {ArrayBuffer} bytes @returns {Table} throws for other bytes */
export function decoded(bytes) {
  const head = new Uint8Array(bytes, 0, Math.min(8, bytes.byteLength));
  if (bytes.byteLength < 8 || String.fromCharCode(...head.subarray(0, 4)) !== 'VTW1') throw new Error('not a table of this version');
  const size = new DataView(bytes).getUint32(4, true);
  const found = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, size)));
  /** @type {Record<string, Column>} */
  const columns = {};
  for (const [name, kind, rows, offset] of found.columns) columns[name] = new KINDS[kind](bytes, 8 + size + offset, rows);
  return {columns, notes: found.notes};
}
