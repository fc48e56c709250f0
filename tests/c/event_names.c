/* SPDX-License-Identifier: BSD-3-Clause */
/* event_names pmu ROOT NAME...: prints type, config, config1 and config2 of events of the PMUs in the directory ROOT.
   event_names list ROOT: prints the events with files of their own.
   event_names find NAME...: the same as pmu for any event of this machine.
   event_names near NAME...: prints the names that are similar to NAME. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../csrc/core/sys.h"
#include "../../csrc/providers/provider.h"

static void print(const char *name, int is_known, const struct vt_perf_event *e)
{
    if (!is_known) printf("%s unknown\n", name);
    else
        printf("%s %u 0x%llx 0x%llx 0x%llx%s%s\n", name, e->type, (unsigned long long)e->config,
               (unsigned long long)e->config1, (unsigned long long)e->config2, e->without_user ? " not-user" : "",
               e->without_kernel ? " not-kernel" : "");
}

static void visit(const char *name, const char *terms, const struct vt_perf_event *event, void *data)
{
    (void)event, (void)data;
    printf("%s %s\n", name, terms);
}

/* Memory of exactly the length, so that a sanitizer reports any read beyond the name. */
static char *exactly(const char *name)
{
    size_t length = strlen(name);
    char *copy = malloc(length ? length : 1);
    memcpy(copy, name, length);
    return copy;
}

int main(int argc, char **argv)
{
    struct vt_perf_event event;
    struct vt_near near;
    const char *what = argc > 1 ? argv[1] : "";
    int is_pmu = !strcmp(what, "pmu"), is_near = !strcmp(what, "near");
    if (!strcmp(what, "list")) vt_pmu_each(argv[2], visit, NULL);
    else
        for (int i = is_pmu ? 3 : 2; i < argc; i++) {
            char *name = exactly(argv[i]);
            size_t length = strlen(argv[i]);
            if (is_near) {
                vt_near_begin(&near, name, length);
                vt_perf_add_names(&near);
                printf("%u %s\n", near.count, near.count ? near.names[0] : "");
            } else if (is_pmu) print(argv[i], vt_pmu_find(argv[2], name, length, &event), &event);
            else print(argv[i], vt_perf_find(name, length, &event), &event);
            free(name);
        }
    return 0;
}
