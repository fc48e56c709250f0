# SPDX-License-Identifier: BSD-3-Clause
"""A terminal, a browser and a second user of the machine."""
