# SPDX-License-Identifier: BSD-3-Clause
"""Makes an archive from an archive: cuts, and copies with imported data.

rewrite.py owns the copy of events and definitions (csrc/otf2_rewriter), counterparts.py the choice of whole messages,
new_archive.py the new directory, which gets its name when it is complete.
"""
