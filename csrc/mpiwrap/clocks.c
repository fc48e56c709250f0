/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures clock offsets between nodes. One rank of each node, its leader, exchanges messages with the leader of
   another node. Of all exchanges, the one with the shortest round trip gives the best estimate of the other clock at
   its midpoint (Cristian, "Probabilistic clock synchronization", 1989). Leaders form a binomial tree. Pairs of one
   level of the tree exchange messages at the same time, so n nodes need log2(n) rounds (Hunold and Carpen-Amarie,
   "Hierarchical clock synchronization in MPI", 2018). Leaders use a communicator of their own with MPI_ERRORS_RETURN:
   if a rank dies, the measurement ends and the program does not. If all ranks share one clock, nothing is measured. */
#include "mpiwrap.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <fcntl.h>

#define VT_EXCHANGES 64
#define VT_MAX_UNIMPROVED 16       /* exchanges without a shorter round trip; more would not improve the result */
#define VT_MEASURE_S 0.015  /* limit for a pair, since ranks that share a core answer late */
#define VT_CLOCK_TAG 1

static MPI_Comm vt_leaders = MPI_COMM_NULL;
static int vt_world_rank;
static bool vt_clocks_record;
static long vt_clocks_pid; /* a forked child takes no part */

static void vt_read_text(char *into, size_t size, const char *path, bool link)
{
    long n = -1;
    if (link) n = syscall(SYS_readlinkat, AT_FDCWD, path, into, size - 1);
    else {
        const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            n = syscall(SYS_read, fd, into, size - 1);
            syscall(SYS_close, fd);
        }
    }
    into[n > 0 ? n : 0] = 0;
}

/* A hash that is equal for processes that read the same clock. The hash covers the boot of the machine, the time
   namespace, and the host name, because vtunify distinguishes hosts by name. */
static uint64_t vt_clock_name(void)
{
    struct utsname host;
    char boot[64], space[64];
    memset(&host, 0, sizeof host);
    syscall(SYS_uname, &host);
    vt_read_text(boot, sizeof boot, "/proc/sys/kernel/random/boot_id", false);
    vt_read_text(space, sizeof space, "/proc/self/ns/time", true);
    uint64_t name = vt_checksum(1, host.nodename, strlen(host.nodename));
    name = vt_checksum(name, boot, strlen(boot));
    return vt_checksum(name, space, strlen(space));
}

/* The communicator of the leaders. alone: the processes of a node disagree about the hash, and each is a leader. */
static MPI_Comm vt_find_leaders(uint64_t name, int rank)
{
    MPI_Comm node, leaders = MPI_COMM_NULL;
    uint64_t both[2] = {name, ~name}, most[2] = {0, 0};
    int place = 0;
    if (PMPI_Comm_split(MPI_COMM_WORLD, (int)(name >> 33), rank, &node) != MPI_SUCCESS) return MPI_COMM_NULL;
    PMPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    const bool asked = PMPI_Comm_rank(node, &place) == MPI_SUCCESS &&
                       PMPI_Allreduce(both, most, 2, MPI_UINT64_T, MPI_MAX, node) == MPI_SUCCESS;
    const bool alone = !asked || most[0] != ~most[1];
    PMPI_Comm_free(&node);
    if (PMPI_Comm_split(MPI_COMM_WORLD, alone || !place ? 0 : MPI_UNDEFINED, rank, &leaders) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    if (leaders != MPI_COMM_NULL) PMPI_Comm_set_errhandler(leaders, MPI_ERRORS_RETURN);
    return leaders;
}

static void vt_define_offset(uint64_t ticks, uint64_t peer, uint64_t peer_ticks, uint64_t error)
{
    vt_define(VT_D_CLOCK_OFFSET, vt_number(ticks), vt_number(peer), vt_number(peer_ticks), vt_number(error));
}

static bool vt_send_words(const uint64_t *words, int n, int place)
{
    return PMPI_Send(words, n, MPI_UINT64_T, place, VT_CLOCK_TAG, vt_leaders) == MPI_SUCCESS;
}

static bool vt_recv_words(uint64_t *words, int n, int place)
{
    return PMPI_Recv(words, n, MPI_UINT64_T, place, VT_CLOCK_TAG, vt_leaders, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* Measures the offset to the clock of a leader. server: rank in vt_leaders. The last request has the word last set.
   Returns false if the other leader does not answer. */
static bool vt_ask_clock(int server)
{
    uint64_t best[3] = {0, 0, UINT64_MAX}, answer[2] = {0, 0}, last = 0;
    const double begin = PMPI_Wtime();
    for (int i = 0, unimproved = 0; !last; i++) {
        last = i == VT_EXCHANGES - 1 || unimproved == VT_MAX_UNIMPROVED || (i && PMPI_Wtime() - begin > VT_MEASURE_S);
        const uint64_t before = vt_ticks();
        if (!vt_send_words(&last, 1, server) || !vt_recv_words(answer, 2, server)) return false;
        const uint64_t took = vt_ticks() - before;
        unimproved++;
        if (took >= best[2]) continue;
        best[0] = before + took / 2;
        best[1] = answer[0];
        best[2] = took;
        unimproved = 0;
    }
    if (vt_clocks_record) vt_define_offset(best[0], answer[1], best[1], best[2] - best[2] / 2);
    return true;
}

static bool vt_answer_clock(int client)
{
    for (uint64_t last = 0; !last;) {
        if (!vt_recv_words(&last, 1, client)) return false;
        const uint64_t answer[2] = {vt_ticks(), (uint64_t)vt_world_rank};
        if (!vt_send_words(answer, 2, client)) return false;
    }
    return true;
}

void vt_mpi_clocks_measure(void)
{
    int place, n;
    bool fine = true;
    if (vt_leaders == MPI_COMM_NULL || syscall(SYS_getpid) != vt_clocks_pid) return;
    if (PMPI_Comm_rank(vt_leaders, &place) != MPI_SUCCESS || PMPI_Comm_size(vt_leaders, &n) != MPI_SUCCESS) return;
    for (int bit = 1; fine && bit < n && !(place & (bit - 1)); bit <<= 1) {
        if (place & bit) fine = vt_ask_clock(place - bit);
        else if (place + bit < n) fine = vt_answer_clock(place + bit);
    }
}

void vt_mpi_clocks_begin(int rank, bool records)
{
    const uint64_t name = vt_clock_name(), both[2] = {name, ~name};
    uint64_t most[2];
    if (PMPI_Allreduce(both, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS) return;
    if (most[0] == ~most[1]) return;
    vt_world_rank = rank;
    vt_clocks_pid = syscall(SYS_getpid);
    vt_clocks_record = records;
    vt_leaders = vt_find_leaders(name, rank);
    if (records) {
        char text[20];
        snprintf(text, sizeof text, "%llx", (unsigned long long)name);
        vt_mpi_define_property("clock", text);
    }
    vt_mpi_clocks_measure();
}

void vt_mpi_clocks_end(void)
{
    vt_mpi_clocks_measure();
    if (vt_leaders != MPI_COMM_NULL && syscall(SYS_getpid) == vt_clocks_pid) PMPI_Comm_free(&vt_leaders);
}
