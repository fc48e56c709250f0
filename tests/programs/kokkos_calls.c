/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays Kokkos: loads the library in KOKKOS_TOOLS_LIBS and calls its kokkosp_ functions as Kokkos 4 does. With OLD it
   reads KOKKOS_PROFILE_LIBRARY, as Kokkos 3.4 does. */
#define _GNU_SOURCE
#include "program.h"

#ifdef OLD
#define VARIABLE "KOKKOS_PROFILE_LIBRARY"
#else
#define VARIABLE "KOKKOS_TOOLS_LIBS"
static const char *const volatile old = "KOKKOS_PROFILE_LIBRARY"; /* of which Kokkos 4 warns */
#endif

struct space {
    char name[64];
};
static void *library;

static void *find(const char *name)
{
    char full[80];
    snprintf(full, sizeof full, "kokkosp_%s", name);
    void *found = dlsym(library, full);
    if (!found) exit(4);
    return found;
}

#define CALL(name, type, ...) ((void(*) type)find(name))(__VA_ARGS__)
#define NAMED(name, text) CALL(name, (const char *), text)
#define NUMBERED(name, number) CALL(name, (uint32_t), number)

static void kernel(const char *kind, const char *label)
{
    char name[64];
    uint64_t number = 1;
    snprintf(name, sizeof name, "begin_%s", kind);
    CALL(name, (const char *, uint32_t, uint64_t *), label, 0, &number);
    snprintf(name, sizeof name, "end_%s", kind);
    CALL(name, (uint64_t), number);
}

int main(void)
{
    const char *path = getenv(VARIABLE);
    library = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!library) return 3;
#ifndef OLD
    if (getenv(old)) return 5;
#endif
    const struct space host = {"Host"}, device = {"Cuda"};
    unsigned char settings[256] = {1};
    CALL("init_library", (int, uint64_t, uint32_t, void *), 0, 20211015, 0, NULL);
    CALL("request_tool_settings", (uint32_t, void *), 1, settings);
    if (settings[0]) return 6; /* no fences for vtrace */
    NAMED("push_profile_region", "step");
    for (int i = 0; i < 10; i++) {
        kernel("parallel_for", "axpy");
        kernel("parallel_reduce", "dot");
        kernel("parallel_scan", "");
        kernel("fence", "Kokkos::fence");
    }
    NAMED("pop_profile_region", NULL);
    CALL("allocate_data", (struct space, const char *, void *, uint64_t), host, "x", settings, 1000);
    CALL("allocate_data", (struct space, const char *, void *, uint64_t), device, "y", settings, 4000);
    CALL("begin_deep_copy", (struct space, const char *, void *, struct space, const char *, void *, uint64_t), device,
         "y", settings, host, "x", settings, 800);
    CALL("end_deep_copy", (void), );
    CALL("deallocate_data", (struct space, const char *, void *, uint64_t), host, "x", settings, 1000);
    uint32_t one = 0, two = 0;
    CALL("create_profile_section", (const char *, uint32_t *), "assembly", &one);
    CALL("create_profile_section", (const char *, uint32_t *), "solve", &two);
    NUMBERED("start_profile_section", one);
    NUMBERED("start_profile_section", two);
    NUMBERED("stop_profile_section", one);
    NUMBERED("stop_profile_section", two);
    NAMED("profile_event", "converged");
    CALL("finalize_library", (void), );
    return 0;
}
