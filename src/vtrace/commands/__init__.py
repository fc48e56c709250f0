# SPDX-License-Identifier: BSD-3-Clause
"""One small file per command: options, help, and calls of the packages that do the work.

tool_options.py and window.py own options that several commands share; vtrace.console owns messages. The list of
commands (vtrace.cli) imports a module only when its command runs, since most modules load numpy.
"""
