// SPDX-License-Identifier: BSD-3-Clause
// How much of the picture messages may cover before nobody can follow them.

/** Least heights of rows in px, and largest parts of the rows that lines cover: for a line a message, and for faint lines. */
const FOLLOWED = {high: 10, part: 0.04}, FAINT = {high: 3, part: 0.15};

/** How to draw messages. lines: one for each message or bundle; faint: thin and translucent; none. @type {MessagesAs} */
export function messagesAs(choice, {high, area, ends, bundled}) {
  if (choice !== 'auto') return choice;
  let length = 0;
  for (let at = 0; at < ends.length; at += 4) length += Math.hypot(ends[at + 2] - ends[at], ends[at + 3] - ends[at + 1]);
  const part = length / Math.max(1, area);
  if (!bundled && high >= FOLLOWED.high && part <= FOLLOWED.part) return 'lines';
  return high >= FAINT.high && part <= FAINT.part ? 'faint' : 'none';
}
