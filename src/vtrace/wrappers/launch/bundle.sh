#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
{ # A shell starts nothing of this group if the end of the file is missing.
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
    loaded | while IFS= read -r line; do
        case $line in
        *'not found'* | *'cannot be preloaded'* | *'error while loading'*)
            line=${line##*error while loading shared libraries: }
            printf '%s\n' "${line#"${line%%[![:space:]]*}"}"
            break
            ;;
        esac
    done
}

# The first library that is missing here or cut, such as in a directory that was copied in part.
incomplete() {
    for entry in @SIZES@; do
        name=lib/${entry%=*}
        [ -r "$here/$name" ] && [ "$(($(wc -c <"$here/$name")))" -eq "${entry#*=}" ] || {
            printf '%s\n' "$name"
            break
        }
    done
}

# The MPI libraries that the loader would load, if they are several: the program's and the shim's.
several_mpis() {
    loaded | while IFS= read -r line; do
        case $line in
        *libmpi.so*' => '* | *libmpich.so*' => '* | *libmpi_abi.so*' => '* | *libmpi_ibm.so*' => '*) ;;
        *) continue ;;
        esac
        path=${line#*' => '}
        path=$(readlink -f -- "${path% (0x*}")
        : "${first:=$path}"
        [ "$path" = "$first" ] || {
            printf 'two MPIs would be loaded, %s and %s\n' "$first" "$path"
            break
        }
    done
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
    [ -f "$1" ] && [ -r "$1" ] || return
    line=$(head -c 256 "$1" | tr -d '\0' | head -n 1)
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

# Prints numbers that a file contains.
number() { # path offset bytes-of-each count
    od -A n -t "u$3" -j "$(($2))" -N "$(($3 * ${4:-1}))" "$1"
}

# The path of the loader, which the program header PT_INTERP (3) of a file of ELF names; empty without this header.
interpreter() { # path
    header=$(number "$1" 32 8)
    count=$(number "$1" 56 2)
    while [ "$((count))" -gt 0 ]; do
        if [ "$(($(number "$1" "$header" 4)))" -eq 3 ]; then
            begin=$(number "$1" "$header + 8" 8)
            size=$(number "$1" "$header + 32" 8)
            tail -c "+$((begin + 1))" "$1" | head -c "$((size - 1))"
            return
        fi
        header=$((header + 56)) count=$((count - 1))
    done
}

# Starts the program without vtrace.
start_without() { # reason program arguments
    reason=$1
    shift
    warn "$1 is not recorded: $reason"
    exec "$@"
}

for tool in dirname readlink head tail tr od wc; do
    [ -n "$(command -v "$tool")" ] || start_without "vtrace-run needs the command $tool, which is not in PATH" "$@"
done
here=$(dirname -- "$(readlink -f -- "$0")")
before=$here/lib/
case $before in
*[:\;]*) start_without "$before: the loader allows no colons and semicolons in paths; move the bundle" "$@" ;;
*[[:space:]]*)
    export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    before=
    ;;
esac
name=$(incomplete)
[ -z "$name" ] || start_without "the bundle has no $name, or a part of it only; copy the bundle again" "$@"

file=$(executable "$(locate "$1")")
[ -n "$file" ] || exec "$@" # the shell says why the program does not start
case $(number "$file" 0 1 5) in
*127*69*76*70*2) ;;
*) start_without 'not an ELF executable of 64 bits' "$@" ;;
esac
loader=$(interpreter "$file")
case $loader in
'') start_without 'statically linked, preloading has no effect; link the program dynamically' "$@" ;;
*/ld-musl-*)
    start_without "linked with musl, whose loader cannot load vtrace's libraries; link the program with glibc" "$@"
    ;;
esac
list "$libraries"
reason=$(problem)
case $libraries in
*' libvtrace-mpi.so'*)
    hint="LD_LIBRARY_PATH may name the library's directory"
    if [ -z "$reason" ]; then
        reason=$(several_mpis)
        hint="write a bundle for the MPI of this program: vtrace run --bundle DIR $1"
    fi
    if [ -n "$reason" ]; then
        list "${libraries% libvtrace-mpi.so*}${libraries#* libvtrace-mpi.so}"
        other=$(problem)
        [ -n "$other" ] || warn "MPI calls of $1 are not recorded: $reason; $hint"
        reason=$other
    fi
    ;;
esac
case $reason in
'') ;;
*GLIBC_*libvtrace*)
    start_without "$reason; write the bundle with a vtrace built for this glibc or an older one" "$@"
    ;;
*) start_without "$reason" "$@" ;;
esac
theirs=$(printf %s "${LD_PRELOAD-}" | tr ' ' ':')
export LD_PRELOAD="$preload${theirs:+:$theirs}"
exec "$@"
}
