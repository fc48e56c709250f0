/* SPDX-License-Identifier: BSD-3-Clause */
/* All settings. A file that includes this table defines the macros NUMBER, TEXT and OTHER for the columns that it
   needs. The table defines struct vt_settings, the output of `vtrace settings`, the table that `vtrace help settings`
   and the site show, and the suggestions for misspelt names. Defaults and limits: guide, Table 4.5.

   NUMBER(name, field of struct vt_settings, type, default, least, most, part of the trace left out, page of docs,
          meaning[, the default in words])
   TEXT(name, field, bytes, type, part of the trace left out, page, meaning, the default in words)
   OTHER(name, part of the trace left out): a setting that another program of vtrace reads, or a setting without effect
         (of VampirTrace, or abolished: guide, D.1.2)

   Part of the trace that a setting leaves out: NOTHING, PART (records of a part of the run), WHOLE (records during the
   whole run; src/vtrace/left_out.py). */
#ifndef NUMBER
#define NUMBER(...)
#endif
#ifndef TEXT
#define TEXT(...)
#endif
#ifndef OTHER
#define OTHER(...)
#endif

/* clang-format off */
NUMBER(VT_BUFFER_SIZE, buffer_size, SIZE, 32 * MIB, 100 * KIB, UINT64_MAX / 2, NOTHING, "",
       "bytes for the records of a process; a full buffer is written out (K, M, G; at least 100K)")
NUMBER(VT_THREAD_BUFFER_SIZE, thread_buffer_size, SIZE, 0, 100 * KIB, GIB, NOTHING, "",
       "bytes for the records of each further thread (100K to 1G); if set, the main thread has all of VT_BUFFER_SIZE",
       "0: 10 % of VT_BUFFER_SIZE, the main thread 70 %")
NUMBER(VT_MAX_FLUSHES, max_flushes, COUNT, 0, 0, UINT32_MAX, PART, "",
       "number of times a full buffer is written out before its thread stops recording; 0: no limit")
NUMBER(VT_MAX_SIZE, max_size, SIZE, 0, 1, UINT64_MAX / 2, PART, "",
       "bytes of local files of a process at which its recording stops; the last twentieth is for MPI and threads",
       "0: 1G, at most the process's share of 10G and of a tenth of the free space")
NUMBER(VT_BUDGET, budget, BUDGET, 0, MIB, UINT64_MAX / 2, PART, "filter.md",
       "most bytes of local files of a process (20M), or of all processes of the node or run (2G/node, 2G/run): the "
       "shortest calls are then only counted; most time of recording (3%, or 20M,3%): the functions that are called most "
       "are then left out",
       "0: VT_MAX_SIZE alone")
NUMBER(VT_BUDGET_COUNTS, budget_counts, COUNTS, VT_COUNTS_EXACT, 0, VT_COUNTS_SAMPLED, NOTHING, "filter.md",
       "calls of functions that VT_BUDGET leaves out: exact: counted, at 1 to 2 ns each; sampled: not counted, only samples "
       "have them")
NUMBER(VT_MODE, mode, MODE, VT_MODE_TRACE, 0, VT_MODE_STAT, PART, "filter.md",
       "TRACE: all; RING: the last VT_BUFFER_SIZE of each thread, written at the end; PROFILE (or STAT): no events, "
       "calls and times by call path")
NUMBER(VT_PROFILE_SIZE, profile_size, SIZE, 4 * MIB, 64 * KIB, 64 * MIB, NOTHING, "filter.md",
       "bytes for the call paths of a process with VT_MODE=PROFILE (64K to 64M)")
NUMBER(VT_MAX_THREADS, max_threads, COUNT, 65536, 1, 65536, PART, "",
       "threads of a process that are recorded, at most 65536")
NUMBER(VT_VERBOSE, verbose, COUNT, 1, 0, 2, NOTHING, "",
       "0: silent; 1: warnings and one closing line; 2: also the records of each thread")
NUMBER(VT_MAX_STACK_DEPTH, max_stack_depth, COUNT, 0, 0, UINT32_MAX, WHOLE, "",
       "levels of functions that are recorded, from main on; 0: all")
