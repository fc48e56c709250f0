/* SPDX-License-Identifier: BSD-3-Clause */
/* Landings of exceptions in programs that vtrace-cc has not linked (csrc/hooks/personality.h). The loader has stored the
   address of the personality routine in the module; the routine here takes its place. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/mman.h>
#include <unwind.h>
#include "funwrap.h"

typedef _Unwind_Reason_Code personality(int, _Unwind_Action, _Unwind_Exception_Class, struct _Unwind_Exception *,
                                        struct _Unwind_Context *);

static _Unwind_Word (*cfa_of)(struct _Unwind_Context *); /* in libgcc_s, which libvtrace.so.1 does not need */

#define NAMES(X) X(__gxx_personality_v0) X(__gcc_personality_v0)

#define ROUTINE(name)                                                                                                  \
    static personality *real_##name;                                                                                   \
    static _Unwind_Reason_Code own_##name(int version, _Unwind_Action actions, _Unwind_Exception_Class class,          \
                                          struct _Unwind_Exception *exception, struct _Unwind_Context *context)        \
    {                                                                                                                  \
        _Unwind_Reason_Code result = real_##name(version, actions, class, exception, context);                         \
        if (result == _URC_INSTALL_CONTEXT) vt_land(cfa_of(context));                                                  \
        return result;                                                                                                 \
    }
NAMES(ROUTINE)

/* Stores `own` where the loader has stored the address of the symbol. *real: the address found so far. */
static void replace(const struct vt_elf *e, uintptr_t bias, const char *symbol, personality *own, personality **real)
{
    uintptr_t slot = vt_elf_slot(e, symbol);
    personality *found;
    *(void **)&found = dlsym(RTLD_NEXT, symbol); /* not the jump to the routine that a program without PIE has */
    if (!slot || !found || (*real && *real != found)) return;
    /* the linker may have let the loader protect the page after it had stored the address */
    uintptr_t page = vt_process.page_size ? vt_process.page_size : VT_PAGE, at = (bias + slot) & ~(page - 1);
    if (VT_SYS3(mprotect, at, page, PROT_READ | PROT_WRITE) < 0) return;
    *real = found;
    *(personality **)(bias + slot) = own;
}

void vt_foreign_personality(const struct vt_elf *e, uintptr_t bias)
{
    *(void **)&cfa_of = dlsym(RTLD_DEFAULT, "_Unwind_GetCFA");
    if (!cfa_of) return;
#define REPLACE(name) replace(e, bias, #name, own_##name, &real_##name);
    NAMES(REPLACE)
}
