/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts the commands and arguments of MPI_Comm_spawn between Fortran and C. In Fortran these are CHARACTER arrays:
   element j of command i is at (j * n + i) * length, padded with blanks. A blank element ends the list (MPI-4.1,
   section 11.8.2). */
#include "mpiwrap.h"

#include <sys/syscall.h>
#include <unistd.h>

struct vt_fortran_spawn {
    void *pages[2];
    size_t bytes[2];
    /* in C, at the root; else NULL */
    char **commands, ***argvs;
    MPI_Info *infos;
    /* in Fortran: commands started in their place */
    char *command, *arguments;
    size_t command_length, argument_length;
};

static size_t vt_fortran_trimmed(const char *text, size_t length)
{
    while (length && (text[length - 1] == ' ' || !text[length - 1])) length--;
    return length;
}

static char *vt_fortran_copy(char **at, const char *text, size_t length)
{
    char *copy = *at;
    length = vt_fortran_trimmed(text, length);
    memcpy(copy, text, length);
    *at += length + 1; /* the pages are zeroed */
    return copy;
}

/* Only the root's arguments are significant. MPI_ARGV_NULL and MPI_ARGVS_NULL are one blank or zero character. */
static void vt_fortran_unpack(struct vt_fortran_spawn *s, MPI_Comm comm, int root, int n, const char *commands,
                              size_t command_length, const char *arguments, size_t length, const MPI_Fint *infos)
{
    const struct vt_mpi_comm *c = vt_mpi_comm(comm);
    *s = (struct vt_fortran_spawn){.commands = NULL};
    if (!c || c->remote || root < 0 || c->rank != (uint32_t)root || n < 1) return;
    command_length = (unsigned)command_length;
    length = (unsigned)length;
    const bool none = length < 2 && !vt_fortran_trimmed(arguments, length);
    size_t words = 0;
    for (int i = 0; i < n; i++, words++)
        for (size_t j = 0; !none && vt_fortran_trimmed(arguments + (j * n + i) * length, length); j++) words++;
    s->bytes[0] = (3 * (size_t)n + words) * sizeof(char *) + n * (command_length + 1) + words * (length + 1);
    s->pages[0] = vt_pages(s->bytes[0]);
    if (!s->pages[0]) return;
    s->commands = s->pages[0];
    s->argvs = (char ***)(s->commands + n);
    s->infos = (MPI_Info *)(s->argvs + n);
    char **word = (char **)(s->infos + n), *text = (char *)(word + words);
    for (int i = 0; i < n; i++) {
        s->infos[i] = PMPI_Info_f2c(infos[i]);
        s->commands[i] = vt_fortran_copy(&text, commands + i * command_length, command_length);
        s->argvs[i] = word;
        for (size_t j = 0; !none && vt_fortran_trimmed(arguments + (j * n + i) * length, length); j++)
            *word++ = vt_fortran_copy(&text, arguments + (j * n + i) * length, length);
        word++;
    }
}

static bool vt_fortran_pack(struct vt_fortran_spawn *s, int n, const struct vt_mpi_spawn *spawn)
{
    size_t most = 1, longest = 1;
    if (!spawn->commands) return false;
    for (int i = 0; i < n; i++) {
        size_t words = 1;
        const size_t command = strlen(spawn->commands[i]);
        if (command > s->command_length) s->command_length = command;
        for (char **word = spawn->argvs[i]; *word; word++, words++)
            if (strlen(*word) > longest) longest = strlen(*word);
        if (words > most) most = words;
    }
    s->argument_length = longest;
    s->bytes[1] = n * (s->command_length + most * longest);
    s->command = s->pages[1] = vt_pages(s->bytes[1]);
    if (!s->command) return false;
    s->arguments = s->command + n * s->command_length;
    memset(s->command, ' ', s->bytes[1]);
    for (int i = 0; i < n; i++) {
        memcpy(s->command + i * s->command_length, spawn->commands[i], strlen(spawn->commands[i]));
        for (size_t j = 0; spawn->argvs[i][j]; j++)
            memcpy(s->arguments + (j * n + i) * longest, spawn->argvs[i][j], strlen(spawn->argvs[i][j]));
    }
    return true;
}

static void vt_fortran_spawned(struct vt_fortran_spawn *s)
{
    for (int i = 0; i < 2; i++)
        if (s->pages[i]) syscall(SYS_munmap, s->pages[i], s->bytes[i]);
}
