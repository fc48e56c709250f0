/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder funwrap records user functions.
   - Hooks of -finstrument-functions: funwrap.c; program_hooks.c passes the rules to csrc/hooks.
   - Sleds: sleds.c has the modules, sled_hooks_*.c and sled_steady.c the hooks, sled_code_*.c the instructions,
     sled_return.c returns without sleds, core/frames.c the open calls, landing.c their ends by longjmp and exceptions;
     patch.c finds and switches sleds, xray.c those of clang, foreign.c those of programs compiled without vtrace-cc.
   - Both: filter_map.c has the rules of each module, shared_slots.c those of close neighbours, levels.c the stack of
     recorded functions, left_out.c those that are left out for a time.

   filter_map.c owns vt_filter_maps and its other variables. In this folder these rules always hold:
   - vt_function_rules is 0 if every function is recorded. The hooks then read no rule.
   - An entry of vt_filter_maps is valid if its bytes are not 0. Load bytes (acquire) before the other members.
   - A signal handler never reads a module, since the demangler allocates. Until the module is read, its functions are
     recorded.
   - The library is never unloaded, and a map stays valid after its module is unloaded. */
#ifndef VT_FUNWRAP_H
#define VT_FUNWRAP_H

#include <link.h>
#include <stdatomic.h>
#include "../core/process.h"

#pragma GCC visibility push(hidden)

struct vt_patch;

/* ---- levels.c ---- */

/* The stack of a location's functions, for rules that need the depth. */
#define VT_LEVELS 65536u /* largest depth; a deeper stack loses its outer half */
struct vt_levels {
    uint32_t n, shown; /* number of levels, and number of recorded open functions */
    uint64_t open[VT_LEVELS]; /* function; bit 63: recorded */
};

/* NULL: no rule needs the levels. */
static inline VT_GENERAL_REGISTERS struct vt_levels *vt_levels_of(const struct vt_location *l)
{
    return l->slot[VT_SLOT_LEVELS];
}

/* Makes each thread begin with no levels, also in the location of an ended thread. */
void vt_levels_start(void);
/* Returns 1 if the event is recorded; updates the stack of the calling thread. how: rule of the function. */
int vt_levels_pass(uintptr_t function, int leaves, uint8_t how);

/* ---- filter_map.c ---- */

enum { /* more values of enum vt_how; those of core/recording.h follow */
       VT_LIMITED = 2,
       VT_SHARED = 3, /* vt_filter_map_shared returns the rule of the function */
       VT_COUNTING = 64, /* left out, and its calls are counted; above the bits of VT_WATCHED_START and _STOP */
};
enum vt_function_rules { VT_RULES_FILTER = 1, VT_RULES_DEPTH = 2 };

#define VT_FILTER_MAPS 256u

struct vt_filter_map {
    struct vt_inside code; /* code of a module; if the module must be read again, start stays and bytes becomes 0 */
    int32_t *left; /* for each byte of the map, 1 + number of calls still to be recorded; 0: never had a limit */
    struct vt_sleds *sleds; /* while the module is read, also the next member */
    int asks; /* 1: the sleds of a function that is not recorded may be on, or a rule needs to see the events */
};

/* The modules; vt_filter_maps_known is the number of entries in use. */
extern struct vt_filter_map vt_filter_maps[VT_FILTER_MAPS] __attribute__((visibility("hidden")));
extern _Atomic uint32_t vt_filter_maps_known __attribute__((visibility("hidden")));
/* Bits of enum vt_function_rules; 0: every function is recorded. */
extern uint32_t vt_function_rules __attribute__((visibility("hidden")));
/* 1: vt_function_rules has its final value. */
extern int vt_filter_map_prepared __attribute__((visibility("hidden")));

/* Reads the module of a function, if possible now. Returns the rule of the function (enum vt_how and the values
   above). */
uint8_t vt_filter_map_learn(uintptr_t function);
/* Returns the entry of the module whose code contains the address, and reads the module if necessary; NULL: not
   possible now. */
