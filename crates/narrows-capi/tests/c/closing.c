/* Closing, which packet and scalar channels have in common, and how many channels there can be. */
#include "value.h"

enum { READY, DONE, CLOSED };

/* Closing: what was sent can be received, what was not received is discarded, and then anew. */
static void closing(void)
{
    mcapi_endpoint_t a, b;
    mcapi_uint32_t send, receive, value = 0;
    int i;

    initialize(1);
    two(&a, &b);
    for (i = 0; i < 6; i++) {
        const kind_t *kind = kinds[i % 2];
        /* The sender closes first; it may even have sent before the receiver opened. */
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kind, a, b));
        send = open_send(kind, a);
        EXPECT_IS(MCAPI_SUCCESS, send_one(kind, send, 1));
        EXPECT_IS(MCAPI_SUCCESS, send_one(kind, send, 2));
        EXPECT_IS(MCAPI_SUCCESS, close_send(kind, send));
        receive = open_recv(kind, b);
        EXPECT_IS(MCAPI_SUCCESS, recv_one(kind, receive, &value));
        CHECK(value == 1);
        EXPECT_IS(MCAPI_SUCCESS, recv_one(kind, receive, &value));
        CHECK(value == 2);
        EXPECT_IS(MCAPI_ERR_CHAN_CLOSEPENDING, recv_one(kind, receive, &value));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, receive));
        /* The receiver closes first. */
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kind, a, b));
        send = open_send(kind, a);
        receive = open_recv(kind, b);
        EXPECT_IS(MCAPI_SUCCESS, send_one(kind, send, 3));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, receive));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, recv_one(kind, receive, &value));
        EXPECT_IS(MCAPI_ERR_CHAN_CLOSEPENDING, send_one(kind, send, 4));
        EXPECT_IS(MCAPI_ERR_CHAN_NOTOPEN, close_recv(kind, receive));
        EXPECT_IS(MCAPI_SUCCESS, close_send(kind, send));
        /* The other way round; what was discarded does not turn up. */
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kind, b, a));
        send = open_send(kind, b);
        receive = open_recv(kind, a);
        EXPECT_IS(MCAPI_SUCCESS, send_one(kind, send, 5));
        EXPECT_IS(MCAPI_SUCCESS, recv_one(kind, receive, &value));
        CHECK(value == 5);
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, receive));
        EXPECT_IS(MCAPI_SUCCESS, close_send(kind, send));
    }
    finalize();
}

/* Between two processes, many times, and one side finalises instead of closing. */
enum { TIMES = 40 };

/* Opens as soon as the sender, too, has closed the one before. */
static mcapi_uint32_t open_when_closed(const kind_t *kind, mcapi_endpoint_t endpoint)
{
    mcapi_status_t status, end;
    mcapi_request_t request;
    mcapi_uint32_t handle;
    do {
        kind->open_recv(&handle, endpoint, &request, &status);
        end = end_of_call(&request, status);
    } while (end == MCAPI_ERR_CHAN_TYPE || end == MCAPI_ERR_CHAN_CLOSEPENDING);
    EXPECT_IS(MCAPI_SUCCESS, end);
    return handle;
}

static void closes_as_receiver(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t to;
    mcapi_uint32_t receive, value = 0, i;
    initialize(1);
    to = create(1);
    for (i = 0; i < TIMES; i++) {
        const kind_t *kind = kinds[i % 2];
        receive = open_when_closed(kind, to);
        EXPECT_IS(MCAPI_SUCCESS, recv_one(kind, receive, &value));
        CHECK(value == i);
        if (i % 3)
            EXPECT_IS(MCAPI_ERR_CHAN_CLOSEPENDING, recv_one(kind, receive, &value));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, receive));
    }
    receive = open_when_closed(&packets, to);
    EXPECT_IS(MCAPI_SUCCESS, recv_one(&packets, receive, &value));
    CHECK(value == 99);
    EXPECT_IS(MCAPI_ERR_CHAN_CLOSEPENDING, recv_one(&packets, receive, &value));
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, receive));
    CHECK(get_uint(to, MCAPI_ENDP_ATTR_STATUS) == 0);
    mcapi_endpoint_delete(to, &status);
    EXPECT(MCAPI_SUCCESS);
    finalize();
}

