/* SPDX-License-Identifier: BSD-3-Clause */
/* reader LIBRARY ANCHOR LOCATION: the floor of reading. libotf2 reads all events of a location with callbacks that
   count Enter and Leave. Prints the ns of processor time per event. Prototypes: OTF2 3.x manual, "OTF2 reader", "event reader
   callbacks". */
#include <stdint.h>
#include "otf2_library.h"

typedef int (*of_pointer)(void *), (*of_two)(void *, void *);

static int count(uint64_t location, uint64_t time, uint64_t position, void *user, void *attributes, uint32_t region)
{
    (void)location, (void)time, (void)position, (void)attributes, (void)region;
    ++*(uint64_t *)user;
    return 0; /* OTF2_CALLBACK_SUCCESS */
}

int main(int argc, char **argv)
{
    if (argc != 4 || !(lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL))) return 2;
    uint64_t location = strtoull(argv[3], NULL, 10), counted = 0, events = 0;
    void *(*open)(const char *) = (void *(*)(const char *))find("OTF2_Reader_Open");
    void *(*callbacks_new)(void) = (void *(*)(void))find("OTF2_EvtReaderCallbacks_New");
    void *(*get)(void *, uint64_t) = (void *(*)(void *, uint64_t))find("OTF2_Reader_GetEvtReader");
    int (*select)(void *, uint64_t) = (int (*)(void *, uint64_t))find("OTF2_Reader_SelectLocation");
    int (*use)(void *, void *, void *, void *) =
        (int (*)(void *, void *, void *, void *))find("OTF2_Reader_RegisterEvtCallbacks");
    int (*read)(void *, void *, uint64_t *) =
        (int (*)(void *, void *, uint64_t *))find("OTF2_Reader_ReadAllLocalEvents");
    void *archive = open(argv[2]), *callbacks = callbacks_new();
    ((of_two)find("OTF2_EvtReaderCallbacks_SetEnterCallback"))(callbacks, (void *)count);
    ((of_two)find("OTF2_EvtReaderCallbacks_SetLeaveCallback"))(callbacks, (void *)count);
    if (!archive || ((of_pointer)find("OTF2_Reader_SetSerialCollectiveCallbacks"))(archive)) return 1;
    if (select(archive, location) || ((of_pointer)find("OTF2_Reader_OpenEvtFiles"))(archive)) return 1;
    void *reader = get(archive, location);
    if (!reader || use(archive, reader, callbacks, &counted)) return 1;
    double begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (read(archive, reader, &events) || !counted) return 1;
    printf("%.3f\n", (now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)events);
    return 0;
}
