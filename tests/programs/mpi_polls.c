/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_polls THREADS STEP...: each thread makes calls that find nothing on one rank, by its own requests and tags. A step
   is a letter and a number n of repetitions:
   p MPI_Iprobe, m MPI_Improbe, t MPI_Test of the first request, u of the second, b of both in turn, a MPI_Testall, y
   MPI_Testany, s MPI_Testsome; i MPI_Iprobe and 20 us of computation in turn; f MPI_Iprobe of a message that is there;
   e the user's region "event"; [ starts section polls/n, ] stops it; k a signal whose handler enters the region
   "handled"; r MPI_Comm_rank; o MPI_Iprobe and recording off and on in turn; l the same with a rewind after each; c
   computes n us; j signals this process by a timer each n us, 0: no longer; z kills the process; x the first thread
   computes n us and calls exit, the others go on; # makes the steps before it n times in all.
   Prints the ns of i's computation, the number of signals handled, and the number of recorded calls of each function. If
   MPI_POLLS_COUNTS names a file, it gets three numbers of each thread: the calls that have begun, those that have ended,
   and those that had ended when the first thread called exit. */
#include <mpi.h>
#include "vt_user.h"
#include "program.h"

static char **steps;
static int nsteps;
static _Atomic long long computed;
static _Atomic int handled;
static const char letters[] = "pmtays";
static const char *const names[] = {"MPI_Iprobe",  "MPI_Improbe", "MPI_Test",
                                    "MPI_Testall", "MPI_Testany", "MPI_Testsome"};
static _Atomic long counts[6];
enum { MOST = 8 };
static volatile long long unshared[MOST][3], (*progress)[3] = unshared;

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void compute(int us)
{
    const long long begin = now();
    while (now() < begin + us * 1000ll) continue;
}

static void on_signal(int number)
{
    (void)number;
    VT_USER_START("handled");
    handled++;
    VT_USER_END("handled");
}

static void tick(int us)
{
    const struct itimerval every = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &every, NULL);
}

struct polled {
    MPI_Request requests[2];
    int values[2], tag;
};

static int found(struct polled *of, char what)
{
    int flag = 0, index, indices[2];
    MPI_Message message;
    MPI_Request *r = of->requests;
    counts[strchr(letters, what == 'u' ? 't' : what) - letters]++;
    progress[of->tag / 10][0]++;
    switch (what) {
    case 'p': MPI_Iprobe(0, of->tag + 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); break;
    case 'm': MPI_Improbe(0, of->tag + 3, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE); break;
    case 't': MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE); break;
    case 'u': MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE); break;
    case 'a': MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE); break;
    case 'y': MPI_Testany(2, r, &index, &flag, MPI_STATUS_IGNORE); break;
    case 's': MPI_Testsome(2, r, &flag, indices, MPI_STATUSES_IGNORE); break;
    default: abort();
    }
    progress[of->tag / 10][1]++;
    return flag;
}

static void find(const struct polled *of)
{
    int flag = 0, value = 1, got;
    MPI_Request sent;
    MPI_Isend(&value, 1, MPI_INT, 0, of->tag + 2, MPI_COMM_SELF, &sent);
    do {
        MPI_Iprobe(0, of->tag + 2, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        counts[0]++;
    } while (!flag);
    MPI_Recv(&got, 1, MPI_INT, 0, of->tag + 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void step(struct polled *of, char what, int n)
{
    int rank;
    if (what == 'c') compute(n);
    if (what == 'j') tick(n);
    if (what == 'z') raise(SIGKILL);
    if (what == 'x' && !of->tag) {
        compute(n);
        for (int i = 0; i < MOST; i++) progress[i][2] = progress[i][1];
        exit(0);
    }
    if (what == '[') VT_SECTION_START("polls", n, 0);
    if (what == ']') VT_SECTION_STOP("polls", n, 0);
    if (strchr("cjzx[]", what)) return;
    if (what == 'l') VT_SET_REWIND_MARK();
    for (int i = 0; i < n; i++) {
        int flag = 0;
        if (what == 'k') raise(SIGUSR1);
        else if (what == 'f') find(of);
        else if (what == 'r') MPI_Comm_rank(MPI_COMM_SELF, &rank);
        else if (what == 'e') {
            VT_USER_START("event");
            VT_USER_END("event");
        } else if (what == 'i') {
            flag = found(of, 'p');
            const long long begin = now();
            compute(20);
            computed += now() - begin;
        } else if (what == 'o') {
            flag = found(of, 'p');
            VT_OFF();
            flag |= found(of, 'p');
            counts[0]--;
            VT_ON();
        } else if (what == 'l') {
            flag = found(of, 'p');
            flag |= found(of, 'p');
            counts[0] -= 2;
            VT_REWIND();
        } else if (what == 'b') flag = found(of, 't') || found(of, 'u');
        else flag = found(of, what);
        if (flag) abort();
    }
}

static void *work(void *argument)
{
    struct polled of = {.tag = *(int *)argument};
    const int sent[2] = {1, 2};
    for (int i = 0; i < 2; i++) MPI_Irecv(&of.values[i], 1, MPI_INT, 0, of.tag + i, MPI_COMM_SELF, &of.requests[i]);
    for (int i = 0, times = 1; i < nsteps; i++) {
        if (steps[i][0] != '#') step(&of, steps[i][0], atoi(steps[i] + 1));
        else if (times++ < atoi(steps[i] + 1)) i = -1;
    }
    for (int i = 0; i < 2; i++) MPI_Send(&sent[i], 1, MPI_INT, 0, of.tag + i, MPI_COMM_SELF);
    MPI_Waitall(2, of.requests, MPI_STATUSES_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    const int threads = atoi(argv[1]);
    int provided, tags[MOST];
    pthread_t others[MOST];
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (threads > 1 && provided < MPI_THREAD_MULTIPLE) return 77;
    signal(SIGUSR1, on_signal);
    signal(SIGALRM, on_signal);
    if (getenv("MPI_POLLS_COUNTS")) {
        const int file = open(getenv("MPI_POLLS_COUNTS"), O_RDWR | O_CREAT, 0600);
        if (ftruncate(file, sizeof unshared)) return 1;
        progress = mmap(NULL, sizeof unshared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    steps = argv + 2;
    nsteps = argc - 2;
    for (int i = 0; i < threads; i++) tags[i] = 10 * i;
    for (int i = 1; i < threads; i++) pthread_create(&others[i], NULL, work, &tags[i]);
    work(&tags[0]);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    printf("computed %lld\nhandled %d\n", (long long)computed, (int)handled);
    for (int i = 0; i < 6; i++) printf("%s %ld\n", names[i], counts[i]);
    MPI_Finalize();
    return 0;
}
