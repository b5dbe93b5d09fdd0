/* Many clients at one server: NARROWS_CLIENTS of them, or 128. Each hunts it at once, and then each
   has its turn again and again. Prints what an answer takes, and what the server's memory is. */
#include "check.h"

#include <sys/mman.h>
#include <time.h>

enum { EACH = 16, ROUNDS = 10 };

static unsigned clients = 128;
/* Clients that were answered once, and whether all were: shared with them. */
static unsigned *board;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *client(void *argument)
{
    unsigned number = *(unsigned *)argument, round;
    char name[32];
    LINX *linx;
    LINX_SPID server;
    snprintf(name, sizeof name, "client-%u", number);
    linx = opened(name);
    server = hunted(linx, "server");
    for (round = 0; round <= ROUNDS; round++) {
        union LINX_SIGNAL *sig = made(linx, ONE, number);
        CHECK(linx_send(linx, &sig, server) == 0);
        sig = got(linx, ONE);
        CHECK(sig->numbered.value == number);
        freed(linx, sig);
        if (round == 0) {
            __atomic_add_fetch(&board[0], 1, __ATOMIC_SEQ_CST);
            while (!__atomic_load_n(&board[1], __ATOMIC_SEQ_CST))
                usleep(10000);
        }
    }
    CHECK(linx_close(linx) == 0);
    return NULL;
}

/* Some clients, each in a thread of its own. */
static void crowd(unsigned first)
{
    pthread_t threads[EACH];
    unsigned numbers[EACH], i, count = clients - first;
    if (count > EACH)
        count = EACH;
    for (i = 0; i < count; i++) {
        numbers[i] = first + i;
        CHECK(pthread_create(&threads[i], NULL, client, &numbers[i]) == 0);
    }
    for (i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Resident memory in KiB, that of peers included. */
static unsigned long resident(void)
{
    unsigned long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu %lu", &size, &pages) == 2);
    fclose(file);
    return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static void answer(LINX *linx, unsigned count)
{
    while (count-- > 0) {
        union LINX_SIGNAL *sig = got(linx, ONE);
        CHECK(linx_send(linx, &sig, linx_sender(linx, &sig)) == 0);
    }
}

int main(void)
{
    enum { MOST = 128 };
    const char *asked = getenv("NARROWS_CLIENTS");
    pid_t pids[MOST];
    unsigned first, count = 0, i;
    unsigned long before;
    double began;
    void *memory;
    LINX *linx;
    if (asked)
        clients = (unsigned)atoi(asked);
    CHECK(clients > 0 && clients <= MOST * EACH);
    memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    board = (unsigned *)memory;
    for (first = 0; first < clients; first += EACH) {
        pids[count] = fork();
        CHECK(pids[count] >= 0);
        if (pids[count++] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(PATIENCE * 4);
            crowd(first);
            _exit(0);
        }
    }
    alarm(PATIENCE * 4);
    linx = opened("server");
    before = resident();
    began = now();
    answer(linx, clients);
    printf("%u clients met in %.2f s, %lu KiB resident for each\n", clients, now() - began,
           (resident() - before) / clients);
    while (__atomic_load_n(&board[0], __ATOMIC_SEQ_CST) < clients)
        usleep(1000);
    __atomic_store_n(&board[1], 1, __ATOMIC_SEQ_CST);
    began = now();
    answer(linx, clients * ROUNDS);
    printf("%.0f answers a second\n", clients * ROUNDS / (now() - began));
    CHECK(linx_close(linx) == 0);
    for (i = 0; i < count; i++) {
        int state = 0;
        CHECK(waitpid(pids[i], &state, 0) == pids[i]);
        CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    }
    return 0;
}
