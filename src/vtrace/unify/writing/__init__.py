# SPDX-License-Identifier: BSD-3-Clause
"""Pass 2: the events of each location, in an archive that is put in its place when complete."""