static void closes_as_sender(void)
{
    mcapi_endpoint_t from, to;
    mcapi_uint32_t send, i;
    initialize(2);
    from = create(1);
    get(2, 1);
    to = get(1, 1);
    for (i = 0; i < TIMES + 1; i++) {
        const kind_t *kind = i == TIMES ? &packets : kinds[i % 2];
        mcapi_status_t end;
        /* Until the receiver has closed the one before. */
        do
            end = connect_ends(kind, from, to);
        while (end == MCAPI_ERR_CHAN_CONNECTED);
        EXPECT_IS(MCAPI_SUCCESS, end);
        send = open_send(kind, from);
        EXPECT_IS(MCAPI_SUCCESS, send_one(kind, send, i == TIMES ? 99 : i));
        if (i < TIMES)
            EXPECT_IS(MCAPI_SUCCESS, close_send(kind, send));
    }
    finalize();
}

/* A sender that is told: its receiver closes, then its receiver's node ends. */
static void goes_away(void)
{
    mcapi_uint32_t receive;
    initialize(1);
    receive = open_recv(&packets, create(1));
    create(2);
    open_recv(&scalars, (unsigned)DOMAIN << 24 | 1u << 12 | 2);
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, receive));
    post(CLOSED);
    serve(READY);
    finalize();
    post(DONE);
}

static void is_told(void)
{
    mcapi_endpoint_t a, b;
    mcapi_uint32_t one, two_;
    initialize(2);
    a = create(1);
    b = create(2);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, a, get(1, 1)));
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, b, get(1, 2)));
    one = open_send(&packets, a);
    two_ = open_send(&scalars, b);
    serve(CLOSED);
    serve_once();
    EXPECT_IS(MCAPI_ERR_CHAN_CLOSEPENDING, send_one(&packets, one, 1));
    EXPECT_IS(MCAPI_SUCCESS, close_send(&packets, one));
    EXPECT_IS(MCAPI_SUCCESS, send_one(&scalars, two_, 1));
    post(READY);
    await(DONE);
    serve_once();
    EXPECT_IS(MCAPI_ERR_CHAN_CLOSEPENDING, send_one(&scalars, two_, 1));
    EXPECT_IS(MCAPI_SUCCESS, close_send(&scalars, two_));
    CHECK(get_uint(b, MCAPI_ENDP_ATTR_STATUS) == 0);
    finalize();
}

/*
 * A sender that ends before the receiver has opened: what it sent can be received, and then the
 * receiver's end is as any other whose sender has closed. The sender closes or not before it is
 * finalised, or it dies.
 */
enum end { CLOSES, FINALISES, DIES };
static enum end ends_by;
static int opens_first;

static void opens_late(void)
{
    mcapi_endpoint_t own[2];
    mcapi_uint32_t receive[2], value = 0, i;
    mcapi_request_t requests[2];
    mcapi_status_t status;
    size_t size;
    int k;
    initialize(1);
    for (k = 0; k < 2; k++) {
        own[k] = create((mcapi_port_t)k);
        if (opens_first) {
            kinds[k]->open_recv(&receive[k], own[k], &requests[k], &status);
            EXPECT(MCAPI_PENDING);
        }
    }
    serve(READY);
    /* The node hears of nothing until the sender has ended. */
    post(CLOSED);
    await(DONE);
    if (!opens_first)
        for (k = 0; k < 20; k++)
            serve_once();
    for (k = 0; k < 2; k++) {
        if (opens_first) {
            CHECK(mcapi_wait(&requests[k], &size, SOON, &status));
            EXPECT(MCAPI_SUCCESS);
        } else {
            receive[k] = open_recv(kinds[k], own[k]);
        }
        for (i = 0; i < 3; i++) {
            EXPECT_IS(MCAPI_SUCCESS, recv_one(kinds[k], receive[k], &value));
            CHECK(value == i);
        }
        EXPECT_IS(ends_by == DIES ? MCAPI_ERR_TRANSMISSION : MCAPI_ERR_CHAN_CLOSEPENDING,
                  recv_one(kinds[k], receive[k], &value));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kinds[k], receive[k]));
        CHECK(get_uint(own[k], MCAPI_ENDP_ATTR_STATUS) == 0);
        mcapi_endpoint_delete(own[k], &status);
        EXPECT(MCAPI_SUCCESS);
    }
    finalize();
}

