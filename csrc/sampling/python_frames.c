/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the frames of CPython 3.11, 3.12 and 3.13 in the memory of its own process. Their layouts are those of
   CPython's Include/internal/pycore_frame.h and Include/cpython/code.h; 3.13 states its own in _PyRuntime
   (_Py_DebugOffsets). A handler may interrupt the interpreter at any instruction, so each address is checked before it
   is read, and each code object and text by its type. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include "sampling.h"

#define PAGE 4096u /* right for larger pages, too */
#define PAGES 64u /* entries that a reader remembers */
#define MOST_TEXT (VT_PYTHON_TEXT / 4) /* characters of a name or path */
#define MOST_TABLE 49152u /* bytes of a table of lines: with both texts less than a chunk */
#define MOST_STEPS (2 * VT_SAMPLE_FRAMES) /* frames, with those that only mark */
#define C_STACK 3 /* owner of a frame that only marks where C calls the interpreter (3.12, 3.13) */
#define LARGEST_OFFSET 4096u

/* Offsets of members in bytes. */
struct layout {
    uint32_t thread_frame; /* PyThreadState: current_frame, or cframe */
    uint32_t cframe_frame; /* _PyCFrame: current_frame */
    uint32_t has_cframe;
    uint32_t code, previous, instruction, owner; /* _PyInterpreterFrame */
    uint32_t is_entry; /* _PyInterpreterFrame; 0: frames of the owner C_STACK mark entries */
    uint32_t filename, qualname, firstlineno, linetable, instructions; /* PyCodeObject */
    uint32_t ascii, compact; /* bytes before the characters of a text */
};

static const struct layout python_3_11 = {56, 8, 1, 32, 48, 56, 69, 68, 112, 128, 72, 136, 184, 48, 72};
static const struct layout python_3_12 = {56, 0, 1, 0, 8, 56, 70, 0, 112, 128, 68, 136, 192, 40, 56};

/* PyObject: ob_type; PyUnicodeObject: length, state; PyBytesObject: ob_size, ob_sval. */
enum { TYPE = 8, LENGTH = 16, STATE = 32, SIZE = 16, BYTES = 32 };

static struct {
    struct layout at;
    void *(*thread_state)(void);
    uintptr_t code_type, text_type, bytes_type;
    uintptr_t interpreter, interpreter_bytes; /* _PyEval_EvalFrameDefault */
} python;
static _Atomic int known; /* 1: `python` is complete */

/* ---- Finding CPython ---- */

/* Reads the layout of 3.13 out of _PyRuntime. Returns 0 if the interpreter is built in another way. */
static int layout_of_3_13(struct layout *at)
{
    enum { COOKIE, VERSION, FREE_THREADED, CURRENT_FRAME = 23, PREVIOUS = 29, EXECUTABLE, INSTRUCTION, OWNER = 33 };
    enum { FILENAME = 35, QUALNAME = 37, LINETABLE, FIRST_LINE, INSTRUCTIONS = 43, OBJECT_TYPE = 45, MOST = 46 };
    uint64_t words[MOST];
    const void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    if (!runtime) return 0;
    memcpy(words, runtime, sizeof words);
    if (memcmp(words, "xdebugpy", 8) || words[FREE_THREADED] || words[OBJECT_TYPE] != TYPE) return 0;
    for (unsigned i = CURRENT_FRAME; i < MOST; i++)
        if (words[i] > LARGEST_OFFSET) return 0;
    *at = (struct layout){.ascii = python_3_12.ascii, .compact = python_3_12.compact};
    at->thread_frame = (uint32_t)words[CURRENT_FRAME];
    at->code = (uint32_t)words[EXECUTABLE];
    at->previous = (uint32_t)words[PREVIOUS];
    at->instruction = (uint32_t)words[INSTRUCTION];
    at->owner = (uint32_t)words[OWNER];
    at->filename = (uint32_t)words[FILENAME];
    at->qualname = (uint32_t)words[QUALNAME];
    at->linetable = (uint32_t)words[LINETABLE];
    at->firstlineno = (uint32_t)words[FIRST_LINE];
    at->instructions = (uint32_t)words[INSTRUCTIONS];
    return 1;
}

static int find_layout(struct layout *at)
{
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    switch (version ? *version >> 16 : 0) {
    case 0x30b: *at = python_3_11; return 1;
    case 0x30c: *at = python_3_12; return 1;
    case 0x30d: return layout_of_3_13(at);
    default: return 0;
    }
}

