// SPDX-License-Identifier: BSD-3-Clause
/* A part of the MPI programs of the tests: a rank that waits gives its processor to other processes.

   MPICH polls while it waits. With more ranks than processors, the awaited rank runs only when the kernel takes the
   processor from a rank that waits, after milliseconds. This function replaces UCX's, which MPICH polls; Open MPI has a
   setting to yield (OMPI_MCA_mpi_yield_when_idle). The rank sleeps: sched_yield would return at once to a thread whose
   peers wait, too, and many threads that wait would use all of the processors. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

enum { POLLS = 20, NAP = 50000 /* ns */ };

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static __thread unsigned (*next)(void *);
    static __thread int idle;
    if (!next) next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (!next) { // mpi4py loads MPICH for itself only
        void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
        next = (unsigned (*)(void *))dlsym(library, "ucp_worker_progress");
    }
    unsigned found = next(worker);
    idle = found ? 0 : idle + 1;
    if (idle > POLLS) {
        idle = 0;
        nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
    }
    return found;
}
