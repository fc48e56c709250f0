/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the functions to which rules of a filter apply, by the symbol tables of modules with hooks. The result is one
   byte for every 16 bytes of code, so that the hook of a function that is not recorded reads this byte and returns
   (csrc/hooks). The executable and the libraries loaded with it are read before the program's own code runs; later
   modules are read at their first event.
   Memory order: `bytes` is stored last, with release, so a hook that loads `bytes` with acquire sees the map. The
   number of entries alone is not enough: another module may reuse an entry. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "funwrap.h"

#define HOOK "__cyg_profile_func_enter"
#define SLEDS "vt_sleds_attach" /* csrc/hooks/sleds.s refers to this symbol */
#define HOOK_INSIDE "vt_inside" /* csrc/hooks refers to this symbol; its hooks are not dynamic symbols */
#define AHEAD 8 /* symbols between a prefetch and its use */
#define NO_PLACE UINT32_MAX
#define VT_UNNAMED 255 /* no rule */

struct vt_filter_map vt_filter_maps[VT_FILTER_MAPS];
_Atomic uint32_t vt_filter_maps_known;
uint32_t vt_function_rules;
int vt_filter_map_prepared;

static uint64_t blocked_at_start; /* signal mask */
static int functions_read; /* 1: a module with functions that can be recorded was read */
static int has_name_rules; /* 1: the names of functions decide */
static int preparing; /* 1: the program's own code does not run yet */
static _Atomic uint32_t learning; /* lock: one thread appends to the table */

/* ---- Names ---- */

static char *(*demangle)(const char *, char *, size_t *, int *);
static char *room; /* buffer of the demangler, protected by `learning`; reused for each module */
static size_t room_bytes;
static int may_load; /* 1: the demangler may be loaded; protected by `learning` */

/* Finds the demangler of the C++ runtime: that of the program or its libraries, or else that of the system. */
static void find_demangler(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    for (int i = 0; !demangle && i < 2; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL | (may_load ? 0 : RTLD_NOLOAD));
        if (library) *(void **)&demangle = dlsym(library, "__cxa_demangle");
    }
}

struct reading { /* one module that is being read */
    struct vt_elf elf;
    uintptr_t bias;
    int stays; /* 1: the module is the executable, which is never unloaded */
    int fortran, attaches; /* attaches: 1: the module itself attaches its sleds */
    struct vt_sleds *sleds; /* NULL: none, or not attached yet */
    uint32_t *places; /* for each symbol the distance from the start of the code to the address by which the function is
                         recorded; NO_PLACE: the symbol is not a function of this code */
    char plain[VT_NAME_BYTES], shortened[VT_NAME_BYTES], outlined[VT_NAME_BYTES];
};

/* Returns the length of the name without the suffixes that compilers add to clones and parts of a function:
   .constprop.0, .part.1, .cold */
static size_t without_clone(const char *name)
{
    static const char *const known[] = {".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm", ".specialized"};
    for (const char *dot = *name ? strchr(name + 1, '.') : NULL; dot; dot = strchr(dot + 1, '.'))
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (!strncmp(dot, known[i], strlen(known[i]))) return (size_t)(dot - name);
    return strlen(name);
}

/* Finds the names of a symbol without suffixes as vtunify shows them (src/vtrace/symbols/demangle.py). vtunify detects
   Fortran by debug information; this function detects Fortran by the symbols of the Fortran runtime. A filter may
   therefore name a Fortran function with its underscore, too. */
static void find_names(struct reading *r, struct vt_names_of *f)
{
    size_t n = strlen(r->plain);
    int status = -1;
    char *module = !strncmp(r->plain, "__", 2) ? strstr(r->plain + 2, "_MOD_") : NULL;
    if (!strncmp(r->plain, "_Z", 2)) {
        if (!demangle) find_demangler();
        if (!demangle) return;
        char *text = demangle(r->plain, room, room ? &room_bytes : NULL, &status);
        if (!text || status) return;
        if (text != room) room_bytes = strlen(text) + 1;
        room = text;
        f->names[0] = text;
        vt_names_shorten(f, r->shortened, sizeof r->shortened);
    } else if (module) { /* gfortran: __MODULE_MOD_NAME */
        struct vt_text t = vt_text_into(r->shortened, sizeof r->shortened);
        *module = 0;
        vt_text_add(&t, r->plain + 2, "::", module + 5);
        *module = '_';
        f->names[1] = r->shortened;
    } else if (r->fortran && n < sizeof r->shortened) { /* name_, or name.0 for a contained procedure */
        memcpy(r->shortened, r->plain, n + 1);
        char *dot = strrchr(r->shortened, '.');
        if (dot && dot > r->shortened) *dot = 0;
        for (n = strlen(r->shortened); n > 1 && r->shortened[n - 1] == '_'; n--) r->shortened[n - 1] = 0;
        f->names[1] = r->shortened;
    }
}

