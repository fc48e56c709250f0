# SPDX-License-Identifier: BSD-3-Clause
"""Starts recording Python functions, then loads the program's own sitecustomize.

Each Python with this directory in PYTHONPATH imports this file at its start. The vtrace package may belong to another
Python, so this file imports nothing of the package. It also runs in Pythons that vtrace does not record, even Python 2.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_OLD = sys.version_info < (3, 7)


def _run(spec):  # type: ignore[no-untyped-def]
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


def _record():  # type: () -> None
    try:
        if _OLD:
            import ctypes

            ctypes.PyDLL(None).vt_python_loaded()
            ctypes.PyDLL(None).vt_python_fails(b"this Python is not CPython 3.9 or newer")
            return
        from importlib.util import spec_from_file_location

        path = os.path.join(os.path.dirname(_HERE), "python_functions.py")
        _run(spec_from_file_location("vtrace_python_functions", path))  # type: ignore[no-untyped-call]
        sys.modules["vtrace_python_functions"].start()
    except Exception as error:
        from contextlib import suppress

        with suppress(Exception):  # standard error may be closed or full
            sys.stderr.write("vtrace: Python functions are not recorded: " + repr(error) + "\n")


def _restore():  # type: () -> None
    """Removes this directory from sys.path and imports the program's own sitecustomize, if any."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    del sys.modules["sitecustomize"]
    if _OLD:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401

        return
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None:
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
    _run(spec)  # type: ignore[no-untyped-call]


if os.environ.get("VT_PYTRACE", "").lower() in ("yes", "on", "true", "1"):
    _record()
_restore()
