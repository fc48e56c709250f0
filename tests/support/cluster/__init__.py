# SPDX-License-Identifier: BSD-3-Clause
"""Several nodes on one machine."""
