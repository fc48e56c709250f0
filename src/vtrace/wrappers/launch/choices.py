# SPDX-License-Identifier: BSD-3-Clause
"""The options of vtrace run: one table for the command and its help, and for the parser without click."""

from __future__ import annotations

SWITCHES = {
    "mpi": (
        "VT_MPITRACE",
        "Record MPI calls; --mpi=CMD names the compiler command or the library of the program's MPI",
        "if the program uses MPI",
    ),
    "io": ("VT_IOTRACE", "Record I/O calls", ""),
    "memory": ("VT_MEMTRACE", "Record malloc, free and the like", ""),
    "locks": ("VT_PTHREAD", "Record calls of mutexes, condition variables and the like, with who holds a lock", ""),
    "openmp": ("VT_OMPTRACE", "Record OpenMP", "if the program uses OpenMP"),
    "python": ("VT_PYTRACE", "Record functions of Python programs", ""),
    "unify": ("VT_UNIFY", "Unify at the end and show a summary", "if this command starts all processes"),
}
"""Name of --NAME and --no-NAME -> setting, help, default in words; "": off. Without either option the environment's
setting applies, else the default."""
ON = {"locks": "locks"}
"""The value of a setting that its option switches on, where this is not yes."""

VALUES = {
    "mpicc": ("--mpicc", "CMD", "Compiler command or library of the program's MPI [default: found automatically]."),
    "prefix": ("-o", "PREFIX", "Prefix of the local files, may have a directory; sets VT_FILE_PREFIX, VT_PFORM_GDIR."),
    "functions": (
        "--functions",
        "PATTERNS",
        "Record the functions that match, such as 'Calc*;-*get*', also of a program that gcc or clang compiled with "
        "-pg -mfentry, -fpatchable-function-entry=5 or -fxray-instrument; sets VT_FUNCTIONS.",
    ),
    "max_size": (
        "--max-size",
        "SIZE",
        "Stop recording a process when its local files reach SIZE, such as 512M or 4G; sets VT_MAX_SIZE.",
    ),
    "budget": (
        "--budget",
        "SIZE",
        "Most bytes of local files of a process, such as 20M, or of all, 2G/node or 2G/run: the shortest calls are "
        "then only counted. Most time of recording, such as 3% or 20M,3%: the functions that are called most are then "
        "left out. Sets VT_BUDGET.",
    ),
    "keep": (
        "--keep",
        "RULE,...",
        "Record all in some iterations only, first:10, every:100 or slowest:5%, and count the calls in others; sets "
        "VT_KEEP.",
    ),
    "iteration": (
        "--iteration",
        "NAME",
        "With --keep or --trigger: the function or user region whose calls are the iterations; sets VT_ITERATION.",
    ),
    "trigger": (
        "--trigger",
        "RULE",
        "Keep the last records, and write them when 'iteration > 1.5 x median', MPI calls take more than a part of "
        "the time, 'mpi wait > 20 %', or a counter of the user API is high, 'counter NAME > 1000'; sets VT_TRIGGER, "
        "and VT_MODE=RING without --profile-only.",
    ),
    "sample": (
        "--sample",
        "[=N]",
        "Sample call stacks N times per second of each thread's CPU time [default: 100], as events of the archive; "
        "sets VT_SAMPLE_RATE.",
    ),
    "sample_clock": (
        "--sample-clock",
        "CLOCK",
        "With --sample: cpu, wall for elapsed time, so that waiting threads are sampled, too, or perf for events of "
        "Linux (VT_SAMPLE_EVENT); sets VT_SAMPLE_CLOCK.",
    ),
    "counters": (
        "--counters",
        "NAME,...",
        "Read counters at the enter and leave of MPI, OpenMP and user regions, such as page-faults,instructions "
        "(vtrace counters lists them); sets VT_METRICS.",
    ),
    "annotations": (
        "--annotations",
        "KIND,...",
        "Record these annotations of programs and their libraries: nvtx, itt, kokkos [default: all]; sets "
        "VT_ANNOTATIONS.",
    ),
    "devices": (
        "--devices",
        "[=KIND,...]",
        "Record what devices do: kernels and copies, and the calls of their interface: cuda, opencl [default: all]; "
        "sets VT_DEVICES.",
    ),
    "section_level": (
        "--section-level",
        "LEVEL",
        "Record sections of this priority level or a lower one [default: 0]; sets VT_SECTION_LEVEL.",
    ),
    "bundle": (
        "--bundle",
        "DIR",
        "Start nothing: write a directory with DIR/vtrace-run, which records a program where vtrace is not installed, "
        "such as in a container.",
    ),
}
"""Key -> option, metavar, help."""
ALIASES = ("mpicc", "max_size", "sample_clock", "section_level")
"""Keys of options that the help does not list: --mpi=CMD, VT_MAX_SIZE, VT_SAMPLE_CLOCK and VT_SECTION_LEVEL say the
same."""