struct vt_filter_map *vt_filter_map_of(uintptr_t code);
/* Reads the module that contains the address, again if it was read before. Returns 0 in a signal handler. */
int vt_filter_map_read(uintptr_t code);
/* Returns 1 if the calling thread may read modules: it is not in a signal handler. */
int vt_filter_map_may_read(void);
/* Reads the module that contains the address again, after the functions that are left out have changed. */
void vt_filter_map_again(uintptr_t code);
/* Replaces the patterns of VT_FUNCTIONS, and applies the new ones to all modules. */
void vt_filter_map_select(const char *patterns);
/* Returns the rule of a function whose byte is VT_SHARED. */
uint8_t vt_filter_map_shared(uintptr_t function);
/* Returns 1 if one more call of a function with a limit is recorded. */
int vt_filter_map_take(uintptr_t function);
/* Makes the hooks in all modules apply the rules from now on. */
void vt_hooks_apply_rules(void);
/* Like vt_passes, for functions outside the first two modules. */
int vt_passes_else(uintptr_t function, int leaves);
/* The hooks: vt_hook_* apply the rules, vt_record_* do not. site: address of the call, not used. */
void vt_hook_enter(void *function, void *site);
void vt_hook_exit(void *function, void *site);
void vt_record_enter(void *function, void *site);
void vt_record_exit(void *function, void *site);

/* Returns the entry of the module that contains the function; NULL: not read yet. */
static inline VT_GENERAL_REGISTERS struct vt_filter_map *vt_filter_map_find(uintptr_t function)
{
    uint32_t n = atomic_load_explicit(&vt_filter_maps_known, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        /* acquire: another module may have taken the entry of an unloaded one */
        uintptr_t bytes = __atomic_load_n(&vt_filter_maps[i].code.bytes, __ATOMIC_ACQUIRE);
        if (function - vt_filter_maps[i].code.start < bytes) return &vt_filter_maps[i];
    }
    return NULL;
}

/* Returns 1 if the event of a function is recorded. Call this function only if vt_function_rules is not 0. Most
   functions belong to the executable or to the first library with hooks: their maps are read without a call. */
static inline __attribute__((always_inline)) int vt_passes(uintptr_t function, int leaves)
{
    const struct vt_filter_map *m = vt_filter_maps;
    uint8_t how;
    uintptr_t bytes = __atomic_load_n(&m[0].code.bytes, __ATOMIC_ACQUIRE), at = function - m[0].code.start;
    if (VT_LIKELY(at < bytes)) how = m[0].code.map[at >> 4];
    else {
        bytes = __atomic_load_n(&m[1].code.bytes, __ATOMIC_ACQUIRE);
        at = function - m[1].code.start;
        if (at >= bytes) return vt_passes_else(function, leaves);
        how = m[1].code.map[at >> 4];
    }
    if (how == VT_FILTERED) return 0;
    if (how == VT_SHOWN && VT_LIKELY(!(vt_function_rules & VT_RULES_DEPTH))) return 1;
    return vt_levels_pass(function, leaves, how);
}

/* ---- left_out.c: functions that are left out since recording takes too much time (VT_BUDGET=...,N%) ---- */

/* Returns the rule of the function that is recorded by the address `place`: VT_FILTERED, VT_COUNTING, or VT_SHOWN if it is
   not left out. name, order: of its symbol, as in struct vt_slot_rule; filter_map.c calls this function and the next two
   while it reads a module. */
uint8_t vt_left_out_rule(uintptr_t place, const char *name, uint64_t order);
/* Returns the stub that counts the calls of a function of the patched module; NULL: its hook counts. */
const uint8_t *vt_left_out_stub(const struct vt_patch *p, uintptr_t place);
/* Notes the names while the module's file is mapped. */
void vt_left_out_names(void);
/* Counts a call. vt_left_out_call changes no vector register, and returns 0 if the other function must count the call. */
int vt_left_out_call(struct vt_location *l, uintptr_t place);
void vt_left_out_called(uintptr_t place);
/* Switches functions, after an event of a function. l: result of vt_location_to_record. */
void vt_switch_functions(struct vt_location *l);

