# SPDX-License-Identifier: BSD-3-Clause
"""Loads numpy in two thirds of the time, for commands that start often and need few parts of numpy."""

from __future__ import annotations

import os
import sys
from types import ModuleType

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from typing import Any


class _Docstrings(ModuleType):
    """Stands for a module of numpy 2 that only adds docstrings to functions and types, in a tenth of numpy's loading
    time. If another version of numpy needs something of the module, the module is loaded."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        from importlib import import_module

        return getattr(import_module(self.__name__), name)


def lighten_numpy() -> None:
    """Turns off unnecessary work of numpy. Must be called before numpy is loaded, and not in a process that starts a
    traced program, which would inherit the environment variable."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else OpenBLAS starts a thread for each core
    for name in ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars"):
        sys.modules.setdefault(name, _Docstrings(name))
