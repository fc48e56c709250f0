# SPDX-License-Identifier: BSD-3-Clause
"""Commands that start a program given among their arguments: launchers of parallel programs, and commands that change
the environment of one program (numactl, timeout).

vtrace does not record these commands. So vtrace run inserts env with all settings in front of the program; env works on
all hosts and with every launcher.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from vtrace.wrappers.launch.program import NoProgramError, locate

_MPIEXEC = """
-n -np -f -hosts -host -H -hostfile -machinefile -machine -wdir -wd -path -configfile -envlist -genvlist -ppn -perhost
-grr -rr -rankmap -launcher -launcher-exec -bootstrap -bootstrap-exec -rmk -topolib -bind-to -map-by -membind -demux
-errfile-pattern -outfile-pattern -prepend-pattern -gpus-per-proc -iface -localhost -nameserver -order-nodes -pmi-port
-usize -memory-alloc-kinds -c -N -am -app -cf -cartofile -cpu-list -cpu-set -cpus-per-proc -cpus-per-rank -debugger
-debug-daemons-file -default-hostfile -hnp -launch-agent -max-restarts -max-vm-size -npernode -npersocket -ompi-server
-output -output-filename -personality -ppr -prefix -preload-files -rank-by -report-events -report-pid -report-uri -rf
-rankfile -stdin -timeout -tune -x -xml-file -xterm -dvm-uri -pmixmca-file -runtime-options -display -bind -with-ft
-add-host -add-hostfile -umask
""".split()
_SRUN = """
-A -B -b -C -c -D -d -e -F -G -i -J -L -M -m -N -n -o -p -P -q -R -r -S -T -t -w -x -account -acctg-freq -bb -bbf
-begin -chdir -cluster-constraint -clusters -comment -constraint -container -container-id -context -core-spec
-cores-per-socket -cpu-bind -cpu_bind -cpu-freq -cpus-per-gpu -cpus-per-task -deadline -delay-boot -dependency
-distribution -epilog -error -exclude -export -export-file -extra -extra-node-info -gid -gpu-bind -gpu-freq -gpus
-gpus-per-node -gpus-per-socket -gpus-per-task -gres -gres-flags -het-group -hint -input -job-name -jobid -licenses
-mail-type -mail-user -mcs-label -mem -mem-bind -mem_bind -mem-per-cpu -mem-per-gpu -mincpus -mpi -msg-timeout
-network -nodefile -nodelist -nodes -ntasks -ntasks-per-core -ntasks-per-gpu -ntasks-per-node -ntasks-per-socket
-ntasks-per-tres -open-mode -output -partition -power -prefer -priority -profile -prolog -qos -relative -reservation
-signal -slurmd-debug -sockets-per-node -switches -task-epilog -task-prolog -thread-spec -threads -threads-per-core
-time -time-min -tmp -tree-width -treewidth -tres-bind -tres-per-task -uid -wait -wckey -W
""".split()
_APRUN = """
-a -C -cc -cp -d -D -e -F -j -L -l -m -M -n -N -p -r -R -S -sl -sn -t -architecture -cpu-binding -cpu-binding-file
-cpus-per-cu -debug -depth -environment-override -memory-per-pe -node-list -pes -pes-per-node -pes-per-numa-node
-specialized-cpus -numa-nodes-per-node -numa-node-list
""".split()
_JSRUN = """
-A -a -b -c -d -D -E -e -F -f -g -h -I -J -K -k -L -l -m -M -n -o -p -P -r -S -t -T -U -X -Z -bind -chdir -cpu_per_rs
-env -env_eval -erf_input -erf_output -export -gpu_per_rs -ibm_rs_order -latency_priority -launch_distribution
-launch_node_task -memory_per_rs -nrs -np -res_priority -rs_per_host -rs_per_socket -smpiargs -stdio_mode -stdio_input
-stdio_stderr -stdio_stdout -tasks_per_rs -use_resources
""".split()
_FLUX = """
-N -n -c -g -t -o -q -B -S -u -x -nodes -ntasks -nslots -cores -cores-per-task -gpus-per-task -gpus-per-node
-tasks-per-node -tasks-per-core -time-limit -setopt -queue -bank -setattr -urgency -env -env-remove -env-file -rlimit
-input -output -error -job-name -flags -dependency -begin-time -requires -cwd -label -signal -add-file -shell
""".split()

_MPIEXECS = ("mpiexec", "mpirun", "orterun", "prterun", "prun", "oshrun")
_OPTIONS = {
    **dict.fromkeys(_MPIEXECS, _MPIEXEC),
    "srun": _SRUN,
    "aprun": _APRUN,
    "jsrun": _JSRUN,
    "flux": _FLUX,
    "env": ["-u", "-unset", "-C", "-chdir"],
    "numactl": "-i -N -C -m -p -P -w -interleave -cpunodebind -physcpubind -membind -preferred".split(),
    "taskset": [],
    "nice": ["-n", "-adjustment"],
    "ionice": ["-c", "-n", "-class", "-classdata"],
    "chrt": ["-T", "-P", "-D", "-sched-runtime", "-sched-period", "-sched-deadline"],
    "timeout": ["-k", "-s", "-kill-after", "-signal"],
    "time": ["-f", "-o", "-format", "-output"],
    "stdbuf": ["-i", "-o", "-e", "-input", "-output", "-error"],
    "nohup": [],
    "setsid": [],
}
"""Command -> options whose value is the next word; long options with a single hyphen."""

_TWO_VALUES = ("-env", "-genv", "-mca", "-gmca", "-omca", "-prtemca", "-pmixmca")
_BEFORE = {"taskset": 1, "timeout": 1, "chrt": 1}
"""Command -> number of words before the program that are not options."""
_DIRECTORIES = {
    **dict.fromkeys(_MPIEXECS, ("-wdir", "-wd")),
    "srun": ("-D", "-chdir"),
    "jsrun": ("-h", "-chdir"),
    "flux": ("-cwd",),
    "env": ("-C", "-chdir"),
}
_FILES = ("-configfile", "-app", "-multi-prog", "-erf_input")
"""Options that name a file with the list of programs."""
LAUNCHERS = (*_MPIEXECS, "srun", "aprun", "jsrun", "flux")
_SUBCOMMANDS = ("run", "mini")


class Launched:
    """A program among a launcher's words: index of its first word, index after its arguments, and its directory."""

    def __init__(self, begin: int, end: int, directory: str) -> None:
        self.begin = begin
        self.end = end
        self.directory = directory


