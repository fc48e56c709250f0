# SPDX-License-Identifier: BSD-3-Clause
"""Finding an MPI, and the shim that is generated and built for it."""
