# SPDX-License-Identifier: BSD-3-Clause
"""How far each location is recorded, and what the archive says of that."""