/* Finds the names of a function. Returns 0 if the symbol has no usable name. The body of a construct of OpenMP, which the
   compiler has taken out of its function, has the function's name before its own suffix: solve(long)._omp_fn.0 */
static int names_of(struct reading *r, const char *symbol, struct vt_names_of *f)
{
    size_t n = without_clone(symbol);
    if (!n || n >= sizeof r->plain) return 0;
    memcpy(r->plain, symbol, n);
    r->plain[n] = 0;
    *f = (struct vt_names_of){.names = {r->plain}, .mangled = r->plain, .group = "Application"};
    char *suffix = strstr(r->plain + 1, "._omp_fn.");
    if (!suffix) suffix = strstr(r->plain + 1, ".omp_outlined");
    if (suffix) *suffix = 0;
    find_names(r, f);
    if (!suffix) return 1;
    *suffix = '.';
    const char *function = f->names[0] == r->plain ? f->names[1] : f->names[0];
    if (!function) return 1;
    struct vt_text t = vt_text_into(r->outlined, sizeof r->outlined);
    vt_text_add(&t, function, suffix);
    f->names[0] = r->plain;
    f->names[1] = r->outlined;
    return 1;
}

/* ---- The symbol table ---- */

/* Returns 1 if the module calls the hooks, or if its sleds are known. Other modules have no function events, or none
   yet, and are not read, to save time. */
static int has_hooks(struct reading *r)
{
    int hooks = r->sleds != NULL;
    for (size_t i = 0; i < r->elf.count; i++) {
        const char *name = vt_elf_name(&r->elf, &r->elf.symbols[i]);
        hooks |= !strcmp(name, HOOK) || !strcmp(name, HOOK_INSIDE);
        r->attaches |= !strcmp(name, SLEDS);
        r->fortran |= !strncmp(name, "_gfortran_", 10) || !strncmp(name, "_FortranA", 9);
    }
    return hooks;
}

/* Returns the number of calls that is left of a limit, as in struct vt_filter_map. */
static int32_t left_of(int64_t limit) { return limit <= 0 ? 0 : limit >= INT32_MAX ? INT32_MAX : (int32_t)limit + 1; }

/* Marks the 16 bytes of the address by which a function is recorded. If two functions with different rules are recorded
   there, or two with limits, the byte becomes VT_SHARED, and both functions get an entry (shared_slots.c). */
static void mark(struct vt_filter_map *m, uint8_t *map, uint32_t slot, const struct vt_slot_rule *rule,
                 uintptr_t function, uint8_t *taken)
{
    uint8_t *byte = &map[slot], bit = (uint8_t)(1 << slot % 8);
    if (!(taken[slot / 8] & bit) || (*byte == rule->how && *byte != VT_LIMITED)) {
        *byte = rule->how;
        if (m->left) m->left[slot] = rule->left;
    } else if (vt_slot_set(function, rule)) /* the second pass of mark_all adds the function that came first */
        *byte = VT_SHARED;
    taken[slot / 8] |= bit;
}

static int is_iteration(const struct vt_names_of *f)
{
    int is = 0;
    for (unsigned i = 0; i < VT_NAMES_MOST && f->names[i]; i++) is |= vt_keep_is_name(f->names[i]);
    return is;
}

/* Returns the rule of a function. *limit: number of calls that are recorded, for VT_LIMITED. */
static uint8_t rule_of(const struct vt_names_of *f, int64_t *limit)
{
    uint8_t bits = vt_window_bits(f->names, VT_NAMES_MOST);
    *limit = -1;
    if (!bits && is_iteration(f)) return VT_SHOWN;
    int selected = vt_functions_select(f);
    *limit = bits || selected ? vt_filter_limit(f) : 0;
    return bits ? bits : *limit < 0 ? VT_SHOWN : *limit ? VT_LIMITED : VT_FILTERED;
}

