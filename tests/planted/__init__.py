# SPDX-License-Identifier: BSD-3-Clause
"""Programs with one planted property each, the truth about them, and whether vtrace diagnose tells the truth."""
