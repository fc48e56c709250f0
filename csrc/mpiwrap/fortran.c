/* SPDX-License-Identifier: BSD-3-Clause */
/* Code shared by the wrappers of Fortran entry points, compiled as one unit with the wrappers of one binding. That unit
   defines three macros before: VT_BINDING (name of the binding), VT_BINDING_LIBRARY (name of its library) and
   VT_WAITANY (variable for the twin of its MPI_Waitany).

   A wrapper passes the program's pointers on unchanged. For the templates, which expect C arguments, it converts the
   arguments that they use. A Fortran status has the same bytes as a C status, and type(MPI_Comm) of mpi_f08 has the
   bytes of its INTEGER. */
#include "mpiwrap.h"

#include <dlfcn.h>
#include <link.h>

#ifdef MPI_F_STATUS_SIZE
_Static_assert(MPI_F_STATUS_SIZE * sizeof(MPI_Fint) == sizeof(MPI_Status), "Fortran statuses are like those of C");
#endif
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "INTEGER is an int");

static _Atomic(uint32_t) vt_bound_regions[VT_FUNCTIONS];

/* ---- The next definition ---- */

static int vt_binding_at(struct dl_phdr_info *info, size_t size, void *address)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        if ((uintptr_t)address - start >= part->p_memsz) continue;
        /* not if the binding is in the executable itself, whose own calls are in the same segment */
        if (info->dlpi_name && *info->dlpi_name) {
            atomic_store(&vt_mpi_binding.start, start);
            atomic_store(&vt_mpi_binding.bytes, part->p_memsz);
        }
        return 1;
    }
    return 0;
}

/* The PMPI entry point that a wrapper calls. */
struct vt_fortran_twin {
    void *code; /* NULL in a preloaded shim if the program loads the binding later, for its users only */
    const char *name;
};

static struct vt_fortran_twin VT_WAITANY;

__attribute__((noinline, cold)) static void *vt_fortran_find(struct vt_fortran_twin *twin)
{
    void *library = dlopen(VT_BINDING_LIBRARY, RTLD_LAZY);
    void *code = library ? dlsym(library, twin->name) : NULL;
    if (!code) vt_warn("%s does not define %s", VT_BINDING_LIBRARY, twin->name);
    __atomic_store_n(&twin->code, code, __ATOMIC_RELAXED);
    return code;
}

static inline void *vt_fortran_next(struct vt_fortran_twin *twin)
{
    void *code = __atomic_load_n(&twin->code, __ATOMIC_RELAXED);
    return VT_LIKELY(code != NULL) ? code : vt_fortran_find(twin);
}

__attribute__((noinline, cold)) static uint32_t vt_fortran_first_call(unsigned function, struct vt_fortran_twin *twin)
{
    if (!atomic_load(&vt_mpi_binding.bytes)) dl_iterate_phdr(vt_binding_at, vt_fortran_next(twin));
    return vt_mpi_first_call(function, &vt_bound_regions[function], VT_BINDING);
}

/* As vt_mpi_region, vt_mpi_track and vt_mpi_begin, for a function of this binding. */
__attribute__((always_inline)) static inline uint32_t vt_fortran_region(unsigned function, struct vt_fortran_twin *twin)
{
    if (atomic_load_explicit(&vt_mpi_state, memory_order_relaxed) == VT_MPI_PASSIVE || vt_mpi_by_binding()) return 0;
    /* acquire: vt_mpi_binding was stored before */
    const uint32_t region = atomic_load_explicit(&vt_bound_regions[function], memory_order_acquire);
    return VT_LIKELY(region) ? region : vt_fortran_first_call(function, twin);
}

__attribute__((always_inline)) static inline uint32_t vt_fortran_track(unsigned function, struct vt_fortran_twin *twin)
{
    return vt_mpi_with_site(vt_fortran_region(function, twin));
}

__attribute__((always_inline)) static inline uint32_t vt_fortran_begin(unsigned function, struct vt_fortran_twin *twin)
{
    const uint32_t region = vt_fortran_track(function, twin);
    return VT_LIKELY(region != VT_MPI_GROUP_OFF) ? region : 0;
}

/* ---- Arguments ---- */

/* Addresses of MPI's constants. Open MPI defines Fortran common blocks. MPICH and its derivatives define pointers for
   mpif.h and variables for mpi_f08. */
extern char vt_f_in_place __asm__("mpi_fortran_in_place_") __attribute__((weak));
extern void *vt_f_in_place_pointer __asm__("MPIR_F_MPI_IN_PLACE") __attribute__((weak));
extern char vt_f08_in_place __asm__("MPIR_F08_MPI_IN_PLACE") __attribute__((weak));
extern void *vt_f08_status_ignore __asm__("MPI_F08_STATUS_IGNORE") __attribute__((weak));
extern void *vt_f08_statuses_ignore __asm__("MPI_F08_STATUSES_IGNORE") __attribute__((weak));

