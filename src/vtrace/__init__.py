# SPDX-License-Identifier: BSD-3-Clause
"""vtrace: records what parallel programs do over time, and unifies it into OTF2 archives."""

__version__ = "0.1.0"
