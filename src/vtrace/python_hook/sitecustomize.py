# SPDX-License-Identifier: BSD-3-Clause
"""Starts recording Python functions, then loads the program's own sitecustomize.

Each Python with this directory in PYTHONPATH imports this file at its start. The vtrace package may belong to another
Python, so this file imports nothing of the package. Runs in Python 3.7 and newer.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run(spec: Any) -> Any:
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _record() -> None:
    path = os.path.join(os.path.dirname(_HERE), "python_functions.py")
    try:
        _run(spec_from_file_location("vtrace_python_functions", path)).start()
    except Exception as error:
        sys.stderr.write(f"vtrace: Python functions are not recorded: {error!r}\n")


def _restore() -> None:
    """Removes this directory from sys.path and imports the program's own sitecustomize, if any."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    del sys.modules["sitecustomize"]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None:
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
    _run(spec)


if os.environ.get("VT_PYTRACE", "").lower() in ("yes", "on", "true", "1"):
    _record()
_restore()
