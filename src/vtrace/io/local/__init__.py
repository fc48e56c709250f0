# SPDX-License-Identifier: BSD-3-Clause
"""The local files that traced processes write: heads, blocks, records, and the kernel that unpacks them."""
