# SPDX-License-Identifier: BSD-3-Clause
"""Tiny inputs of the programs in tests/integration/test_debian_programs.py."""

LJ = """
units lj
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 50
run 100
"""
"""LAMMPS: a melt of 256 atoms; neighbour lists are built every 20 steps."""

ARGON_TOP = """
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
Ar 39.948 0.0 A 0.3405 0.99
[ moleculetype ]
Ar 1
[ atoms ]
1 Ar 1 Ar Ar 1 0.0 39.948
[ system ]
argon
[ molecules ]
Ar 1000
"""
ARGON_GRO = "\n".join(
    [
        "argon",
        "1000",
        *(
            f"{n:5d}Ar      Ar{n:5d}{n // 100 * 0.4:8.3f}{n // 10 % 10 * 0.4:8.3f}{n % 10 * 0.4:8.3f}"
            for n in range(1000)
        ),
        "   4.00000   4.00000   4.00000\n",
    ]
)
MDP = """
integrator = md
nsteps = 50
dt = 0.002
cutoff-scheme = Verlet
rvdw = 1.0
rcoulomb = 1.0
nstlog = 10
gen-vel = yes
gen-temp = 100
tcoupl = no
"""
"""GROMACS: 1000 atoms of argon, 50 steps."""

NW = """
start h2
memory total 200 mb
geometry
 H 0 0 0
 H 0 0 0.74
end
basis
 * library sto-3g
end
task scf
"""
"""NWChem: the energy of H2."""

PETSC = """
import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc
n = 400
A = PETSc.Mat().createAIJ([n, n], nnz=3)
lo, hi = A.getOwnershipRange()
for i in range(lo, hi):
    for j in (i - 1, i, i + 1):
        if 0 <= j < n: A[i, j] = 2.0 if i == j else -1.0
A.assemble()
x, b = A.createVecs(); b.set(1.0)
k = PETSc.KSP().create(); k.setOperators(A); k.setType("cg"); k.getPC().setType("jacobi"); k.setFromOptions()
k.solve(b, x)
PETSc.Sys.Print("iterations", k.getIterationNumber())
"""
"""PETSc: conjugate gradients on a matrix with three diagonals."""

H5 = """
import sys
from mpi4py import MPI
import numpy, h5py
comm = MPI.COMM_WORLD
n = 5000
with h5py.File("out.h5", "w", driver="mpio", comm=comm) as f:
    d = f.create_dataset("x", (comm.size * n,), dtype="f8")
    d[comm.rank * n:(comm.rank + 1) * n] = numpy.arange(n) + comm.rank
comm.Barrier()
if comm.rank == 0:
    with h5py.File("out.h5", "r") as f:
        print("stored", f["x"].id.get_storage_size())
        print("sum", float(f["x"][:].sum()))
"""

HPCC = """\
HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
200         Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0                               Number of additional problem sizes for PTRANS
1200 10000 30000                values of N
0                               number of additional blocking sizes for PTRANS
40 9 8 13 13 20 16 32 64        values of NB
"""
"""HPC Challenge: all benchmarks with small sizes."""