/* Returns a symbol. Linkers order global symbols by a hash: without the prefetch of later functions, each read of a
   function's code waits for memory. */
static const ElfW(Sym) * symbol_at(const struct reading *r, size_t i)
{
    const ElfW(Sym) *s = &r->elf.symbols[i];
    if (r->sleds && r->elf.count - i > AHEAD) __builtin_prefetch((const void *)(r->bias + s[AHEAD].st_value));
    return s;
}

static uint32_t place_of(const struct reading *r, const struct vt_filter_map *m, const ElfW(Sym) * s)
{
    uintptr_t function = r->bias + s->st_value, place = 0;
    int type = s->st_info & 15;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !s->st_shndx || function - m->code.start >= m->code.bytes)
        return NO_PLACE;
    if (r->sleds && s->st_size <= m->code.bytes - (function - m->code.start))
        place = vt_patch_place(r->sleds, function, s->st_size);
    return (uint32_t)((place ? place : function) - m->code.start);
}

static void find_places(struct reading *r, struct vt_filter_map *m)
{
    for (size_t i = 0; i < r->elf.count; i++) r->places[i] = place_of(r, m, symbol_at(r, i));
}

/* Of several functions at one address, vtunify shows the name of the first one in this order: global, weak, local, then
   by the place in the table of names (src/vtrace/symbols/symbols.py). */
static uint64_t order_of(const ElfW(Sym) * s)
{
    int binding = s->st_info >> 4;
    uint64_t rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : binding == STB_LOCAL ? 2 : 3;
    return rank << 32 | s->st_name;
}

/* Returns the rule of a symbol's function, as rule_of; 0: it has no usable name. */
static uint8_t rule_of_symbol(struct reading *r, const ElfW(Sym) * s, uintptr_t place, int64_t *limit)
{
    struct vt_names_of f;
    const char *name = vt_elf_name(&r->elf, s);
    const uint8_t left_out = vt_left_out_rule(place, name, order_of(s));
    *limit = left_out == VT_SHOWN ? -1 : 0;
    if (!has_name_rules || left_out == VT_FILTERED) return left_out;
    if (!names_of(r, name, &f)) return VT_UNNAMED;
    if (is_iteration(&f)) vt_code_iteration(place);
    const uint8_t how = rule_of(&f, limit);
    if (left_out == VT_SHOWN) return how;
    *limit = 0;
    return how == VT_SHOWN ? left_out : VT_FILTERED; /* the calls beyond a limit do not count */
}

static void mark_all(struct reading *r, struct vt_filter_map *m, uint8_t *map)
{
    static uint32_t readings; /* protected by `learning` */
    size_t slots = m->code.bytes / 16 + 1;
    uint8_t *taken = vt_pages(slots / 8 + 1);
    readings++;
    /* second pass: adds the functions that came before their byte became VT_SHARED */
    for (int again = 0; taken && again < 2; again++)
        for (size_t i = 0; i < r->elf.count; i++) {
            const ElfW(Sym) *s = &r->elf.symbols[i];
            uintptr_t place = m->code.start + r->places[i];
            uint32_t slot = r->places[i] / 16;
            int64_t limit;
            if (r->places[i] == NO_PLACE || (again && map[slot] != VT_SHARED)) continue;
            if (s->st_size < 16 && place == r->bias + s->st_value) continue; /* too small to contain hooks */
            const uint8_t how = rule_of_symbol(r, s, place, &limit);
            if (how == VT_UNNAMED) continue;
            struct vt_slot_rule rule = {.how = how, .reading = readings, .order = order_of(s)};
            rule.left = left_of(limit);
            if (again) vt_slot_set(place, &rule);
            else mark(m, map, slot, &rule, place, taken);
            m->asks |= rule.how != VT_SHOWN && rule.how != VT_FILTERED && rule.how != VT_COUNTING;
        }
    if (taken) VT_SYS2(munmap, taken, slots / 8 + 1);
}

