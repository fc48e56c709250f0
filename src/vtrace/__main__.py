# SPDX-License-Identifier: BSD-3-Clause
"""python -m vtrace: the command vtrace. Starts Python again with -I, since the environment and the current directory
belong to the traced program, as for the installed command (csrc/command/command.c)."""

from __future__ import annotations

import os
import sys

if not sys.flags.isolated:
    os.execv(sys.executable, [sys.executable, "-I", __file__, *sys.argv[1:]])
if (parent := os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) not in sys.path:
    sys.path.append(parent)
sys.argv[0] = os.path.join(os.path.dirname(sys.executable), "vtrace")

from vtrace.entry import run  # noqa: E402

run()
