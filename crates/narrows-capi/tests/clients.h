/*
 * What the tests of many clients share: how many there are, the processes that they are in, and
 * what the server measures. They have a check.h before they include this.
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include <sys/mman.h>
#include <time.h>

/* Clients of a process, each in a thread of its own, and processes at most. */
enum { EACH = 16, MOST = 128 };
/* Questions of each client behind the first. */
enum { ROUNDS = 10 };
/* Clients from which on the two peers whose memory is made whole count little, and what each may
   cost the server then, in KiB. */
enum { MANY = 100, RESIDENT = 320 };
/* Seconds that all of it may take. */
enum { LIMIT = 4 * PATIENCE };

static unsigned clients = 128;
/* How many were answered once, and whether all were: shared by all processes. */
static struct meeting {
    unsigned answered, go;
} *meeting;

/* Before any process starts: as many as NARROWS_CLIENTS says, or 128. */
static inline void prepare(void)
{
    const char *asked = getenv("NARROWS_CLIENTS");
    void *memory = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    CHECK(memory != MAP_FAILED);
    meeting = (struct meeting *)memory;
    if (asked)
        clients = (unsigned)atoi(asked);
    CHECK(clients > 0 && clients <= MOST * EACH);
}

/* For a client that was answered once. */
static inline void await_the_others(void)
{
    __atomic_add_fetch(&meeting->answered, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&meeting->go, __ATOMIC_SEQ_CST))
        usleep(10000);
}

static void *(*one_client)(void *);
static unsigned first_client;

static void some_clients(void)
{
    unsigned left = clients - first_client;
    alarm(LIMIT);
    in_threads(one_client, first_client, left < (unsigned)EACH ? left : (unsigned)EACH);
}

/* All clients, until they have ended. Each is told its number. */
static inline void run_clients(void *(*client)(void *))
{
    pid_t pids[MOST];
    unsigned count = 0, i;
    one_client = client;
    for (first_client = 0; first_client < clients; first_client += EACH)
        pids[count++] = start(some_clients);
    for (i = 0; i < count; i++) {
        int state = 0;
        CHECK(waitpid(pids[i], &state, 0) == pids[i]);
        CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    }
}

static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Resident memory in KiB, that of peers included. */
static inline unsigned long resident(void)
{
    unsigned long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu %lu", &size, &pages) == 2);
    fclose(file);
    return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

/* Has the server answer that many questions, of all clients once and then of each again and again,
   and prints what that takes. */
static inline void serve_clients(void (*answer)(unsigned count))
{
    unsigned long before = resident();
    unsigned long each;
    double began = now();
    answer(clients);
    each = (resident() - before) / clients;
    printf("%u clients met in %.2f s, %lu KiB resident for each\n", clients, now() - began, each);
    CHECK(clients < MANY || each <= RESIDENT);
    while (__atomic_load_n(&meeting->answered, __ATOMIC_SEQ_CST) < clients)
        usleep(1000);
    __atomic_store_n(&meeting->go, 1, __ATOMIC_SEQ_CST);
    began = now();
    answer(clients * ROUNDS);
    printf("%.0f answers a second\n", clients * ROUNDS / (now() - began));
}

#endif
