# SPDX-License-Identifier: BSD-3-Clause
"""Pass 1: the definitions of each process, and the missing parts that they show.

reading.py owns the phase, process_reader.py the contents of one process, incomplete_processes.py the reasons to refuse
a run. Events are not decoded here.
After the phase each process has its definitions, and missing parts are known on rank 0.
"""
