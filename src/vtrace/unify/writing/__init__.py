# SPDX-License-Identifier: BSD-3-Clause
"""Pass 2: writes the events of each location to an archive, which gets its name when complete."""