static void find_python(void)
{
    static _Atomic int told;
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;
    void *interpreter = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    if (atomic_load(&known) || !interpreter) return;
    const char *(*version)(void);
    *(void **)&version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
    *(void **)&python.thread_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    python.code_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
    python.text_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    python.bytes_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyBytes_Type");
    int good = python.thread_state && python.code_type && python.text_type && python.bytes_type;
    good = good && dladdr1(interpreter, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol && symbol->st_size;
    if (good && find_layout(&python.at)) {
        python.interpreter = (uintptr_t)interpreter;
        python.interpreter_bytes = symbol->st_size;
        atomic_store(&known, 1);
    } else if (!atomic_exchange(&told, 1)) {
        const char *text = version ? version() : "unknown"; /* 3.10.13 (main, ... */
        vt_warn("samples of Python %.*s have the frames of its interpreter, not those of Python functions",
                (int)strcspn(text, " "), text);
    }
}

void vt_find_python(void)
{
    const struct vt_own_work work = vt_own_work_begin(); /* dlsym allocates if it does not find a name */
    find_python();
    vt_own_work_end(&work);
}

int vt_runs_python(void) { return atomic_load_explicit(&known, memory_order_acquire); }

/* ---- Checked loads ---- */

struct page_reader {
    uintptr_t readable[PAGES]; /* pages that were found readable for this sample; 0: none */
};

static int can_read(struct page_reader *r, uintptr_t from, size_t bytes)
{
    if (!from || from + bytes < from) return 0;
    for (uintptr_t page = from & ~(uintptr_t)(PAGE - 1); page < from + bytes; page += PAGE) {
        uintptr_t *at = &r->readable[page / PAGE % PAGES];
        if (page && *at == page) continue;
        if (!vt_is_readable(page)) return 0;
        *at = page;
    }
    return 1;
}

static __attribute__((no_sanitize_address)) int load(struct page_reader *r, uintptr_t from, void *value, size_t bytes)
{
    if (!can_read(r, from, bytes)) return 0;
    for (size_t i = 0; i < bytes; i++) ((char *)value)[i] = ((const char *)from)[i];
    return 1;
}

static int load_address(struct page_reader *r, uintptr_t from, uintptr_t *value)
{
    return load(r, from, value, sizeof *value);
}

static int is_of_type(struct page_reader *r, uintptr_t object, uintptr_t type)
{
    uintptr_t found;
    return object && object % 8 == 0 && load_address(r, object + TYPE, &found) && found == type;
}

/* ---- Code objects ---- */

static size_t put_utf8(char *into, uint32_t c)
{
    if (c < 0x80) return *into = (char)c, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; --i; c >>= 6) into[i] = (char)(0x80 | (c & 0x3f));
    *into = (char)(0xf0 << (4 - n) | c);
    return n;
}

/* Stores a text of Python as UTF-8; surrogates, which UTF-8 lacks, as question marks. Returns its bytes, 0 for none. */
static size_t load_text(struct page_reader *r, uintptr_t object, char *into)
{
    uint64_t length;
    uint32_t state;
    size_t n = 0;
    if (!is_of_type(r, object, python.text_type)) return 0;
    if (!load(r, object + LENGTH, &length, 8) || !load(r, object + STATE, &state, 4)) return 0;
    unsigned bytes = state >> 2 & 7, compact = state >> 5 & 1, ascii = state >> 6 & 1;
    if (!compact || (bytes != 1 && bytes != 2 && bytes != 4)) return 0;
    uintptr_t from = object + (ascii ? python.at.ascii : python.at.compact);
    for (uint64_t i = 0; i < length && i < MOST_TEXT; i++) {
        uint32_t c = 0;
        if (!load(r, from + i * bytes, &c, bytes)) return 0;
        n += put_utf8(into + n, c > 0x10ffff || (c & ~0x7ffu) == 0xd800 ? '?' : c);
    }
    return n;
}

/* Defines a code object. Returns its id; 0 if there is no room, or if the object is damaged. */
static uint32_t define(struct vt_location *l, struct vt_python *p, struct page_reader *r,
                       const struct vt_python_code *c)
{
    uintptr_t path;
    uint64_t bytes;
    size_t length = load_text(r, c->name, p->name);
    if (!length || !load_address(r, c->code + python.at.filename, &path)) return 0;
    size_t file_length = load_text(r, path, p->file);
    if (!is_of_type(r, c->table, python.bytes_type) || !load(r, c->table + SIZE, &bytes, 8)) return 0;
    if (bytes > MOST_TABLE || !can_read(r, c->table + BYTES, bytes)) bytes = 0;
    uint64_t id = vt_new_id(VT_ID_PYTHON_CODE);
    if (!id) return 0;
    int defined = vt_define_at(l, VT_D_PYTHON_CODE, vt_number(id), vt_string_of(p->name, length),
                               vt_string_of(p->file, file_length), vt_number(c->line),
                               vt_bytes((const void *)(c->table + BYTES), bytes));
    return defined ? (uint32_t)id : 0;
}

