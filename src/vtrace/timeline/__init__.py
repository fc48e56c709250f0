# SPDX-License-Identifier: BSD-3-Clause
"""The timeline in a browser."""
