# SPDX-License-Identifier: BSD-3-Clause
"""An OTF2 archive of any tool as a source of batches, and what all questions about it share."""
