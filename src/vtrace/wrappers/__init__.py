# SPDX-License-Identifier: BSD-3-Clause
"""Before the run: compiler wrappers, detection of compilers and MPIs, the MPI shim."""
