/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampling: a timer signals each thread, and the handler records the stack of the thread.

   This folder is a part of libvtrace.so.1, above csrc/core. sampler.c owns the signal and the state of each sampled
   thread, sample_timers.c the timers, code_map.c the modules, unwind_rules.c the rules of their code. These rules always
   hold: the program gets no thread of vtrace; the handler calls no malloc, takes no lock of the program, waits for none
   but that of its location's chunks, and keeps errno; the path of events does not depend on samples; signal masks and
   other signals of the program never change, except SIGIO (core/signal.c). */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "sampling.h"

#define SMALL_STACK 16384u /* bytes; the handler leaves alternate stacks that are smaller */
#define OWN_STACK 65536u /* bytes; the kernel gives memory to the pages in use */

/* The state of a sampled thread. The stream refers to the frames of the previous sample, so there are two arrays. */
struct sampler {
    struct vt_sample_timer timer;
    struct vt_unwinder unwinder;
    struct vt_python python;
    struct sampler *next; /* list of all samplers of the process */
    _Atomic uint32_t handled; /* stored at the end of the handler, loaded by a thread that takes over the location */
    unsigned turn; /* index of the frames of the next sample */
    uint64_t frames[2][VT_SAMPLE_FRAMES];
    uint64_t values[VT_GROUP_WORDS]; /* values of counters at the current sample */
    _Alignas(16) char stack[OWN_STACK]; /* of the handler, in place of a small alternate stack */
};

/* NULL: the thread is not sampled. Other threads call this function, too. */
static struct sampler *sampler_of(const struct vt_location *l) { return VT_READ(l->slot[VT_SLOT_SAMPLER]); }

#define LEAST_TIME 100000 /* ns between two samples, as VT_SAMPLE_RATE allows */
#define LEAST_COUNT 10000 /* period of a processor event: a signal and its handler cost thousands of cycles */

static struct vt_sample_rate rate;
static _Atomic int on; /* 1: threads are sampled */
static _Atomic int is_taken; /* 1: the program uses the signal for itself */
static size_t event_length; /* length of the name in VT_SAMPLE_EVENT */
static struct sampler *_Atomic samplers; /* samplers of all threads so far; never freed */
/* In a forked child, before its first record: begins recording when the child has run for a period. */
static struct vt_sample_timer child = {.id = -1};
static int child_stopped; /* 1: before exec */

/* ---- The handler ---- */

void vt_sample_take(struct vt_location *l, const void *context, uint64_t weight, uint32_t overruns)
{
    struct sampler *s = sampler_of(l);
    struct vt_sample sample = {.weight = weight, .overruns = overruns, .frames = s->frames[s->turn]};
    struct vt_registers at = {0, 0, 0};
    sample.values = s->values;
    sample.nvalues = vt_groups_sample(l, s->values);
    sample.ticks = vt_now();
#if defined(__x86_64__)
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    at = (struct vt_registers){(uintptr_t)registers[REG_RIP], (uintptr_t)registers[REG_RSP],
                               (uintptr_t)registers[REG_RBP]};
#else
    (void)context;
#endif
    const struct vt_code_map *map = vt_code_map_enter();
    sample.nframes = vt_unwind(&s->unwinder, map, at, s->frames[s->turn], &sample.end);
    /* the frame of the unknown code, which may have called known code: memset, for example */
    const uint64_t unknown = s->frames[s->turn][sample.nframes - 1] & ~(uint64_t)(VT_OPEN_ADDRESS | VT_FRAME_OWN);
    const int is_unknown = sample.end == VT_SAMPLE_NO_TABLE;
    sample.nframes = vt_python_replace(l, &s->python, map, s->frames[s->turn], sample.nframes, sample.end);
    vt_code_map_leave();
    if (is_unknown) vt_code_map_extend((uintptr_t)unknown);
    vt_samples_put(l, &sample);
    s->turn ^= 1;
}

