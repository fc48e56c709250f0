/* SPDX-License-Identifier: BSD-3-Clause */
/* Times on the clocks of hosts. */
#include "readback.h"

VT_EXPORT void vt_host_times(int64_t *times, uint64_t n, const int64_t *from, const int64_t *to, uint64_t knots)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        int64_t t = times[i];
        if (t < from[at] || t >= from[at + 1]) {
            uint64_t low = 0, high = knots - 1;
            while (high - low > 1) {
                uint64_t middle = low + (high - low) / 2;
                if (from[middle] <= t) low = middle;
                else high = middle;
            }
            at = low;
        }
        __int128 product = ((__int128)t - from[at]) * ((__int128)to[at + 1] - to[at]);
        __int128 run = (__int128)from[at + 1] - from[at], quotient = product / run;
        quotient += to[at] - (product < 0 && product % run);
        times[i] = quotient > INT64_MAX ? INT64_MAX : quotient < INT64_MIN ? INT64_MIN : (int64_t)quotient;
    }
}
