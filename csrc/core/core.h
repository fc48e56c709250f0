/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of the runtime (libvtrace.so.1, symbol version VTRACE_1) for shims. All declarations are part of the
   binary interface: the MPI shim is linked into the user's executable and may be older than the library.
   No function changes errno, blocks, or allocates with malloc. */
#ifndef VT_CORE_H
#define VT_CORE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "format.h"

#define VT_ABI 2 /* the runtime accepts older shims and refuses newer ones with one warning. 2: vt_define_values */

/* Paradigms, region roles and types have the values of OTF2_Paradigm, OTF2_RegionRole and OTF2_Type; tests compare the
   values. */
enum vt_paradigm {
    VT_PARADIGM_USER = 1,
    VT_PARADIGM_COMPILER = 2,
    VT_PARADIGM_OPENMP = 3,
    VT_PARADIGM_MPI = 4,
    VT_PARADIGM_PTHREAD = 7,
    VT_PARADIGM_NONE = 22
};
enum vt_role {
    /* clang-format off */
    VT_ROLE_FUNCTION = 1, VT_ROLE_BARRIER = 15, VT_ROLE_COLL_ONE2ALL = 23, VT_ROLE_COLL_ALL2ONE = 24,
    VT_ROLE_COLL_ALL2ALL = 25, VT_ROLE_COLL_OTHER = 26, VT_ROLE_FILE_IO = 27, VT_ROLE_POINT2POINT = 28,
    VT_ROLE_RMA = 29, VT_ROLE_THREAD_CREATE = 32, VT_ROLE_THREAD_WAIT = 33, VT_ROLE_ALLOCATE = 35,
    VT_ROLE_DEALLOCATE = 36, VT_ROLE_REALLOCATE = 37,
    /* clang-format on */
    VT_ROLE_FILE_IO_METADATA = 38,
};
enum vt_type { VT_TYPE_UINT32 = 3, VT_TYPE_UINT64 = 4, VT_TYPE_INT32 = 7, VT_TYPE_INT64 = 8, VT_TYPE_STRING = 11 };

#pragma GCC visibility push(default)

/* ---- Attaching ---- */
enum vt_shim_kind { VT_SHIM_MPI = 1, VT_SHIM_IO = 2, VT_SHIM_MEMORY = 3, VT_SHIM_OPENMP = 4 };

struct vt_shim {
    uint32_t size, abi; /* sizeof(struct vt_shim) and VT_ABI when the shim was compiled */
    uint32_t kind;      /* enum vt_shim_kind; 0: another kind, which no setting turns off */
    uint32_t unused;
    const char *name;    /* such as "MPICH 5.0.2", for messages; an MPI shim's name is also a property of the trace */
    const char *version; /* vtrace version that built the shim */
    /* MPI shims only, else NULL. The runtime calls switched(0) before recording is switched off, and switched(1) after
       recording is switched on. Older shims lack this member. */
    void (*switched)(int on);
    /* MPI shims only, else NULL. Measures the clock offsets between the ranks. All ranks of the program call
       VT_TIMESYNC. */
    void (*synchronize)(void);
    /* MPI shims only, else NULL. The runtime calls this function, perhaps twice, when the first section of the program
       is defined, and in vt_attach if sections were defined before or VT_SECTION_LEVEL is set. Older shims lack this
       member. */
    void (*sections)(void);
    /* The memory shim only, else NULL. From now on its calls are recorded, or left out and counted by
       vt_count_left_out, or neither. */
    void (*leave_out)(int how);
};
enum { VT_CALLS_RECORDED, VT_CALLS_COUNTED, VT_CALLS_LEFT_OUT };

/* Counts a call that is left out. region: of the function. */
void vt_count_left_out(uint32_t region);
/* Where a thread counts such calls: 2 is added to the word at `turns` from the address in vt_counts[chunk]. If it is NULL,
   vt_count_left_out counts. */
struct vt_count_place {
    uint32_t is_known, chunk, turns;
};
extern _Thread_local char **vt_counts __attribute__((tls_model("initial-exec"))); /* never NULL */
struct vt_count_place vt_count_place(uint32_t region);
/* Only this thread and its signal handlers count there: one instruction suffices, without a lock of the bus. */
static inline void vt_add_turn(int64_t *turns)
{
#if defined(__x86_64__)
    __asm__ volatile("addq $2, %0" : "+m"(*turns) : : "cc");
#else
    __atomic_fetch_add(turns, 2, __ATOMIC_RELAXED);
#endif
}

