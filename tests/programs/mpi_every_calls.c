/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of mpi_every.c for functions whose arguments tests/support/build/every_mpi_call.py cannot choose by itself.
   A section: names (* and ? are wildcards; the first match counts, for MPI_Send_c, too) | parameter=value | ...
   and the code around the call, if there is any. $CALL is the call, $name the pointer that is passed for the parameter
   name, $NAME the function, $STEM its name without _begin or _end, $OBJECT its class (MPI_Comm), $object one of
   these. */

//// MPI_Init MPI_Init_thread MPI_Finalize MPI_Abort
/* main calls them */

/* ---- messages, with this process itself ---- */

//// MPI_Send MPI_Bsend MPI_Ssend MPI_Rsend MPI_Isend MPI_Ibsend MPI_Issend MPI_Irsend | dest=me
MPI_Irecv(recvbuf, 8, MPI_INT, me, 7, comm, &request);
$CALL;
MPI_Wait(&request, MPI_STATUS_IGNORE);
//// MPI_Recv MPI_Irecv | source=me
MPI_Isend(sendbuf, 1, MPI_INT, me, 7, comm, &request);
$CALL;
MPI_Wait(&request, MPI_STATUS_IGNORE);
//// MPI_Sendrecv* MPI_Isendrecv* | dest=me | source=me
//// MPI_Probe MPI_Iprobe | source=me
MPI_Isend(sendbuf, 1, MPI_INT, me, 7, comm, &request);
$CALL;
MPI_Recv(recvbuf, 1, MPI_INT, me, 7, comm, MPI_STATUS_IGNORE);
MPI_Wait(&request, MPI_STATUS_IGNORE);
//// MPI_Mprobe | source=me
MPI_Isend(sendbuf, 1, MPI_INT, me, 7, comm, &request);
$CALL;
MPI_Mrecv(recvbuf, 1, MPI_INT, $message, MPI_STATUS_IGNORE);
MPI_Wait(&request, MPI_STATUS_IGNORE);
//// MPI_Improbe | source=me
MPI_Isend(sendbuf, 1, MPI_INT, me, 7, comm, &request);
do $CALL; while (!*(int *)$flag);
MPI_Mrecv(recvbuf, 1, MPI_INT, $message, MPI_STATUS_IGNORE);
MPI_Wait(&request, MPI_STATUS_IGNORE);
//// MPI_Mrecv MPI_Imrecv | message=&message
MPI_Isend(sendbuf, 1, MPI_INT, me, 7, comm, &request);
MPI_Mprobe(me, 7, comm, &message, MPI_STATUS_IGNORE);
$CALL;
MPI_Wait(&request, MPI_STATUS_IGNORE);
//// MPI_Send_init MPI_Bsend_init MPI_Ssend_init MPI_Rsend_init | dest=me
$CALL;
MPI_Irecv(recvbuf, 8, MPI_INT, me, 7, comm, &request);
MPI_Start($request);
MPI_Wait($request, MPI_STATUS_IGNORE);
MPI_Wait(&request, MPI_STATUS_IGNORE);
MPI_Request_free($request);
//// MPI_Recv_init | source=MPI_PROC_NULL
//// MPI_Psend_init | dest=me | partitions=2 | count=4
$CALL;
MPI_Precv_init(recvbuf, 2, 4, MPI_INT, me, 7, comm, MPI_INFO_NULL, &request);
MPI_Start(&request);
MPI_Start($request);
MPI_Pready_range(0, 1, *(MPI_Request *)$request);
MPI_Wait($request, MPI_STATUS_IGNORE);
MPI_Wait(&request, MPI_STATUS_IGNORE);
MPI_Request_free($request);
MPI_Request_free(&request);
//// MPI_Precv_init | dest=me | partitions=2 | count=4
$CALL;
MPI_Psend_init(sendbuf, 2, 4, MPI_INT, me, 7, comm, MPI_INFO_NULL, &request);
MPI_Start(&request);
MPI_Start($request);
MPI_Pready_range(0, 1, request);
MPI_Wait($request, MPI_STATUS_IGNORE);
MPI_Wait(&request, MPI_STATUS_IGNORE);
MPI_Request_free($request);
MPI_Request_free(&request);
//// MPI_Pready | request=pair[0]
begin_partitioned();
$CALL;
MPI_Pready(1, pair[0]);
end_partitioned();
//// MPI_Pready_list | request=pair[0] | length=2 | array_of_partitions=zero_one
begin_partitioned();
$CALL;
end_partitioned();
//// MPI_Pready_range | request=pair[0] | partition_low=0 | partition_high=1
begin_partitioned();
$CALL;
end_partitioned();
//// MPI_Parrived | request=pair[1]
begin_partitioned();
$CALL;
MPI_Pready_range(0, 1, pair[0]);
end_partitioned();
//// MPI_Start MPI_Startall | array_of_requests=&request
MPI_Recv_init(recvbuf, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &request);
$CALL;
MPI_Wait(&request, MPI_STATUS_IGNORE);
MPI_Request_free(&request);
//// MPI_Wait* MPI_Test MPI_Testall MPI_Testany MPI_Testsome MPI_Request_get_status* | array_of_requests=&request
MPI_Irecv(recvbuf, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &request);
$CALL;
MPI_Wait(&request, MPI_STATUS_IGNORE);
//// MPI_Request_free
MPI_Irecv(recvbuf, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &request);
$CALL;
//// MPI_Cancel
MPI_Irecv(recvbuf, 1, MPI_INT, me, 99, comm, &request);
$CALL;
MPI_Wait(&request, MPI_STATUS_IGNORE);
//// MPI_Grequest_start | query_fn=on_query | free_fn=on_free | cancel_fn=on_cancel
$CALL;
MPI_Grequest_complete(*(MPI_Request *)$request);
MPI_Wait($request, MPI_STATUS_IGNORE);
//// MPI_Grequest_complete
MPI_Grequest_start(on_query, on_free, on_cancel, NULL, &request);
$CALL;
MPI_Wait(&request, MPI_STATUS_IGNORE);

