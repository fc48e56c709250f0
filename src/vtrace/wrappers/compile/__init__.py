# SPDX-License-Identifier: BSD-3-Clause
"""Compilers, their command lines, and the options of vtrace-cc, vtrace-cxx and vtrace-fc.

options.py owns the wrappers' options, command_line.py the compiler's, toolchain.py the flags for each compiler,
gcc_plugin.py and cache.py the files built for this machine. A compiler's own arguments stay unchanged and in order.
"""