static inline const void *vt_fortran_buffer(const void *buffer)
{
    const bool in_place = buffer == (void *)&vt_f_in_place || buffer == (void *)&vt_f08_in_place ||
                          (&vt_f_in_place_pointer && buffer == vt_f_in_place_pointer);
    return in_place && buffer ? MPI_IN_PLACE : buffer;
}

/* The address of a buffer that is passed as a C descriptor (CFI_cdesc_t), whose first field is the address. */
static inline const void *vt_fortran_described(const void *descriptor)
{
    return vt_fortran_buffer(*(void *const *)descriptor);
}

/* A status or an array of statuses. ignore: the C constant that replaces Fortran's. */
static inline MPI_Status *vt_fortran_status(void *status, const MPI_Status *ignore)
{
    const bool ignored = status == (void *)MPI_F_STATUS_IGNORE || status == (void *)MPI_F_STATUSES_IGNORE ||
                         (&vt_f08_status_ignore && status == vt_f08_status_ignore) ||
                         (&vt_f08_statuses_ignore && status == vt_f08_statuses_ignore);
    return ignored ? (MPI_Status *)ignore : status;
}

/* Copies a CHARACTER argument without its trailing blanks. */
static inline const char *vt_fortran_text(char *text, size_t room, const char *fortran, size_t length)
{
    length = (unsigned)length; /* some compilers pass an int */
    if (length >= room) length = room - 1;
    while (length && fortran[length - 1] == ' ') length--;
    memcpy(text, fortran, length);
    text[length] = 0;
    return text;
}

/* Handles in C, for MPI libraries whose Fortran handles differ. */
struct vt_fortran_handles {
    void *few[VT_FEW];
    bool in_arena;
};

static inline void vt_fortran_drop(struct vt_fortran_handles *handles)
{
    if (handles->in_arena) vt_mpi_arena_drop();
}

static inline void *vt_fortran_room(struct vt_fortran_handles *handles, int64_t n)
{
    if (n <= VT_FEW) return handles->few;
    void *room = vt_mpi_arena_take((size_t)n * sizeof *handles->few);
    handles->in_arena = room != NULL;
    return room;
}

static inline void vt_fortran_requests_again(MPI_Request *requests, void *fortran, int64_t n)
{
    if (sizeof(MPI_Request) == sizeof(MPI_Fint) || !requests) return;
    for (int64_t i = 0; i < n; i++) requests[i] = PMPI_Request_f2c(((MPI_Fint *)fortran)[i]);
}

static inline MPI_Request *vt_fortran_requests(struct vt_fortran_handles *handles, void *fortran, int64_t n)
{
    if (sizeof(MPI_Request) == sizeof(MPI_Fint)) return fortran;
    MPI_Request *requests = vt_fortran_room(handles, n);
    vt_fortran_requests_again(requests, fortran, n);
    return requests;
}

/* The number of entries of an array argument of a collective operation. */
static inline uint32_t vt_fortran_peers(MPI_Comm comm)
{
    const struct vt_mpi_comm *c = vt_mpi_comm(comm);
    return c ? vt_mpi_peers(c) : 0;
}

static inline const MPI_Datatype *vt_fortran_types(struct vt_fortran_handles *handles, const void *fortran, int64_t n)
{
    if (sizeof(MPI_Datatype) == sizeof(MPI_Fint)) return fortran;
    MPI_Datatype *types = vt_fortran_room(handles, n);
    for (int64_t i = 0; types && i < n; i++) types[i] = PMPI_Type_f2c(((const MPI_Fint *)fortran)[i]);
    return types;
}

/* The first index of Fortran arrays: 1, but 0 in the mpi_f08 of some versions of MPICH (4.0). A test receive from
   MPI_PROC_NULL shows which one applies. */
static int vt_fortran_first_index(void)
{
    static _Atomic(int) known = -1;
    int first = atomic_load_explicit(&known, memory_order_relaxed);
    if (VT_LIKELY(first >= 0)) return first;
    typedef void waitany(void *, void *, void *, void *, MPI_Fint *);
    MPI_Request request;
    MPI_Status status;
    MPI_Fint one = 1, index = 1, error;
    PMPI_Irecv(&one, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
    MPI_Fint handle = PMPI_Request_c2f(request);
    ((waitany *)(uintptr_t)vt_fortran_next(&VT_WAITANY))(&one, &handle, &index, &status, &error);
    first = index == 0 ? 0 : 1;
    atomic_store_explicit(&known, first, memory_order_relaxed);
    return first;
}

/* Indices that a call returned. The templates need them to start from 0, so they are shifted until the wrapper
   returns. */
struct vt_fortran_indices {
    int *at, n;
};

static inline void vt_fortran_shift(struct vt_fortran_indices *indices, int n, int most)
{
    indices->n = vt_fortran_first_index() == 0 || n < 0 ? 0 : n < most ? n : most;
    for (int i = 0; i < indices->n; i++) indices->at[i]--;
}

static inline void vt_fortran_unshift(struct vt_fortran_indices *indices)
{
    for (int i = 0; i < indices->n; i++) indices->at[i]++;
}