/* The signals wait, for the handler uses the same memory. */
uint32_t vt_sample_stack(struct vt_location *l, struct vt_registers frame, uintptr_t *addresses, uint32_t most)
{
    struct sampler *s = sampler_of(l);
    enum vt_sample_end end;
    uint64_t mask;
    uint32_t found = 0;
    if (!s || !atomic_load(&on)) return 0;
    vt_hold_signals(&mask);
    uint64_t *frames = s->frames[s->turn];
    const struct vt_code_map *map = vt_code_map_enter();
    uint32_t n = vt_unwind(&s->unwinder, map, frame, frames, &end);
    n = vt_python_replace(l, &s->python, map, frames, n, end);
    for (uint32_t i = 0; i < n && found < most; i++) {
        const uint64_t at = frames[i] & ~(uint64_t)(VT_OPEN_ADDRESS | VT_FRAME_OWN);
        const int is_address = (frames[i] & (VT_OPEN_ADDRESS | VT_FRAME_PYTHON)) != 0;
        addresses[found] = is_address ? (uintptr_t)at : vt_code_address((uint32_t)at);
        found += addresses[found] != 0;
    }
    vt_code_map_leave();
    vt_release_signals(&mask);
    return found;
}

/* Returns 1 if the kernel has called the handler on an alternate stack that may be too small for taking a sample. */
static int is_on_small_stack(const void *context)
{
    const stack_t *stack = &((const ucontext_t *)context)->uc_stack;
    return stack->ss_size < SMALL_STACK && (uintptr_t)context - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/* Takes a sample on the stack of the sampler. The kernel restores all registers after the handler. */
static void take_on_own_stack(struct vt_location *l, const void *context, uint64_t weight, uint32_t overruns)
{
#if defined(__x86_64__)
    char *end = sampler_of(l)->stack + OWN_STACK;
    __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %[end], %%rsp\n\tcall *%[take]\n\tmovq %%rbx, %%rsp"
                     : "+D"(l), "+S"(context), "+d"(weight), "+c"(overruns)
                     : [end] "r"(end), [take] "r"(vt_sample_take)
                     : "rax", "rbx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#else
    vt_sample_take(l, context, weight, overruns);
#endif
}

/* Returns 1 if the signal has come at the end of a system call: the processor puts the address behind the instruction of
   the call into RCX. The kernel goes back to the instruction, of two bytes, if the call starts again. */
static int is_in_call(const void *context)
{
#if defined(__x86_64__)
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    return registers[REG_RCX] == registers[REG_RIP] || registers[REG_RCX] == registers[REG_RIP] + 2;
#else
    (void)context;
    return 0;
#endif
}

int vt_sample_is_on(void) { return atomic_load(&on); }

/* Returns the timer of the calling thread, which may not be made. */
static struct vt_sample_timer *own_timer(void)
{
    struct vt_location *l = vt_own_location;
    return l && l->in_use && sampler_of(l) ? &sampler_of(l)->timer : &child;
}

static int is_ours(const siginfo_t *info)
{
    if (!rate.signal || info->si_signo != rate.signal) return 0;
    if (rate.clock != VT_SAMPLE_CLOCK_PERF) return info->si_code == SI_TIMER && info->si_value.sival_ptr == &rate;
    int has_code = info->si_code == POLL_IN || info->si_code == POLL_HUP;
    return has_code && (info->si_fd == own_timer()->id || info->si_fd == child.id);
}

static void interrupted(const siginfo_t *info, void *context)
{
    struct vt_location *l = vt_own_location;
    if (atomic_load(&vt_process.state) >= VT_ENDED) return;
    if (!l || !l->in_use) {
        vt_location_of_thread(0); /* begins to sample the thread */
        return;
    }
    struct sampler *s = sampler_of(l);
    if (!s || !atomic_load(&on) || VT_READ(l->vforked)) return;
    const uint64_t begin = vt_process.set.overhead ? vt_now() : 0;
    uint32_t overruns = info->si_code == SI_TIMER && info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0;
    uint64_t weight = vt_sample_timer_next(&s->timer, &rate, overruns);
    if (rate.clock == VT_SAMPLE_CLOCK_CPU && is_in_call(context))
        VT_SET(l->samples.in_calls, l->samples.in_calls + weight);
    if (vt_window_is_due(vt_now())) vt_window_apply(NULL);
    int left_out = atomic_load(&vt_process.off) || atomic_load(&vt_process.unsampled);
    if (!left_out) (is_on_small_stack(context) ? take_on_own_stack : vt_sample_take)(l, context, weight, overruns);
    if (!left_out && !vt_in_sleeping_call && !is_on_small_stack(context)) vt_off_core_at_sample(l);
    /* at the end: an event that counted here would interrupt the program again before the program has advanced */
    vt_sample_timer_renew(&s->timer, &rate);
    if (begin) VT_SET(l->samples.spent, l->samples.spent + (vt_now() - begin));
    atomic_store_explicit(&s->handled, 1, memory_order_release);
}

static void on_sample(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)number;
    if (is_ours(info)) interrupted(info, context);
    errno = saved;
}

