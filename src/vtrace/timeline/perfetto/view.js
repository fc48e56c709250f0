// SPDX-License-Identifier: BSD-3-Clause
// Opens the trace in the user interface. A request every 20 s keeps the server running while the page is open.
'use strict';
const frame = document.getElementById('ui');
const trace = new URL('trace', location.href);
trace.searchParams.set('name', decodeURIComponent(frame.dataset.name));
const commands = JSON.stringify([{id: 'dev.perfetto.ExpandTracksByRegex', args: ['.']}]);
const words = new URLSearchParams({url: trace.href, hideSidebar: 'true', startupCommands: commands});
frame.src = `ui/#!/?${words.toString().replaceAll('+', '%20')}`;
frame.addEventListener('load', () => frame.focus());
setInterval(() => fetch('alive').catch(() => undefined), 20000);
