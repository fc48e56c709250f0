// SPDX-License-Identifier: BSD-3-Clause
/* Each command of vtrace: starts the Python that vtrace was installed for, with -I. The environment and the current
 * directory belong to the traced program: with PYTHONPATH, PYTHONHOME and the like for another Python, ours would not
 * start. A script cannot do this: installers write its first line, without options, and a shell would change the
 * environment that the program inherits.
 *
 * Installers write the path of Python into the first line of the script vtrace-python, in the same directory. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define SCRIPT "vtrace-python"

/* -I leaves out a user's site-packages and the directory of pip install --target: their path follows from that of the
 * command. VTRACE_PYTHONPATH is for modules that vtrace must find elsewhere (docs/install.md), and comes first. */
static const char START[] =
    "import os, site, sys\n"
    "del sys.argv[0]\n"
    "base = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0])))\n"
    "version = 'python%d.%d' % sys.version_info[:2]\n"
    "for place in [f'{base}/{lib}/{version}/site-packages' for lib in ('lib', 'lib64')] + [base]:\n"
    "    if place not in sys.path and os.path.isdir(place + '/vtrace'):\n"
    "        sys.path.insert(next((i for i, path in enumerate(sys.path) if path.endswith('-packages')), 9), place)\n"
    "        break\n"
    "places = [place for place in os.environ.get('VTRACE_PYTHONPATH', '').split(':') if place]\n"
    "sys.path[:0] = places\n"
    "for place in places: site.addsitedir(place)\n";
static const char RUN[] = "from vtrace.entry import run\n"
                          "run()\n";

/* vtrace run --always becomes a program that has no vtrace around it, and that runs whatever fails. Ctrl-C ends it without
 * a message of Python, also while Python starts: until then the signal waits. */
static const char INTERRUPT[] =
    "import _signal\n"
    "if _signal.getsignal(2) is _signal.default_int_handler: _signal.signal(2, _signal.SIG_DFL)\n"
    "_signal.pthread_sigmask(_signal.SIG_UNBLOCK, [2])\n";
static const char RUN_ALWAYS[] =
    "try:\n"
    "    from vtrace.entry import run\n"
    "    run()\n"
    "except Exception:\n"
    "    import _signal\n"
    "    for number in _signal.SIGPIPE, _signal.SIGXFSZ: _signal.signal(number, _signal.SIG_DFL)\n"
    "    while sys.argv[2].startswith('-'): del sys.argv[2]\n"
    "    os.execvp(sys.argv[2], sys.argv[2:])\n";

/* The end of a path, behind its last '/'. */
static char *name_in(char *path)
{
    char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Reads the start of the script beside a command. Returns the number of bytes, 0 without script. */
static size_t read_script(const char *command, char *text, size_t room)
{
    char path[PATH_MAX + sizeof SCRIPT];
    strcpy(path, command);
    strcpy(name_in(path), SCRIPT);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, room - 1);
    if (file >= 0) close(file);
    text[got > 0 ? got : 0] = 0;
    return got > 0 ? (size_t)got : 0;
}

/* The path of Python: behind #!, or, where that line would be too long for Linux or the path has a blank, behind
 * '''exec' in the second line: #!/bin/sh, then '''exec' "PYTHON" "$0" "$@". NULL for other scripts. */
static char *python_of(char *text)
{
    if (strncmp(text, "#!", 2) != 0) return NULL;
    char *path = text + 2 + strspn(text + 2, " "), *rest = strchr(path, '\n');
    if (!rest) return NULL;
    *rest++ = 0;
    if (strcmp(path, "/bin/sh") != 0) {
        char *option = strstr(path, " -");
        if (option) *option = 0;
        return path;
    }
    static const char mark[] = "'''exec' ";
    if (strncmp(rest, mark, sizeof mark - 1) != 0) return NULL;
    path = rest + sizeof mark - 1;
    char quote = *path == '"' || *path == '\'' ? *path++ : ' ', *end = strchr(path, quote);
    if (!end || *path != '/') return NULL;
    *end = 0;
    return path;
}

static int is_always(int argc, char **argv)
{
    int found = 0;
    for (int i = 2; i < argc; i++) found |= !strcmp(argv[1], "run") && !strcmp(argv[i], "--always");
    return found;
}

/* Blocks SIGINT. Returns 1 if the signal was not blocked before. */
static int hold_interrupt(sigset_t *before)
{
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    return !sigprocmask(SIG_BLOCK, &interrupt, before) && !sigismember(before, SIGINT);
}

/* Python cannot start: becomes the program all the same. */
static void become_program(char **argv, const sigset_t *signals)
{
    char **program = argv + 2;
    while (*program && **program == '-') program++;
    sigprocmask(SIG_SETMASK, signals, NULL);
    if (*program) execvp(*program, program);
}

int main(int argc, char **argv)
{
    char self[PATH_MAX], text[2 * PATH_MAX], code[sizeof INTERRUPT + sizeof START + sizeof RUN_ALWAYS];
    const int always = is_always(argc, argv);
    sigset_t signals;
    sigprocmask(SIG_SETMASK, NULL, &signals);
    ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
    self[n > 0 ? n : 0] = 0;
    if (!read_script(self, text, sizeof text)) { /* without /proc, or an installer has made symbolic links */
        const char *started = (const char *)getauxval(AT_EXECFN);
        snprintf(self, sizeof self, "%s", started ? started : "");
        read_script(self, text, sizeof text);
    }
    char *python = python_of(text), *words[argc + 6];
    if (python && argc > 0) {
        words[0] = python;
        words[1] = "-I";
        words[2] = "-c";
        snprintf(code, sizeof code, "%s%s%s", always && hold_interrupt(&signals) ? INTERRUPT : "", START,
                 always ? RUN_ALWAYS : RUN);
        words[3] = code;
        words[4] = self;
        for (int i = 1; i <= argc; i++) words[4 + i] = argv[i];
        execv(python, words);
    }
    if (always) become_program(argv, &signals);
    fprintf(stderr, "%s: error: cannot start %s: %s (install vtrace again)\n", name_in(self),
            python ? python : "Python, whose path is in " SCRIPT, python ? strerror(errno) : "no such script");
    return 1;
}