NUMBER(VT_SYNC_FLUSH, sync_flush, YESNO, 0, 0, 1, NOTHING, "",
       "write the buffers of all ranks together, inside a collective on MPI_COMM_WORLD")
NUMBER(VT_SYNC_FLUSH_LEVEL, sync_flush_level, COUNT, 80, 0, 100, NOTHING, "",
       "fill level of a rank's buffer, in percent (0 to 100), at which VT_SYNC_FLUSH writes")
NUMBER(VT_CLOCK_COUNTER, clock_counter, YESNO, 1, 0, 1, NOTHING, "clocks.md",
       "read the processor's counter as clock; no: CLOCK_MONOTONIC_RAW")
NUMBER(VT_UNIFY, unify, YESNO, 0, 0, 1, NOTHING, "run.md",
       "vtrace run unifies at the end and shows a summary", "yes, if vtrace run starts all processes")
NUMBER(VT_CLEAN, clean, YESNO, 1, 0, 1, NOTHING, "", "remove the buffer in VT_PFORM_LDIR at the end")
NUMBER(VT_COMPRESSION, compression, YESNO, 1, 0, 1, NOTHING, "",
       "compress the local files, whose names then end in .z")
NUMBER(VT_MPITRACE, mpitrace, YESNO, 1, 0, 1, WHOLE, "mpi.md", "record MPI calls")
NUMBER(VT_MPI_CALLSITES, mpi_callsites, COUNT, 0, 0, 32, NOTHING, "mpip.md",
       "stack frames recorded per MPI call, including the call; at most 32")
NUMBER(VT_MPI_POLLS, mpi_polls, YESNO, 0, 0, 1, NOTHING, "mpi.md",
       "record each call of MPI_Test and MPI_Iprobe that finds nothing; no: join such calls in a row")
NUMBER(VT_MPI_BARRIER, mpi_barrier, BARRIER, 0, 0, 3, NOTHING, "",
       "before, after, both: MPI_Barrier around each blocking collective that moves data; no: none")
NUMBER(VT_OMPTRACE, omptrace, YESNO, 1, 0, 1, WHOLE, "", "record OpenMP constructs")
NUMBER(VT_IOTRACE, iotrace, YESNO, 0, 0, 1, NOTHING, "io.md", "record calls of I/O")
NUMBER(VT_MEMTRACE, memtrace, YESNO, 0, 0, 1, NOTHING, "memory.md",
       "record malloc and its family, and the heap in use")
NUMBER(VT_PTHREAD, pthread, PTHREAD, VT_PTHREAD_YES, 0, VT_PTHREAD_LOCKS, WHOLE, "",
       "record creation, joins and names of threads; locks: also mutexes and similar objects")
NUMBER(VT_PROCESSOR_WAIT, processor_wait, YESNO, 1, 0, 1, NOTHING, "diagnose.md",
       "record how long threads wait for a processor and sleep, as the kernel counts it")
NUMBER(VT_PTHREAD_REUSE, pthread_reuse, YESNO, 1, 0, 1, NOTHING, "",
       "a new thread continues the location of an ended thread")
NUMBER(VT_EXECTRACE, exectrace, YESNO, 1, 0, 1, WHOLE, "threads.md", "also record programs that a recorded program starts")
NUMBER(VT_PYTRACE, pytrace, YESNO, 0, 0, 1, NOTHING, "", /* python_hook/sitecustomize.py reads it */
       "record the functions of Python programs (set by vtrace run --python)")
NUMBER(VT_MEMTRACE_THRESHOLD, memtrace_threshold, SIZE, 0, 0, UINT64_MAX / 2, WHOLE, "",
       "bytes; calls for smaller blocks are not recorded, but count in the heap in use")
NUMBER(VT_MEMTRACE_LIBRARIES, memtrace_libraries, YESNO, 0, 0, 1, NOTHING, "sections.md",
       "record the library that calls malloc and its family")
NUMBER(VT_MEMTRACE_CALLSITES, memtrace_callsites, SIZE, 0, 0, UINT64_MAX / 2, NOTHING, "memory.md",
       "record the callers of one allocation per so many bytes (vtrace run --memory: 32K); 0: none")
