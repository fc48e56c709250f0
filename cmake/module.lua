-- SPDX-License-Identifier: BSD-3-Clause
-- A module for Lmod, installed as PREFIX/share/modulefiles/vtrace/VERSION.lua.
help([[vtrace records what parallel programs do over time. Commands: vtrace --help; manual: man vtrace.]])
whatis("Name: vtrace")
whatis("Version: " .. myModuleVersion())
whatis("Description: Records what parallel programs do over time and unifies it into OTF2 archives")

local prefix = myFileName():match("^(.*)/share/modulefiles/vtrace/[^/]+$")
-- Behind all other directories: a virtual environment has a python3 of its own, and perhaps an MPI. man and CMake find
-- what belongs to bin by PATH.
append_path("PATH", pathJoin(prefix, "bin"))
