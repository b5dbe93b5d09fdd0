/* Peers that are killed: during a call, between calls, with memory of theirs in use; and that come
   again. */
#include "check.h"

#include <poll.h>

enum { PORT = 1 };

/* Never comes back from a call, and says that it is in one. */
static int hangs(void *user, const void *request, size_t length, void *response, size_t *room)
{
    char byte = 'c';
    (void)request;
    (void)length;
    (void)response;
    (void)room;
    CHECK(write(*(int *)user, &byte, 1) == 1);
    while (pause() != 0)
        continue;
    return 1;
}

static int called[2];

static void server(void)
{
    narrows_node *node = opened("server");
    WORKS(narrows_open_port(node, PORT));
    WORKS(narrows_offer(node, "doubles", doubles, NULL));
    WORKS(narrows_offer(node, "hangs", hangs, &called[1]));
    for (;;)
        WORKS(narrows_serve(node, SOON, NULL));
}

/* Sends a long message to whoever is there, and does nothing more. */
static void sender(void)
{
    narrows_node *node = opened("sender");
    narrows_peer *peer = hunted(node, "gone");
    char text[1000];
    memset(text, 's', sizeof text);
    WORKS(narrows_open_port(node, PORT));
    WORKS(narrows_send(peer, PORT, PORT, text, sizeof text, SOON));
    for (;;)
        pause();
}

static void in_a_call(narrows_node *node)
{
    narrows_peer *peer, *again;
    narrows_flow *flow, *doubling;
    narrows_started started;
    narrows_origin origin;
    char text[8], byte;
    size_t n = sizeof text;
    pid_t pid = start(server);
    void *memory;
    peer = hunted(node, "server");
    WORKS(narrows_attach(peer, PORT));
    WORKS(narrows_open_flow(peer, "hangs", "interrupt", 8, SOON, &flow));
    WORKS(narrows_open_flow(peer, "doubles", "interrupt", 8, SOON, &doubling));
    WORKS(narrows_call(doubling, "a", 1, text, &n, SOON));
    WORKS(narrows_reserve(doubling, 100, &memory, SOON));
    WORKS(narrows_start(flow, "a", 1, &started));
    WORKS(narrows_check(peer));
    CHECK(read(called[0], &byte, 1) == 1);
    n = sizeof text;
    FAILS(NARROWS_AGAIN, narrows_finish(started, text, &n, 0));
    FAILS(NARROWS_TIMEOUT, narrows_finish(started, text, &n, BRIEFLY));
    murder(pid);
    SAYS(NARROWS_PEER_GONE, narrows_finish(started, text, &n, SOON), "hunt the peer again");
    FAILS(NARROWS_PEER_GONE, narrows_finish(started, text, &n, 0));
    FAILS(NARROWS_PEER_GONE, narrows_call(doubling, "a", 1, text, &n, SOON));
    FAILS(NARROWS_PEER_GONE, narrows_start(flow, "a", 1, NULL));
    FAILS(NARROWS_PEER_GONE, narrows_reserve(doubling, 8, &memory, SOON));
    FAILS(NARROWS_PEER_GONE, narrows_check(peer));
    FAILS(NARROWS_PEER_GONE, narrows_attach(peer, PORT));
    CHECK(n == sizeof text);
    SAYS(NARROWS_PEER_GONE, narrows_receive(node, PORT, text, &n, &origin, SOON), "died");
    CHECK(origin.peer == peer);
    FAILS(NARROWS_AGAIN, narrows_receive(node, PORT, text, &n, &origin, 0));
    FAILS(NARROWS_TIMEOUT, narrows_hunt(node, "server", BRIEFLY, &again));
    FAILS(NARROWS_AGAIN, narrows_hunt(node, "server", 0, &again));

    pid = start(server);
    again = hunted(node, "server");
    CHECK(again != peer);
    /* What is the program's is still there to be written to. */
    memset(memory, 1, 100);
    FAILS(NARROWS_OUTSTANDING, narrows_close_flow(doubling));
    FAILS(NARROWS_PEER_GONE, narrows_start_with(doubling, memory, NULL));
    WORKS(narrows_cancel(doubling, memory));
    FAILS(NARROWS_PEER_GONE, narrows_check(peer));
    WORKS(narrows_close_flow(flow));
    WORKS(narrows_close_flow(doubling));
    WORKS(narrows_open_flow(again, "doubles", "interrupt", 8, SOON, &flow));
    n = sizeof text;
    WORKS(narrows_call(flow, "a", 1, text, &n, SOON));
    CHECK(n == 1 && text[0] == (char)(2 * 'a'));
    WORKS(narrows_part(peer));
    FAILS(NARROWS_CLOSED, narrows_check(peer));
    murder(pid);
    /* Within a call that waits, and was not answered. */
    n = sizeof text;
    FAILS(NARROWS_PEER_GONE, narrows_call(flow, "a", 1, text, &n, NARROWS_FOREVER));
    FAILS(NARROWS_PEER_GONE, narrows_call(flow, "a", 1, text, &n, SOON));
    WORKS(narrows_close_flow(flow));
}

