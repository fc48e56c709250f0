/* SPDX-License-Identifier: BSD-3-Clause */
/* The shim's table of requests without an MPI library, which would slow the threads down. All sends have the same
   handle, as complete operations have in MPI libraries. Receives with handles for the same places come and go. Then
   many active requests, with atomic operations and without. Prints the number of sends that began and that completed,
   and the number of entries left in the table. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waits a little before each access to the table, so that other threads run in between. */
static __thread uint32_t chance;
static void disturb(void)
{
    chance = chance * 1664525u + 1013904223u;
    for (uint32_t i = chance >> 26; i; i--) __asm__ volatile("" ::: "memory");
}
#undef atomic_load_explicit
#define atomic_load_explicit(from, order) (disturb(), __atomic_load_n(from, order))

enum { VT_FUNCTIONS = 1 };
#include "mpiwrap.h"
#include "request.c"
#include "message.c"
#include "complete.c"

#define THREADS 4
#define HANDLE(number) ((MPI_Request)(intptr_t)(number))

_Atomic(struct vt_mpi_comm *) vt_mpi_comms[VT_COMM_BUCKETS];
_Atomic(bool) vt_mpi_off;
static struct vt_mpi_comm world = {.id = 1, .size = 2};
static _Atomic(uint64_t) begun, completed, ids;
static intptr_t receives[THREADS];
static int rounds;

struct vt_mpi_comm *vt_mpi_comm_first(MPI_Comm comm, bool used)
{
    return used || comm == MPI_COMM_WORLD ? &world : NULL;
}
uint32_t vt_mpi_comm_partitioned(struct vt_mpi_comm *c) { return c->id; }
uint64_t vt_new_id(enum vt_id kind) { return kind == VT_ID_REQUEST ? atomic_fetch_add(&ids, 1) + 1 : 0; }

void *vt_pages(size_t bytes)
{
    const size_t whole = (bytes + 4095) & ~(size_t)4095;
    void *pages = aligned_alloc(4096, whole);
    return pages ? memset(pages, 0, whole) : NULL;
}

void vt_enter(uint32_t region) { (void)region; }
void vt_leave(uint32_t region) { (void)region; }
void vt_write_3(uint64_t a, uint64_t b, uint64_t c) { vt_write((uint64_t[]){a, b, c}, 3); }
void vt_write_4(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { vt_write((uint64_t[]){a, b, c, d}, 4); }

void vt_write_5(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    vt_write((uint64_t[]){a, b, c, d, e}, 5);
}
uint64_t vt_setting(const char *name) { return !name; }
int vt_write_poll(uint32_t attribute, uint64_t *words, unsigned n)
{
    (void)attribute;
    vt_write(words, n);
    return 0;
}
void vt_warn(const char *format, ...) { puts(format); }
void vt_warn_left_out(const char *classes, const char *format, ...) { printf("%s: %s\n", classes, format); }
void vt_unwinds(int actions, void *context) { (void)actions, (void)context; }

void vt_write(uint64_t *words, unsigned n)
{
    for (unsigned i = 0; i < n; i += 1 + VT_WORDS((uint32_t)words[i])) {
        if (VT_KIND((uint32_t)words[i]) == VT_K_ISEND) atomic_fetch_add(&begun, 1);
        if (VT_KIND((uint32_t)words[i]) == VT_K_ISEND_COMPLETE) atomic_fetch_add(&completed, 1);
    }
}

static void wait_for(MPI_Request *request)
{
    MPI_Status status;
    struct vt_mpi_wait wait;
    memset(&status, 0, sizeof status);
    vt_mpi_wait_begin(&wait, 1, 1, request, &status, MPI_STATUS_IGNORE);
    wait.statuses->MPI_SOURCE = -1; /* a receive from MPI_PROC_NULL, for which MPI is not asked */
    vt_mpi_all_end(&wait, 1, request, NULL, MPI_SUCCESS);
}

static void *work(void *argument)
{
    const intptr_t me = (intptr_t)argument;
    MPI_Request send = HANDLE(1), receive = HANDLE(receives[me]);
    chance = (uint32_t)me;
    for (int i = 0; i < rounds; i++) {
        const uint64_t id = vt_mpi_isend_begin(1, MPI_COMM_WORLD, 1, 0, 4);
        vt_mpi_isend_end(1, id, &send, MPI_SUCCESS);
        vt_mpi_irecv_end(1, MPI_COMM_WORLD, 1, &receive, MPI_SUCCESS);
        wait_for(&send);
        wait_for(&receive);
    }
    return NULL;
}

/* Many active requests of one thread: their handles fill places, rows and levels. */
static void window(int n)
{
    MPI_Request *receive = malloc((size_t)n * sizeof *receive), send = HANDLE(1);
    for (int i = 0; i < n; i++) {
        receive[i] = HANDLE((intptr_t)(i + 2) << 6 * (i % 4));
        vt_mpi_irecv_end(1, MPI_COMM_WORLD, 1, &receive[i], MPI_SUCCESS);
        vt_mpi_isend_end(1, vt_mpi_isend_begin(1, MPI_COMM_WORLD, 1, 0, 4), &send, MPI_SUCCESS);
    }
    for (int i = 0; i < n; i++) wait_for(&receive[n - 1 - i]);
    for (int i = 0; i < n; i++) wait_for(&send);
    free(receive);
}

/* The number of entries left in the table. */
static int left(void)
{
    int n = 0;
    for (unsigned i = 0; i < VT_FIRST_PLACES; i++) n += atomic_load(&vt_mpi_requests.keys[i]) != 0;
    for (unsigned i = 0; i < VT_TABLE_ROWS; i++) {
        n += atomic_load(&vt_mpi_requests.rows[i].displaced) != 0;
        for (unsigned k = 0; k < VT_TABLE_LISTS; k++) n += atomic_load(&vt_mpi_requests.lists[i][k].listed) != NULL;
    }
    return n;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    intptr_t handle = 2;
    atomic_store(&world.handle, VT_HANDLE(MPI_COMM_WORLD));
    atomic_store(&vt_mpi_comms[vt_mpi_bucket(VT_HANDLE(MPI_COMM_WORLD))], &world);
    rounds = argc > 1 ? atoi(argv[1]) : 1000;
    for (int i = 0; i < THREADS; i++, handle++) {
        while (vt_mpi_place(vt_mpi_key((uint64_t)handle)) != vt_mpi_place(vt_mpi_key(1))) handle++;
        receives[i] = handle;
    }
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int n = 1; n <= 4000; n = 2 * n + 1) {
        vt_mpi_single_threaded = !vt_mpi_single_threaded;
        window(n);
    }
    printf("begun %llu completed %llu left %d\n", (unsigned long long)begun, (unsigned long long)completed, left());
    return begun != completed;
}
