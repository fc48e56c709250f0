/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel_counters SYSFS NAME...: prints for each name the counter's unit, mode, scope and value, with SYSFS as the root
   of sysfs; "unknown", or "error N" if the counter cannot be read. */
#include <stdio.h>
#include <string.h>
#include "../../csrc/providers/provider.h"

int main(int argc, char **argv)
{
    vt_sysfs = argv[1];
    for (int i = 2; i < argc; i++) {
        struct vt_counter found;
        struct vt_provider_state state;
        uint64_t value = 0;
        memset(&found, 0, sizeof found);
        memset(&state, 0, sizeof state);
        if (!vt_kernel_counters.find(argv[i], strlen(argv[i]), &found)) {
            puts("unknown");
            continue;
        }
        long r = vt_kernel_counters.read(&found, 1, &state, &value);
        if (r < 0) printf("error %ld\n", -r);
        else printf("%s %c %d %llu\n", found.unit, found.mode, (int)found.scope, (unsigned long long)value);
    }
    return 0;
}
