/* One node and several threads, a function that calls the node that serves it, and forked
   children. */
#include "check.h"

enum { PORT = 1 };

static narrows_node *node;
static narrows_peer *peer;
static narrows_flow *flow;

static void server(void)
{
    serves("server");
}

static void *waits(void *unused)
{
    narrows_error error;
    (void)unused;
    /* For what never comes: until the other thread has seen that the node is taken. */
    do
        error = narrows_wait(node, SOON);
    while (error == NARROWS_BUSY);
    WORKS(error);
    return NULL;
}

/* While one thread waits with the node, all calls of another are told so. */
static void taken(void)
{
    pthread_t thread;
    char text[8];
    size_t n = sizeof text;
    /* What has come already ends no wait any more. */
    WORKS(narrows_wait(node, BRIEFLY));
    WORKS(narrows_wait(node, BRIEFLY));
    CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
    while (narrows_open_port(node, PORT) != NARROWS_BUSY)
        narrows_close_port(node, PORT);
    SAYS(NARROWS_BUSY, narrows_check(peer), "one thread at a time");
    FAILS(NARROWS_BUSY, narrows_wait(node, SOON));
    FAILS(NARROWS_BUSY, narrows_call(flow, "a", 1, text, &n, SOON));
    FAILS(NARROWS_BUSY, narrows_start(flow, "a", 1, NULL));
    FAILS(NARROWS_BUSY, narrows_finish_next(flow, text, &n, SOON));
    FAILS(NARROWS_BUSY, narrows_receive(node, PORT, text, &n, NULL, SOON));
    FAILS(NARROWS_BUSY, narrows_close_flow(flow));
    FAILS(NARROWS_BUSY, narrows_part(peer));
    FAILS(NARROWS_BUSY, narrows_close(node));
    WORKS(narrows_wake(node));
    CHECK(pthread_join(thread, NULL) == 0);
    (void)narrows_close_port(node, PORT);
    WORKS(narrows_call(flow, "a", 1, text, &n, SOON));
}

static void *calls(void *number)
{
    char text[8];
    size_t n = 0, done = 0;
    (void)number;
    /* Each call works as a whole, or is told that another is at it. */
    while (done < 50) {
        narrows_error error;
        n = sizeof text;
        error = narrows_call(flow, "ab", 2, text, &n, SOON);
        if (error == NARROWS_BUSY) {
            usleep(200);
            continue;
        }
        WORKS(error);
        CHECK(n == 2 && text[1] == (char)(2 * 'b'));
        done++;
    }
    return NULL;
}

/* Wakes the node all the time while others call, and after it is closed. */
static int ends;
static void *wakes(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
        narrows_error error = narrows_wake(node);
        CHECK(error == NARROWS_OK || error == NARROWS_CLOSED);
        usleep(500);
    }
    FAILS(NARROWS_CLOSED, narrows_wake(node));
    return NULL;
}

/* A function that calls the node which serves it. */
static narrows_node *serving;
static int calls_its_node(void *user, const void *request, size_t length, void *response, size_t *room)
{
    (void)user;
    (void)request;
    (void)length;
    (void)response;
    FAILS(NARROWS_BUSY, narrows_serve(serving, 0, NULL));
    FAILS(NARROWS_BUSY, narrows_close(serving));
    FAILS(NARROWS_BUSY, narrows_offer(serving, "other", doubles, NULL));
    *room = 0;
    return 0;
}

static void reentered(void)
{
    serving = opened("reentered");
    WORKS(narrows_offer(serving, "calls", calls_its_node, NULL));
    WORKS(narrows_serve(serving, SOON, NULL));
    for (;;) {
        size_t peers;
        narrows_error error = narrows_serve(serving, SOON, NULL);
        CHECK(error == NARROWS_OK);
        WORKS(narrows_peers(serving, &peers));
        if (peers == 0)
            break;
    }
    WORKS(narrows_close(serving));
}

static void in_functions(void)
{
    narrows_flow *other;
    narrows_peer *there;
    size_t n = 0;
    pid_t pid = start(reentered);
    there = hunted(node, "reentered");
    WORKS(narrows_open_flow(there, "calls", "interrupt", 0, SOON, &other));
    WORKS(narrows_call(other, "a", 1, NULL, &n, SOON));
    WORKS(narrows_close_flow(other));
    WORKS(narrows_part(there));
    finished(pid);
}

/* A child has none of its parent's handles, and opens its own. */
static void child(void)
{
    narrows_node *own;
    char text[8];
    size_t n = sizeof text;
    FAILS(NARROWS_CLOSED, narrows_call(flow, "a", 1, text, &n, SOON));
    FAILS(NARROWS_CLOSED, narrows_wake(node));
    FAILS(NARROWS_CLOSED, narrows_close(node));
    own = opened("child");
    CHECK(own != node);
    FAILS(NARROWS_CLOSED, narrows_close(node));
    hunted(own, "server");
    WORKS(narrows_close(own));
}

int main(void)
{
    pthread_t waker;
    pid_t pid = start(server);
    node = opened("shared");
    peer = hunted(node, "server");
    WORKS(narrows_open_flow(peer, "doubles", "interrupt", 8, SOON, &flow));
    finished(start(child));
    taken();
    CHECK(pthread_create(&waker, NULL, wakes, NULL) == 0);
    in_threads(calls, 0, 3);
    in_functions();
    WORKS(narrows_close(node));
    __atomic_store_n(&ends, 1, __ATOMIC_RELAXED);
    CHECK(pthread_join(waker, NULL) == 0);
    finished(pid);
    return 0;
}
