/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level timers: an object Performance::Timed measures its scope, Performance::Timers::show() prints the times of each
   label as JSON. The interface is that of the recipe "User-Level Timers"; its perf.cc is not needed.

   With -DVTRACE, as vtrace-cxx -DVTRACE sets it for vt_user.h, each Timed is also a region of the trace, with its bytes and
   flops as counters: vtrace timers --format perf.hh prints the same JSON from the trace. C++11; threads of OpenMP. */
#ifndef PERF_HH
#define PERF_HH

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iomanip>
#include <limits>
#include <map>
#include <mutex>
#include <ostream>
#include <string>
#include <utility>
#include <vector>
#ifdef VTRACE
#include <vt_user.h>
#define PERF_INLINE_ VT_USER_INLINE_ /* a region belongs to the function with the Timed, not to one of these */
#else
#define PERF_INLINE_
#endif

#ifdef _OPENMP
#include <omp.h>
#else
#include <chrono>
inline double omp_get_wtime()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline int omp_get_max_threads() { return 1; }
inline int omp_get_num_threads() { return 1; }
inline int omp_get_thread_num() { return 0; }
#endif

namespace Performance
{
/* One call. t0, t1: its start and end, s (omp_get_wtime). */
struct PerfData {
    double t0, t1, bytes, flops;
    PerfData(double begin, uint64_t bytes_, uint64_t flops_) : t0(begin), t1(begin), bytes(bytes_), flops(flops_) {}
};

/* n calls: the shortest, the longest, their sum s, and v, the sum of (x - s / n) squared; s. Each call changes v by the
   formula of the GROMACS manual, chapter Averages and fluctuations. */
struct PerfAvg {
    double min, max, s, v;
    int n;
    explicit PerfAvg(double x) : min(x), max(x), s(x), v(0), n(1) {}
    void add(double x)
    {
        min = std::min(min, x);
        max = std::max(max, x);
        v += (s - n * x) * (s - n * x) / (n * (n + 1.0));
        s += x;
        n += 1;
    }
};

struct Timers {
    /* Adds a call to those of its label and this thread, if the timers are on. */
    static void append(const std::string &label, PerfData &&call)
    {
        if (!is_on()) return;
        Thread &own = threads()[omp_get_thread_num() % threads().size()];
        std::lock_guard<std::mutex> lock(own.mutex); /* threads of two teams may have the same number */
        Calls &calls = own.labels[label];
        std::pair<double, double> size(call.bytes, call.flops);
        Calls::iterator found = calls.find(size);
        double seconds = call.t1 - call.t0;
        if (found == calls.end()) calls.insert(std::make_pair(size, PerfAvg(seconds)));
        else found->second.add(seconds);
    }

    /* Prints a list with an object for each thread: label -> list of Bytes, Flops, Calls, Min, Max, Avg, Stddev (s). */
    static void show(std::ostream &os)
    {
        std::ios_base::fmtflags flags = os.flags();
        std::streamsize digits = os.precision(std::numeric_limits<double>::max_digits10);
        os.unsetf(std::ios_base::floatfield);
        const char *before_thread = "[ ";
        for (Thread &thread : threads()) {
            os << before_thread << "{";
            before_thread = ", ";
            const char *before_label = " ";
            for (const std::pair<const std::string, Calls> &label : thread.labels) {
                os << before_label << quoted(label.first) << ": [";
                before_label = " , ";
                show(os, label.second);
                os << "\n ]\n";
            }
            os << " }\n";
        }
        os << "]\n";
        os.precision(digits);
        os.flags(flags);
    }

    static void on() { is_on() = true; }
    static void off() { is_on() = false; }

    static std::atomic<bool> &is_on()
    {
        static std::atomic<bool> state(false);
        return state;
    }

  private:
    typedef std::map<std::pair<double, double>, PerfAvg> Calls; /* by bytes and flops */
    struct Thread {
        std::mutex mutex;
        std::map<std::string, Calls> labels;
    };

    static std::vector<Thread> &threads()
    {
        static std::vector<Thread> all(static_cast<std::size_t>(std::max(1, omp_get_max_threads())));
        return all;
    }

    static void show(std::ostream &os, const Calls &calls)
    {
        const char *before = "";
        for (const std::pair<const std::pair<double, double>, PerfAvg> &size : calls) {
            const PerfAvg &x = size.second;
            os << before << "\n  { \"Bytes\": " << size.first.first << ", \"Flops\": " << size.first.second
               << ", \"Calls\": " << x.n << ", \"Min\": " << x.min << ", \"Max\": " << x.max
               << ", \"Avg\": " << x.s / x.n << ", \"Stddev\": " << std::sqrt(x.v / x.n) << " }";
            before = ",";
        }
    }

    static std::string quoted(const std::string &text)
    {
        std::string found = "\"";
        for (char c : text) {
            char code[8];
            if (static_cast<unsigned char>(c) < ' ') {
                std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
                found += code;
            } else {
                if (c == '"' || c == '\\') found += '\\';
                found += c;
            }
        }
        return found + '"';
    }
};

/* Measures the time from its construction to the end of its scope. Give the object a name: one without a name ends at
   once. bytes, flops: what the scope moves and computes. file, line: of the object, by the compiler. */
class Timed
{
  public:
    PERF_INLINE_ Timed(const std::string &label_, uint64_t bytes, uint64_t flops, const char *file = __builtin_FILE(),
                       int line = __builtin_LINE())
        : label(label_), traced(Timers::is_on()), call(0, bytes, flops)
    {
        enter(bytes, flops, file, line);
        call.t0 = omp_get_wtime();
    }
    PERF_INLINE_ ~Timed()
    {
        call.t1 = omp_get_wtime();
        leave();
        Timers::append(label, std::move(call));
    }
    Timed(const Timed &) = delete;
    Timed &operator=(const Timed &) = delete;

  private:
    const std::string label;
    const bool traced; /* the region of the trace has begun */
    PerfData call;

#ifdef VTRACE
    PERF_INLINE_ void enter(uint64_t bytes, uint64_t flops, const char *file, int line)
    {
        static const unsigned bytes_id = VT_COUNT_DEF("Bytes", "bytes", VT_COUNT_TYPE_UNSIGNED, VT_COUNT_DEFGROUP);
        static const unsigned flops_id = VT_COUNT_DEF("Flops", "flop", VT_COUNT_TYPE_UNSIGNED, VT_COUNT_DEFGROUP);
        if (!traced) return;
        VT_USER_START_AT_(label.c_str(), file, line);
        if (bytes) VT_COUNT_UNSIGNED_VAL(bytes_id, bytes);
        if (flops) VT_COUNT_UNSIGNED_VAL(flops_id, flops);
    }
    PERF_INLINE_ void leave()
    {
        if (traced) VT_USER_END(label.c_str());
    }
#else
    void enter(uint64_t, uint64_t, const char *, int) {}
    void leave() {}
#endif
};
} // namespace Performance

#endif
