# SPDX-License-Identifier: BSD-3-Clause
"""Bytes, no policy: the local def, events and uctl files, and the OTF2 archive."""
