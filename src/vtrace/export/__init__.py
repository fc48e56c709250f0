# SPDX-License-Identifier: BSD-3-Clause
"""A trace, or a part of it, for other programs."""
