/* SPDX-License-Identifier: BSD-3-Clause */
/* The Fortran part of templates/spawn.c. The replaced commands and arguments are passed on in Fortran, too. */

//// MPI_Comm_spawn
$FUNCTION
{
    $TRACK
    struct vt_fortran_spawn vt_words;
    struct vt_mpi_spawn vt_spawn;
    const struct vt_mpi_creation vt_creation = vt_mpi_create_begin(vt_region, $comm, VT_COMM_SPAWN);
    vt_fortran_unpack(&vt_words, $comm, $root, 1, $AT_command, $LENGTH_command, $AT_argv, $LENGTH_argv, $AT_info);
    vt_mpi_spawn_begin(&vt_spawn, $comm, $root, 1, (const char *const *)vt_words.commands,
                       (char *const *const *)vt_words.argvs, vt_words.infos);
    if (vt_fortran_pack(&vt_words, 1, &vt_spawn)) {
        $AT_command = vt_words.command;
        $LENGTH_command = vt_words.command_length;
        $AT_argv = vt_words.arguments;
        $LENGTH_argv = vt_words.argument_length;
    }
    $RESULT vt_result = $CALL;
    vt_mpi_spawn_done(&vt_spawn);
    vt_fortran_spawned(&vt_words);
    vt_mpi_create_end(vt_region, vt_creation, vt_spawn.id, vt_result, $intercomm);
    return vt_result;
}

//// MPI_Comm_spawn_multiple
$FUNCTION
{
    $TRACK
    struct vt_fortran_spawn vt_words;
    struct vt_mpi_spawn vt_spawn;
    const struct vt_mpi_creation vt_creation = vt_mpi_create_begin(vt_region, $comm, VT_COMM_SPAWN);
    vt_fortran_unpack(&vt_words, $comm, $root, $count, $AT_array_of_commands, $LENGTH_array_of_commands,
                      $AT_array_of_argv, $LENGTH_array_of_argv, $AT_array_of_info);
    vt_mpi_spawn_begin(&vt_spawn, $comm, $root, $count, (const char *const *)vt_words.commands,
                       (char *const *const *)vt_words.argvs, vt_words.infos);
    if (vt_fortran_pack(&vt_words, $count, &vt_spawn)) {
        $AT_array_of_commands = vt_words.command;
        $LENGTH_array_of_commands = vt_words.command_length;
        $AT_array_of_argv = vt_words.arguments;
        $LENGTH_array_of_argv = vt_words.argument_length;
    }
    $RESULT vt_result = $CALL;
    vt_mpi_spawn_done(&vt_spawn);
    vt_fortran_spawned(&vt_words);
    vt_mpi_create_end(vt_region, vt_creation, vt_spawn.id, vt_result, $intercomm);
    return vt_result;
}
