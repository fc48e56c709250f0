# SPDX-License-Identifier: BSD-3-Clause
"""Several nodes on one machine.

nodes.py owns the nodes, which are namespaces of Linux, launch.py the MPI launchers, slurm.py the scheduler. All
processes of a node end with the process that started the node.
"""