/* Returns the id of a code object, and defines the object if it is new; 0: none. */
static uint32_t id_of(struct vt_location *l, struct vt_python *p, struct page_reader *r, uintptr_t code)
{
    struct vt_python_code now = {.code = code}, *c = &p->known[(code >> 4 ^ code >> 16) % VT_PYTHON_KNOWN];
    if (!is_of_type(r, code, python.code_type)) return 0;
    if (!load_address(r, code + python.at.qualname, &now.name)) return 0;
    if (!load_address(r, code + python.at.linetable, &now.table)) return 0;
    if (!load(r, code + python.at.firstlineno, &now.line, sizeof now.line)) return 0;
    if (c->code == code && c->name == now.name && c->table == now.table && c->line == now.line) return c->id;
    now.id = define(l, p, r, &now);
    if (now.id) *c = now;
    return now.id;
}

/* ---- Frames ---- */

/* The place of a frame as in the record of a sample; 0 if the frame is not that of a function. */
static uint64_t frame_of(struct vt_location *l, struct vt_python *p, struct page_reader *r, uintptr_t frame)
{
    uintptr_t code, instruction;
    if (!load_address(r, frame + python.at.code, &code)) return 0;
    if (!load_address(r, frame + python.at.instruction, &instruction)) return 0;
    uint64_t id = id_of(l, p, r, code), unit = (instruction - (code + python.at.instructions)) / 2;
    if (!id) return 0;
    /* before the first instruction */
    if (unit > VT_PYTHON_UNIT_MASK) unit = 0;
    return VT_FRAME_PYTHON | id << VT_PYTHON_UNIT_BITS | unit;
}

/* Stores the frames of Python functions, innermost first, with a 0 after the frames of each call of the interpreter.
   Returns the number of frames and zeros; *calls: number of calls. */
static uint32_t collect(struct vt_location *l, struct vt_python *p, uint32_t *calls)
{
    struct page_reader r = {{0}};
    uintptr_t at = (uintptr_t)python.thread_state();
    uint32_t n = 0;
    *calls = 0;
    if (!at || !load_address(&r, at + python.at.thread_frame, &at)) return 0;
    if (python.at.has_cframe && !load_address(&r, at + python.at.cframe_frame, &at)) return 0;
    /* while the interpreter ends, released frames may form a circle */
    for (unsigned i = 0; at && i < MOST_STEPS && n + 2 <= VT_SAMPLE_FRAMES; i++) {
        uintptr_t frame = at;
        uint8_t owner, is_entry = 0;
        if (!load(&r, frame + python.at.owner, &owner, 1)) break;
        if (python.at.is_entry && !load(&r, frame + python.at.is_entry, &is_entry, 1)) break;
        int marks = !python.at.is_entry && owner == C_STACK;
        uint64_t place = marks ? 0 : frame_of(l, p, &r, frame);
        if (place) p->frames[n++] = place;
        if ((marks || is_entry) && n) p->frames[n++] = 0, ++*calls;
        if (!load_address(&r, frame + python.at.previous, &at)) break;
    }
    return n;
}

/* The range of the interpreter's code, as offsets in frames. */
static void interpreter_in(const struct vt_code_map *map, uint64_t *begin, uint64_t *end)
{
    const struct vt_code_range *range = vt_code_range_of(map, python.interpreter);
    int has_slot = range && range->slot != VT_CODE_UNKNOWN;
    *begin = has_slot ? range->slot + (python.interpreter - range->begin) : python.interpreter | VT_OPEN_ADDRESS;
    *end = *begin + python.interpreter_bytes;
}

/* Appends the frames of the next call of the interpreter. Returns the next index. */
static uint32_t append_call(const struct vt_python *p, uint32_t from, uint32_t have, uint64_t *frames, uint32_t *n)
{
    for (; from < have && p->frames[from]; from++)
        if (*n < VT_SAMPLE_FRAMES) frames[(*n)++] = p->frames[from];
    return from + 1;
}

uint32_t vt_python_replace(struct vt_location *l, struct vt_python *p, const struct vt_code_map *map, uint64_t *frames,
                           uint32_t n, enum vt_sample_end end)
{
    uint32_t calls, next = 0, natives = 0, made = 0;
    uint64_t begin, behind;
    if (!atomic_load(&known) || !map) return n;
    uint32_t have = collect(l, p, &calls);
    if (!have) return n;
    interpreter_in(map, &begin, &behind);
    memcpy(p->native, frames, n * sizeof *frames);
    for (uint32_t i = 0; i < n; i++) natives += p->native[i] - begin < behind - begin;
    /* A complete stack is matched from its outermost end: the innermost call may not have a frame of its own yet. */
    uint32_t early = end == VT_SAMPLE_COMPLETE && natives > calls ? natives - calls : 0;
    uint32_t late = end == VT_SAMPLE_COMPLETE && calls > natives ? calls - natives : 0;
    for (uint32_t i = 0; i < n && made < VT_SAMPLE_FRAMES; i++) {
        if (p->native[i] - begin >= behind - begin) frames[made++] = p->native[i];
        else if (early) early--;
        else
            for (late++; late && next < have; late--) next = append_call(p, next, have, frames, &made);
    }
    /* Beyond code without unwind information the Python functions are still known. */
    while (next < have) next = append_call(p, next, have, frames, &made);
    return made;
}