static void ends_early(void)
{
    mcapi_uint32_t send[2], i;
    int k;
    initialize(2);
    for (k = 0; k < 2; k++) {
        mcapi_endpoint_t from = create((mcapi_port_t)k);
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kinds[k], from, get(1, (mcapi_port_t)k)));
        send[k] = open_send(kinds[k], from);
    }
    post(READY);
    await(CLOSED);
    for (k = 0; k < 2; k++) {
        for (i = 0; i < 3; i++)
            EXPECT_IS(MCAPI_SUCCESS, send_one(kinds[k], send[k], i));
        if (ends_by == CLOSES)
            EXPECT_IS(MCAPI_SUCCESS, close_send(kinds[k], send[k]));
    }
    if (ends_by != DIES)
        finalize();
    /* Its parent says when it has ended. */
}

static void ends_and_says_so(void)
{
    CHECK(ended_well("sender", 2, start(ends_early)));
    post(DONE);
}

/*
 * A node that has closed an end needs nobody for what comes next: its endpoint is deleted, or
 * opened anew, while the other node makes no call.
 */
static void needs_nobody(const kind_t *kind, mcapi_endpoint_t endpoint, mcapi_uint32_t handle,
                         int sends, int deletes)
{
    mcapi_status_t status;
    mcapi_request_t request;
    EXPECT_IS(MCAPI_SUCCESS, sends ? close_send(kind, handle) : close_recv(kind, handle));
    EXPECT_IS(MCAPI_ERR_CHAN_NOTOPEN, sends ? close_send(kind, handle) : close_recv(kind, handle));
    CHECK(get_uint(endpoint, MCAPI_ENDP_ATTR_STATUS) == 0);
    if (!deletes) {
        set_uint(endpoint, MCAPI_ENDP_ATTR_PRIORITY, 1);
        set_uint(endpoint, MCAPI_ENDP_ATTR_PRIORITY, 0);
        (sends ? kind->open_send : kind->open_recv)(&handle, endpoint, &request, &status);
        EXPECT(MCAPI_PENDING);
        mcapi_cancel(&request, &status);
        EXPECT(MCAPI_SUCCESS);
        return;
    }
    mcapi_endpoint_delete(endpoint, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(create(endpoint & MCAPI_MAX_PORT) == endpoint);
}

/* Ports 0 to 3: packets and scalars, and whether the endpoint is deleted. */
enum { ENDS = 4 };

static void receives_when_closed(void)
{
    mcapi_endpoint_t own[ENDS];
    mcapi_uint32_t handles[ENDS], value = 0;
    int i;
    initialize(1);
    for (i = 0; i < ENDS; i++)
        own[i] = create((mcapi_port_t)i);
    serve(READY);
    post(CLOSED);
    await(DONE);
    put(DONE, 0);
    for (i = 0; i < ENDS; i++) {
        handles[i] = open_recv(kinds[i % 2], own[i]);
        EXPECT_IS(MCAPI_SUCCESS, recv_one(kinds[i % 2], handles[i], &value));
        CHECK(value == (mcapi_uint32_t)i);
        EXPECT_IS(MCAPI_ERR_CHAN_CLOSEPENDING, recv_one(kinds[i % 2], handles[i], &value));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kinds[i % 2], handles[i]));
    }
    post(READY + 8);
    /* And the other way round. */
    for (i = 0; i < ENDS; i++)
        handles[i] = open_recv(kinds[i % 2], own[i]);
    await(DONE);
    for (i = 0; i < ENDS; i++)
        needs_nobody(kinds[i % 2], own[i], handles[i], 0, i / 2);
    post(CLOSED + 8);
    serve(DONE + 8);
    finalize();
}

