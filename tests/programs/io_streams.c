/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call on streams, with its expected records. The parent of a stream's handle is its descriptor's. */
#define _GNU_SOURCE
#include <wchar.h>
#include "io.h"

static volatile size_t size = 10;
static const char *volatile text = "some text"; /* unknown to the compiler, which would call fwrite for fputs */
static const char *volatile number = "%d %g\n";
static char bytes[256];

#ifdef __OPTIMIZE__
#define GETLINE "getdelim" /* the headers turn getline into getdelim */
#else
#define GETLINE "getline"
#endif

extern char *gets(char *to);
extern int _IO_getc(FILE *f), _IO_putc(int c, FILE *f);

static void opening(void)
{
    FILE *f;
    int fd;
    CALL(f = fopen("text", "w"), BIG("fopen") " +text +text");
    CALL(!fclose(f), "fclose -text -text");
    CALL(f = fopen64("text", "r+"), "fopen64 +text +text");
    CALL(f = freopen("other", "w", f), BIG("freopen") " -text -text +other +other");
    CALL(f = freopen64("text", "w", f), "freopen64 -other -other +text +text");
    CALL(!fclose(f), "fclose -text -text");
    CALL(!fopen("none/there", "r"), BIG("fopen") " !%d", ENOENT);
    CALL((fd = open("text", O_RDWR)) >= 0, BIG("open") " +text");
    CALL(f = fdopen(fd, "r+"), "fdopen +text");
    CALL(!fclose(f), "fclose -text -text");
    CALL(!fdopen(999, "r"), "fdopen !%d", EBADF);
    CALL(f = popen("cat > /dev/null", "w"), "popen +pipe +pipe");
    CALL(!pclose(f), "pclose -pipe -pipe");
    CALL(f = fmemopen(bytes, sizeof bytes, "r"), "fgetc"); /* in memory: no file, no handle */
    MUST(fgetc(f) == 0);
    CALL(!fclose(f), "fclose");
}

static void writing(FILE *f)
{
    CALL(fwrite(text, 3, 3, f) == 3, "fwrite w:text:9:9");
    CALL(fwrite_unlocked(text, 1, size - 5, f) == 5, "fwrite_unlocked w:text:5:5");
    CALL(fputs(text, f) >= 0, "fputs w:text:9:9");
    CALL(fputs_unlocked(text, f) >= 0, "fputs_unlocked w:text:9:9");
    CALL(fputc('a', f) == 'a', "fputc w:text:1:1");
    CALL(REAL(putc)('b', f) == 'b', "putc w:text:1:1");
    CALL(_IO_putc('b', f) == 'b', "putc w:text:1:1");
    CALL(REAL(fputc_unlocked)('\n', f) == '\n', "fputc_unlocked w:text:1:1");
    CALL(REAL(putc_unlocked)('\n', f) == '\n', "putc_unlocked w:text:1:1");
    CALL(fprintf(f, number, 7, 2.5) == 6, "fprintf w:text:?:6");
    CALL(fflush(f) == 0, "fflush f:text:?:?");
    CALL(fflush_unlocked(f) == 0, "fflush_unlocked f:text:?:?");
}