/* ---- buffers of MPI_Bsend ---- */

//// MPI_Buffer_attach | buffer=attached | size=sizeof attached
MPI_Buffer_detach(out(30), out(31));
$CALL;
//// MPI_Buffer_detach
$CALL;
MPI_Buffer_attach(attached, sizeof attached);
//// MPI_Comm_attach_buffer MPI_Session_attach_buffer | buffer=recvbuf | size=4096
$CALL;
${OBJECT}_detach_buffer($object, out(30), out(31));
//// MPI_Comm_detach_buffer MPI_Session_detach_buffer
${OBJECT}_attach_buffer($object, recvbuf, 4096);
$CALL;
//// MPI_Comm_*flush_buffer MPI_Session_*flush_buffer
${OBJECT}_attach_buffer($object, recvbuf, 4096);
$CALL;
${OBJECT}_detach_buffer($object, out(30), out(31));

/* ---- collectives and topologies ---- */

//// MPI_Reduce_init MPI_Reduce_scatter_init MPI_Reduce_scatter_block_init
$CALL; /* started, they never end in MPICH 4.0 */
MPI_Request_free($request);
//// MPI_*eighbor_all* | comm=cart
//// MPI_Cart_create MPI_Cart_map | dims=two
//// MPI_Cart_* MPI_Cartdim_get | comm=cart | coords=zeros
//// MPI_Cart_get | comm=cart
//// MPI_Graph_create MPI_Graph_map | nnodes=2 | indx=graph_index | edges=graph_edges
//// MPI_Graph_get | comm=graph | maxindex=2 | maxedges=2
//// MPI_Graph* | comm=graph
//// MPI_Dist_graph_create MPI_Dist_graph_create_adjacent | destinations=&peer | weights=ones | degrees=ones
//// MPI_Dist_graph_neighbors* | comm=dist

