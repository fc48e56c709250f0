/* SPDX-License-Identifier: BSD-3-Clause */
/* One event, to measure what starting and ending cost. */
int main(void) { return 0; }
