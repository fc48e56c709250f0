# SPDX-License-Identifier: BSD-3-Clause
"""The folder vtrace/ of an archive: its tables (sidecar.py), tiles (tile_file.py, checkpoints.py), and the archive of
its samples (samples_archive.py).

A table belongs to one archive and has a checksum; a stale or damaged one is refused by name. Nothing else needs it.
"""
