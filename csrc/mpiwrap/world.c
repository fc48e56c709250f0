/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a run: those of MPI_COMM_WORLD, or of mpi://WORLD in a program with sessions only. */
#include "mpiwrap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The sources of this process's run id and rank. */
static enum { VT_NO_WORLD, VT_OF_SESSION, VT_OF_WORLD } vt_named;
static bool vt_had_session;

static void vt_know_world(int rank, int size, uint64_t id, uint32_t count, const uint8_t run[16])
{
    struct vt_world world = {
        .size = sizeof world, .rank = (uint32_t)rank, .world_size = (uint32_t)size, .count = count, .world = id};
    memcpy(world.run, run, sizeof world.run);
    vt_set_world(&world);
    vt_mpi_world_id = id;
}

/* All ranks take the run id of one rank. The ranks do so even if MPI calls are not recorded: functions need their rank,
   and a rank that does not take part would block the others. A rank that got its name from a session keeps that name,
   and the others take it. The function runs once, though a Fortran binding may call the C function, too. */
void vt_mpi_initialized(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&begun)) return;
    int rank = 0, size = 1, root = 0;
    if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || PMPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS)
        return;
    int mine = vt_named ? rank + 1 : 0;
    if (PMPI_Allreduce(&mine, &root, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS) return;
    if (root) root--;
    struct {
        uint64_t world;
        uint8_t run[16];
        uint64_t count;
    } agreed;
    vt_run_id(agreed.run);
    agreed.world = vt_named ? vt_mpi_world_id : vt_random();
    agreed.count = rank == root ? vt_take_count() : 0;
    if (PMPI_Bcast(&agreed, (int)sizeof agreed, MPI_BYTE, root, MPI_COMM_WORLD) != MPI_SUCCESS) return;
    if (!vt_named) vt_know_world(rank, size, agreed.world, (uint32_t)agreed.count, agreed.run);
    vt_named = VT_OF_WORLD;
    vt_mpi_sync_begin(atomic_load(&vt_mpi_state) == VT_MPI_RECORD);
    vt_mpi_clocks_begin(rank, atomic_load(&vt_mpi_state) == VT_MPI_RECORD);
    if (atomic_load(&vt_mpi_state) != VT_MPI_RECORD) return;
    int level = MPI_THREAD_MULTIPLE;
    vt_mpi_single_threaded = PMPI_Query_thread(&level) == MPI_SUCCESS && level < MPI_THREAD_MULTIPLE && !vt_had_session;
    vt_mpi_learn_types();
    vt_mpi_define_world();
    vt_mpi_spawned();
}

#ifdef VT_HAVE_MPI_Session_init
#define VT_SESSIONS 64
static MPI_Session vt_sessions[VT_SESSIONS]; /* open sessions, protected by the lock of communicators */
static int vt_open_sessions;

/* Reads the word after an option from the command line in a /proc file. Makes system calls directly, since functions of
   the C library may be recorded. */
static bool vt_option_in(const char *path, const char *option, char *text, size_t size)
{
    char command[4096];
    const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    const long n = fd < 0 ? 0 : syscall(SYS_read, fd, command, sizeof command - 1);
    if (fd >= 0) syscall(SYS_close, fd);
    command[n > 0 ? n : 0] = 0;
    for (const char *word = command; word < command + n; word += strlen(word) + 1) {
        const char *next = word + strlen(word) + 1;
        if (strcmp(word, option) || next >= command + n) continue;
        snprintf(text, size, "%s", next);
        return true;
    }
    return false;
}

/* Stores a text that is the same for all ranks of a job, or at least of a host. MPI_Session_init is not collective, so
   ranks cannot communicate in it and the text comes from the launcher. size: bytes of text. Returns false if the
   launcher provides nothing. */
static bool vt_job_name(char *text, size_t size)
{
    static const char *const job_variables[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_STEP_ID"};
    const char *job = getenv("SLURM_JOB_ID");
    for (unsigned i = 0; i < sizeof job_variables / sizeof *job_variables; i++)
        if (getenv(job_variables[i])) {
            snprintf(text, size, "%s %s", job ? job : "", getenv(job_variables[i]));
            return true;
        }
    if (!getenv("PMI_RANK")) return false;
    /* Hydra starts all ranks of a host from one proxy, and passes the address of mpiexec to each proxy. */
    snprintf(text, size, "/proc/%d/cmdline", (int)getppid());
    return vt_option_in(text, "--control-port", text, size) || snprintf(text, size, "parent %d", (int)getppid()) > 0;
}

static void vt_name_by_session(MPI_Session session)
{
    MPI_Group world;
    int rank = MPI_UNDEFINED, size = 1;
    if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) != MPI_SUCCESS) return;
    const bool known = PMPI_Group_rank(world, &rank) == MPI_SUCCESS && PMPI_Group_size(world, &size) == MPI_SUCCESS;
    PMPI_Group_free(&world);
    if (!known || rank == MPI_UNDEFINED) return;
    char job[256];
    uint8_t run[16];
    uint64_t id = vt_random();
    vt_run_id(run);
    if (size > 1 && vt_job_name(job, sizeof job)) {
        const uint64_t hash[] = {vt_checksum(1, job, strlen(job)), vt_checksum(2, job, strlen(job))};
        memcpy(run, hash, sizeof run);
        id = vt_checksum(3, job, strlen(job)) | 1;
    }
    vt_know_world(rank, size, id, 0, run);
    vt_named = VT_OF_SESSION;
    if (atomic_load(&vt_mpi_state) == VT_MPI_RECORD) vt_mpi_learn_types();
}

void vt_mpi_session_initialized(const MPI_Session *session, int result)
{
    if (result != MPI_SUCCESS) return;
    vt_had_session = true;
    vt_mpi_single_threaded = false;
    vt_mpi_comm_lock();
    if (vt_open_sessions < VT_SESSIONS) vt_sessions[vt_open_sessions++] = *session;
    vt_mpi_comm_unlock();
    if (!vt_named) vt_name_by_session(*session);
}

/* The last session of a program without MPI_Init completes its files. */
void vt_mpi_session_finalizing(const MPI_Session *session)
{
    int begun = 0, left = 0;
    if (!session) return;
    vt_mpi_comm_lock();
    while (left < vt_open_sessions && vt_sessions[left] != *session) left++;
    if (left < vt_open_sessions) vt_sessions[left] = vt_sessions[--vt_open_sessions];
    left = vt_open_sessions;
    vt_mpi_comm_unlock();
    PMPI_Initialized(&begun);
    if (!begun && !left) vt_complete();
}
#endif

/* The caller frees the group and holds the lock of communicators. */
bool vt_mpi_world_group(MPI_Group *world)
{
    int up = 0, down = 0;
    PMPI_Initialized(&up);
    PMPI_Finalized(&down);
    if (up && !down) return PMPI_Comm_group(MPI_COMM_WORLD, world) == MPI_SUCCESS;
#ifdef VT_HAVE_MPI_Session_init
    if (vt_open_sessions) return PMPI_Group_from_session_pset(vt_sessions[0], "mpi://WORLD", world) == MPI_SUCCESS;
#endif
    return false;
}
