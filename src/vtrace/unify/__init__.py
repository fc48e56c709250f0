# SPDX-License-Identifier: BSD-3-Clause
"""Unifies the local files of a run into one archive: policy, no bytes. run.py lists the phases."""
