/* SPDX-License-Identifier: BSD-3-Clause */
#include "provider.h"
#include <string.h>

#define NAMES_BYTES 4096

/* Returns the number at the start of a text; 0: none. */
static uint64_t number(const char *text)
{
    uint64_t found = 0;
    for (; *text >= '0' && *text <= '9'; text++) found = 10 * found + (uint64_t)(*text - '0');
    return found;
}

/* Returns the maximum clock rate in MHz, as PAPI does: from cpufreq, or else the present rate in /proc/cpuinfo; 0:
   unknown. */
static uint64_t max_mhz(void)
{
    char text[2048], path[256];
    struct vt_text file = vt_text_into(path, sizeof path);
    vt_text_add(&file, vt_sysfs, "/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    if (vt_read_file(path, text, sizeof text) > 0) return number(text) / 1000;
    if (vt_read_file("/proc/cpuinfo", text, sizeof text) <= 0) return 0;
    const char *line = strstr(text, "cpu MHz");
    return line ? number(line + strcspn(line, "0123456789\n")) : 0;
}

void vt_define_host(struct vt_location *l)
{
    char text[NAMES_BYTES];
    struct vt_text t = vt_text_into(text, sizeof text);
    const uint64_t mhz = max_mhz();
    if (mhz) {
        vt_text_dec(&t, mhz);
        vt_define_property(l, "cpu_max_mhz", text);
    }
    t = vt_text_into(text, sizeof text);
    vt_pmu_names(VT_PMU_ROOT, &t);
    vt_pfm_names(&t);
    if (t.at == text) return;
    t.at[-1] = 0; /* the last blank */
    vt_define_property(l, "pmus", text);
}
