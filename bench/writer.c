/* SPDX-License-Identifier: BSD-3-Clause */
/* writer LIBRARY DIRECTORY EVENTS: the floor of unifying. libotf2 writes Enter and Leave in a loop, called by
   prototypes of this file, as in the kernel of vtunify. Prints the ns per event. Prototypes: OTF2 3.x manual, "OTF2
   archive", "event writer". */
#include <stdint.h>
#include "otf2_library.h"

typedef int (*enter_function)(void *writer, void *attributes, uint64_t time, uint32_t region);

static uint8_t flush(void *user, uint8_t type, uint64_t location, void *caller, _Bool final)
{
    (void)user, (void)type, (void)location, (void)caller, (void) final;
    return 1; /* OTF2_FLUSH */
}

int main(int argc, char **argv)
{
    if (argc != 4 || !(lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL))) return 2;
    long events = atol(argv[3]);
    /* clang-format off */
    struct { void *before, *after; } callbacks = {(void *)flush, NULL};
    void *(*open)(const char *, const char *, uint8_t, uint64_t, uint64_t, uint8_t, uint8_t) = find("OTF2_Archive_Open");
    /* clang-format on */
    int (*set_flush)(void *, const void *, void *) = find("OTF2_Archive_SetFlushCallbacks");
    int (*serial)(void *) = find("OTF2_Archive_SetSerialCollectiveCallbacks"),
                       (*open_events)(void *) = find("OTF2_Archive_OpenEvtFiles");
    void *(*get)(void *, uint64_t) = find("OTF2_Archive_GetEvtWriter");
    int (*close_writer)(void *, void *) = find("OTF2_Archive_CloseEvtWriter"),
                                     (*close)(void *) = find("OTF2_Archive_Close");
    enter_function enter = (enter_function)find("OTF2_EvtWriter_Enter"),
                   leave = (enter_function)find("OTF2_EvtWriter_Leave");
    void *archive = open(argv[2], "traces", 0, 1 << 20, 256 << 10, 1, 1);
    if (!archive || set_flush(archive, &callbacks, NULL) || serial(archive) || open_events(archive)) return 1;
    void *writer = get(archive, 0);
    double begin = now_ns(CLOCK_MONOTONIC);
    for (long i = 0; i < events; i += 2)
        if (enter(writer, NULL, (uint64_t)i, 3) || leave(writer, NULL, (uint64_t)i + 1, 3)) return 1;
    close_writer(archive, writer);
    printf("%.3f\n", (now_ns(CLOCK_MONOTONIC) - begin) / (double)events);
    close(archive);
    return 0;
}
