/* Many clients at one server: NARROWS_CLIENTS of them, or 128. Each asks at once, and then each has
   its turn again and again. Prints what an answer takes, and what the server's memory is. */
#include "check.h"

enum { SERVER = 1, FIRST = 10, ROUNDS = 10 };
/* Places on the board: clients that are answered once, and whether all were. */
enum { ANSWERED, GO };

static unsigned clients = 128;

/* A client's number, and where its answer is to go. */
typedef struct {
    unsigned number;
    mcapi_endpoint_t from;
} question_t;

static void *client(void *argument)
{
    question_t question;
    mcapi_status_t status;
    mcapi_endpoint_t there;
    unsigned round, back;
    size_t size;
    question.number = *(unsigned *)argument;
    initialize(FIRST + question.number);
    question.from = create(1);
    there = get(SERVER, 1);
    for (round = 0; round <= ROUNDS; round++) {
        mcapi_msg_send(question.from, there, &question, sizeof question, 0, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_msg_recv(question.from, &back, sizeof back, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == sizeof back && back == question.number);
        if (round == 0) {
            __atomic_add_fetch(&board[ANSWERED], 1, __ATOMIC_SEQ_CST);
            while (!look(GO))
                usleep(10000);
        }
    }
    finalize();
    return NULL;
}

/* As many clients as a process can have nodes, each in a thread of its own, from `first` on. */
static void crowd(unsigned first)
{
    pthread_t threads[MCAPI_MAX_LOCAL_NODES];
    unsigned numbers[MCAPI_MAX_LOCAL_NODES], i, count = clients - first;
    if (count > MCAPI_MAX_LOCAL_NODES)
        count = MCAPI_MAX_LOCAL_NODES;
    for (i = 0; i < count; i++) {
        numbers[i] = first + i;
        CHECK(pthread_create(&threads[i], NULL, client, &numbers[i]) == 0);
    }
    for (i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void crowds(void)
{
    enum { MOST = 64 };
    pid_t pids[MOST];
    unsigned i, first, count = 0;
    for (first = 0; first < clients; first += MCAPI_MAX_LOCAL_NODES) {
        CHECK(count < MOST);
        pids[count] = fork();
        CHECK(pids[count] >= 0);
        if (pids[count++] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(PATIENCE * 4);
            crowd(first);
            _exit(0);
        }
    }
    for (i = 0; i < count; i++) {
        int state = 0;
        CHECK(waitpid(pids[i], &state, 0) == pids[i]);
        CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
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

static void answer(mcapi_endpoint_t own, unsigned count)
{
    question_t question;
    mcapi_status_t status;
    size_t size;
    while (count-- > 0) {
        mcapi_msg_recv(own, &question, sizeof question, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == sizeof question && question.number < clients);
        mcapi_msg_send(own, question.from, &question.number, sizeof question.number, 0, &status);
        EXPECT(MCAPI_SUCCESS);
    }
}

static void server(void)
{
    unsigned long before;
    double began, met, ended;
    mcapi_endpoint_t own;
    alarm(PATIENCE * 4);
    initialize(SERVER);
    own = create(1);
    before = resident();
    began = now();
    answer(own, clients);
    met = now();
    printf("%u clients met in %.2f s, %lu KiB resident for each\n", clients, met - began,
           (resident() - before) / clients);
    while (look(ANSWERED) < clients)
        usleep(1000);
    put(GO, 1);
    began = now();
    answer(own, clients * ROUNDS);
    ended = now();
    printf("%.0f answers a second\n", clients * ROUNDS / (ended - began));
    finalize();
}

int main(void)
{
    const char *asked = getenv("NARROWS_CLIENTS");
    if (asked)
        clients = (unsigned)atoi(asked);
    CHECK(clients > 0 && clients <= MCAPI_MAX_LINKS);
    TOGETHER(all_of_many_clients_are_answered, server, crowds);
    return verdict(1);
}