/* ---- groups and communicators ---- */

//// MPI_Comm_split MPI_Comm_split_type | key=0
//// MPI_Group_range_* | ranges=ranges
//// MPI_Group_free | group=&a_group
MPI_Comm_group(comm, &a_group);
$CALL;
//// MPI_Comm_free MPI_Comm_disconnect | comm=&a_comm
MPI_Comm_dup(comm, &a_comm);
$CALL;
//// MPI_Comm_remote_* MPI_Comm_test_inter | comm=inter
//// MPI_Intercomm_create | local_comm=MPI_COMM_SELF | peer_comm=comm | remote_leader=peer
//// MPI_Intercomm_create_from_groups | local_group=self_group | remote_group=peer_group
//// MPI_Intercomm_merge | intercomm=inter | high=me
//// MPI_Comm_join | fd=socket
const int socket = connected();
int here = socket >= 0, both;
MPI_Allreduce(&here, &both, 1, MPI_INT, MPI_MIN, comm);
if (both) $CALL;
if (socket >= 0) close(socket);
//// MPI_Comm_accept | comm=MPI_COMM_SELF
open_port();
if (me == 0) $CALL;
else MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, $newcomm);
MPI_Comm_disconnect($newcomm);
//// MPI_Comm_connect | comm=MPI_COMM_SELF
open_port();
if (me == 1) $CALL;
else MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, $newcomm);
MPI_Comm_disconnect($newcomm);
//// MPI_Open_port
if ($CALL == MPI_SUCCESS) MPI_Close_port($port_name);
//// MPI_Close_port
if (MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS) $CALL;
//// MPI_Publish_name
if (me == 0) {
    $CALL;
    MPI_Unpublish_name("name", MPI_INFO_NULL, port);
}
//// MPI_Unpublish_name
if (me == 0) {
    MPI_Publish_name("name", MPI_INFO_NULL, port);
    $CALL;
}
//// MPI_Lookup_name
if (me == 0) {
    MPI_Publish_name("name", MPI_INFO_NULL, port);
    $CALL;
    MPI_Unpublish_name("name", MPI_INFO_NULL, port);
}
//// MPI_Comm_spawn | command=program | argv=child | maxprocs=1 | array_of_errcodes=MPI_ERRCODES_IGNORE
$CALL;
MPI_Comm_disconnect($intercomm);
//// MPI_Comm_spawn_multiple | count=1 | array_of_commands=&program | array_of_argv=children | array_of_maxprocs=ones | array_of_info=&no_info | array_of_errcodes=MPI_ERRCODES_IGNORE
$CALL;
MPI_Comm_disconnect($intercomm);

/* ---- attributes, error handlers, info ---- */

