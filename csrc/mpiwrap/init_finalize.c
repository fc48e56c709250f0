/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaching to the runtime, defining regions, and the calls that initialize and finalize MPI.
   Memory order: no other thread calls MPI for work before MPI_Init has returned, and the program orders this, so the
   state of MPI, groups, attributes and the depth of call sites (sites.c) may be loaded relaxed. */
#include "mpiwrap.h"

#include <errno.h>

_Atomic(uint32_t) vt_mpi_regions[VT_FUNCTIONS];
_Atomic(int) vt_mpi_state = VT_MPI_NEW;
_Atomic(bool) vt_mpi_off;
struct vt_mpi_binding vt_mpi_binding;

#define VT_TEXT_(x) #x
#define VT_TEXT(x) VT_TEXT_(x)
#define VT_NOTE_TEXT "mpi=" VT_MPI_LABEL "\nversion=" VT_MPI_VERSION "\nabi=" VT_TEXT(VT_ABI) "\n"

/* An ELF note that names the shim of an executable. strip keeps the note. */
__attribute__((section(".note.vtrace"), used, aligned(4))) static const struct {
    uint32_t name_bytes, text_bytes, type;
    char name[8];
    char text[(sizeof(VT_NOTE_TEXT) + 3) / 4 * 4];
} vt_mpi_note = {sizeof("vtrace"), sizeof(VT_NOTE_TEXT), VT_SHIM_MPI, "vtrace", VT_NOTE_TEXT};

/* Called by the runtime when MPI_Pcontrol or the user API switches recording. */
static void vt_mpi_switched(int on)
{
    atomic_store(&vt_mpi_off, !on);
    if (on) vt_mpi_announce_windows();
}

static void vt_mpi_attach(void)
{
    int expected = VT_MPI_NEW;
    if (!atomic_compare_exchange_strong(&vt_mpi_state, &expected, VT_MPI_ATTACHING)) return;
    const int saved = errno;
    static const struct vt_shim shim = {.size = sizeof shim,
                                        .abi = VT_ABI,
                                        .kind = VT_SHIM_MPI,
                                        .name = vt_mpi_label,
                                        .version = VT_MPI_VERSION,
                                        .switched = vt_mpi_switched,
                                        .synchronize = vt_mpi_clocks_measure,
                                        .sections = vt_mpi_posts_begin};
    vt_mpi_read_version();
    vt_mpi_find_tools();
    const bool record = vt_attach(&shim) && vt_mpi_in_front();
    if (record) vt_mpi_tell_preceded();
    if (record) vt_mpi_read_groups();
    if (record) vt_mpi_sites_begin();
    if (record) vt_mpi_polls_begin();
    atomic_store(&vt_mpi_state, record ? VT_MPI_RECORD : VT_MPI_PASSIVE);
    errno = saved;
}

/* If another thread is attaching, this call is not recorded, so that the thread does not have to wait. */
uint32_t vt_mpi_first_call(unsigned function, _Atomic(uint32_t) *region, const char *binding)
{
    vt_mpi_attach();
    if (atomic_load(&vt_mpi_state) != VT_MPI_RECORD) return 0;
    const struct vt_mpi_function_info *info = &vt_mpi_functions[function];
    uint32_t *counted = NULL;
    const bool on = vt_mpi_group_is_on(info->group) && vt_take_call(info->name, "MPI", &counted) != VT_CALL_HIDDEN;
    if (counted && *counted) return *counted;
    const uint32_t made =
        on ? vt_define_region_about(info->name, VT_PARADIGM_MPI, info->role, binding) : VT_MPI_GROUP_OFF;
    if (counted) return *counted = made; /* the filter counts the calls, so the next call asks again */
    uint32_t expected = 0;
    return atomic_compare_exchange_strong(region, &expected, made) ? made : expected;
}

VT_WRAPPER int MPI_Init(int *argc, char ***argv)
{
    const uint32_t region = vt_mpi_begin(VT_F_MPI_Init);
    if (region) vt_enter(region);
    const int result = VT_MPI_NEXT(MPI_Init)(argc, argv);
    if (result == MPI_SUCCESS) vt_mpi_initialized();
    if (region) vt_leave(region);
    return result;
}

VT_WRAPPER int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const uint32_t region = vt_mpi_begin(VT_F_MPI_Init_thread);
    if (region) vt_enter(region);
    const int result = VT_MPI_NEXT(MPI_Init_thread)(argc, argv, required, provided);
    if (result == MPI_SUCCESS) vt_mpi_initialized();
    if (region) vt_leave(region);
    return result;
}

/* The files are completed before MPI_Finalize, since mpiexec may end the job right after it. */
void vt_mpi_finalizing(void)
{
    static atomic_flag ended = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&ended)) return;
    vt_mpi_clocks_end();
    vt_complete();
}

VT_WRAPPER int MPI_Finalize(void)
{
    const uint32_t region = vt_mpi_begin(VT_F_MPI_Finalize);
    if (region) vt_enter(region);
    vt_mpi_finalizing();
    const int result = VT_MPI_NEXT(MPI_Finalize)();
    if (region) vt_leave(region);
    return result;
}

/* mpiP's levels: 2 discards the data until now, 3 and 4 write a report. vtrace mpip does so from these markers. */
static void vt_mpi_mark_level(int level)
{
    static const char *const texts[] = {"level 2", "level 3", "level 4"};
    if (level < 2 || level > 4) return;
    VT_User_marker__(VT_User_marker_def__("MPI_Pcontrol", VT_MARKER_HINT), texts[level - 2]);
}

/* Level 0 stops recording in the whole process, level 1 resumes it. The call itself is recorded. */
void vt_mpi_control(int level, bool after)
{
    if (!after) vt_mpi_mark_level(level);
    if (level == (after ? 0 : 1)) vt_switch(level);
}

/* Arguments after level are meant for other tools. MPI libraries ignore them, so they are not passed on. */
VT_WRAPPER int MPI_Pcontrol(const int level, ...)
{
    if (!vt_mpi_region(VT_F_MPI_Pcontrol)) return VT_MPI_NEXT(MPI_Pcontrol)(level);
    vt_mpi_control(level, false);
    const uint32_t region = vt_mpi_begin(VT_F_MPI_Pcontrol);
    if (region) vt_enter(region);
    const int result = VT_MPI_NEXT(MPI_Pcontrol)(level);
    if (region) vt_leave(region);
    vt_mpi_control(level, true);
    return result;
}