/* Attaches a shim, and starts the runtime if necessary. Returns 1: the shim records; 0: it never records (VT_MPITRACE
   turns it off, the runtime is off, or its ABI is too new); -1, for I/O and memory only: ask again later, because this
   thread is just starting the runtime and the runtime itself made the call. If VT_IOTRACE or VT_MEMTRACE turns an I/O
   or memory shim off, the runtime does not start. For this decision the function reads the environment, which is empty
   (environ is NULL) while ld.so itself calls malloc. */
int vt_attach(const struct vt_shim *shim);

/* 1: recording has ended for good. Makes no system call, since the program may have restricted its own. */
int vt_has_ended(void);

/* Returns the effective value of a setting: a number, a size in bytes, or 1 (yes) or 0 (no). Returns 0 for an unknown
   name. */
uint64_t vt_setting(const char *name);

/* Returns the text of a setting: from the environment, else from a settings file (settings_file.c). NULL: it is unset. */
const char *vt_setting_text(const char *name);

/* For `vtrace settings`: writes the settings of a program that would start now, one line for each setting. Tabs
   separate the fields of a line:
   - name,
   - effective value,
   - default; "" if the default depends on the system,
   - value in the environment,
   - meaning,
   - default in words; "" if the default is a number,
   - the part of the run that the setting may omit from the trace: "", "part" or "whole".
   Warns on stderr about wrong values. Does not start the runtime. Returns the number of bytes. */
size_t vt_settings_list(char *into, size_t bytes);

/* ---- Recording: these functions are cheap, and safe in any thread and in signal handlers ---- */
/* Records the enter or leave of a region now. */
void vt_enter(uint32_t region);
void vt_leave(uint32_t region);

/* A wrapper sets vt_called_at to VT_CALLED_AT before it records the enter of its call, with vt_enter or vt_write. The
   runtime then learns when longjmp or an exception has left the call, and records the leave. 0: not set. */
extern _Thread_local uintptr_t vt_called_at __attribute__((tls_model("initial-exec")));
/* Ends the call of a wrapper. The arguments are those of its personality routine (Itanium C++ ABI, 2.5.2). */
void vt_unwinds(int actions, void *context);

/* Nothing is recorded that this thread calls between the two functions, not even the allocations of the loader. The
   second one restores errno. */
struct vt_own_work {
    int suppressed, error;
    uintptr_t busy;
};
struct vt_own_work vt_own_work_begin(void);
void vt_own_work_end(const struct vt_own_work *work);
/* 1: between the two functions. */
extern _Thread_local int vt_suppressed __attribute__((tls_model("initial-exec")));
/* The value of an expression that is own work. A macro, since dlsym(RTLD_NEXT) depends on its caller. */
#define VT_OWN_WORK(expression)                                                                                        \
    __extension__({                                                                                                    \
        const struct vt_own_work vt_work = vt_own_work_begin();                                                        \
        __auto_type vt_value = (expression);                                                                           \
        vt_own_work_end(&vt_work);                                                                                     \
        vt_value;                                                                                                      \
    })

/* The address of the return address of a function, as in struct vt_frame. */
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(__NVCOMPILER)
#define VT_OWN_FRAME ((uintptr_t)__builtin_dwarf_cfa() - 8)
#else
#define VT_OWN_FRAME ((uintptr_t)__builtin_frame_address(0) + sizeof(uintptr_t))
#endif

/* The same in a wrapper. It also gives the wrapper a personality routine, which unwinders call for exceptions.
   VT_NO_WRAPPERS: the source has no wrapper, and needs no such routine. */
#if defined(__GCC_HAVE_DWARF2_CFI_ASM) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(__NVCOMPILER) &&   \
    !defined(VT_NO_WRAPPERS)
__attribute__((used)) static int vt_wrapper_personality(int version, int actions, uint64_t class, void *exception,
                                                        void *context)
{
    (void)version, (void)class, (void)exception;
    vt_unwinds(actions, context);
    return 8; /* _URC_CONTINUE_UNWIND */
}
#define VT_CALLED_AT                                                                                                   \
    __extension__({                                                                                                    \
        __asm__ volatile(".cfi_personality 0x1b, vt_wrapper_personality"); /* 0x1b: relative to the place, 32 bits */  \
        VT_OWN_FRAME;                                                                                                  \
    })