//// MPI_Keyval_create | copy_fn=MPI_NULL_COPY_FN | delete_fn=MPI_NULL_DELETE_FN
//// MPI_Keyval_free MPI_Comm_free_keyval | keyval=&keyval | comm_keyval=&keyval
MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
$CALL;
//// MPI_Type_free_keyval | type_keyval=&keyval
MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL);
$CALL;
//// MPI_Win_free_keyval | win_keyval=&keyval
MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL);
$CALL;
//// MPI_Attr_delete MPI_Comm_delete_attr
MPI_Comm_set_attr(comm, comm_keyval, sendbuf);
$CALL;
//// MPI_Type_delete_attr | datatype=a_type
MPI_Type_set_attr(a_type, type_keyval, sendbuf);
$CALL;
//// MPI_Win_delete_attr
MPI_Win_set_attr(win, win_keyval, sendbuf);
$CALL;
//// MPI_*_call_errhandler | errorcode=MPI_ERR_OTHER
//// MPI_Errhandler_create
MPI_Errhandler_create(on_comm_error, &errhandler);
MPI_Errhandler_free(&errhandler);
//// MPI_Errhandler_free | errhandler=&errhandler
MPI_Comm_create_errhandler(on_comm_error, &errhandler);
$CALL;
//// MPI_Errhandler_get
MPI_Errhandler_get(comm, &errhandler);
MPI_Errhandler_free(&errhandler);
//// MPI_Errhandler_set
MPI_Errhandler_set(comm, MPI_ERRORS_RETURN);
//// MPI_Remove_error_string MPI_Remove_error_code
int code;
MPI_Add_error_code(error_class, &code);
MPI_Add_error_string(code, "an error");
MPI_Remove_error_string(code);
MPI_Remove_error_code(code);
//// MPI_Remove_error_class | errorclass=code
int code;
MPI_Add_error_class(&code);
$CALL;
//// MPIX_Delete_error_string
int code;
MPI_Add_error_code(error_class, &code);
MPI_Add_error_string(code, "an error");
MPIX_Delete_error_string(code);
MPIX_Delete_error_code(code);
//// MPIX_Delete_error_code
int code;
MPI_Add_error_code(error_class, &code);
$NAME(code);
//// MPIX_Delete_error_class
int code;
MPI_Add_error_class(&code);
$NAME(code);
//// MPI_Info_delete | key="short-lived"
MPI_Info_set(info, "short-lived", "value");
$CALL;
//// MPI_Info_get_nthkey | n=0
//// MPI_Info_free | info=&a_info
MPI_Info_create(&a_info);
$CALL;
//// MPI_Aint_* | base=1
//// MPI_Info_get_string
*(int *)$buflen = 64;
$CALL;
//// MPI_Info_create_env | argc=1 | argv=arguments

/* ---- one-sided ---- */

//// MPI_Put MPI_Get MPI_Accumulate MPI_Get_accumulate MPI_Fetch_and_op MPI_Compare_and_swap | target_rank=me
MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win);
$CALL;
MPI_Win_unlock(me, win);
//// MPI_Rput MPI_Rget MPI_Raccumulate MPI_Rget_accumulate | target_rank=me
MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win);
$CALL;
MPI_Wait($request, MPI_STATUS_IGNORE);
MPI_Win_unlock(me, win);
//// MPI_Win_lock | rank=me
$CALL;
MPI_Win_unlock(me, win);
//// MPI_Win_unlock | rank=me
MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
$CALL;
//// MPI_Win_lock_all
$CALL;
MPI_Win_unlock_all(win);
//// MPI_Win_unlock_all
MPI_Win_lock_all(0, win);
$CALL;
//// MPI_Win_flush* MPI_Win_sync | rank=me
MPI_Win_lock_all(0, win);
$CALL;
MPI_Win_unlock_all(win);
//// MPI_Win_fence
$CALL;
MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
//// MPI_Win_post | group=self_group
$CALL;
MPI_Win_start(self_group, 0, win);
MPI_Win_complete(win);
MPI_Win_wait(win);
//// MPI_Win_start | group=self_group
MPI_Win_post(self_group, 0, win);
$CALL;
MPI_Win_complete(win);
MPI_Win_wait(win);
//// MPI_Win_complete
MPI_Win_post(self_group, 0, win);
MPI_Win_start(self_group, 0, win);
$CALL;
MPI_Win_wait(win);
//// MPI_Win_wait
MPI_Win_post(self_group, 0, win);
MPI_Win_start(self_group, 0, win);
MPI_Win_complete(win);
$CALL;
//// MPI_Win_test
MPI_Win_post(self_group, 0, win);
MPI_Win_start(self_group, 0, win);
MPI_Win_complete(win);
do $CALL; while (!*(int *)$flag);
//// MPI_Win_attach | win=dynamic
$CALL;
MPI_Win_detach(dynamic, recvbuf);
//// MPI_Win_detach | win=dynamic
MPI_Win_attach(dynamic, recvbuf, 64);
$CALL;
//// MPI_Win_shared_query | win=shared
//// MPI_Win_free | win=&a_win
MPI_Win_create(recvbuf, 64, 1, MPI_INFO_NULL, comm, &a_win);
$CALL;
//// MPI_Alloc_mem
$CALL;
MPI_Free_mem(*(void **)$baseptr);
//// MPI_Free_mem | base=memory
void *memory;
MPI_Alloc_mem(64, MPI_INFO_NULL, &memory);
$CALL;