NUMBER(VT_SAMPLE_RATE, sample_period, RATE, 0, 0, UINT64_MAX, NOTHING, "sampling.md",
       "samples of each thread's call stack: a number per second (100), or an interval (10ms, 2s); 0: none")
NUMBER(VT_SAMPLE_FRAME_POINTERS, sample_frame_pointers, YESNO, 0, 0, 1, NOTHING, "sampling.md",
       "follow frame pointers through code without unwind information, such as code generated at run time")
NUMBER(VT_SAMPLE_CLOCK, sample_clock, SAMPLECLOCK, VT_SAMPLE_CLOCK_CPU, 0, UINT64_MAX, NOTHING, "sampling.md",
       "cpu: sample a thread by its CPU time; wall: by elapsed time, also while it waits; perf: by VT_SAMPLE_EVENT")
NUMBER(VT_SAMPLE_SIDECAR, sample_sidecar, YESNO, 0, 0, 1, NOTHING, "sampling.md",
       "vtunify keeps the samples beside the archive's events (vtrace run sets this without --sample)")
NUMBER(VT_SAMPLE_SECTIONS, sample_sections, YESNO, 0, 0, 1, NOTHING, "instant-profiler.md",
       "sample only between the program's calls of fipp_start and fipp_stop")
NUMBER(VT_SECTION_LEVEL, section_level, COUNT, 0, 0, INT32_MAX, NOTHING, "sections.md",
       "highest priority level of the sections to record")
NUMBER(VT_SECTION_ROUTINES, section_routines, ROUTINES, VT_SECTIONS_ALL, 0, VT_SECTIONS_COLLECTION, NOTHING,
       "sections.md", "sections to record: fapp: those of fapp_start; collection: those of start_collection; all")

NUMBER(VT_METRICS_INTERVAL, metrics_interval, RATE, 100 * 1000 * 1000, 0, UINT64_MAX, NOTHING, "counters.md",
       "time between two readings of counters of the whole process or node (100ms, 2s), or readings per second", "100ms")
NUMBER(VT_RUSAGE_INTV, rusage_interval, COUNT, 100, 0, UINT32_MAX, NOTHING, "counters.md",
       "ms between two readings of VT_RUSAGE by a thread; 0: at each enter and leave, like VT_METRICS")

TEXT(VT_FILE_PREFIX, prefix, 256, PLACE, NOTHING, "",
     "name of the files; a directory before the name is created and replaces VT_PFORM_GDIR",
     "the program's name without .out or .exe")
TEXT(VT_FILE_UNIQUE, unique_text, 16, PLACE, NOTHING, "",
     "number after the prefix: yes numbers the runs; or a number from 1 on", "no")
TEXT(VT_PFORM_GDIR, gdir, 512, PLACE, NOTHING, "", "directory of the local files", "the current directory")
TEXT(VT_PFORM_LDIR, ldir, 512, PLACE, NOTHING, "", "directory of the buffer while the program runs",
     "the current directory; on a network file system TMPDIR or /tmp")
TEXT(VT_GNU_NMFILE, nmfile, 512, PATH, NOTHING, "",
     "output of nm --demangle --line-numbers, with the executable's names for vtunify", "none")
TEXT(VT_ALWAYS_DIR, always_dir, 512, PATH, NOTHING, "always.md",
     "directory for the files of vtrace run --always, which vtrace jobs lists",
     "$XDG_STATE_HOME/vtrace/jobs, or ~/.local/state/vtrace/jobs")
TEXT(VT_FILTER_SPEC, filter_spec, 512, PATH, WHOLE, "filter.md",
     "file of rules that select the functions and calls to record", "none")
TEXT(VT_FUNCTIONS, functions, 4096, PATTERNS, WHOLE, "functions.md",
     "functions that are recorded: patterns with * and ? (Calc*;-*get*), - excludes; the last match decides",
     "all")
TEXT(VT_ANNOTATIONS, annotations, 64, WORDS, WHOLE, "annotations.md", /* vtrace run reads it */
     "annotations that vtrace run records: nvtx, itt, kokkos; no: none", "all")
