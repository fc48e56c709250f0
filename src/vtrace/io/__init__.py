# SPDX-License-Identifier: BSD-3-Clause
"""Bytes, no policy: the local def, events and uctl files, the OTF2 archive, and tables beside an archive.

local/ owns the runtime's files, archive/ those of OTF2, sidecar/ the folder vtrace/; common/ has what they share.
Readers trust no number in a file: damage raises FormatError with path and place.
"""
