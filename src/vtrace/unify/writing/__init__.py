# SPDX-License-Identifier: BSD-3-Clause
"""Pass 2: writes the events of each location to an archive, which gets its name when complete.

writing.py owns the phase, output.py the directory, expected.py the definitions before the events are written. Each
location is written once, by one thread of one rank. After a failure nothing of the archive stays.
"""
