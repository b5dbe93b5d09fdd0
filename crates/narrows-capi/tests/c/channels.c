/* Connecting, opening and closing, which packet and scalar channels have in common. */
#include "check.h"

enum { READY, DONE, MADE, CONNECTED, CLOSED, SENT, FULL };

static const kind_t *const kinds[] = {&packets, &scalars};

/* One value over a channel of either type. */
static mcapi_status_t send_one(const kind_t *kind, mcapi_uint32_t handle, mcapi_uint32_t value)
{
    mcapi_status_t status;
    if (kind == &packets)
        mcapi_pktchan_send(handle, &value, sizeof value, &status);
    else
        mcapi_sclchan_send_uint32(handle, value, &status);
    return status;
}

static mcapi_status_t recv_one(const kind_t *kind, mcapi_uint32_t handle, mcapi_uint32_t *value)
{
    mcapi_status_t status, released;
    void *packet;
    size_t size;
    if (kind == &scalars) {
        *value = mcapi_sclchan_recv_uint32(handle, &status);
        return status;
    }
    mcapi_pktchan_recv(handle, &packet, &size, &status);
    if (status == MCAPI_SUCCESS) {
        memcpy(value, packet, sizeof *value);
        mcapi_pktchan_release(packet, &released);
        EXPECT_IS(MCAPI_SUCCESS, released);
    }
    return status;
}

static mcapi_status_t available(const kind_t *kind, mcapi_uint32_t handle)
{
    mcapi_status_t status;
    if (kind == &packets)
        mcapi_pktchan_available(handle, &status);
    else
        mcapi_sclchan_available(handle, &status);
    return status;
}

/* Endpoints 1 and 2 of node 1, which it has got itself. */
static void two(mcapi_endpoint_t *a, mcapi_endpoint_t *b)
{
    *a = create(1);
    *b = create(2);
    get(1, 1);
    get(1, 2);
    set_uint(*a, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
    set_uint(*b, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
}

/* The order of connecting and opening does not matter; a handle is valid when its open is done. */
static void any_order(void)
{
    static const char *const orders[] = {"csr", "crs", "scr", "src", "rcs", "rsc"};
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    size_t i, k;
    unsigned step;

    initialize(1);
    two(&a, &b);
    for (i = 0; i < 2 * sizeof orders / sizeof *orders; i++) {
        const kind_t *kind = kinds[i % 2];
        const char *order = orders[i / 2];
        mcapi_request_t connecting = 0, sending = 0, receiving = 0;
        mcapi_uint32_t send = 0, receive = 0, value = 0;
        int connected = 0;
        for (k = 0; k < 3; k++) {
            if (order[k] == 'c') {
                kind->connect(a, b, &connecting, &status);
                CHECK(status == MCAPI_SUCCESS || status == MCAPI_PENDING);
                EXPECT_IS(MCAPI_SUCCESS, end_of_call(&connecting, status));
                connected = 1;
            } else if (order[k] == 's') {
                kind->open_send(&send, a, &sending, &status);
                CHECK(connected || status == MCAPI_PENDING);
                CHECK(status == MCAPI_SUCCESS || status == MCAPI_PENDING);
            } else {
                kind->open_recv(&receive, b, &receiving, &status);
                CHECK(connected || status == MCAPI_PENDING);
                CHECK(status == MCAPI_SUCCESS || status == MCAPI_PENDING);
            }
        }
        EXPECT_IS(MCAPI_SUCCESS, end_of(&sending));
        EXPECT_IS(MCAPI_SUCCESS, end_of(&receiving));
        for (step = 0; step < 3; step++) {
            EXPECT_IS(MCAPI_SUCCESS, send_one(kind, send, step + 9));
            EXPECT_IS(MCAPI_SUCCESS, recv_one(kind, receive, &value));
            CHECK(value == step + 9);
        }
        EXPECT_IS(MCAPI_SUCCESS, close_send(kind, send));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, receive));
    }
    finalize();
}