/* Switches the sleds of the module's functions. */
static void switch_all(const struct reading *r, struct vt_filter_map *m)
{
    struct vt_patch p = {.sleds = r->sleds, .start = m->code.start, .bytes = m->code.bytes};
    for (size_t i = 0; i < r->elf.count; i++) {
        const ElfW(Sym) *s = symbol_at(r, i);
        uintptr_t function = r->bias + s->st_value, place = m->code.start + r->places[i];
        if (r->places[i] == NO_PLACE || place == function) continue;
        uint8_t how = m->code.map[r->places[i] / 16];
        if (how == VT_SHARED) how = vt_filter_map_shared(place);
        const uint8_t *stub = how == VT_COUNTING ? vt_left_out_stub(&p, place) : NULL;
        if (how == VT_COUNTING && !stub) m->asks = 1;
        else vt_patch_function(&p, function, s->st_size, how != VT_FILTERED && !stub, stub);
    }
    m->asks |= !vt_patch_apply(&p);
}

/* ---- Modules that other threads may unload ---- */

struct visit {
    struct reading *r;
    struct vt_filter_map *m;
    void (*use)(struct reading *, struct vt_filter_map *);
    int done;
};

static int visit(struct dl_phdr_info *info, size_t bytes, void *data)
{
    struct visit *v = data;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum && !v->done; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || info->dlpi_addr + p->p_vaddr != v->m->code.start) continue;
        if (p->p_memsz != v->m->code.bytes) return 1;
        v->use(v->r, v->m);
        v->done = 1;
    }
    return v->done;
}

/* Calls a function that uses the module's memory. The loader unmaps no module during dl_iterate_phdr. The function must
   neither allocate nor call the loader, since a thread that holds the loader's other lock may wait for this one.
   Returns 0 if the module is no longer loaded. */
static int while_loaded(struct reading *r, struct vt_filter_map *m,
                        void (*use)(struct reading *, struct vt_filter_map *))
{
    struct visit v = {.r = r, .m = m, .use = use};
    if (!r->stays) {
        dl_iterate_phdr(visit, &v);
        return v.done;
    }
    use(r, m);
    return 1;
}

static void read_symbols(struct reading *r, struct vt_filter_map *m)
{
    size_t slots = m->code.bytes / 16 + 1;
    if (!vt_elf_symbols(&r->elf, SHT_SYMTAB)) {
        vt_elf_symbols(&r->elf, SHT_DYNSYM);
        m->asks = 1; /* functions without a name */
    }
    if (m->code.bytes >= NO_PLACE || !(r->places = vt_pages(r->elf.count * sizeof *r->places + 1))) return;
    if (!while_loaded(r, m, find_places)) return;
    uint8_t *map = vt_pages(slots);
    m->left = vt_pages(slots * sizeof *m->left);
    if (!map) return;
    if (!vt_functions_select(NULL)) memset(map, VT_FILTERED, slots);
    m->code.map = map;
    mark_all(r, m, map);
}

/* Maps the module's file, and reads the rules of the module's functions into m. */
static void read_module(struct reading *r, struct vt_filter_map *m, const char *path)
{
    struct stat s;
    long fd = vt_open(path, O_RDONLY, 0), p = -1;
    if (fd >= 0 && VT_SYS2(fstat, fd, &s) >= 0 && s.st_size > 0) {
        r->elf.bytes = (size_t)s.st_size;
        p = VT_SYS6(mmap, 0, r->elf.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) VT_SYS1(close, fd);
    if (p < 0 && p > -4096) return;
    r->elf.file = (const char *)p;
    r->sleds = m->sleds = vt_sleds_in(m->code.start, m->code.bytes);
    int reads = vt_elf_symbols(&r->elf, SHT_DYNSYM) && has_hooks(r);
    if (preparing && vt_functions_chosen() && !r->sleds && !r->attaches) {
        r->sleds = m->sleds = vt_foreign_sleds(&r->elf, r->bias, m->code.start, m->code.bytes);
        if (r->sleds) reads = vt_sleds_keep(r->sleds, m->code.start);
    }
    if (reads) read_symbols(r, m);
    functions_read |= reads;
}

static void end_reading(struct reading *r)
{
    if (r->places) VT_SYS2(munmap, r->places, r->elf.count * sizeof *r->places + 1);
    if (r->elf.file) VT_SYS2(munmap, r->elf.file, r->elf.bytes);
}

/* ---- Modules ---- */

struct mapped_module {
    uintptr_t start, bytes, bias;
    int is_program;
    char path[VT_PATH];
};

struct module_walk {
    struct mapped_module *modules;
    uint32_t n, most;
    uintptr_t address; /* 0: note all modules */
};

static int note(struct dl_phdr_info *info, size_t bytes, void *data)
{
    struct module_walk *w = data;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum && w->n < w->most; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || (w->address && w->address - start >= p->p_memsz)) continue;
        struct mapped_module *m = &w->modules[w->n++];
        struct vt_text t = vt_text_into(m->path, sizeof m->path);
        m->start = start;
        m->bytes = p->p_memsz;
        m->bias = info->dlpi_addr;
        m->is_program = !*info->dlpi_name;
        vt_text_add(&t, *info->dlpi_name ? info->dlpi_name : "/proc/self/exe");
    }
    return w->n == w->most;
}

