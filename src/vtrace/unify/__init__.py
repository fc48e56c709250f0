# SPDX-License-Identifier: BSD-3-Clause
"""From the local files of a run to one archive: policy, no bytes. run.py lists the phases."""
