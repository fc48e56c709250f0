# SPDX-License-Identifier: BSD-3-Clause
"""The data that the phases pass on: a run, its processes, their files, definitions and clocks."""
