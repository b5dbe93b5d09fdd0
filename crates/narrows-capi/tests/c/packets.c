/* Packet channels: what is transferred, whose the buffers are, and order. */
#include "check.h"

enum { READY, DONE, FILLED, LET_GO, ROUND };
enum { MANY = 3000, HELD = 8 };
/* Rounds of packets, how many each has, and after how many a channel may be full: of its slots, a
   quarter can be held back by a receiver that does not wait. */
enum { FLOODS = 20, FLOOD = 200, NEARLY_FULL = 48 };

static unsigned char out[65537];

static const size_t sizes[] = {0, 1, 48, 49, 100, 1000, 4095, 4096, 4097, 65535, 65536};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Two own endpoints, connected and open on both sides. */
static void loop(mcapi_pktchan_send_hndl_t *send, mcapi_pktchan_recv_hndl_t *receive)
{
    mcapi_endpoint_t a, b;
    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 1);
    get(1, 2);
    set_uint(b, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, a, b));
    *send = open_send(&packets, a);
    *receive = open_recv(&packets, b);
}

static void receives_sizes(void)
{
    mcapi_status_t status;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_request_t request;
    size_t i, size;
    void *packet;

    initialize(1);
    receive = open_recv(&packets, create(1));
    for (i = 0; i < 2 * SIZES; i++) {
        packet = NULL;
        size = 99999;
        if (i % 2) {
            mcapi_pktchan_recv(receive, &packet, &size, &status);
            EXPECT(MCAPI_SUCCESS);
        } else {
            mcapi_pktchan_recv_i(receive, &packet, &request, &status);
            CHECK(status == MCAPI_SUCCESS || status == MCAPI_PENDING);
            CHECK(mcapi_wait(&request, &size, SOON, &status) == MCAPI_TRUE);
            EXPECT(MCAPI_SUCCESS);
        }
        CHECK(packet != NULL);
        CHECK(size == sizes[i / 2]);
        CHECK(filled(packet, size, (unsigned)i));
        mcapi_pktchan_release(packet, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    post(DONE);
    finalize();
}

static void sends_sizes(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from;
    mcapi_pktchan_send_hndl_t send;
    mcapi_request_t request;
    size_t i, size;

    initialize(2);
    from = create(1);
    get(2, 1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, from, get(1, 1)));
    send = open_send(&packets, from);
    for (i = 0; i < 2 * SIZES; i++) {
        size_t length = sizes[i / 2];
        fill(out, length, (unsigned)i);
        if (i % 2) {
            mcapi_pktchan_send(send, length ? out : NULL, length, &status);
            EXPECT(MCAPI_SUCCESS);
        } else {
            mcapi_pktchan_send_i(send, length ? out : NULL, length, &request, &status);
            CHECK(status == MCAPI_SUCCESS || status == MCAPI_PENDING);
            CHECK(mcapi_wait(&request, &size, SOON, &status) == MCAPI_TRUE);
            EXPECT(MCAPI_SUCCESS);
            CHECK(size == length);
        }
        memset(out, 0xee, sizeof out);
    }
    mcapi_pktchan_send(send, out, 65537, &status);
    EXPECT(MCAPI_ERR_PKT_SIZE);
    mcapi_pktchan_send_i(send, out, 65537, &request, &status);
    EXPECT(MCAPI_ERR_PKT_SIZE);
    EXPECT_IS(MCAPI_ERR_PKT_SIZE, end_of(&request));
    mcapi_pktchan_send(send, NULL, 1, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    serve(DONE);
    finalize();
}

/* Packets are the library's, each released once. */
static void ownership(void)
{
    mcapi_status_t status;
    mcapi_pktchan_send_hndl_t send;
    mcapi_pktchan_recv_hndl_t receive;
    void *held[HELD], *empty;
    unsigned i;
    size_t size;
    char mine;

    loop(&send, &receive);
    for (i = 0; i < HELD; i++) {
        fill(out, 100 * i + 1, i);
        mcapi_pktchan_send(send, out, 100 * i + 1, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    mcapi_pktchan_send(send, NULL, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    for (i = 0; i < HELD; i++) {
        mcapi_pktchan_recv(receive, &held[i], &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == 100 * i + 1);
    }
    mcapi_pktchan_recv(receive, &empty, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 0 && empty != NULL);
    CHECK(mcapi_pktchan_release_test(empty, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_PENDING);
    mcapi_pktchan_release(empty, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_release(empty, &status);
    EXPECT(MCAPI_ERR_BUF_INVALID);

    mcapi_pktchan_release(NULL, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    mcapi_pktchan_release_test(NULL, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    mcapi_pktchan_release(&mine, &status);
    EXPECT(MCAPI_ERR_BUF_INVALID);
    CHECK(mcapi_pktchan_release_test(&mine, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_BUF_INVALID);
    mcapi_pktchan_release((char *)held[3] + 1, &status);
    EXPECT(MCAPI_ERR_BUF_INVALID);
    /* In any order, and the others stay what they were. */
    for (i = 0; i < HELD; i++) {
        unsigned which = (i * 5 + 3) % HELD;
        CHECK(filled(held[which], 100 * which + 1, which));
        CHECK(mcapi_pktchan_release_test(held[which], &status) == MCAPI_FALSE);
        EXPECT(MCAPI_PENDING);
        mcapi_pktchan_release(held[which], &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_pktchan_release_test(held[which], &status) == MCAPI_TRUE);
        EXPECT(MCAPI_SUCCESS);
        mcapi_pktchan_release(held[which], &status);
        EXPECT(MCAPI_ERR_BUF_INVALID);
    }
    finalize();
}

/* A packet outlives its channel. */
static void outlives(void)
{
    mcapi_status_t status;
    mcapi_pktchan_send_hndl_t send;
    mcapi_pktchan_recv_hndl_t receive;
    void *packet, *next;
    size_t size;

    loop(&send, &receive);
    fill(out, 500, 1);
    mcapi_pktchan_send(send, out, 500, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_recv(receive, &packet, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, receive));
    EXPECT_IS(MCAPI_SUCCESS, close_send(&packets, send));
    /* Another over the same endpoints does not touch it. */
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, (unsigned)DOMAIN << 24 | 1u << 12 | 1,
                                          (unsigned)DOMAIN << 24 | 1u << 12 | 2));
    send = open_send(&packets, (unsigned)DOMAIN << 24 | 1u << 12 | 1);
    receive = open_recv(&packets, (unsigned)DOMAIN << 24 | 1u << 12 | 2);
    fill(out, 500, 2);
    mcapi_pktchan_send(send, out, 500, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_recv(receive, &next, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(packet != next);
    CHECK(filled(packet, 500, 1) && filled(next, 500, 2));
    mcapi_pktchan_release(packet, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(filled(next, 500, 2));
    mcapi_pktchan_release(next, &status);
    EXPECT(MCAPI_SUCCESS);
    finalize();
}

/* recv_i, send, send, recv_i: first in, first out; a cancelled receive takes none. */
static void order(void)
{
    mcapi_status_t status;
    mcapi_pktchan_send_hndl_t send;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_request_t first, second, cancelled;
    void *a = NULL, *b = NULL, *c = NULL, *untouched = NULL;
    size_t size;

    loop(&send, &receive);
    mcapi_pktchan_recv_i(receive, &a, &first, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_pktchan_recv_i(receive, &untouched, &cancelled, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_cancel(&cancelled, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_send(send, "1", 2, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_send(send, "2", 2, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_recv_i(receive, &b, &second, &status);
    EXPECT_IS(MCAPI_SUCCESS, end_of_call(&second, status));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&first));
    CHECK(strcmp((char *)a, "1") == 0 && strcmp((char *)b, "2") == 0);
    CHECK(untouched == NULL);
    /* One that is not asked after goes before one that blocks. */
    mcapi_pktchan_recv_i(receive, &a, &first, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_pktchan_send(send, "3", 2, &status);
    mcapi_pktchan_send(send, "4", 2, &status);
    mcapi_pktchan_recv(receive, &c, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(strcmp((char *)c, "4") == 0);
    EXPECT_IS(MCAPI_SUCCESS, end_of(&first));
    CHECK(strcmp((char *)a, "3") == 0);
    finalize();
}

static void available(void)
{
    mcapi_status_t status;
    mcapi_pktchan_send_hndl_t send;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_uint_t i;
    void *packet;
    size_t size;

    loop(&send, &receive);
    CHECK(mcapi_pktchan_available(receive, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    for (i = 1; i <= 4; i++) {
        mcapi_pktchan_send(send, &i, sizeof i, &status);
        EXPECT(MCAPI_SUCCESS);
        while (mcapi_pktchan_available(receive, &status) < i)
            EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_pktchan_available(receive, &status) == i);
    }
    for (i = 4; i-- > 0;) {
        mcapi_pktchan_recv(receive, &packet, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_pktchan_available(receive, &status) == i);
        EXPECT(MCAPI_SUCCESS);
        mcapi_pktchan_release(packet, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    CHECK(mcapi_pktchan_available(send, &status) == 0);
    EXPECT(MCAPI_ERR_CHAN_INVALID);
    finalize();
}

/* A receiver that holds on to what it got stops the sender; what it lets go lets it go on. */
static void holds(void)
{
    mcapi_status_t status;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_uint_t i, count;
    size_t size;
    void *packet;

    initialize(1);
    receive = open_recv(&packets, create(1));
    post(READY);
    serve(FILLED);
    count = look(FILLED);
    for (i = 0; i < count + 3; i++) {
        mcapi_pktchan_recv(receive, &packet, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == 3000);
        CHECK(filled(packet, size, i));
        mcapi_pktchan_release(packet, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    post(DONE);
    finalize();
}

static void fills(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from;
    mcapi_pktchan_send_hndl_t send;
    mcapi_request_t requests[4];
    unsigned char waiting[4][3000];
    mcapi_uint_t sent = 0;
    unsigned k, seed;
    size_t size;

    initialize(2);
    from = create(1);
    get(2, 1);
    set_uint(from, MCAPI_ENDP_ATTR_TIMEOUT, BRIEFLY);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, from, get(1, 1)));
    send = open_send(&packets, from);
    serve(READY);
    for (;;) {
        fill(out, 3000, sent);
        mcapi_pktchan_send(send, out, 3000, &status);
        if (status == MCAPI_TIMEOUT)
            break;
        EXPECT(MCAPI_SUCCESS);
        sent++;
        CHECK(sent < 100000);
    }
    CHECK(sent > 0);
    /* Four wait; the second is taken back. */
    for (k = 0, seed = sent; k < 4; k++) {
        fill(waiting[k], 3000, k == 1 ? 12345 : seed++);
        mcapi_pktchan_send_i(send, waiting[k], 3000, &requests[k], &status);
        EXPECT(MCAPI_PENDING);
    }
    CHECK(mcapi_wait(&requests[0], &size, 1, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_TIMEOUT);
    mcapi_cancel(&requests[1], &status);
    EXPECT(MCAPI_SUCCESS);
    put(FILLED, sent);
    for (k = 0; k < 4; k++)
        EXPECT_IS(k == 1 ? MCAPI_ERR_REQUEST_CANCELLED : MCAPI_SUCCESS, end_of(&requests[k]));
    serve(DONE);
    finalize();
}

static void takes_all(void)
{
    mcapi_status_t status;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_uint_t i;
    size_t size;
    void *packet;
    initialize(1);
    receive = open_recv(&packets, create(1));
    for (i = 0; i < MANY; i++) {
        mcapi_pktchan_recv(receive, &packet, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == i % 3000 + 1);
        CHECK(filled(packet, size, i));
        mcapi_pktchan_release(packet, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    mcapi_pktchan_recv(receive, &packet, &size, &status);
    EXPECT(MCAPI_ERR_CHAN_CLOSEPENDING);
    finalize();
}

static void sends_all(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from;
    mcapi_pktchan_send_hndl_t send;
    mcapi_uint_t i;
    initialize(2);
    from = create(1);
    get(2, 1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, from, get(1, 1)));
    send = open_send(&packets, from);
    for (i = 0; i < MANY; i++) {
        fill(out, i % 3000 + 1, i);
        mcapi_pktchan_send(send, out, i % 3000 + 1, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    finalize();
}

/* Opens a channel to another process and one from it. */
static void both_open(mcapi_node_t here, mcapi_node_t there, mcapi_pktchan_send_hndl_t *send,
                      mcapi_pktchan_recv_hndl_t *receive)
{
    mcapi_status_t status;
    mcapi_endpoint_t from, to;
    mcapi_request_t requests[2];

    initialize(here);
    from = create(1);
    to = create(2);
    get(here, 1);
    packets.open_recv(receive, to, &requests[0], &status);
    CHECK(status == MCAPI_PENDING || status == MCAPI_SUCCESS);
    packets.open_send(send, from, &requests[1], &status);
    CHECK(status == MCAPI_PENDING || status == MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, from, get(there, 2)));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[1]));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[0]));
}

/* Both ways between two processes, each over a channel of its own. */
static void exchange(mcapi_node_t here, mcapi_node_t there)
{
    mcapi_status_t status;
    mcapi_pktchan_send_hndl_t send;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_uint_t i;
    size_t size;
    void *packet;

    both_open(here, there, &send, &receive);
    for (i = 0; i < 500; i++) {
        fill(out, 200, i + here);
        mcapi_pktchan_send(send, out, 200, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_pktchan_recv(receive, &packet, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == 200 && filled(packet, 200, i + there));
        mcapi_pktchan_release(packet, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    EXPECT_IS(MCAPI_SUCCESS, close_send(&packets, send));
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, receive));
    finalize();
}

static void exchange_1(void)
{
    exchange(1, 2);
}

static void exchange_2(void)
{
    exchange(2, 1);
}

static void take(mcapi_pktchan_recv_hndl_t receive, unsigned seed)
{
    mcapi_status_t status;
    size_t size;
    void *packet;
    mcapi_pktchan_recv(receive, &packet, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 48 && filled(packet, size, seed));
    mcapi_pktchan_release(packet, &status);
    EXPECT(MCAPI_SUCCESS);
}

static void give(mcapi_pktchan_send_hndl_t send, unsigned seed)
{
    mcapi_status_t status;
    fill(out, 48, seed);
    mcapi_pktchan_send(send, out, 48, &status);
    EXPECT(MCAPI_SUCCESS);
}

/* More packets than there is room for, and one back when all were received: the sender sleeps while
   there is no room, the receiver when it has got all there are. */
static void floods(void)
{
    mcapi_pktchan_send_hndl_t send;
    mcapi_pktchan_recv_hndl_t receive;
    unsigned round, i;

    setenv("NARROWS_MCAPI_LOOK", "0", 1);
    both_open(1, 2, &send, &receive);
    for (round = 1; round <= FLOODS; round++) {
        for (i = 0; i < FLOOD; i++) {
            if (i == NEARLY_FULL)
                put(ROUND, round);
            give(send, i);
        }
        take(receive, round);
    }
    finalize();
}

static void is_flooded(void)
{
    mcapi_pktchan_send_hndl_t send;
    mcapi_pktchan_recv_hndl_t receive;
    unsigned round, i;

    setenv("NARROWS_MCAPI_LOOK", "0", 1);
    both_open(2, 1, &send, &receive);
    for (round = 1; round <= FLOODS; round++) {
        while (look(ROUND) != round)
            sched_yield();
        /* The sender is about to find no room. */
        for (i = 0; i < 50; i++)
            sched_yield();
        for (i = 0; i < FLOOD; i++)
            take(receive, i);
        give(send, round);
    }
    finalize();
}

/* The buffer is the sender's memory: a receiver that writes to it ends, with a signal. */
static void overwrites(void)
{
    mcapi_status_t status;
    mcapi_pktchan_recv_hndl_t receive;
    size_t size;
    void *packet;
    pid_t child;
    int state;

    initialize(1);
    receive = open_recv(&packets, create(1));
    mcapi_pktchan_recv(receive, &packet, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(strcmp((char *)packet, "whole") == 0);
    child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile char *)packet = 'w';
        _exit(0);
    }
    CHECK(waitpid(child, &state, 0) == child);
    CHECK(WIFSIGNALED(state) && WTERMSIG(state) == SIGSEGV);
    mcapi_pktchan_release(packet, &status);
    EXPECT(MCAPI_SUCCESS);
    post(DONE);
    finalize();
}

static void is_overwritten(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from;
    mcapi_pktchan_send_hndl_t send;
    initialize(2);
    from = create(1);
    get(2, 1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, from, get(1, 1)));
    send = open_send(&packets, from);
    mcapi_pktchan_send(send, "whole", 6, &status);
    EXPECT(MCAPI_SUCCESS);
    serve(DONE);
    finalize();
}

int main(void)
{
    TOGETHER(all_sizes, receives_sizes, sends_sizes);
    ALONE(ownership);
    ALONE(outlives);
    ALONE(order);
    ALONE(available);
    TOGETHER(full, holds, fills);
    TOGETHER(stream, takes_all, sends_all);
    TOGETHER(both_ways, exchange_1, exchange_2);
    TOGETHER(flood, floods, is_flooded);
    TOGETHER(reading_only, overwrites, is_overwritten);
    return verdict(10);
}