/* Returns the entry of the module if the module was read before; else a free entry, or a new one. */
static uint32_t entry_for(uintptr_t start)
{
    uint32_t n = atomic_load(&vt_filter_maps_known), found = n;
    for (uint32_t i = n; i > 0; i--) {
        if (vt_filter_maps[i - 1].code.start == start) return i - 1;
        if (!vt_filter_maps[i - 1].code.start) found = i - 1;
    }
    return found;
}

/* Publishes the result of reading a module. The store of `bytes` (release) is last, so a thread that loads `bytes` sees
   all other fields. */
static void publish(uint32_t n, const struct vt_filter_map *m)
{
    int depth = (vt_function_rules & VT_RULES_DEPTH) != 0;
    vt_filter_maps[n].left = m->left;
    vt_filter_maps[n].code.start = m->code.start;
    vt_filter_maps[n].code.map = m->code.map;
    vt_filter_maps[n].code.enter = depth ? vt_hook_enter : vt_record_enter;
    vt_filter_maps[n].code.leave = depth ? vt_hook_exit : vt_record_exit;
    vt_filter_maps[n].code.ask_enter = vt_hook_enter;
    vt_filter_maps[n].code.ask_leave = vt_hook_exit;
    __atomic_store_n(&vt_filter_maps[n].code.bytes, m->code.bytes, __ATOMIC_RELEASE);
    if (n == atomic_load(&vt_filter_maps_known))
        atomic_store_explicit(&vt_filter_maps_known, n + 1, memory_order_release);
}

static void drop(const struct vt_filter_map *m)
{
    size_t slots = m->code.bytes / 16 + 1;
    VT_SYS2(munmap, m->code.map, slots);
    if (m->left) VT_SYS2(munmap, m->left, slots * sizeof *m->left);
}

/* Copies the rules of a module that is read again into the memory of its rules, which hooks may be reading. The count
   of a limit continues. */
static void replace(struct vt_filter_map *old, const struct vt_filter_map *m)
{
    size_t slots = m->code.bytes / 16 + 1;
    uint8_t *map = (uint8_t *)(uintptr_t)old->code.map;
    for (size_t i = 0; i < slots; i++) {
        if (old->left && m->left && !old->left[i]) old->left[i] = m->left[i];
        VT_SET(map[i], m->code.map[i]);
    }
    drop(m);
}

/* Switches the module's sleds, and publishes the rules. Requires that the module is loaded: the next module at this
   address must not find its rules. */
static void use_rules(struct reading *r, struct vt_filter_map *m)
{
    uint32_t n = entry_for(m->code.start);
    struct vt_filter_map *old = &vt_filter_maps[n];
    if (n == VT_FILTER_MAPS) return;
    if (r->places && r->sleds) switch_all(r, m);
    if (VT_READ(old->code.bytes) == m->code.bytes && old->code.start == m->code.start) replace(old, m);
    else publish(n, m);
    if (m->sleds) vt_sleds_use(m->sleds, m->asks);
}

/* Reads the module that contains the address; 0: reads all loaded modules. Requires the lock `learning`. */
static void learn(uintptr_t address)
{
    static struct reading r; /* protected by `learning` */
    struct module_walk w = {.most = address ? 1 : VT_FILTER_MAPS, .address = address};
    size_t bytes = w.most * sizeof *w.modules;
    if (!(w.modules = vt_pages(bytes))) return;
    dl_iterate_phdr(note, &w);
    for (uint32_t i = 0; i < w.n && entry_for(w.modules[i].start) < VT_FILTER_MAPS; i++) {
        struct vt_filter_map m = {.code = {.bytes = w.modules[i].bytes, .start = w.modules[i].start}};
        memset(&r, 0, offsetof(struct reading, plain));
        r.bias = w.modules[i].bias;
        r.stays = w.modules[i].is_program;
        read_module(&r, &m, w.modules[i].path);
        if (!m.code.map && address) m.code.map = vt_pages(m.code.bytes / 16 + 1);
        if (m.code.map && !while_loaded(&r, &m, use_rules)) drop(&m);
        vt_left_out_names();
        end_reading(&r);
    }
    VT_SYS2(munmap, w.modules, bytes);
}