/* A third party connects the endpoints of two others, before they open and while they wait. */
static void end_of_channel(mcapi_node_t node, int sends)
{
    mcapi_endpoint_t first, second;
    mcapi_uint32_t handle, value = 0;
    int i;

    initialize(node);
    first = create(1);
    second = create(2);
    serve(CONNECTED);
    for (i = 0; i < 2; i++) {
        const kind_t *kind = kinds[i];
        mcapi_endpoint_t own = i ? second : first;
        if (sends) {
            handle = open_send(kind, own);
            EXPECT_IS(MCAPI_SUCCESS, send_one(kind, handle, 77));
            EXPECT_IS(MCAPI_SUCCESS, close_send(kind, handle));
        } else {
            handle = open_recv(kind, own);
            EXPECT_IS(MCAPI_SUCCESS, recv_one(kind, handle, &value));
            CHECK(value == 77);
            EXPECT_IS(MCAPI_ERR_CHAN_CLOSEPENDING, recv_one(kind, handle, &value));
            EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, handle));
        }
    }
    put(DONE, look(DONE) + 1);
    if (sends)
        serve(SENT);
    else
        post(SENT);
    finalize();
}

static void far_sender(void)
{
    end_of_channel(1, 1);
}

static void far_receiver(void)
{
    end_of_channel(2, 0);
}

static void third_party(void)
{
    mcapi_endpoint_t from, to;
    initialize(3);
    from = get(1, 1);
    to = get(2, 1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, from, to));
    EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, connect_ends(&packets, from, to));
    EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, connect_ends(&scalars, from, to));
    EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, connect_ends(&packets, to, from));
    EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, connect_ends(&packets, get(1, 2), to));
    EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, connect_ends(&packets, from, get(2, 2)));
    post(CONNECTED);
    /* The second while they wait for it in an open. */
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, get(1, 2), get(2, 2)));
    finalize();
}