def kind_of(words: list[str]) -> str | None:
    """The name of a command of this module, without suffix: mpiexec for mpiexec.hydra; None for other commands."""
    name = os.path.basename(words[0]).partition(".")[0]
    if name == "flux" and words[1:2] != ["run"] and words[1:3] != ["mini", "run"]:
        return None
    return name if name in _OPTIONS else None


def programs_in(words: list[str], environ: Mapping[str, str]) -> list[Launched]:
    """The programs among a launcher's words; colons separate programs."""
    kind = kind_of(words)
    assert kind
    found = []
    parallel = kind in LAUNCHERS
    begin = 1
    while begin < len(words):
        end = words.index(":", begin) if parallel and ":" in words[begin:] else len(words)
        program = _program(words, begin, end=end, kind=kind, environ=environ)
        if program:
            found.append(program)
        begin = end + 1
    return found


def file_of_programs(words: list[str]) -> str | None:
    """The option in words with which a launcher reads its programs from a file, or None."""
    return next((word for word in words if word.startswith("-") and _short(word) in _FILES), None)


def _short(option: str) -> str:
    return (option[1:] if option.startswith("--") else option).partition("=")[0]


def _program(words: list[str], begin: int, end: int, kind: str, *, environ: Mapping[str, str]) -> Launched | None:
    """The program in words[begin:end]. The word after an unknown option is its value unless the word is a program."""
    at, before, directory = begin, _BEFORE.get(kind, 0), "."
    directories = _DIRECTORIES.get(kind, ())
    while at < end:
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and word != "-":
            option = _short(word)
            if option in directories and "=" in word:
                directory = word.partition("=")[2]
            if "=" not in word and _OPTIONS[kind] is _MPIEXEC and option in _TWO_VALUES:
                at += 2
            elif "=" not in word and option in _OPTIONS[kind]:
                directory = words[at + 1] if option in directories and at + 1 < end else directory
                at += 1
        elif kind == "env" and "=" in word:
            pass
        elif before:
            before -= 1
        elif kind == "flux" and at - begin < 2 and word in _SUBCOMMANDS:
            pass
        elif _is_program(word, environ, directory):
            return Launched(at, end, directory)
        at += 1
    return Launched(at, end, directory) if at < end else None


def _is_program(word: str, environ: Mapping[str, str], directory: str) -> bool:
    try:
        locate(word, environ, directory)
    except NoProgramError:
        return False
    return True


def mpicc_of(launcher: str) -> str | None:
    """The compiler command of a launcher's MPI, in the launcher's directory: mpicc.openmpi for mpiexec.openmpi."""
    directory, name = os.path.split(launcher)
    for other in _MPIEXECS[:-1]:
        if name.startswith(other):
            ending = name.removeprefix(other).replace(".hydra", "")
            for place in (os.path.join(directory, f"mpicc{ending}"), os.path.join(directory, "mpicc")):
                if os.access(place, os.X_OK):
                    return place
    return None


RANKS = ("PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "ALPS_APP_PE", "JSM_NAMESPACE_RANK",
         "FLUX_TASK_RANK")  # fmt: skip
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "JSM_NAMESPACE_SIZE", "FLUX_JOB_SIZE")


def rank(environ: Mapping[str, str]) -> int | None:
    """The rank that the launcher gave this process; None without launcher."""
    names = [*RANKS, *(["SLURM_PROCID"] if "SLURM_STEP_ID" in environ else [])]
    text = next((environ[name] for name in names if name in environ), "")
    return int(text) if text.isdigit() else None


def size(environ: Mapping[str, str]) -> int:
    """The number of processes that the launcher started; 0 if unknown."""
    text = next((environ[name] for name in _SIZES if name in environ), "")
    return int(text) if text.isdigit() else 0
