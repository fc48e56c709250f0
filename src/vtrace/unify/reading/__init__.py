# SPDX-License-Identifier: BSD-3-Clause
"""Pass 1: the definitions of each process, and what they say is missing."""
