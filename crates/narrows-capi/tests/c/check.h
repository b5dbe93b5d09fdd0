/*
 * What the test programs share: checks, processes that are started together, and the few steps that
 * every test makes. A case runs in processes of its own, so that none inherits a node.
 */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <assert.h>
#include <mcapi.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds within which something comes that has to come. */
#define SOON 30000u
/* Milliseconds after which nothing is taken to come. */
#define BRIEFLY 30u
/* The domain of most nodes. */
#define DOMAIN 3
/* A port at which no test has an endpoint. */
#define NOWHERE 4000

static inline void fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    fflush(stdout);
    _exit(1);
}

static inline const char *status_name(mcapi_status_t status, char *text, size_t size)
{
    if (!mcapi_display_status(status, text, size))
        snprintf(text, size, "status %u", status);
    return text;
}

static inline void expect(const char *file, int line, mcapi_status_t expected, mcapi_status_t got)
{
    char a[MCAPI_MAX_STATUS_MSG_LEN], b[MCAPI_MAX_STATUS_MSG_LEN];
    if (expected == got)
        return;
    fprintf(stderr, "%s:%d: expected %s, got %s\n", file, line,
            status_name(expected, a, sizeof a), status_name(got, b, sizeof b));
    fflush(stdout);
    _exit(1);
}

#define CHECK(what) ((what) ? (void)0 : fail(__FILE__, __LINE__, #what))
/* What the last call set `status` to. */
#define EXPECT(expected) expect(__FILE__, __LINE__, (expected), status)
#define EXPECT_IS(expected, got) expect(__FILE__, __LINE__, (expected), (got))

#include "../process.h"

/* Where the processes of a case say how far they are. */
enum { SLOTS = 64 };
static unsigned *board;

static inline void put(int slot, unsigned value)
{
    __atomic_store_n(&board[slot], value, __ATOMIC_SEQ_CST);
}

static inline unsigned look(int slot)
{
    return __atomic_load_n(&board[slot], __ATOMIC_SEQ_CST);
}

static inline void post(int slot)
{
    put(slot, 1);
}

/* No thread stands behind the nodes of this program: outside of calls they answer nobody. */
static inline void answer_in_calls_only(void)
{
    CHECK(setenv("NARROWS_MCAPI_HELPER", "0", 1) == 0);
}

/* Waits for another process outside of MCAPI. */
static inline void await(int slot)
{
    while (!look(slot))
        sched_yield();
}