/* The kernel sends SIGIO in place of the signal of an event when too many signals wait (RLIMIT_SIGPENDING), which would
   end the program. Such a SIGIO has the code of all signals by the kernel. */
static int is_in_place(const siginfo_t *info)
{
    return info->si_signo == SIGIO && info->si_code == SI_KERNEL && vt_perf_timer_has_lost(own_timer(), &rate);
}

static int on_io(const siginfo_t *info, void *context, int has_handler)
{
    uint64_t mask;
    if (!is_in_place(info)) return !has_handler && info->si_code == SI_KERNEL;
    vt_hold_signals(&mask);
    interrupted(info, context);
    vt_release_signals(&mask);
    return 1;
}

/* ---- Signals that reach no handler ---- */

int vt_sample_passes(const siginfo_t *info)
{
    if (!is_ours(info) && (rate.clock != VT_SAMPLE_CLOCK_PERF || !is_in_place(info))) return 0;
    vt_sample_timer_miss(own_timer(), &rate);
    return 1;
}

/* Only then, for each wait may be an event itself (context-switches). */
void vt_sample_go_on(void)
{
    if (atomic_load(&on) && VT_READ(own_timer()->waits)) vt_sample_timer_renew(own_timer(), &rate);
}

/* Takes the signals of the calling thread's stopped timer that wait because the thread blocks them; returns others to
   the thread. lost: 1 if a SIGIO may be one of them. */
static void drain(int lost)
{
    uint64_t set = VT_SIGNAL(rate.signal) | (lost ? VT_SIGNAL(SIGIO) : 0), pending = 0;
    struct timespec none = {0, 0};
    siginfo_t info[8];
    int kept = 0;
    VT_SYS2(rt_sigpending, &pending, 8);
    if (!(pending & set)) return;
    while (kept < 8 && VT_SYS4(rt_sigtimedwait, &set, &info[kept], &none, 8) > 0) {
        int in_place = info[kept].si_signo == SIGIO && info[kept].si_code == SI_KERNEL;
        if (!in_place && !is_ours(&info[kept])) kept++;
    }
    for (int i = 0; i < kept; i++)
        VT_SYS4(rt_tgsigqueueinfo, VT_SYS0(getpid), VT_SYS0(gettid), info[i].si_signo, &info[i]);
}

/* ---- Threads ---- */

/* Starts a timer, unless another thread stops all timers meanwhile and may not have seen this one. Returns 0, or the
   negative error. */
static long start_timer(struct vt_sample_timer *timer)
{
    long r = vt_sample_timer_start(timer, &rate);
    if (r >= 0 && !atomic_load(&on)) vt_sample_timer_stop(timer, &rate);
    return r;
}

/* Defines that the location has no samples from now on. why: a word for unify/account/ledger_intervals.py. */
static void tell_unsampled(struct vt_location *l, const char *why)
{
    if (VT_READ(l->samples.unsampled)) return;
    VT_SET(l->samples.unsampled, 1);
    vt_define_missing(l, "unsampled", why);
}

/* Runs in a thread that has got its location, with signals blocked. */
static void begin(struct vt_location *l)
{
    if (!atomic_load(&on)) {
        if (atomic_load(&is_taken)) tell_unsampled(l, "signal");
        return;
    }
    struct sampler *s = sampler_of(l); /* of the previous thread of the location */
    vt_sample_timer_stop(&child, &rate);
    if (s) {
        /* the last signal of that thread may have come after its end: load the fields that its handler stored */
        (void)atomic_load_explicit(&s->handled, memory_order_acquire);
        vt_sample_timer_stop(&s->timer, &rate);
    } else if (!(s = vt_pages(sizeof *s))) {
        vt_warn("no memory to sample another thread");
        vt_define_missing(l, "unsampled", "memory");
        return;
    } else {
        s->next = atomic_load(&samplers);
        while (!atomic_compare_exchange_weak(&samplers, &s->next, s)) continue;
    }
    vt_unwind_begin(&s->unwinder, l->thread == vt_process.pid, (int)vt_process.set.sample_frame_pointers);
    if (!sampler_of(l)) VT_SET(l->slot[VT_SLOT_SAMPLER], s);
    long r = start_timer(&s->timer);
    if (r < 0) tell_unsampled(l, "timer");
    if (r < 0 && rate.clock == VT_SAMPLE_CLOCK_PERF)
        vt_warn("a thread is not sampled: the kernel gives it no performance event: %s", vt_reason(r));
    else if (r < 0)
        vt_warn(
            "a thread is not sampled: the kernel gives it no timer; raise the limit on pending signals (ulimit -i)");
}

