# SPDX-License-Identifier: BSD-3-Clause
"""The local files that traced processes write: heads, blocks, records, and the kernel that unpacks them.

heads.py owns heads and uctl files, index.py the places of blocks, kernel.py their records. records.py has the numbers
of csrc/core/format.h, so no other module states one. A file must stay open while rows of its index are used.
"""
