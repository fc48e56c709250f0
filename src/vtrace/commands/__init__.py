# SPDX-License-Identifier: BSD-3-Clause
"""One small file per command: options, help, and calls of the packages that do the work.

The docstring of a command begins with its group in `vtrace --help`, and says what the command does (vtrace.cli).
trace_command.py is the contract of commands that read archives; tool_options.py has the options of other tools'
commands; vtrace.console owns messages.
"""