/* ---- files ---- */

//// MPI_File_close | fh=&a_file
MPI_File_open(comm, "every.closed", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &a_file);
$CALL;
//// MPI_File_delete | filename="every.gone"
if (me == 0) {
    MPI_File_open(MPI_COMM_SELF, "every.gone", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &a_file);
    MPI_File_close(&a_file);
    $CALL;
}
//// MPI_File_read_*_begin
$CALL;
${STEM}_end(file, recvbuf, MPI_STATUS_IGNORE);
//// MPI_File_read_at_all_end
MPI_File_read_at_all_begin(file, 0, recvbuf, 1, MPI_INT);
$CALL;
//// MPI_File_read_*_end
${STEM}_begin(file, recvbuf, 1, MPI_INT);
$CALL;
//// MPI_File_write_*_begin
$CALL;
${STEM}_end(file, sendbuf, MPI_STATUS_IGNORE);
//// MPI_File_write_at_all_end
MPI_File_write_at_all_begin(file, 0, sendbuf, 1, MPI_INT);
$CALL;
//// MPI_File_write_*_end
${STEM}_begin(file, sendbuf, 1, MPI_INT);
$CALL;
//// MPI_Register_datarep | datarep=__func__

/* ---- types, operations and packing ---- */

//// MPI_Op_free | op=&op
MPI_Op op;
MPI_Op_create(add, 1, &op);
$CALL;
//// MPI_Type_set_attr MPI_Type_get_attr | datatype=a_type
//// MPI_Type_match_size | size=4
//// MPI_Type_commit | datatype=&type
MPI_Type_dup(a_type, &type);
$CALL;
MPI_Type_free(&type);
//// MPI_Type_free | datatype=&type
MPI_Type_dup(a_type, &type);
$CALL;
//// MPI_Type_create_darray | array_of_distribs=&no_distribution | array_of_dargs=&no_argument | size=1
//// MPI_Type_get_contents | datatype=contiguous
//// MPI_Address
MPI_Address(recvbuf, out(0));
//// MPI_Type_extent MPI_Type_lb MPI_Type_ub
$NAME(MPI_INT, out(0));
//// MPI_Type_hindexed
MPI_Type_hindexed(1, ones, aints, MPI_INT, &type);
MPI_Type_free(&type);
//// MPI_Type_hvector
MPI_Type_hvector(1, 1, 8, MPI_INT, &type);
MPI_Type_free(&type);
//// MPI_Type_struct
MPI_Type_struct(1, ones, aints, types, &type);
MPI_Type_free(&type);

/* ---- sessions ---- */

//// MPI_Session_init
$CALL;
MPI_Session_finalize($session);
//// MPI_Session_finalize | session=&a_session
MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &a_session);
$CALL;
//// MPI_Session_set_info
MPI_Session_set_info(session, info);

/* ---- the tool interface: the variables of a library are known at run time only ---- */

