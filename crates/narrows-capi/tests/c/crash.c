/*
 * The peer is killed in every state in which a call can wait for it. The call has to end with an
 * error, how long that took is printed, and afterwards the node works with a new peer of the same
 * name, over the same endpoints.
 */
#include "kill.h"

/* Milliseconds; far more than it takes, far less than any timeout. */
#define LATE 1000

enum role { MESSAGES, RECEIVES, SENDS };

/* The survivor's: 1 for messages, 2 receives, 3 sends; the peer's the same. */
typedef struct {
    const char *name;
    /* What the survivor does, and over which channels. */
    enum role role;
    const kind_t *kind;
    /* Whether the peer is in no call of MCAPI, so that nothing is answered or taken. */
    int hangs;
    /* Blocks until the peer has died. */
    mcapi_status_t (*block)(void);
} state_t;

static const state_t *state;
static mcapi_uint32_t handle;
static char bytes[3000];

/* What blocks. */

static mcapi_status_t in_msg_recv(void)
{
    mcapi_status_t status;
    size_t size;
    mcapi_msg_recv(OWN(1), bytes, sizeof bytes, &size, &status);
    return status;
}

static mcapi_status_t in_msg_recv_i(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_msg_recv_i(OWN(1), bytes, sizeof bytes, &request, &status);
    EXPECT(MCAPI_PENDING);
    return end_of(&request);
}

