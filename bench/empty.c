/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with one event, to measure the cost of start and end. */
int main(void) { return 0; }