/* Not 0: leaves are still on, since calls of their functions were open when the functions were switched off. */
extern _Atomic uint32_t vt_patch_waits;
/* Switches functions if that is due. */
static inline void vt_after_function(struct vt_location *l)
{
    if (VT_UNLIKELY(atomic_load_explicit(&vt_overhead_asks, memory_order_relaxed) ||
                    atomic_load_explicit(&vt_patch_waits, memory_order_relaxed)))
        vt_switch_functions(l);
}

/* ---- shared_slots.c ---- */

/* Rules of functions that are recorded by addresses within the same 16 bytes, while these bytes have one rule in the map
   of a module. A hash table by address; entries are added and changed under the lock of filter_map.c, and never
   removed. */

struct vt_slot_rule {
    uint8_t how;
    int32_t left; /* as in struct vt_filter_map */
    uint32_t reading; /* number of the reading of the module: a later one replaces the rule */
    uint64_t order; /* of several names at one address, the name of the lowest order has the rule */
};

/* Enters the rule of a function. Returns 0 if there is no memory. */
int vt_slot_set(uintptr_t function, const struct vt_slot_rule *rule);
/* Returns the rule of a function; NULL: none. */
struct vt_slot_rule *vt_slot_find(uintptr_t function);

/* ---- elf_file.c ---- */

/* The file of an executable or library, in memory. All functions check the offsets and sizes in the file. */

struct vt_elf {
    const char *file;
    size_t bytes;
    const ElfW(Sym) * symbols; /* these members: the table found last */
    size_t count;
    const char *strings;
    size_t string_bytes;
};

/* Returns a part of the file; NULL: the file is too short. */
const void *vt_elf_piece(const struct vt_elf *e, uint64_t offset, uint64_t bytes);
/* Finds the symbol table of a type: SHT_SYMTAB or SHT_DYNSYM. Returns 0 if there is none. */
int vt_elf_symbols(struct vt_elf *e, uint32_t type);
const char *vt_elf_name(const struct vt_elf *e, const ElfW(Sym) * s);
/* Returns a section by its name; NULL: none. */
const ElfW(Shdr) * vt_elf_section(const struct vt_elf *e, const char *name);
/* Returns the address, without the module's bias, that the loader fills with the address of a symbol; 0: none. */
uintptr_t vt_elf_slot(const struct vt_elf *e, const char *symbol);

/* ---- sleds.c ---- */

/* Records functions by their sleds: calls at the start of a function and before its end, which the compiler writes
   after inlining (csrc/hooks/sleds.s). sled_hooks_*.c has the hooks, core/frames.c the open calls of each thread,
   sleds.c the modules.

   In these files these rules always hold:
   - An enter adds a frame if its call is recorded. A leave records only the call of its own frame, so an enter that was not recorded gets no leave.
   - A frame whose function was left without a leave (exception, longjmp) is dead. Each landing and each event of the
     thread records the leaves of dead frames first.
   - Only the thread of a location changes its frames, while busy is set. */

#if defined(__x86_64__) || defined(__aarch64__)
#define VT_HAS_SLEDS 1
#else
#define VT_HAS_SLEDS 0
#endif

/* Returns the number of the thread's recorded open functions. */
uint32_t vt_frames_depth(const struct vt_location *l);
/* Decides about a call by the plain rules. code: address in the function. */
enum { VT_SLED_DROP, VT_SLED_RECORD, VT_SLED_ASK, VT_SLED_COUNT };
int vt_sled_judge(uintptr_t code);
/* Return 1 if nothing is left to do for the event; 0: call vt_sled_ask_enter or vt_sled_ask_leave. at: address of the
   function's return address. */
int vt_sled_enters(uintptr_t at, uintptr_t code);
int vt_sled_leaves(uintptr_t at);
/* Apply all rules. */
void vt_sled_entered(uintptr_t at, uintptr_t code);
void vt_sled_left(uintptr_t at, uintptr_t code);