static void end(struct vt_location *l)
{
    if (sampler_of(l) && !vt_sample_timer_stop(&sampler_of(l)->timer, &rate))
        vt_warn("the program has closed a descriptor of vtrace: the samples of a thread end there");
}

static void stop_all(void)
{
    uint32_t n = atomic_load(&vt_process.locations);
    atomic_store(&on, 0);
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (!l || !sampler_of(l)) continue;
        if (atomic_load(&is_taken) && VT_READ(sampler_of(l)->timer.made)) tell_unsampled(l, "signal");
        end(l);
    }
}

/* At the end of the process, for threads that live until then: reports descriptors that the program has closed. */
static void finish(struct vt_location *l)
{
    (void)l;
    if (rate.clock == VT_SAMPLE_CLOCK_PERF) stop_all();
}

static struct vt_thread_follower follower = {.begins = begin, .ends = end, .exits = finish};

/* ---- The signal ---- */

/* Runs before the program installs a handler for the signal. */
static void taken(void)
{
    if (!atomic_load(&on)) return;
    atomic_store(&is_taken, 1);
    stop_all();
    drain(0);
    vt_warn("the program uses signal %d for itself: sampling stops", rate.signal);
}

int vt_sample_signal(void) { return atomic_load(&on) ? rate.signal : 0; }

void vt_sample_give_signal(void)
{
    if (!vt_is_other_process()) taken();
}

/* Takes the highest signal that the program does not use, except the last two, which programs often use. Returns 0 if
   there is none. */
static int take_signal(void)
{
    static struct vt_call call = {.name = "sigaction"};
    struct sigaction ours = {.sa_sigaction = on_sample, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK}, now;
    uint64_t blocked = 0;
    int ring = *vt_process.set.ring_signal ? vt_setting_signal(vt_process.set.ring_signal) : 0;
    __typeof__(sigaction) *real = vt_call_next(&call);
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask); /* sigfillset omits the signal of pthread_cancel */
    for (int fault = 1; fault < 32; fault++)
        if (VT_FAULTS & VT_SIGNAL(fault)) sigdelset(&ours.sa_mask, fault);
    VT_SYS4(rt_sigprocmask, SIG_BLOCK, NULL, &blocked, 8);
    for (int n = SIGRTMAX - 2; n >= SIGRTMIN; n--) {
        if (n == ring || blocked & VT_SIGNAL(n) || real(n, NULL, &now) || now.sa_handler != SIG_DFL) continue;
        if (real(n, &ours, NULL)) continue;
        rate.signal = n;
        vt_signal_watch(n, taken);
        if (rate.clock == VT_SAMPLE_CLOCK_PERF) vt_signal_guard_io(on_io);
        return 1;
    }
    return 0;
}

/* ---- The event of VT_SAMPLE_CLOCK=perf ---- */

static const char *unknown_event(const char *name)
{
    static char text[512];
    struct vt_near near;
    vt_near_begin(&near, name, event_length);
    vt_perf_add_names(&near);
    return vt_near_tell(&near, "event", text, sizeof text);
}

/* Reads NAME or NAME:N. Returns NULL, or the reason why threads cannot be sampled by this event. */
static const char *choose_event(void)
{
    const char *text = vt_process.set.sample_event, *name = *text ? text : "task-clock";
    uint64_t count = 0;
    long length = vt_setting_moment(name, &count);
    event_length = length > 0 ? (size_t)length : strlen(name);
    const char *colon = strrchr(name, ':');
    if (!vt_perf_find(name, event_length, &rate.event)) {
        if (length <= 0 && colon && vt_perf_find(name, (size_t)(colon - name), &rate.event))
            return "expected a whole number of events after the colon";
        return unknown_event(name);
    }
    if (length <= 0 && !rate.event.counts_time) return "give the number of events per sample, such as cycles:1000000";
    if (length > 0) rate.period = count;
    int is_raised = rate.event.type != PERF_TYPE_SOFTWARE && rate.period < LEAST_COUNT;
    if (is_raised) rate.period = LEAST_COUNT;
    if (rate.event.counts_time && rate.period < LEAST_TIME) return "this event counts ns: give at least 100000";
    const char *wrong = vt_perf_unsampled(&rate.event, rate.period);
    if (wrong) return wrong;
    if (is_raised && vt_process.set.speaks)
        vt_warn("VT_SAMPLE_EVENT=%.100s: a sample is taken after %d events, the minimum for this event", text,
                LEAST_COUNT);
    return NULL;
}