static mcapi_status_t in_msg_send(void)
{
    mcapi_status_t status;
    do
        mcapi_msg_send(OWN(1), FAR(1), bytes, sizeof bytes, 0, &status);
    while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_msg_send_i(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    do {
        mcapi_msg_send_i(OWN(1), FAR(1), bytes, sizeof bytes, 0, &request, &status);
        status = end_of_call(&request, status);
    } while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_pktchan_recv(void)
{
    mcapi_status_t status;
    void *packet;
    size_t size;
    mcapi_pktchan_recv(handle, &packet, &size, &status);
    return status;
}

static mcapi_status_t in_pktchan_recv_i(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    void *packet;
    mcapi_pktchan_recv_i(handle, &packet, &request, &status);
    EXPECT(MCAPI_PENDING);
    return end_of(&request);
}

static mcapi_status_t in_pktchan_send(void)
{
    mcapi_status_t status;
    do
        mcapi_pktchan_send(handle, bytes, sizeof bytes, &status);
    while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_pktchan_send_i(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    do {
        mcapi_pktchan_send_i(handle, bytes, sizeof bytes, &request, &status);
        status = end_of_call(&request, status);
    } while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_sclchan_recv(void)
{
    mcapi_status_t status;
    mcapi_sclchan_recv_uint32(handle, &status);
    return status;
}

static mcapi_status_t in_sclchan_send(void)
{
    mcapi_status_t status;
    do
        mcapi_sclchan_send_uint32(handle, 7, &status);
    while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_connect(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_pktchan_connect_i(OWN(3), FAR(1), &request, &status);
    EXPECT(MCAPI_PENDING);
    return end_of(&request);
}

static mcapi_status_t in_connect_of_others(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_sclchan_connect_i(FAR(1), FAR(2), &request, &status);
    EXPECT(MCAPI_PENDING);
    return end_of(&request);
}

static mcapi_status_t in_get_attribute(void)
{
    mcapi_status_t status;
    mcapi_uint_t value;
    mcapi_endpoint_get_attribute(FAR(1), MCAPI_ENDP_ATTR_PRIORITY, &value, sizeof value, &status);
    return status;
}

/* One of three ends; the others, of whom nobody died, are as they were. */
static mcapi_status_t in_wait_any(void)
{
    static mcapi_endpoint_t nowhere;
    mcapi_status_t status, end;
    mcapi_request_t requests[3];
    mcapi_request_t *all[3];
    mcapi_uint32_t unset;
    void *packet;
    size_t i, size;
    for (i = 0; i < 3; i++)
        all[i] = &requests[i];
    mcapi_endpoint_get_i(DOMAIN, 9, NOWHERE, &nowhere, &requests[0], &status);
    EXPECT(MCAPI_PENDING);
    mcapi_pktchan_recv_i(handle, &packet, &requests[1], &status);
    EXPECT(MCAPI_PENDING);
    mcapi_pktchan_recv_open_i(&unset, OWN(4), &requests[2], &status);
    EXPECT(MCAPI_PENDING);
    CHECK(mcapi_wait_any(3, all, &size, SOON, &end) == 1);
    for (i = 0; i < 3; i += 2) {
        CHECK(mcapi_test(&requests[i], &size, &status) == MCAPI_FALSE);
        EXPECT(MCAPI_PENDING);
        mcapi_cancel(&requests[i], &status);
        EXPECT(MCAPI_SUCCESS);
    }
    return end;
}

static const state_t states[] = {
    {"msg_recv", MESSAGES, &packets, 0, in_msg_recv},
    {"msg_recv_i", MESSAGES, &packets, 0, in_msg_recv_i},
    {"msg_send", MESSAGES, &packets, 1, in_msg_send},
    {"msg_send_i", MESSAGES, &packets, 1, in_msg_send_i},
    {"pktchan_recv", RECEIVES, &packets, 0, in_pktchan_recv},
    {"pktchan_recv_i", RECEIVES, &packets, 0, in_pktchan_recv_i},
    {"pktchan_recv, peer in no call", RECEIVES, &packets, 1, in_pktchan_recv},
    {"pktchan_send", SENDS, &packets, 0, in_pktchan_send},
    {"pktchan_send_i", SENDS, &packets, 1, in_pktchan_send_i},
    {"sclchan_recv", RECEIVES, &scalars, 0, in_sclchan_recv},
    {"sclchan_send", SENDS, &scalars, 1, in_sclchan_send},
    {"connect_i", MESSAGES, &packets, 1, in_connect},
    {"connect_i of others", MESSAGES, &packets, 1, in_connect_of_others},
    {"endpoint_get_attribute", MESSAGES, &packets, 1, in_get_attribute},
    {"wait_any", RECEIVES, &packets, 0, in_wait_any},
};
enum { STATES = 15 };

/* The peer: its side of the channel, and, if it is the second, something over it. */
static void peer(void)
{
    mcapi_status_t status;
    mcapi_port_t port;
    char text[8];
    size_t size;
    void *packet;

    initialize(2);
    for (port = 1; port <= 3; port++)
        create(port);
    get(1, 1);
    if (state->role == RECEIVES) {
        get(2, 3);
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(state->kind, FAR(3), get(1, 2)));
        handle = open_send(state->kind, FAR(3));
    } else if (state->role == SENDS) {
        handle = open_recv(state->kind, FAR(2));
    }
    if (!look(AGAIN)) {
        serve(PREPARED);
        post(READY);
        while (state->hangs)
            pause();
        for (;;)
            serve_once();
    }
    if (state->role == RECEIVES && state->kind == &packets)
        mcapi_pktchan_send(handle, "packet", 7, &status);
    else if (state->role == RECEIVES)
        mcapi_sclchan_send_uint16(handle, 16, &status);
    else if (state->role == SENDS && state->kind == &packets)
        mcapi_pktchan_recv(handle, &packet, &size, &status);
    else if (state->role == SENDS)
        CHECK(mcapi_sclchan_recv_uint16(handle, &status) == 16);
    else
        status = MCAPI_SUCCESS;
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_send(FAR(1), OWN(1), "again", 6, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_recv(FAR(1), text, sizeof text, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(strcmp(text, "well") == 0);
    serve(DONE);
    finalize();
}

static void set_up(void)
{
    get(2, 1);
    get(2, 2);
    if (state->role == RECEIVES)
        handle = open_recv(state->kind, OWN(2));
    else if (state->role == SENDS) {
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(state->kind, OWN(3), get(2, 2)));
        handle = open_send(state->kind, OWN(3));
    }
}

/* Whether what was blocked was a receive of a message. */
static int receives(const state_t *which)
{
    return which->block == in_msg_recv || which->block == in_msg_recv_i;
}

static void survivor(void)
{
    mcapi_status_t status;
    mcapi_port_t port;
    unsigned took;
    size_t size;
    void *packet;

    initialize(1);
    for (port = 1; port <= 4; port++)
        create(port);
    get(1, 3);
    set_up();
    post(PREPARED);
    serve(READY);
    post(BLOCKING);
    status = state->block();
    took = microseconds() - look(KILLED_AT);
    printf("%s: %u us\n", state->name, took);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    CHECK(took < LATE * 1000u);
    /* What there was of it is gone. */
    mcapi_msg_send(OWN(1), FAR(1), "x", 1, 0, &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    if (state->role == RECEIVES)
        EXPECT_IS(MCAPI_SUCCESS, close_recv(state->kind, handle));
    else if (state->role == SENDS)
        EXPECT_IS(MCAPI_SUCCESS, close_send(state->kind, handle));
    for (port = 1; port <= 4; port++)
        CHECK(get_uint(OWN(port), MCAPI_ENDP_ATTR_STATUS) == 0);
    post(AGAIN);
    set_up();
    if (state->role == RECEIVES && state->kind == &packets) {
        mcapi_pktchan_recv(handle, &packet, &size, &status);
        CHECK(status != MCAPI_SUCCESS || strcmp((char *)packet, "packet") == 0);
    } else if (state->role == RECEIVES)
        CHECK(mcapi_sclchan_recv_uint16(handle, &status) == 16);
    else if (state->role == SENDS && state->kind == &packets)
        mcapi_pktchan_send(handle, "packet", 7, &status);
    else if (state->role == SENDS)
        mcapi_sclchan_send_uint16(handle, 16, &status);
    else
        status = MCAPI_SUCCESS;
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_recv(OWN(1), bytes, sizeof bytes, &size, &status);
    /* One receive is told of the death, unless one was or the new peer was sooner. */
    if (status == MCAPI_ERR_TRANSMISSION && !receives(state))
        mcapi_msg_recv(OWN(1), bytes, sizeof bytes, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(strcmp(bytes, "again") == 0);
    mcapi_msg_send(OWN(1), FAR(1), "well", 5, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    post(DONE);
    finalize();
}

static void in_state(const state_t *which)
{
    pid_t first, second, survives;
    int well;
    const char *only = getenv("CASE");
    if (only && strcmp(only, which->name) != 0)
        return;
    state = which;
    make_board();
    survives = start(survivor);
    first = start(peer);
    kill_when_blocked(survives, first);
    while (!look(AGAIN) && !gone(survives))
        sched_yield();
    second = look(AGAIN) ? start(peer) : 0;
    well = ended_well(which->name, 1, survives);
    if (second)
        well &= ended_well(which->name, 2, second);
    printf("%s %s\n", which->name, well ? "ok" : "FAILED");
    cases_run++;
    cases_failed += !well;
}

int main(void)
{
    size_t i;
    answer_in_calls_only();
    static_assert(sizeof states / sizeof *states == STATES, "none vanishes");
    for (i = 0; i < STATES; i++)
        in_state(&states[i]);
    return verdict(STATES);
}