/* Reads the modules again that have been read, and all that have sleds. Others are read at their first event. */
static void learn_again(void)
{
    uint32_t n = atomic_load(&vt_filter_maps_known);
    uintptr_t code;
    for (uint32_t i = 0; i < n; i++)
        if (VT_READ(vt_filter_maps[i].code.bytes)) learn(vt_filter_maps[i].code.start);
    for (uint32_t i = 0; i < VT_SLED_MODULES; i++)
        if ((code = vt_sleds_code(i)) && !vt_filter_map_find(code)) learn(code);
}

/* Reads modules without recording the allocations of the demangler. address 0: all modules. again 1: also a module that
   was read before; with address 0 only such modules. change: called first. change NULL: the program has not requested
   the reading, so no library is loaded for it. */
static void learn_unheard(uintptr_t address, int again, void (*change)(const char *), const char *argument)
{
    uint64_t mask;
    vt_lock(&learning, &mask);
    const struct vt_own_work work = vt_own_work_begin();
    may_load = change != NULL;
    if (change) change(argument);
    if (!address && again) learn_again();
    else if (!address || again || !vt_filter_map_find(address)) learn(address);
    vt_own_work_end(&work);
    vt_unlock(&learning, &mask);
}

static void no_change(const char *argument) { (void)argument; }

/* Returns 1 if a signal handler may be running, which must not allocate: more signals are blocked than at the thread's
   first event, or at the start of the program. The program may have blocked these signals itself. */
static int may_be_handler(void)
{
    uint64_t mask = 0;
    VT_SYS4(rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
    return (mask & ~(vt_own_location ? vt_own_location->blocked : blocked_at_start)) != 0;
}

struct vt_filter_map *vt_filter_map_of(uintptr_t code)
{
    struct vt_filter_map *m = vt_filter_map_find(code);
    if (m || may_be_handler()) return m;
    learn_unheard(code, 0, NULL, NULL);
    return vt_filter_map_find(code);
}

/* In a signal handler the function of an unread module is recorded. The next event outside a handler reads the
   module. */
uint8_t vt_filter_map_learn(uintptr_t function)
{
    struct vt_filter_map *m = vt_filter_map_of(function);
    return m ? m->code.map[(function - m->code.start) / 16] : VT_SHOWN;
}

uint8_t vt_filter_map_shared(uintptr_t function)
{
    const struct vt_slot_rule *rule = vt_slot_find(function);
    return rule ? VT_READ(rule->how) : VT_SHOWN;
}

int vt_filter_map_take(uintptr_t function)
{
    struct vt_filter_map *m = vt_filter_map_find(function);
    if (!m) return 1;
    size_t slot = (function - m->code.start) / 16;
    struct vt_slot_rule *rule = VT_READ(m->code.map[slot]) == VT_SHARED ? vt_slot_find(function) : NULL;
    int32_t *left = rule ? &rule->left : m->left ? &m->left[slot] : NULL;
    return !left || (VT_READ(*left) > 1 && __atomic_fetch_sub(left, 1, __ATOMIC_RELAXED) > 1);
}

static int look_for(struct dl_phdr_info *info, size_t bytes, void *loaded)
{
    uint8_t *is_loaded = loaded;
    uint32_t n = atomic_load(&vt_filter_maps_known);
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++)
        for (uint32_t m = 0; m < n; m++)
            if (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == vt_filter_maps[m].code.start) is_loaded[m] = 1;
    return 0;
}

/* Runs after dlclose: the loader may map another module where the unloaded module was. */
static void forget_unloaded(void)
{
    uint8_t is_loaded[VT_FILTER_MAPS] = {0};
    uint32_t n = atomic_load(&vt_filter_maps_known);
    if (!n) return;
    dl_iterate_phdr(look_for, is_loaded);
    for (uint32_t m = 0; m < n; m++) {
        if (is_loaded[m]) continue;
        VT_SET(vt_filter_maps[m].code.bytes, 0);
        VT_SET(vt_filter_maps[m].code.start, 0);
    }
}

