# SPDX-License-Identifier: BSD-3-Clause
"""Unifies the local files of a run into one archive: policy, no bytes.

run.py lists the phases: discover/, reading/ (pass 1), clocks/, merge/, writing/ (pass 2), account/; model/ has the data
that they pass on. Ranks share the work at the borders of phases. Local files are removed only after the archive is
complete.
"""
