/* SPDX-License-Identifier: BSD-3-Clause */
/* registers_raw TIMES: every register of x86-64 at the start of a function and after its end, with hooks unknown to
   the compiler (gcc's sleds, -O1 and above). Loads all registers, calls see, which stores them; loads all again and
   calls give, which leaves them as they are, stores them, TIMES times. Names a register that has changed, and then
   exits with 1. r10 and r11 may change at the end, r11 at the start; the flags may always. main 1 -> see TIMES, give
   TIMES. */
#include "program.h"

struct registers {
    uint64_t general[16]; /* rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15 */
    uint64_t masks[8]; /* k0 ... k7 */
    uint8_t x87[2][16]; /* st0, st1 */
    uint32_t mxcsr, control;
    uint64_t unused[3];
    uint8_t vectors[32][64] __attribute__((aligned(64)));
};

_Static_assert(sizeof(struct registers) == 256 + 32 * 64, "the offsets below");
struct registers loaded, seen;
int wide; /* 0: 16 vectors of 16 bytes; 1: of 32; 2: 32 vectors of 64 and masks */

void with_see(void);
void with_give(void);

/* clang-format off */
#define LIST16(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define LIST32(X) LIST16(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define LIST8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define AT "256+64*"
#define STORE_X(n) "movdqu %xmm" #n ", seen+" AT #n "(%rip)\n"
#define STORE_Y(n) "vmovdqu %ymm" #n ", seen+" AT #n "(%rip)\n"
#define STORE_Z(n) "vmovdqu64 %zmm" #n ", seen+" AT #n "(%rip)\n"
#define STORE_K(n) "kmovw %k" #n ", seen+128+8*" #n "(%rip)\n"
#define LOAD_X(n) "movdqu loaded+" AT #n "(%rip), %xmm" #n "\n"
#define LOAD_Y(n) "vmovdqu loaded+" AT #n "(%rip), %ymm" #n "\n"
#define LOAD_Z(n) "vmovdqu64 loaded+" AT #n "(%rip), %zmm" #n "\n"
#define LOAD_K(n) "kmovw loaded+128+8*" #n "(%rip), %k" #n "\n"
#define GENERAL(X) X(rax, 0) X(rcx, 1) X(rdx, 2) X(rbx, 3) X(rbp, 5) X(rsi, 6) X(rdi, 7) X(r8, 8) X(r9, 9) X(r10, 10)   \
    X(r11, 11) X(r12, 12) X(r13, 13) X(r14, 14) X(r15, 15)
#define STORE_G(name, n) "movq %" #name ", seen+8*" #n "(%rip)\n"
#define LOAD_G(name, n) "movq loaded+8*" #n "(%rip), %" #name "\n"

/* Stores all registers; changes the flags only. */
#define STORE                                                                                                          \
    GENERAL(STORE_G)                                                                                                   \
    "stmxcsr seen+224(%rip)\n fnstcw seen+228(%rip)\n"                                                                 \
    "cmpl $1, wide(%rip)\n je 31f\n ja 32f\n"                                                                          \
    LIST16(STORE_X) "jmp 33f\n"                                                                                        \
    "31:\n" LIST16(STORE_Y) "jmp 33f\n"                                                                                \
    "32:\n" LIST32(STORE_Z) LIST8(STORE_K)                                                                             \
    "33:\n"
#define LOAD                                                                                                           \
    "cmpl $1, wide(%rip)\n je 41f\n ja 42f\n"                                                                          \
    LIST16(LOAD_X) "jmp 43f\n"                                                                                         \
    "41:\n" LIST16(LOAD_Y) "jmp 43f\n"                                                                                 \
    "42:\n" LIST32(LOAD_Z) LIST8(LOAD_K)                                                                               \
    "43:\n"                                                                                                            \
    GENERAL(LOAD_G)
#define SAVE "pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n subq $8, %rsp\n"
#define RESTORE "addq $8, %rsp\n popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n"

__asm__(".text\n"
    "with_see:\n" SAVE LOAD "call see\n" RESTORE "ret\n"
    "with_give:\n" SAVE LOAD "call give\n" STORE
    /* the results of give in x87 registers */
    "fstpt seen+192(%rip)\n fstpt seen+208(%rip)\n"
    RESTORE "ret\n");
/* clang-format on */

KEEP __attribute__((used)) void see(void)
{
    __asm__ volatile(STORE);
}

KEEP __attribute__((used)) void give(void)
{
    __asm__ volatile("fldt loaded+208(%rip)\n fldt loaded+192(%rip)\n");
}

static QUIET int differs(const char *when, const char *kind, int n, const void *a, const void *b, size_t bytes)
{
    if (!memcmp(a, b, bytes)) return 0;
    printf("%s: %s %d is not as it was\n", when, kind, n);
    return 1;
}

/* Compares the registers that must be kept at the start, or at the end of a function. */
static QUIET int compare(const char *when, int end)
{
    int wrong = 0, width = 16 << wide, count = wide == 2 && !end ? 32 : 16;
    for (int i = 0; i < 16; i++) {
        int dead = end ? i == 1 || (i >= 8 && i <= 11) : i == 11;
        if (i != 4 && !dead) wrong += differs(when, "general register", i, &seen.general[i], &loaded.general[i], 8);
    }
    for (int i = 0; i < count; i++) wrong += differs(when, "vector", i, seen.vectors[i], loaded.vectors[i], (size_t)width);
    for (int i = 0; i < 8 && wide == 2 && !end; i++) wrong += differs(when, "mask", i, &seen.masks[i], &loaded.masks[i], 2);
    for (int i = 0; i < 2 && end; i++) wrong += differs(when, "st", i, seen.x87[i], loaded.x87[i], 10);
    wrong += differs(when, "mxcsr", 0, &seen.mxcsr, &loaded.mxcsr, 4);
    wrong += differs(when, "control word", 0, &seen.control, &loaded.control, 2);
    return wrong;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 10, wrong = 0;
    wide = __builtin_cpu_supports("avx512f") ? 2 : __builtin_cpu_supports("avx2") ? 1 : 0;
    for (int i = 0; i < times && wrong < 10; i++) {
        for (size_t k = 0; k < sizeof loaded; k++) ((uint8_t *)&loaded)[k] = (uint8_t)(i + (int)k * 13) & 0x3f;
        __asm__ volatile("stmxcsr %0\n fnstcw %1" : "=m"(loaded.mxcsr), "=m"(loaded.control));
        memset(&seen, 0xff, sizeof seen);
        with_see();
        wrong += compare("begin", 0);
        memset(&seen, 0xff, sizeof seen);
        with_give();
        wrong += compare("end", 1);
    }
    printf("%d registers of %d bytes, wrong %d\n", wide == 2 ? 32 : 16, 16 << wide, wrong);
    return wrong > 0;
}