static void looked_at(narrows_node *node)
{
    narrows_origin origin;
    const char *view;
    size_t n, i;
    pid_t pid = start(sender);
    WORKS(narrows_receive_view(node, PORT, (const void **)&view, &n, &origin, SOON));
    murder(pid);
    while (narrows_check(origin.peer) == NARROWS_OK)
        WORKS(narrows_wait(node, SOON));
    for (i = 0; i < n; i++)
        CHECK(view[i] == 's');
    FAILS(NARROWS_OUTSTANDING, narrows_part(origin.peer));
    WORKS(narrows_release(node, view));
    WORKS(narrows_part(origin.peer));
}

/* Many lives of one peer: each is another, and memory that is out outlives them all. */
static void again_and_again(narrows_node *node)
{
    narrows_peer *peer = NULL, *last = NULL;
    narrows_flow *flow, *first = NULL;
    void *memory = NULL;
    char text[8];
    size_t n;
    int i;
    for (i = 0; i < 12; i++) {
        pid_t pid = start(server);
        peer = hunted(node, "server");
        CHECK(peer != last);
        WORKS(narrows_open_flow(peer, "doubles", NULL, 8, SOON, &flow));
        n = sizeof text;
        WORKS(narrows_call(flow, "a", 1, text, &n, SOON));
        if (i == 0)
            WORKS(narrows_reserve(first = flow, 1000, &memory, SOON));
        murder(pid);
        while (narrows_check(peer) == NARROWS_OK)
            WORKS(narrows_wait(node, SOON));
        if (i > 0)
            WORKS(narrows_close_flow(flow));
        last = peer;
    }
    memset(memory, 1, 1000);
    WORKS(narrows_cancel(first, memory));
    WORKS(narrows_close_flow(first));
}

/* A program's own poll sees the death of a peer. */
static void polled(narrows_node *node)
{
    struct pollfd fds[1];
    pid_t pid = start(server);
    narrows_peer *peer = hunted(node, "server");
    WORKS(narrows_descriptor(node, &fds[0].fd));
    fds[0].events = POLLIN;
    murder(pid);
    while (narrows_check(peer) == NARROWS_OK) {
        if (narrows_arm(node) == NARROWS_OK)
            CHECK(poll(fds, 1, 60000) == 1);
        WORKS(narrows_hear(node));
    }
    FAILS(NARROWS_PEER_GONE, narrows_check(peer));
}

int main(void)
{
    narrows_node *node;
    CHECK(pipe(called) == 0);
    node = opened("gone");
    WORKS(narrows_open_port(node, PORT));
    in_a_call(node);
    looked_at(node);
    again_and_again(node);
    polled(node);
    WORKS(narrows_close(node));
    return 0;
}
