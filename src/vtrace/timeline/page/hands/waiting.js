// SPDX-License-Identifier: BSD-3-Clause
// Tells what a user waits for: after a second without an answer the panel and the line below the chart say that the server
// reads the trace, and how far it is.

import {byId, element} from '../panels/dom.js';

/** After this many ms without an answer the page says so, and asks for the share again. */
const PATIENCE = 1000, AGAIN = 500;

/** @param {App} app */
export function installWaiting(app) {
  const line = element('output', {id: 'waiting'}), panel = byId('panel');
  byId('said').after(line);
  let since = 0, asking = false;
  const look = async () => {
    const waits = Number(document.body.dataset.requests ?? 0) > 0, now = performance.now();
    if (!waits) since = now;
    if (now - since < PATIENCE || asking) {
      if (!waits) line.textContent = panel.dataset.reading = '';
      return;
    }
    asking = true;
    const share = await app.client.reading();
    asking = false;
    if (Number(document.body.dataset.requests ?? 0) > 0) line.textContent = panel.dataset.reading = `Reading the trace ${share === null ? '...' : `: ${Math.floor(100 * share)} %`}`.replace(' :', ':');
  };
  setInterval(look, AGAIN);
}
