# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run: chooses the libraries to preload into a program, and starts the program.

choices.py owns the options, preload.py the plan of a start, program.py and uses.py the facts about a program, start.py
the start, launchers.py the commands of launchers, bundle.py bundles. The program's output and exit code stay its own.
"""