static void choose_clock(void)
{
    const char *wrong;
    rate.period = vt_process.set.sample_period;
    rate.clock = vt_process.set.sample_clock;
    rate.tick = vt_sample_tick();
    if (rate.clock != VT_SAMPLE_CLOCK_PERF || !rate.period || !(wrong = choose_event())) return;
    const char *text = vt_process.set.sample_event;
    if (vt_process.set.speaks)
        vt_warn("VT_SAMPLE_EVENT=%.100s: %s; cpu is used as VT_SAMPLE_CLOCK", *text ? text : "task-clock", wrong);
    rate.clock = VT_SAMPLE_CLOCK_CPU;
    rate.period = vt_process.set.sample_period;
}

/* ---- The process ---- */

static void define(struct vt_location *l)
{
    int counts = rate.clock == VT_SAMPLE_CLOCK_PERF && !rate.event.counts_time;
    /* events that count time measure the thread's CPU time */
    vt_define_at(l, VT_D_SAMPLING,
                 vt_number(rate.clock == VT_SAMPLE_CLOCK_PERF && !counts ? VT_SAMPLE_CLOCK_CPU : rate.clock),
                 vt_number(rate.period), vt_number(rate.tick), vt_number((uint64_t)rate.signal),
                 counts ? vt_string_of(vt_process.set.sample_event, event_length) : vt_nil(),
                 vt_number(vt_process.set.sample_sidecar));
}

/* A child that only calculates records nothing else, and one that soon calls exec should not begin to record. */
static void in_child(void)
{
    child.made = 0;
    if (rate.clock == VT_SAMPLE_CLOCK_PERF)
        for (struct sampler *s = atomic_load(&samplers); s; s = s->next)
            if (s->timer.made) vt_perf_timer_leave(&s->timer);
    atomic_store(&samplers, NULL);
    if (atomic_load(&on)) vt_sample_timer_start(&child, &rate);
}

/* A sample that came later would begin records that nothing completes. The signal of a performance event may wait for the
   thread while exec resets its action, and would end the new program.
   The kernel sends it before close returns: from then on the signal waits, since the thread holds all signals, and a
   sample cannot begin to record the thread by another event. In the child of a vfork the events are those of the
   parent's thread. */
static void before_exec(void)
{
    uint64_t mask;
    if (vt_is_other_process()) return;
    vt_hold_signals(&mask);
    struct vt_location *l = vt_own_location;
    int lost = rate.clock == VT_SAMPLE_CLOCK_PERF && vt_perf_timer_has_lost(own_timer(), &rate);
    child_stopped = child.made;
    vt_sample_timer_stop(&child, &rate);
    if (l && l->in_use) end(l);
    drain(lost);
    vt_release_signals(&mask);
}

static void exec_failed(void)
{
    struct vt_location *l = vt_own_location;
    int saved = errno, is_child = child_stopped;
    if (vt_is_other_process() || !atomic_load(&on)) return;
    child_stopped = 0;
    if (l && l->in_use && sampler_of(l)) start_timer(&sampler_of(l)->timer);
    else if (is_child) start_timer(&child);
    errno = saved;
}

/* Starts recording and sampling before the program's own code runs. VTRACE_LISTS: a command of vtrace lists the
   settings. */
__attribute__((constructor)) static void start(void)
{
    const char *text = vt_setting_text("VT_SAMPLE_RATE");
    uint64_t period;
    if (!text || !*text || (vt_setting_rate(text, &period) && !period) || getenv("VTRACE_LISTS")) return;
    int saved = errno;
    struct vt_location *l = vt_location_of_thread(0);
    choose_clock();
    if (l && rate.period && !VT_HAS_UNWINDER) vt_warn("VT_SAMPLE_RATE: vtrace samples programs for x86-64 only");
    else if (l && rate.period && !take_signal()) vt_warn("nothing is sampled: the program uses all real-time signals");
    else if (l && rate.period) {
        uint64_t mask;
        define(l);
        atomic_store(&vt_process.unsampled, vt_process.set.sample_sections != 0);
        atomic_store(&on, 1);
        vt_find_python();
        vt_on_threads(&follower);
        vt_on_exec(before_exec, exec_failed);
        pthread_atfork(NULL, NULL, in_child);
        vt_code_map_start();
        vt_hold_signals(&mask);
        begin(l);
        vt_release_signals(&mask);
    }
    errno = saved;
}
