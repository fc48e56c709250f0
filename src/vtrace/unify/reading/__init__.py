# SPDX-License-Identifier: BSD-3-Clause
"""Pass 1: the definitions of each process, and the missing parts that they show."""
