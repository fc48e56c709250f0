/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that MPI starts later, and connections to other worlds. */

//// MPI_Comm_spawn
$FUNCTION
{
    $TRACK
    struct vt_mpi_spawn vt_spawn;
    char *const *const vt_given = $argv;
    const struct vt_mpi_creation vt_creation = vt_mpi_create_begin(vt_region, $comm, VT_COMM_SPAWN);
    vt_mpi_spawn_begin(&vt_spawn, $comm, $root, 1, (const char *const *)&$command, &vt_given, &$info);
    if (vt_spawn.commands) {
        $command = vt_spawn.commands[0];
        $argv = vt_spawn.argvs[0];
    }
    $RESULT vt_result = $CALL;
    vt_mpi_spawn_done(&vt_spawn);
    vt_mpi_create_end(vt_region, vt_creation, vt_spawn.id, vt_result, $intercomm);
    return vt_result;
}

//// MPI_Comm_spawn_multiple
$FUNCTION
{
    $TRACK
    struct vt_mpi_spawn vt_spawn;
    const struct vt_mpi_creation vt_creation = vt_mpi_create_begin(vt_region, $comm, VT_COMM_SPAWN);
    vt_mpi_spawn_begin(&vt_spawn, $comm, $root, $count, (const char *const *)$array_of_commands,
                       (char *const *const *)$array_of_argv, $array_of_info);
    if (vt_spawn.commands) {
        $array_of_commands = vt_spawn.commands;
        $array_of_argv = vt_spawn.argvs;
    }
    $RESULT vt_result = $CALL;
    vt_mpi_spawn_done(&vt_spawn);
    vt_mpi_create_end(vt_region, vt_creation, vt_spawn.id, vt_result, $intercomm);
    return vt_result;
}

//// frame connected
$FUNCTION
{
    $TRACK
    if (vt_region != VT_MPI_GROUP_OFF) vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS) {
        const struct vt_mpi_origin vt_origin = $BODY;
        vt_mpi_create_alone_end(vt_region, &vt_origin, vt_result, $OUT_COMM);
    } else if (vt_region != VT_MPI_GROUP_OFF) vt_leave(vt_region);
    return vt_result;
}

//// MPI_Comm_accept : connected
vt_mpi_connection($comm, $root, $port_name, true)

//// MPI_Comm_connect : connected
vt_mpi_connection($comm, $root, $port_name, false)

//// MPI_Comm_join : connected
vt_mpi_connection(MPI_COMM_SELF, 0, "MPI_Comm_join", true)
