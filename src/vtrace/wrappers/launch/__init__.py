# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run: chooses the libraries to preload into a program, and starts the program."""