TEXT(VT_DEVICES, devices, 64, WORDS, NOTHING, "devices.md", /* vtrace run reads it */
     "devices whose activities vtrace run records: cuda, opencl; yes: all", "none")
TEXT(VT_GROUPS_SPEC, groups_spec, 512, PATH, NOTHING, "filter.md", "file that puts functions into groups", "none")
TEXT(VT_RING_SIGNAL, ring_signal, 32, SIGNAL, NOTHING, "",
     "signal at which VT_MODE=RING writes its records: USR1, USR2, RTMIN+n...", "none")
TEXT(VT_SAMPLE_EVENT, sample_event, 256, WORDS, NOTHING, "sampling.md",
     "with VT_SAMPLE_CLOCK=perf: a Linux event and the number of events per sample (page-faults:100)",
     "task-clock, with VT_SAMPLE_RATE")
TEXT(VT_METRICS, metrics, 2048, WORDS, NOTHING, "counters.md",
     "counters that are read at enters and leaves: names as in vtrace counters, separated by VT_METRICS_SEP", "none")
TEXT(VT_METRICS_SEP, metrics_separator, 16, WORDS, NOTHING, "counters.md", "characters between the names of VT_METRICS",
     ":")
TEXT(VT_METRICS_REPLAY, metrics_replay, 512, PATH, NOTHING, "counters.md",
     "file of recorded values for the counters that it names", "none")
TEXT(VT_METRICS_AT, metrics_at, 64, WORDS, NOTHING, "counters.md",
     "where counters are read: calls of mpi, openmp, user (regions), threads, io; samples; separated by :",
     "mpi:openmp:user:samples")
TEXT(VT_RUSAGE, rusage, 256, WORDS, NOTHING, "counters.md",
     "counters of getrusage, separated by : (ru_stime:ru_majflt), or all; each thread reads them once in VT_RUSAGE_INTV",
     "none")
TEXT(VT_START_AFTER, start_after, 256, MOMENT, PART, "filter.md",
     "start of recording: seconds (10, 0.5s) or a call of a region (NAME:100)", "the program's start")
TEXT(VT_STOP_AFTER, stop_after, 256, MOMENT, PART, "",
     "end of recording: seconds (10, 0.5s) or the end of a call of a region (NAME:200)", "the program's end")

TEXT(VT_KEEP, keep, 64, KEEP, PART, "filter.md",
     "iterations of which all is recorded: first:10, every:100, slowest:5%, or several, separated by commas; "
     "the calls in others are only counted", "all")
TEXT(VT_ITERATION, iteration, 128, WORDS, NOTHING, "filter.md",
     "with VT_KEEP or VT_TRIGGER: the function or user region whose calls are the iterations", "none")
TEXT(VT_TRIGGER, trigger, 64, TRIGGER, NOTHING, "filter.md",
     "with VT_MODE=RING or PROFILE: write the last records when an iteration takes long, 'iteration > 1.5 x median', "
     "MPI does, 'mpi wait > 20 %', or a counter of the user API is high, 'counter NAME > 1000'", "none")

OTHER(VT_MPI_GROUPS, WHOLE)
OTHER(VT_CONFIG, NOTHING)
OTHER(VT_SHIM_CACHE, NOTHING)
OTHER(VT_GNU_NM, NOTHING)
OTHER(VT_MAX_MPI_COMMS, NOTHING)
OTHER(VT_MAX_MPI_WINS, NOTHING)
OTHER(VT_PREFIX, NOTHING)
OTHER(VT_WRAPPER, NOTHING)
OTHER(VT_INST, NOTHING)
OTHER(VT_CC, NOTHING)
OTHER(VT_CXX, NOTHING)
OTHER(VT_FC, NOTHING)
OTHER(VT_CFLAGS, NOTHING)
OTHER(VT_CXXFLAGS, NOTHING)
OTHER(VT_FCFLAGS, NOTHING)
OTHER(VT_LDFLAGS, NOTHING)
OTHER(VT_LIBS, NOTHING)
/* clang-format on */

#undef NUMBER
#undef TEXT
#undef OTHER
