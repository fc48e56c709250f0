#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# TaskProlog of slurm.conf: Slurm adds the variables that this script prints to the environment of the batch script,
# whose srun and mpiexec then are those of bin. Change the two paths.
echo "export VT_ALWAYS_DIR=/shared/vtrace/jobs"
echo "export PATH=/opt/vtrace/always/bin:$PATH"