/* Returns the sleds of the module with this code; NULL: none, or not attached yet. */
struct vt_sleds *vt_sleds_in(uintptr_t start, uintptr_t bytes);
/* Notes the sleds of the module with this address in its code. Returns 0 if the table is full. */
int vt_sleds_keep(struct vt_sleds *sleds, uintptr_t code);
/* Returns an address in the code of module number i < VT_SLED_MODULES; 0: there is none. */
#define VT_SLED_MODULES 1024u /* the sleds of further modules stay on, and their hooks apply the rules */
uintptr_t vt_sleds_code(uint32_t i);
/* Chooses the hooks of a module. asks: 1: a rule needs to see the events. */
void vt_sleds_use(struct vt_sleds *sleds, int asks);
/* Call this function after dlclose. */
void vt_sleds_forget_unloaded(void);

/* The hooks of struct vt_sleds. vt_sled_check_enter applies the plain rules first. */
void vt_sled_enter(void);
void vt_sled_leave(void);
void vt_sled_check_enter(void);
void vt_sled_ask_enter(void);
void vt_sled_ask_leave(void);
/* Called by vt_sleds_attach. */
void vt_sleds_found(struct vt_sleds *sleds);

/* ---- sled code ---- */

/* The instructions of sleds. The address of the bytes that switch a sled identifies the sled; one store changes these
   bytes, so no thread has to stop. sled_code_x86.c and sled_code_arm.c have the instructions of each processor. */

/* Returns the sled at the start of a function; NULL: there is none. */
uint8_t *vt_sled_first(const struct vt_sleds *sleds, uintptr_t function, size_t bytes);
/* Finds the next sled that calls `hook`. *code: start of the search; set to the end of the sled. Returns NULL if there
   is none: then *code is `end`, or the first instruction that is not known. */
uint8_t *vt_sled_next(const uint8_t **code, const uint8_t *end, const void *hook);

/* Returns the return address of the sled's call, by which the function is recorded. */
uintptr_t vt_sled_place(const uint8_t *sled, const void *hook);
/* Returns the sled of a place. */
uint8_t *vt_sled_of_place(uintptr_t place);

int vt_sled_is_on(const uint8_t *sled);
/* Returns 1 if a debugger's breakpoint hides the bytes that switch the sled. */
int vt_sled_is_hidden(const uint8_t *sled);
/* Switches a sled in writable code. */
void vt_sled_switch(uint8_t *sled, int on);

/* ---- The sleds of clang's -fxray-instrument, as clang writes them ---- */

enum vt_xray_kind { VT_XRAY_ENTER, VT_XRAY_EXIT, VT_XRAY_TAIL_EXIT, VT_XRAY_ENTER_WITH_ARGUMENTS };
#if defined(__x86_64__)
#define VT_XRAY_BYTES 11 /* length of a sled */
#else
#define VT_XRAY_BYTES 32
#endif

/* Returns 1 if a sled of this kind can be at the address. */
int vt_xray_is_sled(uint8_t kind, const uint8_t *at);
/* Returns 1 if a breakpoint hides the first instruction of the sled, which therefore must stay as it is. */
int vt_xray_is_hidden(uint8_t kind, const uint8_t *at);
/* Writes the bytes after the first instruction, which no thread executes, if the sled is as clang has written it. */
void vt_xray_prepare(uint8_t kind, uint8_t *at, const void *hook);
/* Writes the first instruction of a prepared sled, so that the sled calls the hook. */
void vt_xray_turn_on(uint8_t kind, uint8_t *at, const void *hook);

/* ---- patch.c: switches the sleds of functions in running code ---- */

struct vt_patch_list {
    struct vt_patch_site {
        uintptr_t at; /* address of the sled */
        uintptr_t place; /* vt_patch_place of the function */
        const void *target; /* that the sled calls from now on; NULL: it is switched on or off */
    } *sites;
    size_t n, room;
};

/* The changes of one module. The caller sets the first members, the others to 0. */
struct vt_patch {
    const struct vt_sleds *sleds;
    uintptr_t start, bytes; /* the module's code */
    struct vt_patch_list lists[4]; /* by enum vt_patch_step */
    uint32_t refused; /* number of functions that could not be switched */
};

