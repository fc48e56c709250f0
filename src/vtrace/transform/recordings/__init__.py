# SPDX-License-Identifier: BSD-3-Clause
"""Traces that other tools recorded: Chrome's JSON (PyTorch's Kineto, viztracer, JAX) and SQLite (Nsight Systems,
rocprofv3), as new archives or beside a run of vtrace."""