#else
#define VT_CALLED_AT VT_OWN_FRAME
#endif

/* vt_enter in a wrapper's own body. */
__attribute__((always_inline)) static inline void vt_enter_call(uint32_t region)
{
    vt_called_at = VT_CALLED_AT;
    vt_enter(region);
}

/* Writes n <= 64 words of one or more whole records (format.h), all with the time of the call. The function changes
   words: it sets the upper half of words[0]. In the heads of further records the upper half must be 0. */
void vt_write(uint64_t *words, unsigned n);

/* Writes the n <= 64 words of a call that found nothing, such as MPI_Test, after its ENTER. The last word is its LEAVE.
   Calls in a row with equal words become one, whose LEAVE has the attribute with the number of calls; 0: never.
   Returns 1 if the call repeats the last one. */
int vt_write_poll(uint32_t attribute, uint64_t *words, unsigned n);

/* As vt_write, for 1 to 5 words. */
void vt_write_1(uint64_t a);
void vt_write_2(uint64_t a, uint64_t b);
void vt_write_3(uint64_t a, uint64_t b, uint64_t c);
void vt_write_4(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
void vt_write_5(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

/* The first word of a record, for vt_write. */
#define VT_HEAD(kind, words, id) ((uint64_t)VT_WHAT(kind, words, id))

/* Returns 1 in the child of a vfork, which shares the memory of its parent. The runtime drops the records of such a
   child. A shim must not change its state of the process there. */
int vt_shares_memory(void);

/* The vfork of the runtime, for preloaded shims: their libvtrace.so.1 comes after libc in the search order, so the
   program calls the vfork of libc. */
int vt_vfork(void);

/* Returns the environment variable, as NAME=VALUE, by which a started program joins the run of this process; NULL: this
   process records nothing yet. */
const char *vt_run_variable(void);

/* Switches the recording of this process off (0) or on (1). While recording is off, the leave of a region that was
   entered before is recorded. When recording is switched on, the function records the enter of each region that was
   entered meanwhile and is still open. */
void vt_switch(int on);

/* ---- Markers: functions of the user API (include/vt_user.h) that shims call ---- */
unsigned int VT_User_marker_def__(const char *name, int type);
void VT_User_marker__(unsigned int id, const char *text);

/* ---- Regions of annotations (csrc/annotations): id is a region's, from VT_User_def__ (include/vt_user.h); 0: not recorded ---- */
/* Enters a region; leaves the innermost one of the calling thread that was pushed in this domain. A pop without a push
   does nothing. */
void VT_User_push__(uint32_t domain, uint32_t id);
void VT_User_pop__(uint32_t domain);
/* The same with attributes: the words of VT_K_ATTRIBUTE records, at most VT_ATTRIBUTE_WORDS. */
#define VT_ATTRIBUTE_WORDS 6u
void VT_User_push_with__(uint32_t domain, uint32_t id, const uint64_t *attributes, unsigned words);
/* Begins or ends a range: a region that need not nest, and that any thread may end. Returns the range; 0: it is not
   recorded. */
uint64_t VT_User_range_start__(uint32_t id);
uint64_t VT_User_range_start_with__(uint32_t id, const uint64_t *attributes, unsigned words);
/* As VT_User_def__ without a place in the source; the first call of a region gives its description, or NULL. */
unsigned int VT_User_def_about__(const char *name, const char *group, const char *description);
/* Returns the id of a text, for an attribute; 0: none. */
uint32_t VT_User_text__(const char *text);
void VT_User_range_end__(uint64_t range);
/* Names a thread, by its kernel id, for the trace only. */
void vt_name_thread(uint32_t thread, const char *name);

/* ---- Streams of devices (csrc/devices, csrc/userwrap/streams.c) ---- */
struct vt_location;
/* Returns a location for what a device does, whose records have times that the caller gives. name: such as "OpenCL[0:1]";
   device: its name; begin: ticks, of which no record is earlier. NULL: nothing is recorded. */
struct vt_location *vt_stream_new(const char *name, const char *device, uint64_t begin);
/* Returns the number of its location. */
uint32_t vt_stream_number(const struct vt_location *stream);
/* As vt_write, with times (ticks) that do not decrease. One thread at a time uses a stream. */
void vt_stream_write(struct vt_location *stream, uint64_t *words, unsigned n, uint64_t ticks);

/* ---- Functions ---- */
enum vt_how {
    VT_SHOWN = 0,
    VT_FILTERED = 1, /* only the runtime uses further values */
};

/* The rules for hooks in executables and libraries (csrc/hooks). Hooks may be older than the runtime, so new members go
   to the end. The fields may change concurrently; load `bytes` (acquire) before the other fields. */
struct vt_inside {
    uintptr_t bytes, start; /* size and address of the code that map describes; bytes 0: none */
    const uint8_t *map; /* for each 16 bytes of code: enum vt_how of the functions that begin there */
    void (*enter)(void *function, void *site), (*leave)(void *function, void *site); /* for VT_SHOWN */
    void (*ask_enter)(void *function, void *site), (*ask_leave)(void *function, void *site); /* for all other values */
};

/* Returns the rules for the module that contains the address `code`. If the rules hold for later calls too, the
   function stores them in *keep. The returned structure is valid while the module is loaded. */
const struct vt_inside *vt_inside(const struct vt_inside **keep, uintptr_t code);

/* Replaces the patterns of VT_FUNCTIONS ("Calc*;-*get*"; "" or NULL: all functions) while the program runs. Allocates
   memory with malloc to demangle names, so do not call this function in a signal handler. */
void vt_select_functions(const char *patterns);

/* The sleds of an executable or library (csrc/hooks/sleds.s, sleds_arm.c), which may be older than the runtime: new members
   go to the end. The four hooks take their arguments from the stack or, on aarch64, from x17, and change no other
   register. vt_sleds_attach sets them. */
struct vt_sleds {
    uint32_t size, attached; /* sizeof(struct vt_sleds) when the sleds were compiled; 1: the runtime knows the module */
    void (*enter)(void), (*leave)(void);
    void (*ask_enter)(void), (*ask_leave)(void); /* apply all rules, and may be called before enter and leave are set */
    const void *on_enter, *on_leave; /* the functions that the sleds call */
    const void *xray, *xray_end; /* clang's table of sleds; both NULL: none */
};

/* Ends the calls of functions with sleds whose frames lie below the stack pointer: the thread continues at a landing
   pad, with that stack pointer. */
void vt_land(uintptr_t stack_pointer);

#if defined(__aarch64__)
void vt_sleds_attach(struct vt_sleds *sleds);
#else
/* Takes a struct vt_sleds in the register rbx, and changes no register. */
void vt_sleds_attach(void);
#endif

/* ---- Definitions ---- */
enum vt_id {
    /* clang-format off */
    VT_ID_REGION, VT_ID_COMM, VT_ID_METRIC, VT_ID_REQUEST, VT_ID_ATTRIBUTE, VT_ID_IO_FILE, VT_ID_IO_HANDLE, VT_ID_RMA_WIN,
    VT_ID_GROUP, VT_ID_TEXT, VT_ID_MARKER, VT_ID_USER_COMM, VT_ID_TEAM, VT_ID_PYTHON_CODE,
    VT_IDS
    /* clang-format on */
};

/* Returns the next free id of a kind in this process; the first is 1. Ids of requests have 64 bits. Other ids are at
   most VT_ID_MAX; the function returns 0 if there is none left, and the caller then must not record the object. */
uint64_t vt_new_id(enum vt_id kind);

/* Returns the id of a new region; 0 if there are too many, or if this process does not record. file may be NULL. */
uint32_t vt_define_region(const char *name, uint8_t paradigm, uint8_t role, const char *file, uint32_t line);

/* As vt_define_region, for a region without a place in the source. description may be NULL. */
uint32_t vt_define_region_about(const char *name, uint8_t paradigm, uint8_t role, const char *description);

/* As vt_define_region; vtunify finds the file and line of the region by an address in its code. */
uint32_t vt_define_region_at(const char *name, uint8_t paradigm, uint8_t role, uintptr_t code);

/* Returns the number of calls that the filter admits to the trace, or VT_CALL_ALL. group: such as "MPI", "LIBC-I/O" or
   "LIBC-MALLOC". */
#define VT_CALL_ALL (-1)
int64_t vt_call_limit(const char *name, const char *group);

/* Returns 1 if the filter admits no call. Only MPI shims older than vt_call_limit call this function. */
int vt_hides(const char *name, const char *group);

/* Decides about one call, and counts the call if a rule of the filter has a limit. After VT_CALL_COUNTED the caller
   must ask again at the next call of the function; *region is a place where the caller keeps the id of the region
   (initially 0). The other two results hold for all later calls. name: the same pointer at each call. */
enum vt_take { VT_CALL_HIDDEN = 0, VT_CALL_SHOWN = 1, VT_CALL_COUNTED = 2 };
enum vt_take vt_take_call(const char *name, const char *group, uint32_t **region);

/* For `vtrace filter`: returns the number of calls that VT_FILTER_SPEC admits for a function with the name `name`; -1:
   all. Writes four lines to `into`: the matching pattern, its line number, the number of rules, the number of refused
   lines. */
long vt_filter_explain(const char *name, const char *group, uint32_t rank, char *into, size_t bytes);

/* A value of a definition. VT_DEFINITION_KINDS in format.h has the values of each kind. */
struct vt_definition_value {
    enum {
        VT_VALUE_KIND, /* number: enum vt_definition, of which the next n values are */
        VT_VALUE_NIL,
        VT_VALUE_NUMBER,
        VT_VALUE_SIGNED,
        VT_VALUE_BOOL,
        VT_VALUE_TEXT, /* n bytes */
        VT_VALUE_BYTES, /* n bytes */
        VT_VALUE_LIST, /* n struct vt_definition_value */
        VT_VALUE_WORDS, /* a list of n texts, each with a NUL behind it */
        VT_VALUE_PACKED, /* n bytes: whole definitions in MessagePack */
    } type;
    uint32_t n;
    union {
        uint64_t number;
        const void *at;
    };
};

static inline struct vt_definition_value vt_kind(enum vt_definition kind, size_t n)
{
    return (struct vt_definition_value){VT_VALUE_KIND, (uint32_t)n, {kind}};
}
static inline struct vt_definition_value vt_number(uint64_t v)
{
    return (struct vt_definition_value){VT_VALUE_NUMBER, 0, {v}};
}
static inline struct vt_definition_value vt_signed(int64_t v)
{
    return (struct vt_definition_value){VT_VALUE_SIGNED, 0, {(uint64_t)v}};
}
static inline struct vt_definition_value vt_bool(int v)
{
    return (struct vt_definition_value){VT_VALUE_BOOL, 0, {v != 0}};
}
static inline struct vt_definition_value vt_nil(void) { return (struct vt_definition_value){VT_VALUE_NIL, 0, {0}}; }
/* 0: no object, nil. */
static inline struct vt_definition_value vt_id(uint64_t id) { return id ? vt_number(id) : vt_nil(); }
static inline struct vt_definition_value vt_value_of(int type, const void *at, size_t n)
{
    struct vt_definition_value v = {.type = type, .n = (uint32_t)n};
    v.at = at;
    return v;
}
static inline struct vt_definition_value vt_bytes(const void *at, size_t n)
{
    return vt_value_of(VT_VALUE_BYTES, at, n);
}
/* The text up to its NUL, at most `most` bytes. */
static inline struct vt_definition_value vt_string_of(const char *s, size_t most)
{
    return vt_value_of(VT_VALUE_TEXT, s, strnlen(s, most));
}
/* NULL: nil. */
static inline struct vt_definition_value vt_string(const char *s)
{
    return s ? vt_value_of(VT_VALUE_TEXT, s, strlen(s)) : vt_nil();
}

/* Writes definitions of the calling thread, before all events that the thread records later: each begins with its
   vt_kind. All together have at most 60 000 bytes. Returns 0 if they are lost. */
int vt_define_values(const struct vt_definition_value *values, size_t n);

/* Writes definitions in MessagePack. Only shims of VT_ABI 1 call this function; others the macro of the name. */
int vt_define(const void *bytes, size_t n);

#define VT_COUNT(...) (sizeof((struct vt_definition_value[]){__VA_ARGS__}) / sizeof(struct vt_definition_value))
/* The values of one definition, as an array. */
#define VT_DEFINITION(kind, ...)                                                                                       \
    ((const struct vt_definition_value[]){vt_kind(kind, VT_COUNT(__VA_ARGS__)), __VA_ARGS__})
/* Writes one definition, as vt_define_values: vt_define(VT_D_TEXT, vt_number(id), vt_string(text)). */
#define vt_define(kind, ...) vt_define_values(VT_DEFINITION(kind, __VA_ARGS__), 1 + VT_COUNT(__VA_ARGS__))

/* Defines an attribute of events. Returns its id; 0 if no id is left or the definition is lost. */
static inline uint32_t vt_define_attribute(const char *name, const char *description, enum vt_type type)
{
    const uint32_t id = (uint32_t)vt_new_id(VT_ID_ATTRIBUTE);
    if (!id) return 0;
    return vt_define(VT_D_ATTRIBUTE, vt_number(id), vt_string(name), vt_string(description), vt_number(type)) ? id : 0;
}

/* Defines the module (executable or library) that contains the code at an address. Call this function before a
   definition that contains the address. */
void vt_note_code(uintptr_t address);

/* ---- Call sites ---- */
#define VT_SITE_DEPTH 32u /* most calls of a site */
#define VT_CALL_SITES 16384u /* entries of the table of all sites, of which a part stays free */
/* Finds the unwinder. Called where allocating memory and loading libgcc_s are safe. Returns 0 if there is none: then a
   site is the innermost call alone. */
int vt_call_sites_begin(void);
/* Returns the text of a call and its callers, for an attribute; 0: none, because there are too many. caller: return
   address in the program; depth: at most so many calls, from 1 to VT_SITE_DEPTH. */
uint32_t vt_call_site(uintptr_t caller, uint32_t depth);
/* For the memory shim: the same without a lock, an allocation or a call of the loader, by the unwinder of samples
   (csrc/sampling/allocation_sites.c); where that lacks a processor's rules, the innermost call alone. The first function
   prepares it. */
void vt_allocation_sites_begin(void);
uint32_t vt_allocation_site(uintptr_t caller);

#define VT_NO_LOCATION 0xffffffffu
/* Returns the number of the calling thread's location in this process; VT_NO_LOCATION: the thread is not recorded. */
uint32_t vt_location_number(void);

/* ---- MPI_COMM_WORLD ---- */
struct vt_world {
    uint32_t size; /* sizeof(struct vt_world) */
    uint32_t rank, world_size;
    uint32_t count; /* result of vt_take_count in the process that gives the run id */
    uint64_t world; /* a random number from rank 0 (vt_random) */
    uint8_t run[16]; /* run id of rank 0 */
};

/* Writes the run id of this process (16 bytes), before the ranks agree on a common one. */
void vt_run_id(uint8_t run[16]);
/* Returns a random number. */
uint64_t vt_random(void);

/* Returns the number after the prefix of the run's files (VT_FILE_UNIQUE); 0: none. The process that gives the run id
   calls this function in MPI_Init, before vt_set_world. Other runs wait until vt_set_world has created the files. */
uint32_t vt_take_count(void);

/* Gives the process its rank, and renames its files accordingly. Called once, after MPI_Init. */
void vt_set_world(const struct vt_world *world);

/* Writes all records so far to the local files. Called in MPI_Finalize; the runtime does the same at the end of the
   program. */
void vt_complete(void);

/* As vt_complete; counts as one of the calling thread's VT_MAX_FLUSHES flushes. */
void vt_flush_together(void);

/* Returns the fill level of the fullest location's buffer in percent. */
unsigned vt_buffer_level(void);

/* ---- Help for shims ---- */
/* Registers a function that each recording thread except the first calls when it ends. The thread may record in this
   function and later. There is one such function, that of the memory shim: a new one replaces the old. */
void vt_at_thread_end(void (*call)(void));
/* Returns zeroed pages, which are never freed; NULL if there is no memory. */
void *vt_pages(size_t bytes);
/* Returns *where. If it is NULL, stores zeroed pages there first; of several threads one stores its pages. */
void *vt_pages_once(void **where, size_t bytes);
/* Prints one line "vtrace: ..." on stderr if VT_VERBOSE >= 1, at most once per process for each format. No %f. */
void vt_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As vt_warn, and enters the line into the ledger: from now on this process does not record some events of these
   classes ("mpi/p2p+mpi/collective"; docs/file-format.md). Also without VT_VERBOSE. The caller holds no lock of a
   location. */
void vt_warn_left_out(const char *classes, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the clock in ticks. Records get their time from vt_write. */
uint64_t vt_ticks(void);

#pragma GCC visibility pop

#endif
