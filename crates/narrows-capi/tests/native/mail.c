/* Messages: copied and where they are, too long for a buffer, to closed ports, and many. */
#include "check.h"

enum { PORT = 1, CLOSED = 9, ROUND = 2000 };

/* Sends back what comes, by what it asks for, until an empty message. */
static void echo(void)
{
    narrows_node *node = opened("echo");
    narrows_origin origin;
    char text[256];
    size_t n;
    WORKS(narrows_open_port(node, PORT));
    do {
        n = sizeof text;
        WORKS(narrows_receive(node, PORT, text, &n, &origin, SOON));
        WORKS(narrows_send_marked(origin.peer, PORT, origin.port, text, n, 1, origin.tag, SOON));
    } while (n > 0);
    FAILS(NARROWS_TIMEOUT, narrows_receive(node, PORT, text, &n, &origin, BRIEFLY));
    WORKS(narrows_close(node));
}

static void whole(narrows_node *node, narrows_peer *peer)
{
    char text[64], guard[8];
    narrows_origin origin;
    size_t n = sizeof text, i;
    narrows_peer *found = NULL;
    FAILS(NARROWS_AGAIN, narrows_receive(node, PORT, text, &n, &origin, 0));
    FAILS(NARROWS_AGAIN, narrows_receive(node, PORT, text, &n, &origin, -5));
    FAILS(NARROWS_TIMEOUT, narrows_receive(node, PORT, text, &n, &origin, BRIEFLY));
    CHECK(n == sizeof text);
    WORKS(narrows_send_marked(peer, PORT, PORT, "hello", 5, 0, 7, SOON));
    WORKS(narrows_receive(node, PORT, text, &n, &origin, NARROWS_FOREVER));
    CHECK(n == 5 && memcmp(text, "hello", 5) == 0);
    CHECK(origin.peer == peer && origin.port == PORT && origin.tag == 7 && origin.priority == 1);
    WORKS(narrows_hunt(node, "echo", 0, &found));
    CHECK(found == peer);
    WORKS(narrows_peer_name(peer, text));
    CHECK(strcmp(text, "echo") == 0);

    /* Too short a buffer, of a message in its slot and of one in a block. */
    for (i = 0; i < 2; i++) {
        size_t length = i == 0 ? 20 : 200;
        char long_one[200];
        memset(long_one, 'l', sizeof long_one);
        WORKS(narrows_send(peer, PORT, PORT, long_one, length, SOON));
        WORKS(narrows_send(peer, PORT, PORT, "next", 4, SOON));
        memset(guard, 9, sizeof guard);
        n = 4;
        SAYS(NARROWS_SHORT, narrows_receive(node, PORT, guard, &n, &origin, SOON),
             "the buffer has 4 bytes and 20");
        CHECK(n == length && guard[0] == 9);
        FAILS(NARROWS_SHORT, narrows_receive(node, PORT, NULL, (n = 0, &n), &origin, 0));
        CHECK(n == length);
        WORKS(narrows_receive(node, PORT, long_one, &n, &origin, 0));
        CHECK(n == length && long_one[length - 1] == 'l' && origin.peer == peer);
        n = sizeof text;
        WORKS(narrows_receive(node, PORT, text, &n, NULL, SOON));
        CHECK(n == 4 && memcmp(text, "next", 4) == 0);
    }

    /* A port that nobody has open there. */
    WORKS(narrows_send_marked(peer, PORT, CLOSED, "hello", 5, 4, 3, SOON));
    n = sizeof text;
    FAILS(NARROWS_REFUSED, narrows_receive(node, PORT, text, &n, &origin, SOON));
    CHECK(n == 0 && origin.peer == peer && origin.port == CLOSED && origin.tag == 3);
}

static void too_long(narrows_peer *peer)
{
    static char longest[1 << 24];
    SAYS(NARROWS_TOO_LONG, narrows_send(peer, PORT, PORT, longest, sizeof longest, SOON), "16777215");
}