/* What connect refuses when both ends are its own. */
static void connect_errors(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_request_t opening, request;
    mcapi_uint32_t handle;
    int i;

    initialize(1);
    two(&a, &b);
    for (i = 0; i < 2; i++) {
        const kind_t *kind = kinds[i], *other = kinds[1 - i];
        EXPECT_IS(MCAPI_ERR_ENDP_INVALID, connect_ends(kind, a, a));
        EXPECT_IS(MCAPI_ERR_ENDP_INVALID, connect_ends(kind, a, 77));
        EXPECT_IS(MCAPI_ERR_ENDP_INVALID, connect_ends(kind, 77, b));
        kind->connect(a, b, NULL, &status);
        EXPECT(MCAPI_ERR_PARAMETER);
        kind->connect(a, 77, &request, &status);
        CHECK(status == MCAPI_ERR_ENDP_INVALID);
        EXPECT_IS(MCAPI_ERR_ENDP_INVALID, end_of(&request));
        /* An open that is pending says what the endpoint is for. */
        kind->open_recv(&handle, b, &opening, &status);
        EXPECT(MCAPI_PENDING);
        EXPECT_IS(MCAPI_ERR_CHAN_TYPE, connect_ends(other, a, b));
        EXPECT_IS(MCAPI_ERR_CHAN_DIRECTION, connect_ends(kind, b, a));
        CHECK(get_uint(a, MCAPI_ENDP_ATTR_STATUS) == 0);
        mcapi_cancel(&opening, &status);
        EXPECT(MCAPI_SUCCESS);
        kind->open_send(&handle, a, &opening, &status);
        EXPECT(MCAPI_PENDING);
        EXPECT_IS(MCAPI_ERR_CHAN_TYPE, connect_ends(other, a, b));
        EXPECT_IS(MCAPI_ERR_CHAN_DIRECTION, connect_ends(kind, b, a));
        CHECK(get_uint(b, MCAPI_ENDP_ATTR_STATUS) == 0);
        mcapi_cancel(&opening, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(get_uint(a, MCAPI_ENDP_ATTR_STATUS) == 0);
    }
    finalize();
}

/* What open and close refuse in each stage. */
static void open_errors(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_request_t request, opening;
    mcapi_uint32_t send, receive, unset;
    int i;

    initialize(1);
    two(&a, &b);
    for (i = 0; i < 2; i++) {
        const kind_t *kind = kinds[i], *other = kinds[1 - i];
#define OPENS(call, expected, handle, endpoint)               \
    do {                                                      \
        call(handle, endpoint, &request, &status);            \
        EXPECT(expected);                                     \
        EXPECT_IS(expected, end_of(&request));                \
    } while (0)
        kind->open_recv(&receive, b, NULL, &status);
        EXPECT(MCAPI_ERR_PARAMETER);
        OPENS(kind->open_recv, MCAPI_ERR_PARAMETER, NULL, b);
        OPENS(kind->open_send, MCAPI_ERR_PARAMETER, NULL, a);
        OPENS(kind->open_recv, MCAPI_ERR_ENDP_INVALID, &unset, 77);
        OPENS(kind->open_send, MCAPI_ERR_ENDP_INVALID, &unset, 77);
        /* Pending. */
        kind->open_recv(&receive, b, &opening, &status);
        EXPECT(MCAPI_PENDING);
        OPENS(kind->open_recv, MCAPI_ERR_CHAN_OPENPENDING, &unset, b);
        OPENS(kind->open_send, MCAPI_ERR_CHAN_DIRECTION, &unset, b);
        OPENS(other->open_recv, MCAPI_ERR_CHAN_TYPE, &unset, b);
        OPENS(other->open_send, MCAPI_ERR_CHAN_TYPE, &unset, b);
        mcapi_cancel(&opening, &status);
        EXPECT(MCAPI_SUCCESS);
        other->open_recv(&receive, b, &opening, &status);
        EXPECT(MCAPI_PENDING);
        mcapi_cancel(&opening, &status);
        EXPECT(MCAPI_SUCCESS);
        /* Connected. */
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kind, a, b));
        OPENS(kind->open_recv, MCAPI_ERR_CHAN_DIRECTION, &unset, a);
        OPENS(kind->open_send, MCAPI_ERR_CHAN_DIRECTION, &unset, b);
        OPENS(other->open_send, MCAPI_ERR_CHAN_TYPE, &unset, a);
        OPENS(other->open_recv, MCAPI_ERR_CHAN_TYPE, &unset, b);
        /* Open. */
        send = open_send(kind, a);
        receive = open_recv(kind, b);
        OPENS(kind->open_send, MCAPI_ERR_CHAN_OPEN, &unset, a);
        OPENS(kind->open_recv, MCAPI_ERR_CHAN_OPEN, &unset, b);
        OPENS(kind->open_send, MCAPI_ERR_CHAN_DIRECTION, &unset, b);
        OPENS(other->open_recv, MCAPI_ERR_CHAN_TYPE, &unset, b);
        /* Handles are of one type and direction. */
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, close_recv(kind, send));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, close_send(kind, receive));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, close_send(other, send));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, close_recv(other, receive));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, send_one(kind, receive, 1));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, send_one(other, send, 1));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, recv_one(kind, send, &unset));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, recv_one(other, receive, &unset));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, available(other, receive));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, send_one(kind, 0xfffffff0u, 1));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, close_send(kind, 0xfffffff0u));
        kind->close_recv(receive, NULL, &status);
        EXPECT(MCAPI_ERR_PARAMETER);
        /* Closed by one side, then by both. */
        EXPECT_IS(MCAPI_SUCCESS, close_send(kind, send));
        EXPECT_IS(MCAPI_ERR_CHAN_NOTOPEN, close_send(kind, send));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, send_one(kind, send, 1));
        OPENS(kind->open_send, MCAPI_ERR_CHAN_CLOSEPENDING, &unset, a);
        EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, connect_ends(kind, a, b));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, receive));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, close_send(kind, send));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, close_recv(kind, receive));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, recv_one(kind, receive, &unset));
        EXPECT_IS(MCAPI_ERR_CHAN_INVALID, available(kind, receive));
    }
    finalize();
}