/* The order of the changes: a call that is recorded must also find its leave. */
enum vt_patch_step { VT_PATCH_LEAVES_ON, VT_PATCH_ENTERS_ON, VT_PATCH_ENTERS_OFF, VT_PATCH_LEAVES_OFF };

/* Returns the address by which a function with sleds is recorded, which lies after its first sled; 0: the function has
   no sled at its start. */
uintptr_t vt_patch_place(const struct vt_sleds *sleds, uintptr_t function, size_t bytes);
/* Notes the changes to a function, or to a part that the compiler has moved away from it. stub: of a function that is off
   while its calls are counted; NULL: they are not. */
void vt_patch_function(struct vt_patch *p, uintptr_t function, size_t bytes, int on, const uint8_t *stub);
/* Changes the code. Returns 1 if all functions are switched as noted. */
int vt_patch_apply(struct vt_patch *p);
/* Makes the pages of this code writable, or read-only again. Returns 0 if the system refuses. */
int vt_patch_protect(uintptr_t start, uintptr_t bytes, int writable);
/* All processors see the changes made so far before the next ones. */
void vt_patch_settle(void);
/* Switches those leaves off whose functions have no open call any more (vt_patch_waits). */
void vt_patch_retry(void);
/* Switches the first sled of a function off. Safe in signal handlers. */
void vt_patch_enter_off(uintptr_t place);

/* ---- count_stubs.c: stubs that count the calls of functions ---- */

/* Makes a stub within the reach of the patched module; NULL: there is none. number: as in vt_counts_add. */
const uint8_t *vt_stub(const struct vt_patch *p, uint32_t number);
/* Return 1 if a sled calls a stub, or would if it were on; and if it may be turned to another target while it is on. */
int vt_sled_has_stub(const uint8_t *sled);
int vt_sled_may_turn(const struct vt_sleds *sleds, const uint8_t *sled);
/* Returns 1 if the process has other threads, which may be at the start of a function while several bytes change. */
int vt_has_threads(void);
/* Lets the sled call another target. */
void vt_sled_turn(uint8_t *sled, const void *target);
/* foreign.c: maps writable memory within the reach of calls from an address; NULL: there is none. */
void *vt_map_near(uintptr_t start, size_t bytes);

/* ---- xray.c: the sleds of clang's -fxray-instrument ---- */

/* Turns the sleds of a module into calls of on_enter and on_leave, as gcc writes them, which patch.c then switches. Call
   this function once for each module. Returns 0 if the code cannot be changed: the module's functions are not recorded.
   Source: LLVM, "XRay Instrumentation", and struct XRaySledEntry, version 2, of compiler-rt. */
int vt_xray_make_calls(const struct vt_sleds *sleds);

/* ---- x86_length.c ---- */

/* Returns the bytes of the instruction that begins at `code`; 0 if it is unknown or longer than `most` bytes. */
__attribute__((visibility("hidden"))) unsigned vt_x86_length(const uint8_t *code, size_t most);

/* ---- foreign.c ---- */

/* Sleds of programs that vtrace-cc has not compiled: -pg -mfentry, -fpatchable-function-entry, -fxray-instrument. These
   programs get a struct vt_sleds like that of csrc/hooks/sleds.s, in memory near the module. */

/* Turns the sleds of a module into calls as gcc writes them. bias: added to the file's addresses. start, bytes: the
   code. Returns NULL if the module has no such sleds, or if they cannot be changed; one line on stderr then says why.
   Call this function before the program's own code runs. */
struct vt_sleds *vt_foreign_sleds(struct vt_elf *e, uintptr_t bias, uintptr_t start, uintptr_t bytes);

/* Makes the module call vt_land where an exception ends. */
void vt_foreign_personality(const struct vt_elf *e, uintptr_t bias);

/* An enter hook of code without sleds at its returns jumps here first, with the address of the hook proper on the stack:
   the function will return to vt_sled_return. */
void vt_sled_take_return(void);

#pragma GCC visibility pop

#endif
