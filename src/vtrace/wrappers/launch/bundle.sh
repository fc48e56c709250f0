#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
@MARK@
# Starts a program with vtrace's libraries, which record the program: vtrace-run PROGRAM [ARGUMENTS]
# Into a program that cannot load the libraries none is preloaded: the program runs, and one line gives the reason.
libraries='@LIBRARIES@'
if [ $# -eq 0 ]; then
    echo 'vtrace: error: no program (vtrace-run PROGRAM [ARGUMENTS])' >&2
    exit 2
fi
case $1 in
-*)
    echo "vtrace: error: $1: vtrace-run takes no options (give them to vtrace run --bundle DIR)" >&2
    exit 2
    ;;
esac
@SETTINGS@

warn() { # text
    [ "${VT_VERBOSE-}" = 0 ] || [ "${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-${SLURM_PROCID:-0}}}" != 0 ] ||
        printf 'vtrace: warning: %s\n' "$1" >&2
}

# Sets preload. LD_PRELOAD allows no blanks and colons in paths. LD_LIBRARY_PATH allows blanks, and the loader searches
# LD_LIBRARY_PATH for names without a directory.
list() { # names of libraries
    preload=
    for name in $1; do preload=$preload${preload:+:}$before$name; done
}

# What the loader would load: the libraries of $preload and those of the program.
loaded() { LD_PRELOAD=$preload "$loader" --list "$file" 2>&1; }

# The first reason for which the loader would not load all libraries of $preload; empty if it loads them.
problem() {
    loaded | grep -E 'not found|cannot be preloaded|error while loading' | head -n 1 |
        sed 's/^.*error while loading shared libraries: //; s/^[[:space:]]*//'
}

# The MPI libraries that the loader would load, if they are several: the program's and the shim's.
several_mpis() {
    loaded | sed -nE 's/^[[:space:]]*libmpi(ch|_abi|_ibm)?\.so[^ ]* => (.*) \(0x[0-9a-f]+\)$/\2/p' |
        while read -r path; do readlink -f -- "$path"; done | sort -u |
        sed -n '1h; 1!H; ${ x; s/\n/ and /g; s/.* and /two MPIs would be loaded, &/p; }'
}

# The path of a program. `command -v` would answer with the shell's own commands.
locate() { # program
    case $1 in */*) printf '%s\n' "$1" && return ;; esac
    IFS=:
    set -f
    for directory in $PATH; do
        [ ! -f "${directory:-.}/$1" ] || [ ! -x "${directory:-.}/$1" ] || break
    done
    printf '%s\n' "${directory:-.}/$1"
}

# The interpreter of a script, else the program itself.
executable() { # path
    line=$(head -c 256 "$1" 2>/dev/null | tr -d '\0' | head -n 1)
    case $line in
    '#!'*)
        set -f
        set -- ${line#'#!'}
        case $1 in
        */env) [ "$2" != -S ] || shift && locate "$2" ;;
        *) printf '%s\n' "$1" ;;
        esac
        ;;
    *) printf '%s\n' "$1" ;;
    esac
}

here=$(dirname -- "$(readlink -f -- "$0")")
before=$here/lib/
case $before in
*[:\;]*)
    warn "$1 is not recorded: $before: the loader allows no colons and semicolons in paths; move the bundle"
    exec "$@"
    ;;
*[[:space:]]*)
    export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    before=
    ;;
esac

file=$(executable "$(locate "$1")")
# The path of the loader is in the first bytes of an executable, and bytes before the path may be printable.
loader=$(head -c 4096 "$file" 2>/dev/null | tr -c '[:print:]' '\n' | grep -oE '/.*/ld[^/]*\.so[^/]*$' | head -n 1)
shorter=$loader
while [ ! -e "$shorter" ]; do
    case $shorter in
    /*/*) shorter=/${shorter#/*/} ;;
    *) shorter=$loader && break ;;
    esac
done
loader=$shorter
list "$libraries"
case $loader in
'')
    reason='statically linked, preloading has no effect; link the program dynamically'
    [ ! -r "$file" ] || warn "$1 is not recorded: $reason"
    exec "$@"
    ;;
*/ld-musl-*)
    reason="linked with musl, whose loader cannot load vtrace's libraries; link the program with glibc"
    warn "$1 is not recorded: $reason"
    exec "$@"
    ;;
esac
reason=$(problem)
case $libraries in
*' libvtrace-mpi.so'*)
    hint="LD_LIBRARY_PATH may name the library's directory"
    if [ -z "$reason" ]; then
        reason=$(several_mpis)
        hint="write a bundle for the MPI of this program: vtrace run --bundle DIR $1"
    fi
    if [ -n "$reason" ]; then
        list "$(printf %s "$libraries" | sed 's/ libvtrace-mpi.so//')"
        other=$(problem)
        [ -n "$other" ] || warn "MPI calls of $1 are not recorded: $reason; $hint"
        reason=$other
    fi
    ;;
esac
if [ -n "$reason" ]; then
    case $reason in
    *GLIBC_*libvtrace*) reason="$reason; write the bundle with a vtrace built for this glibc or an older one" ;;
    esac
    warn "$1 is not recorded: $reason"
    exec "$@"
fi
theirs=$(printf %s "${LD_PRELOAD-}" | tr ' ' ':')
export LD_PRELOAD="$preload${theirs:+:$theirs}"
exec "$@"