static void views(narrows_node *node, narrows_peer *peer, narrows_flow *flow)
{
    const void *view, *other, *none;
    void *memory;
    narrows_origin origin;
    size_t n, m;
    char text[256];
    FAILS(NARROWS_AGAIN, narrows_receive_view(node, PORT, &view, &n, &origin, 0));
    WORKS(narrows_reserve(flow, 200, &memory, SOON));
    memset(memory, 'r', 200);
    FAILS(NARROWS_NOT_FOUND, narrows_commit(flow, memory, CLOSED, SOON));
    WORKS(narrows_commit(flow, memory, PORT, SOON));
    FAILS(NARROWS_ARGUMENT, narrows_commit(flow, memory, PORT, SOON));
    WORKS(narrows_send(peer, PORT, PORT, "slot", 4, SOON));
    WORKS(narrows_receive_view(node, PORT, &view, &n, &origin, SOON));
    CHECK(n == 200 && ((const char *)view)[199] == 'r' && origin.peer == peer);
    WORKS(narrows_receive_view(node, PORT, &other, &m, NULL, SOON));
    CHECK(m == 4 && memcmp(other, "slot", 4) == 0 && other != view);
    FAILS(NARROWS_ARGUMENT, narrows_release(node, (const char *)view + 1));
    /* What is out keeps link and node. */
    FAILS(NARROWS_OUTSTANDING, narrows_part(peer));
    FAILS(NARROWS_OUTSTANDING, narrows_close(node));
    CHECK(((const char *)view)[0] == 'r');
    WORKS(narrows_release(node, other));
    WORKS(narrows_release(node, view));
    FAILS(NARROWS_ARGUMENT, narrows_release(node, view));
    /* One that was too long for a buffer is looked at as well. */
    WORKS(narrows_send_over(flow, PORT, "longer than four", 16, SOON));
    n = 4;
    FAILS(NARROWS_SHORT, narrows_receive(node, PORT, text, &n, NULL, SOON));
    WORKS(narrows_receive_view(node, PORT, &none, &n, NULL, 0));
    CHECK(n == 16 && memcmp(none, "longer", 6) == 0);
    WORKS(narrows_release(node, none));
}

/* Floods the peer until there is no room, taking nothing: then takes all that comes back. */
static void many(narrows_node *node, narrows_peer *peer)
{
    unsigned sent = 0, came = 0, value;
    narrows_error error;
    size_t n;
    while (sent < 1000000) {
        error = narrows_send(peer, PORT, PORT, &sent, sizeof sent, 0);
        if (error == NARROWS_AGAIN)
            break;
        WORKS(error);
        sent++;
    }
    CHECK(sent < 1000000);
    for (; came < sent; came++) {
        n = sizeof value;
        WORKS(narrows_receive(node, PORT, &value, &n, NULL, SOON));
        CHECK(n == sizeof value && value == came);
    }
    for (came = 0; came < ROUND; came++) {
        WORKS(narrows_send(peer, PORT, PORT, &came, sizeof came, SOON));
        n = sizeof value;
        WORKS(narrows_receive(node, PORT, &value, &n, NULL, SOON));
        CHECK(n == sizeof value && value == came);
    }
}

int main(void)
{
    narrows_node *node;
    narrows_peer *peer;
    narrows_flow *flow;
    pid_t pid = start(echo);
    size_t n = 0;
    node = opened("mail");
    WORKS(narrows_open_port(node, PORT));
    peer = hunted(node, "echo");
    whole(node, peer);
    too_long(peer);
    WORKS(narrows_open_flow_to_port(peer, PORT, "single_copy/interrupt", SOON, &flow));
    FAILS(NARROWS_ARGUMENT, narrows_start(flow, "a", 1, NULL));
    views(node, peer, flow);
    many(node, peer);
    WORKS(narrows_send(peer, PORT, PORT, NULL, 0, SOON));
    WORKS(narrows_receive(node, PORT, NULL, &n, NULL, SOON));
    CHECK(n == 0);
    finished(pid);
    WORKS(narrows_close_port(node, PORT));
    WORKS(narrows_close(node));
    return 0;
}