//// MPI_T_finalize
MPI_T_init_thread(MPI_THREAD_SINGLE, out(30));
$CALL;
//// MPI_T_init_thread
$CALL;
MPI_T_finalize();
//// MPI_T_cvar_get_info MPI_T_cvar_get_index | name=variable
if (cvars) $CALL;
//// MPI_T_cvar_handle_alloc
if (cvars) {
    $CALL;
    MPI_T_cvar_handle_free($handle);
}
//// MPI_T_cvar_handle_free | handle=&a_cvar
MPI_T_cvar_handle a_cvar;
if (cvars) {
    MPI_T_cvar_handle_alloc(0, NULL, &a_cvar, out(30));
    $CALL;
}
//// MPI_T_cvar_read
if (cvars) $CALL;
//// MPI_T_cvar_write | buf=out(30)
if (cvars) {
    MPI_T_cvar_read(cvar, out(30));
    $CALL;
}
//// MPI_T_pvar_get_index | name=performance | var_class=pvar_class
if (pvars) $CALL;
//// MPI_T_pvar_session_create
$CALL;
MPI_T_pvar_session_free($pe_session);
//// MPI_T_pvar_session_free | pe_session=&a_pvar_session
MPI_T_pvar_session a_pvar_session;
MPI_T_pvar_session_create(&a_pvar_session);
$CALL;
//// MPI_T_pvar_handle_alloc
if (pvars) {
    $CALL;
    MPI_T_pvar_handle_free(pvar_session, $handle);
}
//// MPI_T_pvar_handle_free | handle=&a_pvar
MPI_T_pvar_handle a_pvar;
if (pvars) {
    MPI_T_pvar_handle_alloc(pvar_session, 0, NULL, &a_pvar, out(30));
    $CALL;
}
//// MPI_T_pvar_get_info
if (pvars) $CALL;
//// MPI_T_pvar_start MPI_T_pvar_stop MPI_T_pvar_read MPI_T_pvar_reset MPI_T_pvar_readreset MPI_T_pvar_write
if (pvars) $CALL;
//// MPI_T_enum_get_info MPI_T_enum_get_item
if (has_enumeration) $CALL;
//// MPI_T_category_changed MPI_T_category_get_num
//// MPI_T_category_* | name=category
if (categories) $CALL;
//// MPI_T_source_get_num MPI_T_event_get_num
//// MPI_T_event_*
/* none of the libraries has an event */
//// MPI_T_source_get_info MPI_T_source_get_timestamp
if (sources) $CALL;

/* ---- extensions ---- */

//// MPIX_Query_*_support
//// MPIX_GPU_query_support
MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, out(0));
//// MPIX_Comm_agree
MPIX_Comm_agree(comm, ones);
//// MPIX_Comm_failure_ack
MPIX_Comm_failure_ack(comm);
//// MPIX_Comm_failure_get_acked MPIX_Comm_get_failed
$NAME(comm, &a_group);
//// MPIX_Comm_shrink
MPIX_Comm_shrink(comm, &a_comm);
MPI_Comm_free(&a_comm);
//// MPIX_Comm_revoke
MPI_Comm_dup(comm, &a_comm);
MPIX_Comm_revoke(a_comm);
MPI_Comm_free(&a_comm);
//// MPIX_Comm_test_threadcomm
MPIX_Comm_test_threadcomm(comm, out(0));
//// MPIX_Info_set_hex
MPIX_Info_set_hex(info, "hexadecimal", ones, sizeof *ones);
//// MPIX_Request_is_complete
MPI_Irecv(recvbuf, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &request);
MPIX_Request_is_complete(request);
MPI_Wait(&request, MPI_STATUS_IGNORE);
//// MPIX_Type_iov_len
MPIX_Type_iov_len(MPI_INT, 4, out(0), out(1));
//// MPIX_Type_iov
MPIX_Type_iov(MPI_INT, 0, out(0), 1, out(1));
//// MPIX_Stream_create MPIX_Stream_free
MPIX_Stream stream;
MPIX_Stream_create(MPI_INFO_NULL, &stream);
MPIX_Stream_free(&stream);
//// MPIX_Stream_progress
MPIX_Stream_progress(MPIX_STREAM_NULL);
//// MPIX_Stream_comm_create MPIX_Comm_get_stream
MPIX_Stream stream = MPIX_STREAM_NULL;
MPIX_Stream_comm_create(comm, stream, &a_comm);
MPIX_Comm_get_stream(a_comm, 0, &stream);
MPI_Comm_free(&a_comm);
//// MPIX_Grequest_start
MPIX_Grequest_start(on_query, on_free, on_cancel, on_poll, on_wait, NULL, &request);
MPI_Grequest_complete(request);
MPI_Wait(&request, MPI_STATUS_IGNORE);
