# SPDX-License-Identifier: BSD-3-Clause
"""Discovery: finds the local files of a run, and assigns its processes to ranks."""