static void reading(FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    int n;
    double x;
    CALL(fread(bytes, 3, size - 7, f) == 3, "fread r:text:9:9");
    CALL(fread_unlocked(bytes, 1, size - 5, f) == 5, "fread_unlocked r:text:5:5");
    CALL(fgetc(f) == 's', "fgetc r:text:1:1");
    CALL(REAL(getc)(f) == 'o', "getc r:text:1:1");
    CALL(_IO_getc(f) == 'm', "getc r:text:1:1");
    CALL(REAL(fgetc_unlocked)(f) == 'e', "fgetc_unlocked r:text:1:1");
    CALL(REAL(getc_unlocked)(f) == ' ', "getc_unlocked r:text:1:1");
    CALL(ungetc(' ', f) == ' ', "ungetc");
    CALL(fgets(bytes, (int)size, f), "fgets r:text:9:9");
    CALL(fgets_unlocked(bytes, 200, f), "fgets_unlocked r:text:199:9");
    CALL(getline(&line, &room, f) == 1, GETLINE " r:text:?:1");
    CALL(fscanf(f, "%d %lf", &n, &x) == 2, "fscanf r:text:?:?");
    MUST(n == 7 && x == 2.5);
    CALL(getdelim(&line, &room, '\n', f) == 1, "getdelim r:text:?:1");
    CALL(fgetc(f) == EOF, "fgetc r:text:1:0");
    CALL(fread(bytes, 1, size, f) == 0, "fread r:text:10:0");
    CALL(fscanf(f, "%d", &n) == EOF, "fscanf r:text:?:0");
    CALL(fputc('x', f) == EOF, "fputc w:text:1:0 !%d", EBADF);
    free(line);
}

static void seeking(FILE *f)
{
    fpos_t place;
    fpos64_t place64;
    CALL(!fseek(f, 5, SEEK_SET), "fseek text@5");
    CALL(ftell(f) == 5, "ftell");
    CALL(!fseeko(f, 2, SEEK_CUR), BIG("fseeko") " text@?");
    CALL(ftello(f) == 7, BIG("ftello"));
    CALL(!fseeko64(f, 8, SEEK_SET), "fseeko64 text@8");
    CALL(ftello64(f) == 8, "ftello64");
    CALL(!fgetpos(f, &place), BIG("fgetpos"));
    CALL(!fgetpos64(f, &place64), "fgetpos64");
    call("rewind text@0"), rewind(f);
    CALL(!fsetpos(f, &place), BIG("fsetpos") " text@8");
    CALL(!fsetpos64(f, &place64), "fsetpos64 text@8");
    CALL(fseek(f, -100, SEEK_SET) < 0, "fseek !%d", EINVAL);
    call("flockfile L:text"), flockfile(f);
    CALL(!ftrylockfile(f), "ftrylockfile L:text");
    call("funlockfile U:text"), funlockfile(f);
    call("funlockfile U:text"), funlockfile(f);
}

/* Standard streams, redirected to a file. */
static void standard(void)
{
    int n;
    CALL(freopen("out", "w", stdout), BIG("freopen") " -stdout -stdout +out +out");
    CALL(!setvbuf(stdout, NULL, _IOFBF, 100), "setvbuf");
    CALL(printf(number, 7, 2.5) == 6, "printf w:out:?:6");
    CALL(puts(text) >= 0, "puts w:out:10:10");
    CALL(REAL(putchar)('x') == 'x', "putchar w:out:1:1");
    CALL(REAL(putchar_unlocked)('\n') == '\n', "putchar_unlocked w:out:1:1");
    CALL(freopen("out", "r", stdin), BIG("freopen") " -stdin -stdin +out +out");
    call("fflush"), fflush(NULL);
    CALL(scanf("%d", &n) == 1 && n == 7, "scanf r:out:?:?");
    CALL(REAL(getchar)() == ' ', "getchar r:out:1:1");
    CALL(REAL(getchar_unlocked)() == '2', "getchar_unlocked r:out:1:1");
    CALL(gets(bytes), "gets r:out:?:3");
    CALL(gets(bytes), "gets r:out:?:10");
    CALL(dprintf(1, number, 8, 1.5) == 6, "dprintf w:out:?:6");
    CALL(fclose(stdin) == 0, "fclose -out -out");
}

int main(void)
{
    FILE *f;
    opening();
    CALL(f = fopen("text", "w"), BIG("fopen") " +text +text");
    writing(f);
    CALL(!fclose(f), "fclose -text -text");
    CALL(f = fopen("text", "r"), BIG("fopen") " +text +text");
    reading(f);
    seeking(f);
    CALL(!fclose(f), "fclose -text -text");
    standard();
    tell();
    return 0;
}
