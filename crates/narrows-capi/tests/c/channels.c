/* Connecting and opening, which packet and scalar channels have in common. */
#include "value.h"

enum { DONE, MADE, CONNECTED, SENT };

static mcapi_status_t available(const kind_t *kind, mcapi_uint32_t handle)
{
    mcapi_status_t status;
    if (kind == &packets)
        mcapi_pktchan_available(handle, &status);
    else
        mcapi_sclchan_available(handle, &status);
    return status;
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

int main(void)
{
    ALONE(any_order);
    TOGETHER(third_parties, far_sender, far_receiver, third_party);
    ALONE(connect_errors);
    ALONE(open_errors);
    TOGETHER(remote, remote_end, remote_errors);
    ALONE(cancelled_open);
    return verdict(6);
}