/* Two nodes: another node's endpoint is not opened here, and errors come from its side too. */
static void remote_end(void)
{
    mcapi_status_t status;
    mcapi_request_t opening;
    mcapi_pktchan_recv_hndl_t handle;
    initialize(1);
    packets.open_recv(&handle, create(1), &opening, &status);
    EXPECT(MCAPI_PENDING);
    set_uint(create(2), MCAPI_ENDP_ATTR_PRIORITY, 2);
    create(3);
    post(MADE);
    serve(DONE);
    finalize();
}

static void remote_errors(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t own, busy, other, plain;
    mcapi_request_t request;
    mcapi_uint32_t unset;

    initialize(2);
    own = create(1);
    get(2, 1);
    busy = get(1, 1);
    other = get(1, 2);
    plain = get(1, 3);
    serve(MADE);
    OPENS(packets.open_recv, MCAPI_ERR_ENDP_REMOTE, &unset, plain);
    OPENS(packets.open_send, MCAPI_ERR_ENDP_REMOTE, &unset, plain);
    OPENS(scalars.open_recv, MCAPI_ERR_ENDP_REMOTE, &unset, plain);
    OPENS(scalars.open_send, MCAPI_ERR_ENDP_REMOTE, &unset, plain);
    EXPECT_IS(MCAPI_ERR_CHAN_TYPE, connect_ends(&scalars, own, busy));
    EXPECT_IS(MCAPI_ERR_CHAN_DIRECTION, connect_ends(&packets, busy, own));
    EXPECT_IS(MCAPI_ERR_ATTR_INCOMPATIBLE, connect_ends(&packets, own, other));
    /* Nothing is left of those: it connects to another, either way. */
    CHECK(get_uint(own, MCAPI_ENDP_ATTR_STATUS) == 0);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, plain, own));
    EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, connect_ends(&packets, own, busy));
    CHECK((get_uint(plain, MCAPI_ENDP_ATTR_STATUS) & MCAPI_ENDP_ATTR_STATUS_CONNECTED) != 0);
    CHECK((get_uint(busy, MCAPI_ENDP_ATTR_STATUS) & MCAPI_ENDP_ATTR_STATUS_CONNECTED) == 0);
    post(DONE);
    finalize();
}

/* Cancelling an open takes it back. */
static void cancelled_open(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_request_t opening;
    mcapi_uint32_t send, receive, value;
    int i;
    initialize(1);
    two(&a, &b);
    for (i = 0; i < 2; i++) {
        const kind_t *kind = kinds[i], *other = kinds[1 - i];
        other->open_send(&send, b, &opening, &status);
        EXPECT(MCAPI_PENDING);
        mcapi_cancel(&opening, &status);
        EXPECT(MCAPI_SUCCESS);
        EXPECT_IS(MCAPI_ERR_REQUEST_CANCELLED, end_of(&opening));
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kind, a, b));
        send = open_send(kind, a);
        receive = open_recv(kind, b);
        EXPECT_IS(MCAPI_SUCCESS, send_one(kind, send, 4));
        EXPECT_IS(MCAPI_SUCCESS, recv_one(kind, receive, &value));
        CHECK(value == 4);
        EXPECT_IS(MCAPI_SUCCESS, close_send(kind, send));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, receive));
    }
    finalize();
}

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

int main(void)
{
    ALONE(any_order);
    TOGETHER(third_parties, far_sender, far_receiver, third_party);
    ALONE(connect_errors);
    ALONE(open_errors);
    TOGETHER(remote, remote_end, remote_errors);
    ALONE(cancelled_open);
    ALONE(closing);
    TOGETHER(many_times, closes_as_receiver, closes_as_sender);
    TOGETHER(other_side, goes_away, is_told);
    TOGETHER(limit, far_ends, too_many);
    return verdict(10);
}