SAMPLE_RATE = "100"
WITHOUT_VALUE = {"--sample": SAMPLE_RATE, "--devices": "yes"}
"""The options that may be given without a value, and the value that they have then."""
SAMPLE_CLOCKS = ("cpu", "wall", "perf")
"""The values of --sample-clock."""

FLAGS = {
    "view": ("--view", "After unifying: show the timeline in a browser, like vtrace view."),
    "repeat_groups": (
        "--repeat-groups",
        "Run the program once for each group of --counters that the processor counts together, and merge the counters.",
    ),
    "no_sample": (
        "--no-sample",
        "Take no samples [default: 100 per second, beside the archive's events; none if functions or counters are "
        "recorded].",
    ),
    "no_annotations": ("--no-annotations", "Record no annotations."),
    "profile_only": (
        "--profile-only",
        "Record no events, but calls and times by call path, in files of constant size; sets VT_MODE=PROFILE.",
    ),
    "always": (
        "--always",
        "For every job of a site: like --profile-only, without any message, into one small file in VT_ALWAYS_DIR, "
        "which vtrace jobs lists.",
    ),
    "packed": ("--packed", "When unifying: write a packed archive, PREFIX.vtz, like vtunify --packed."),
    "force": ("--force", "When unifying: replace an existing archive."),
    "verbose": ("-v", "Print the settings, the preloaded libraries and the command."),
}


class Choices:
    """The options of one vtrace run. words: the program with its arguments."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.switches: dict[str, bool | None] = dict.fromkeys(SWITCHES)
        self.mpicc: str | None = None
        self.prefix: str | None = None
        self.functions: str | None = None
        self.max_size: str | None = None
        self.budget: str | None = None
        self.keep: str | None = None
        self.iteration: str | None = None
        self.trigger: str | None = None
        self.sample: str | None = None
        self.sample_clock: str | None = None
        self.counters: str | None = None
        self.section_level: str | None = None
        self.annotations: str | None = None
        self.devices: str | None = None
        self.bundle: str | None = None
        self.unify = False
        """True if vtrace run unifies at the end; start.decide sets this."""
        self.view = False
        self.repeat_groups = False
        self.no_sample = False
        self.no_annotations = False
        self.profile_only = False
        self.always = False
        self.samples_by_default = False
        """True for vtrace run: without a choice of the user a program is sampled if that is safe and shows more."""
        self.packed = False
        self.force = False
        self.verbose = False

    def of_program(self, words: list[str]) -> Choices:
        """The same options for another program."""
        other = Choices(words)
        other.__dict__ |= {name: value for name, value in vars(self).items() if name != "words"}
        return other


def parse(words: list[str]) -> Choices | None:
    """Reads the options before the program; None if click must handle the words, for help or an error message.

    vtrace run may start each rank of a job: loading click would add 30 ms per rank.
    """
    chosen = Choices([])
    chosen.samples_by_default = True
    values = {option: key for key, (option, _, _) in VALUES.items()}
    flags = {option: key for key, (option, _) in FLAGS.items()}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        switch = name.removeprefix("--no-") if name.startswith("--no-") else name.removeprefix("--")
        if not word.startswith("-") or word == "--":
            chosen.words = [*([] if word == "--" else [word]), *rest]
            break
        if name == "--mpi" and equals:
            chosen.mpicc, chosen.switches["mpi"] = value, True
        elif switch in SWITCHES and name.startswith("--") and not equals:
            chosen.switches[switch] = not name.startswith("--no-")
        elif word in WITHOUT_VALUE:
            setattr(chosen, values[word], WITHOUT_VALUE[word])
        elif name in values:
            taken = value if equals else next(rest, None)
            if not taken:
                return None
            setattr(chosen, values[name], taken)
        elif name in flags and not equals:
            setattr(chosen, flags[name], True)
        else:
            return None
    return chosen if chosen.words and not excluded(chosen) else None


def excluded(chosen: Choices) -> str:
    """Two options that exclude each other, in words; empty if there are none."""
    of_events = {"--sample": chosen.sample, "--view": chosen.view}
    of_archive = {
        "-o": chosen.prefix, "--unify": chosen.switches["unify"], "--packed": chosen.packed, "--force": chosen.force,
        "-v": chosen.verbose, "--bundle": chosen.bundle, "--repeat-groups": chosen.repeat_groups,
    }  # fmt: skip
    pairs = [("--sample", "--no-sample")] * bool(chosen.sample and chosen.no_sample)
    pairs += [("--annotations", "--no-annotations")] * bool(chosen.annotations and chosen.no_annotations)
    pairs += [("--profile-only", option) for option, given in of_events.items() if chosen.profile_only and given]
    pairs += [("--always", option) for option, given in (of_events | of_archive).items() if chosen.always and given]
    return f"{' and '.join(pairs[0])} exclude each other" if pairs else ""
