# SPDX-License-Identifier: BSD-3-Clause
"""Scripts with which bash, zsh and fish complete the -vt: options of the wrappers. Other words are completed as
files."""

from __future__ import annotations

from vtrace.wrappers.compile.options import ACTIONS, CXX, FORTRAN, FUNCTIONS, INSTRUMENTATIONS, MODES, C, Language

# readline replaces only the part of the word after the last colon.
_BASH = """\
%(function)s() {
    local line="${COMP_LINE:0:COMP_POINT}" words
    local word="${line##*[[:space:]]}"
    read -ra words <<< "${line%%"$word"}"
    COMPREPLY=()
    if [[ "${words[-1]}" == -vt:inst ]]; then
        COMPREPLY=($(compgen -W "%(ways)s" -- "$word"))
    elif [[ "$word" == -* ]]; then
        COMPREPLY=($(compgen -W "%(options)s" -- "$word"))
        [[ "$word" == *:* && "$COMP_WORDBREAKS" == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%%"${word##*:}"}"}")
    fi
    return 0
}
complete -o bashdefault -o default -F %(function)s %(wrapper)s
"""
_ZSH = """\
%(function)s() {
    if [[ $words[CURRENT-1] == -vt:inst ]]; then
        compadd -- %(ways)s
    elif [[ $words[CURRENT] == -* ]]; then
        compadd -- %(options)s
    else
        _files
    fi
}
compdef %(function)s %(wrapper)s
"""


def script(shell: str, language: Language) -> str:
    """The script for a wrapper. shell: bash, zsh or fish."""
    options = [*language.options, "inst", *FUNCTIONS, *MODES, *ACTIONS]
    ways = " ".join(INSTRUMENTATIONS)
    if shell == "fish":
        values = {"inst": f" -x -a '{ways}'", **dict.fromkeys(language.options, " -r")}
        return "".join(f"complete -c {language.wrapper} -o vt:{name}{values.get(name, '')}\n" for name in options)
    return (_BASH if shell == "bash" else _ZSH) % {
        "function": f"_{language.wrapper.replace('-', '_')}_options",
        "wrapper": language.wrapper,
        "ways": ways,
        "options": " ".join(f"-vt:{name}" for name in options),
    }


def scripts(shell: str) -> str:
    """The scripts for all wrappers."""
    return "".join(script(shell, language) for language in (C, CXX, FORTRAN))
