# SPDX-License-Identifier: BSD-3-Clause
"""Which local files belong to a run, what is missing, and where its archive goes."""
