# SPDX-License-Identifier: BSD-3-Clause
"""The clocks of hosts and processes become one time."""
