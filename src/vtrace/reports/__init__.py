# SPDX-License-Identifier: BSD-3-Clause
"""What a person looks at, computed from any OTF2 archive."""
