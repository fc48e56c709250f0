# SPDX-License-Identifier: BSD-3-Clause
"""Discovery: finds the local files of a run, and assigns its processes to ranks.

discover.py owns the phase, list_files.py the names and heads, select_run.py the newest run, share.py the processes of
each rank, check_run.py the refusals. Discovery changes no local file; leftovers.py lists files that
vtrace clean may remove.
"""
