# SPDX-License-Identifier: BSD-3-Clause
"""The data that the phases hand on: a run, its processes, their files, definitions and clocks."""