/* Runs when the rank becomes known: other rules of the filter may apply to this rank. Functions that are switched off
   have no event that would read their module again. */
static void read_again(void)
{
    if (vt_function_rules & VT_RULES_FILTER) learn_unheard(0, 1, no_change, NULL);
}

int vt_filter_map_read(uintptr_t code)
{
    if (may_be_handler()) return 0;
    learn_unheard(code, 1, no_change, NULL);
    return 1;
}

/* A fork waits until no thread reads modules: else the child has the loader's lock of dl_iterate_phdr for good. */
static uint64_t mask_at_fork;

static void before_fork(void)
{
    uint64_t mask;
    vt_lock(&learning, &mask);
    mask_at_fork = mask;
}

static void after_fork(void)
{
    uint64_t mask = mask_at_fork;
    vt_unlock(&learning, &mask);
}

/* The rules change while the program runs. */
static void use_filter(const char *unused)
{
    static int prepared; /* protected by `learning` */
    (void)unused;
    if (!prepared) pthread_atfork(before_fork, after_fork, after_fork);
    prepared = 1;
    vt_function_rules |= VT_RULES_FILTER;
}

static void set_patterns(const char *patterns)
{
    if (!vt_functions_set(patterns)) vt_warn("no memory for the functions to select: all are recorded");
    has_name_rules = 1;
    use_filter(NULL);
}

int vt_filter_map_may_read(void) { return !may_be_handler(); }

void vt_filter_map_again(uintptr_t code) { learn_unheard(code, 1, use_filter, NULL); }

void vt_filter_map_select(const char *patterns) { learn_unheard(0, 1, set_patterns, patterns); }

/* Runs before the program's own code, since the demangler allocates: no other thread has to wait, and no signal handler
   interrupts. */
__attribute__((constructor)) static void prepare(void)
{
    const char *spec = vt_setting_text("VT_FILTER_SPEC"), *groups = vt_setting_text("VT_GROUPS_SPEC"),
               *depth = vt_setting_text("VT_MAX_STACK_DEPTH"), *functions = vt_setting_text("VT_FUNCTIONS"),
               *iteration = vt_setting_text("VT_ITERATION");
    const char *from = vt_setting_text("VT_START_AFTER"), *to = vt_setting_text("VT_STOP_AFTER");
    int windows = (from && strchr(from, ':')) || (to && strchr(to, ':'));
    vt_filter_map_prepared = 1;
    vt_levels_start();
    VT_SYS4(rt_sigprocmask, SIG_BLOCK, NULL, &blocked_at_start, 8);
    if (!(spec && *spec) && !(groups && *groups) && !(depth && *depth) && !(functions && *functions) && !windows &&
        !(iteration && *iteration))
        return;
    /* locks need the pid; the constructor that stores it may run later */
    vt_process.pid = (uint32_t)VT_SYS0(getpid);
    const struct vt_own_work work = vt_own_work_begin();
    vt_text_start();
    vt_settings_read(&vt_process.set);
    vt_window_prepare();
    vt_groups_load();
    if (vt_process.set.max_stack_depth) vt_function_rules |= VT_RULES_DEPTH;
    vt_functions_set(vt_process.set.functions);
    if (vt_filter_load() || vt_window_watches || vt_functions_chosen() || *vt_process.set.iteration) {
        has_name_rules = 1;
        preparing = 1;
        learn_unheard(0, 0, no_change, NULL);
        preparing = 0;
        vt_function_rules |= VT_RULES_FILTER;
        vt_filter_on_change(read_again);
    }
    vt_own_work_end(&work);
}

/* A mistyped pattern records nothing, so this function prints a message: not in forked processes, and at the first rank
   only. */
__attribute__((destructor)) static void tell_missed(void)
{
    if (!functions_read || !vt_functions_missed() || vt_process.pid != (uint32_t)VT_SYS0(getpid)) return;
    if (vt_process.head.rank && vt_process.head.rank != VT_NO_RANK) return;
    vt_say(1,
           "no function of the program matches VT_FUNCTIONS; names are those of vtrace summary, and a stripped program "
           "has none");
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static struct vt_call call = {.name = "dlclose"};
    __typeof__(dlclose) *real = vt_call_next(&call);
    int result = real(handle);
    vt_code_forget_unloaded();
    forget_unloaded();
    vt_sleds_forget_unloaded();
    return result;
}