/* Lets the node of this thread answer its peers for a moment. */
static inline void serve_once(void)
{
    mcapi_status_t status;
    mcapi_domain_t domain = mcapi_domain_id_get(&status);
    mcapi_node_t node;
    EXPECT(MCAPI_SUCCESS);
    node = mcapi_node_id_get(&status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_get(domain, node, NOWHERE, 1, &status);
    EXPECT(MCAPI_TIMEOUT);
}

/* Waits for another process in calls, in which the node answers its peers. */
static inline void serve(int slot)
{
    while (!look(slot))
        serve_once();
}

static inline void make_board(void)
{
    if (!board) {
        void *memory = mmap(NULL, SLOTS * sizeof *board, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        board = (unsigned *)memory;
    }
    memset(board, 0, SLOTS * sizeof *board);
}

/* Waits for the end of a process; 1 if all was well. */
static inline int ended_well(const char *name, int number, pid_t pid)
{
    int state = 0;
    CHECK(waitpid(pid, &state, 0) == pid);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return 1;
    if (WIFSIGNALED(state) && WTERMSIG(state) == SIGALRM)
        fprintf(stderr, "%s: process %d did not end within %d s\n", name, number, PATIENCE);
    else if (WIFSIGNALED(state))
        fprintf(stderr, "%s: process %d ended by signal %d\n", name, number, WTERMSIG(state));
    else
        fprintf(stderr, "%s: process %d failed\n", name, number);
    return 0;
}

static int cases_failed, cases_run;

/* Runs the processes of a case, each of which is one function. */
static inline void together(const char *name, size_t count, const side_t *sides)
{
    pid_t pids[8];
    size_t i;
    int well = 1;
    const char *only = getenv("CASE");
    if (only && strcmp(only, name) != 0)
        return;
    CHECK(count <= 8);
    make_board();
    for (i = 0; i < count; i++)
        pids[i] = start(sides[i]);
    for (i = 0; i < count; i++)
        well &= ended_well(name, (int)i + 1, pids[i]);
    printf("%s %s\n", name, well ? "ok" : "FAILED");
    cases_run++;
    cases_failed += !well;
}

#define ALONE(side)                                \
    do {                                           \
        const side_t sides[] = {side};             \
        together(#side, 1, sides);                 \
    } while (0)
#define TOGETHER(name, ...)                                        \
    do {                                                           \
        const side_t sides[] = {__VA_ARGS__};                      \
        together(#name, sizeof sides / sizeof *sides, sides);      \
    } while (0)

/* What main returns: 0 if all cases that were to run did and were well. */
static inline int verdict(int expected)
{
    if (!getenv("CASE") && cases_run != expected) {
        fprintf(stderr, "%d cases ran, of %d\n", cases_run, expected);
        return 1;
    }
    return cases_failed != 0;
}

/* Nodes and endpoints */

static inline void initialize_in(mcapi_domain_t domain, mcapi_node_t node)
{
    mcapi_info_t info;
    mcapi_status_t status;
    mcapi_initialize(domain, node, NULL, NULL, &info, &status);
    EXPECT(MCAPI_SUCCESS);
}

static inline void initialize(mcapi_node_t node)
{
    initialize_in(DOMAIN, node);
}

static inline void finalize(void)
{
    mcapi_status_t status;
    mcapi_finalize(&status);
    EXPECT(MCAPI_SUCCESS);
}

static inline mcapi_endpoint_t create(mcapi_port_t port)
{
    mcapi_status_t status;
    mcapi_endpoint_t endpoint = mcapi_endpoint_create(port, &status);
    EXPECT(MCAPI_SUCCESS);
    return endpoint;
}

static inline mcapi_endpoint_t get(mcapi_node_t node, mcapi_port_t port)
{
    mcapi_status_t status;
    mcapi_endpoint_t endpoint = mcapi_endpoint_get(DOMAIN, node, port, SOON, &status);
    EXPECT(MCAPI_SUCCESS);
    return endpoint;
}

static inline void set_uint(mcapi_endpoint_t endpoint, mcapi_uint_t number, mcapi_uint_t value)
{
    mcapi_status_t status;
    mcapi_endpoint_set_attribute(endpoint, number, &value, sizeof value, &status);
    EXPECT(MCAPI_SUCCESS);
}

static inline mcapi_uint_t get_uint(mcapi_endpoint_t endpoint, mcapi_uint_t number)
{
    mcapi_status_t status;
    mcapi_uint_t value = 0xdeadbeef;
    mcapi_endpoint_get_attribute(endpoint, number, &value, sizeof value, &status);
    EXPECT(MCAPI_SUCCESS);
    return value;
}

/* Requests */

/* How a request ends that has to. */
static inline mcapi_status_t end_of(mcapi_request_t *request)
{
    mcapi_status_t status;
    size_t size;
    mcapi_boolean_t ended = mcapi_wait(request, &size, SOON, &status);
    CHECK(ended == (status == MCAPI_SUCCESS ? MCAPI_TRUE : MCAPI_FALSE));
    CHECK(status != MCAPI_TIMEOUT);
    return status;
}

/* After a call that ends in _i: its status is the end, or PENDING, and the request says the
   same. */
static inline mcapi_status_t end_of_call(mcapi_request_t *request, mcapi_status_t status)
{
    mcapi_status_t end = end_of(request);
    if (status != MCAPI_PENDING)
        EXPECT_IS(status, end);
    return end;
}

/* Channels: both types have the same calls for all but the transfer. */

typedef struct {
    void (*connect)(mcapi_endpoint_t, mcapi_endpoint_t, mcapi_request_t *, mcapi_status_t *);
    void (*open_recv)(mcapi_pktchan_recv_hndl_t *, mcapi_endpoint_t, mcapi_request_t *,
                      mcapi_status_t *);
    void (*open_send)(mcapi_pktchan_send_hndl_t *, mcapi_endpoint_t, mcapi_request_t *,
                      mcapi_status_t *);
    void (*close_recv)(mcapi_pktchan_recv_hndl_t, mcapi_request_t *, mcapi_status_t *);
    void (*close_send)(mcapi_pktchan_send_hndl_t, mcapi_request_t *, mcapi_status_t *);
} kind_t;

static const kind_t packets = {mcapi_pktchan_connect_i, mcapi_pktchan_recv_open_i,
                               mcapi_pktchan_send_open_i, mcapi_pktchan_recv_close_i,
                               mcapi_pktchan_send_close_i};
static const kind_t scalars = {mcapi_sclchan_connect_i, mcapi_sclchan_recv_open_i,
                               mcapi_sclchan_send_open_i, mcapi_sclchan_recv_close_i,
                               mcapi_sclchan_send_close_i};

static inline mcapi_status_t connect_ends(const kind_t *kind, mcapi_endpoint_t from,
                                          mcapi_endpoint_t to)
{
    mcapi_request_t request;
    mcapi_status_t status;
    kind->connect(from, to, &request, &status);
    return end_of_call(&request, status);
}

static inline mcapi_pktchan_recv_hndl_t open_recv(const kind_t *kind, mcapi_endpoint_t endpoint)
{
    mcapi_pktchan_recv_hndl_t handle;
    mcapi_request_t request;
    mcapi_status_t status;
    kind->open_recv(&handle, endpoint, &request, &status);
    EXPECT_IS(MCAPI_SUCCESS, end_of_call(&request, status));
    return handle;
}

static inline mcapi_pktchan_send_hndl_t open_send(const kind_t *kind, mcapi_endpoint_t endpoint)
{
    mcapi_pktchan_send_hndl_t handle;
    mcapi_request_t request;
    mcapi_status_t status;
    kind->open_send(&handle, endpoint, &request, &status);
    EXPECT_IS(MCAPI_SUCCESS, end_of_call(&request, status));
    return handle;
}

static inline mcapi_status_t close_recv(const kind_t *kind, mcapi_pktchan_recv_hndl_t handle)
{
    mcapi_request_t request;
    mcapi_status_t status;
    kind->close_recv(handle, &request, &status);
    CHECK(status != MCAPI_PENDING);
    return end_of_call(&request, status);
}

static inline mcapi_status_t close_send(const kind_t *kind, mcapi_pktchan_send_hndl_t handle)
{
    mcapi_request_t request;
    mcapi_status_t status;
    kind->close_send(handle, &request, &status);
    CHECK(status != MCAPI_PENDING);
    return end_of_call(&request, status);
}

/* Bytes that say whose they are. */
static inline void fill(unsigned char *bytes, size_t size, unsigned seed)
{
    size_t i;
    for (i = 0; i < size; i++)
        bytes[i] = (unsigned char)(seed * 31 + i * 7 + (i >> 8));
}

static inline int filled(const void *memory, size_t size, unsigned seed)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    size_t i;
    for (i = 0; i < size; i++)
        if (bytes[i] != (unsigned char)(seed * 31 + i * 7 + (i >> 8)))
            return 0;
    return 1;
}

#endif
