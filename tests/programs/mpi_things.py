# SPDX-License-Identifier: BSD-3-Clause
"""The calls of mpi_things.c, by mpi4py."""

from array import array

from mpi4py import MPI

from vtrace.user import section_start, section_stop

world = MPI.COMM_WORLD
pair = world.Dup()
pair.Set_name("pair")
v, total = array("i", [0] * 6), array("i", [0] * 6)
section_start("exchange", 1)
if world.Get_rank() == 0:
    pair.Send([v, 3, MPI.INT], 1, 7)
else:
    pair.Recv([v, 6, MPI.INT], 0, 7)
section_stop("exchange", 1)
pair.Bcast([v, 2, MPI.INT], 1)
pair.Reduce([v, 3, MPI.INT], [total, 3, MPI.INT], MPI.SUM, 0)
file = MPI.File.Open(pair, "things.dat", MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at(24 * world.Get_rank(), [v, 5, MPI.INT])
file.Close()
pair.Free()