static void closes_and_goes_on(void)
{
    mcapi_endpoint_t own[ENDS];
    mcapi_uint32_t handles[ENDS];
    int i;
    initialize(2);
    for (i = 0; i < ENDS; i++) {
        own[i] = create((mcapi_port_t)i);
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kinds[i % 2], own[i], get(1, (mcapi_port_t)i)));
        handles[i] = open_send(kinds[i % 2], own[i]);
        EXPECT_IS(MCAPI_SUCCESS, send_one(kinds[i % 2], handles[i], (mcapi_uint32_t)i));
    }
    post(READY);
    await(CLOSED);
    for (i = 0; i < ENDS; i++)
        needs_nobody(kinds[i % 2], own[i], handles[i], 1, i / 2);
    post(DONE);
    serve(READY + 8);
    for (i = 0; i < ENDS; i++) {
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kinds[i % 2], own[i], get(1, (mcapi_port_t)i)));
        handles[i] = open_send(kinds[i % 2], own[i]);
        EXPECT_IS(MCAPI_SUCCESS, send_one(kinds[i % 2], handles[i], 0));
    }
    post(DONE);
    await(CLOSED + 8);
    serve_once();
    for (i = 0; i < ENDS; i++) {
        EXPECT_IS(MCAPI_ERR_CHAN_CLOSEPENDING, send_one(kinds[i % 2], handles[i], 0));
        EXPECT_IS(MCAPI_SUCCESS, close_send(kinds[i % 2], handles[i]));
    }
    post(DONE + 8);
    finalize();
}

/* All channels from one node to another are used, and one more. */
static void far_ends(void)
{
    mcapi_port_t port;
    initialize(1);
    for (port = 0; port <= MCAPI_MAX_CHANNELS; port++)
        create(port);
    post(READY);
    serve(DONE);
    finalize();
}

static void too_many(void)
{
    mcapi_port_t port;
    mcapi_endpoint_t own[MCAPI_MAX_CHANNELS + 1], far[MCAPI_MAX_CHANNELS + 1];
    mcapi_uint32_t handles[MCAPI_MAX_CHANNELS];
    initialize(2);
    for (port = 0; port <= MCAPI_MAX_CHANNELS; port++) {
        own[port] = create(port);
        get(2, port);
        far[port] = get(1, port);
    }
    for (port = 0; port < MCAPI_MAX_CHANNELS; port++) {
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kinds[port % 2], own[port], far[port]));
        handles[port] = open_send(kinds[port % 2], own[port]);
    }
    EXPECT_IS(MCAPI_ERR_MEM_LIMIT, connect_ends(&packets, own[port], far[port]));
    CHECK(get_uint(own[port], MCAPI_ENDP_ATTR_STATUS) == 0);
    CHECK(get_uint(far[port], MCAPI_ENDP_ATTR_STATUS) == 0);
    /* The other direction has its own. */
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, far[port], own[port]));
    for (port = 0; port < MCAPI_MAX_CHANNELS; port++)
        EXPECT_IS(MCAPI_SUCCESS, send_one(kinds[port % 2], handles[port], port));
    post(DONE);
    finalize();
}

static void early_ends(void)
{
    for (opens_first = 0; opens_first < 2; opens_first++) {
        ends_by = CLOSES;
        TOGETHER(closes_early, opens_late, ends_and_says_so);
        ends_by = FINALISES;
        TOGETHER(finalises_early, opens_late, ends_and_says_so);
        ends_by = DIES;
        TOGETHER(dies_early, opens_late, ends_and_says_so);
    }
}

int main(void)
{
    ALONE(closing);
    TOGETHER(many_times, closes_as_receiver, closes_as_sender);
    TOGETHER(other_side, goes_away, is_told);
    TOGETHER(limit, far_ends, too_many);
    early_ends();
    TOGETHER(alone, receives_when_closed, closes_and_goes_on);
    return verdict(11);
}
