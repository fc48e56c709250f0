/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that create, name and free communicators. */

//// frame create
$FUNCTION
{
    $TRACK
    const struct vt_mpi_creation vt_creation = vt_mpi_create_begin(vt_region, $IN_COMM, $BODY);
    $RESULT vt_result = $CALL;
    vt_mpi_create_end(vt_region, vt_creation, 0, vt_result, $OUT_COMM);
    return vt_result;
}

//// frame create_with_tag
$FUNCTION
{
    $TRACK
    const struct vt_mpi_creation vt_creation = vt_mpi_create_begin(vt_region, $IN_COMM, $BODY);
    $RESULT vt_result = $CALL;
    vt_mpi_create_end(vt_region, vt_creation, $tag, vt_result, $OUT_COMM);
    return vt_result;
}

//// MPI_Comm_dup MPI_Comm_dup_with_info : create
VT_COMM_DUP

//// MPI_Comm_split MPI_Comm_split_type : create
VT_COMM_SPLIT

//// MPI_Comm_create : create
VT_COMM_CREATE

//// MPI_Comm_create_group : create_with_tag
VT_COMM_CREATE_GROUP

//// MPI_Cart_create
$FUNCTION
{
    $TRACK
    const struct vt_mpi_creation vt_creation = vt_mpi_create_begin(vt_region, $comm_old, VT_COMM_CART);
    $RESULT vt_result = $CALL;
    vt_mpi_create_end(vt_region, vt_creation, 0, vt_result, $comm_cart);
    if (vt_result == MPI_SUCCESS) vt_mpi_define_grid(*$comm_cart, $ndims, $dims, $periods);
    return vt_result;
}

//// MPI_Cart_sub : create
VT_COMM_CART_SUB

//// MPI_Graph_create MPI_Dist_graph_create MPI_Dist_graph_create_adjacent : create
VT_COMM_GRAPH

//// MPI_Intercomm_create
$FUNCTION
{
    $TRACK
    const struct vt_mpi_creation vt_creation = vt_mpi_create_begin(vt_region, $local_comm, VT_COMM_INTER_CREATE);
    $RESULT vt_result = $CALL;
    const struct vt_mpi_comm *vt_peer = vt_mpi_leaders_peer($local_comm, $local_leader, $peer_comm, vt_result);
    vt_mpi_create_end(vt_region, vt_creation, $tag, vt_result, $newintercomm);
    if (vt_peer) vt_mpi_define_peer(*$newintercomm, vt_peer, $remote_leader);
    return vt_result;
}

//// MPI_Intercomm_merge : create
VT_COMM_INTER_MERGE

//// MPI_Comm_free MPI_Comm_disconnect
$FUNCTION
{
    $TRACK
    const MPI_Comm vt_handle = $comm ? *$comm : MPI_COMM_NULL;
    struct vt_mpi_comm *vt_comm = vt_mpi_free_begin(vt_region, $comm);
    $RESULT vt_result = $CALL;
    vt_mpi_free_end(vt_region, vt_comm, vt_handle, vt_result);
    return vt_result;
}

//// MPI_Comm_set_name
$FUNCTION
{
    $TRACK
    if (vt_region != VT_MPI_GROUP_OFF) vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS) vt_mpi_name($comm, $comm_name);
    if (vt_region != VT_MPI_GROUP_OFF) vt_leave(vt_region);
    return vt_result;
}

//// MPI_Comm_idup MPI_Comm_idup_with_info
$FUNCTION
{
    $TRACK
    const struct vt_mpi_creation vt_creation = vt_mpi_idup_begin(vt_region, $comm);
    $RESULT vt_result = $CALL;
    vt_mpi_idup_end(vt_region, vt_creation, vt_result, $newcomm, $request);
    return vt_result;
}

//// frame from_groups
$FUNCTION
{
    $TRACK
    if (vt_region != VT_MPI_GROUP_OFF) vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    const struct vt_mpi_origin vt_origin = {.kind = $BODY, .string = $stringtag};
    vt_mpi_create_alone_end(vt_region, &vt_origin, vt_result, $OUT_COMM);
    return vt_result;
}

//// MPI_Comm_create_from_group : from_groups
VT_COMM_FROM_GROUP

//// MPI_Intercomm_create_from_groups : from_groups
VT_COMM_INTER_CREATE
