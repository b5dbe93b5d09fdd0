/* Endpoints: create, get, get_i, release, delete. */
#include "check.h"

enum { READY, MADE, TOLD, DONE, ASKED };

static void numbers(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t zero, any, other;
    unsigned i;

    initialize_in(0, 0);
    zero = create(0);
    CHECK(zero == 0);
    CHECK(mcapi_endpoint_get(0, 0, 0, MCAPI_TIMEOUT_IMMEDIATE, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    CHECK(mcapi_msg_available(zero, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    CHECK(create(4095) == 4095);
    any = create(MCAPI_PORT_ANY);
    other = create(MCAPI_PORT_ANY);
    CHECK(any != other && any <= 4095 && other <= 4095);
    mcapi_endpoint_create(4096, &status);
    EXPECT(MCAPI_ERR_PORT_INVALID);
    mcapi_endpoint_create(0, &status);
    EXPECT(MCAPI_ERR_ENDP_EXISTS);
    mcapi_endpoint_create(any, &status);
    EXPECT(MCAPI_ERR_ENDP_EXISTS);
    for (i = 4; i < MCAPI_MAX_ENDPOINTS; i++)
        create(MCAPI_PORT_ANY);
    mcapi_endpoint_create(MCAPI_PORT_ANY, &status);
    EXPECT(MCAPI_ERR_ENDP_LIMIT);
    mcapi_endpoint_create(100, &status);
    EXPECT(MCAPI_ERR_ENDP_LIMIT);
    mcapi_endpoint_delete(any, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(create(any) == any);
    mcapi_endpoint_delete(zero, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_delete(zero, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    finalize();
}

/* Endpoint 0 is one that a peer can get and send to. */
static void zero_receives(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t zero;
    char text[8];
    size_t size = 0;
    initialize_in(0, 0);
    zero = create(0);
    mcapi_msg_recv(zero, text, sizeof text, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 3 && strcmp(text, "to") == 0);
    post(DONE);
    finalize();
}

static void zero_is_sent_to(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from, to;
    initialize_in(0, 1);
    from = create(0);
    to = mcapi_endpoint_get(0, 0, 0, SOON, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(to == 0);
    mcapi_msg_send(from, to, "to", 3, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    serve(DONE);
    finalize();
}

static void getter(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t endpoint, got = 0xffff;
    mcapi_request_t request;
    mcapi_uint_t flags;
    char text[MCAPI_MAX_STATUS_SIZE];
    size_t size = 7;

    initialize(1);
    /* Nobody is there, or nothing at that port: the timeout, or at once. */
    CHECK(mcapi_endpoint_get(DOMAIN, 2, 1, MCAPI_TIMEOUT_IMMEDIATE, &status) == 0);
    EXPECT(MCAPI_TIMEOUT);
    CHECK(mcapi_endpoint_get(DOMAIN, 2, 1, BRIEFLY, &status) == 0);
    EXPECT(MCAPI_TIMEOUT);
    mcapi_endpoint_get_i(DOMAIN, 2, 2, &got, &request, &status);
    EXPECT(MCAPI_PENDING);
    CHECK(mcapi_test(&request, &size, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_PENDING);
    CHECK(strcmp(mcapi_display_status(status, text, sizeof text), "MCAPI_PENDING") == 0);
    post(READY);
    /* Blocks until the node is there, and until the endpoint is. */
    endpoint = get(2, 1);
    CHECK(endpoint == ((unsigned)DOMAIN << 24 | 2u << 12 | 1));
    CHECK(mcapi_wait(&request, &size, BRIEFLY, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_TIMEOUT);
    CHECK(got == 0xffff && size == 7);
    /* What is there can be asked; of what is not there yet there is nothing to be said. */
    CHECK(get_uint(endpoint, MCAPI_ENDP_ATTR_STATUS) == 0);
    mcapi_endpoint_get_attribute(endpoint + 1, MCAPI_ENDP_ATTR_STATUS, &flags, sizeof flags,
                                 &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    CHECK(mcapi_test(&request, &size, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_PENDING);
    CHECK(mcapi_endpoint_get(DOMAIN, 2, 3, BRIEFLY, &status) == 0);
    EXPECT(MCAPI_TIMEOUT);
    post(ASKED);
    EXPECT_IS(MCAPI_SUCCESS, end_of(&request));
    CHECK(got == ((unsigned)DOMAIN << 24 | 2u << 12 | 2));
    CHECK(get_uint(got, MCAPI_ENDP_ATTR_STATUS) == 0);
    CHECK(mcapi_test(&request, &size, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    /* What is there is got at once. */
    mcapi_endpoint_get_i(DOMAIN, 2, 1, &got, &request, &status);
    EXPECT_IS(MCAPI_SUCCESS, end_of_call(&request, status));
    CHECK(got == endpoint);
    post(DONE);
    finalize();
}

static void creator(void)
{
    await(READY);
    initialize(2);
    serve_once();
    create(1);
    serve(ASKED);
    serve_once();
    /* The process that waits for it is answered as it is made. */
    CHECK(get_uint(create(2), MCAPI_ENDP_ATTR_STATUS) == 0);
    serve(DONE);
    finalize();
}

static void impossible(void)
{
    static const struct {
        mcapi_domain_t domain;
        mcapi_node_t node;
        mcapi_port_t port;
        mcapi_status_t expected;
    } rows[] = {
        {256, 0, 0, MCAPI_ERR_DOMAIN_INVALID},
        {~0u, 0, 0, MCAPI_ERR_DOMAIN_INVALID},
        {0, 4096, 0, MCAPI_ERR_NODE_INVALID},
        {0, ~0u, 0, MCAPI_ERR_NODE_INVALID},
        {0, 0, 4096, MCAPI_ERR_PORT_INVALID},
        {0, 0, MCAPI_PORT_ANY, MCAPI_ERR_PORT_INVALID},
        {256, 4096, 4096, MCAPI_ERR_DOMAIN_INVALID},
        {0, 4096, 4096, MCAPI_ERR_NODE_INVALID},
    };
    mcapi_status_t status;
    size_t i, size;

    initialize(1);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        mcapi_endpoint_t got = 0xffff;
        mcapi_request_t request;
        mcapi_endpoint_get(rows[i].domain, rows[i].node, rows[i].port, MCAPI_TIMEOUT_INFINITE,
                           &status);
        EXPECT(rows[i].expected);
        mcapi_endpoint_get_i(rows[i].domain, rows[i].node, rows[i].port, &got, &request, &status);
        EXPECT(rows[i].expected);
        CHECK(mcapi_test(&request, &size, &status) == MCAPI_TRUE);
        EXPECT(rows[i].expected);
        CHECK(got == 0xffff);
        CHECK(mcapi_test(&request, &size, &status) == MCAPI_TRUE);
        EXPECT(MCAPI_ERR_REQUEST_INVALID);
    }
    finalize();
}

/* A node's own endpoints are got as any others. */
static void own(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t endpoint, got = 0;
    mcapi_request_t request;

    initialize(1);
    mcapi_endpoint_get_i(DOMAIN, 1, 1, &got, &request, &status);
    EXPECT(MCAPI_PENDING);
    CHECK(mcapi_endpoint_get(DOMAIN, 1, 1, 1, &status) == 0);
    EXPECT(MCAPI_TIMEOUT);
    endpoint = create(1);
    EXPECT_IS(MCAPI_SUCCESS, end_of(&request));
    CHECK(got == endpoint);
    CHECK(get(1, 1) == endpoint);
    CHECK(get_uint(endpoint, MCAPI_ENDP_ATTR_GET_COUNT) == 2);
    mcapi_endpoint_release(endpoint, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(get_uint(endpoint, MCAPI_ENDP_ATTR_GET_COUNT) == 1);
    mcapi_endpoint_release(endpoint, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_release(endpoint, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    mcapi_endpoint_delete(endpoint, &status);
    EXPECT(MCAPI_SUCCESS);
    finalize();
}

static mcapi_endpoint_t blocked_at;

static void *blocked_receiver(void *unused)
{
    mcapi_status_t status;
    char byte;
    size_t size;
    (void)unused;
    post(READY);
    mcapi_msg_recv(blocked_at, &byte, 1, &size, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    return NULL;
}

static void deletion(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_request_t request, opening;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_pktchan_send_hndl_t send;
    pthread_t thread;
    char byte;
    int i;

    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 1);
    get(1, 2);
    /* Messages that wait are discarded. */
    mcapi_msg_send(a, b, "x", 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    while (mcapi_msg_available(b, &status) == 0)
        EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_delete(b, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_available(b, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    mcapi_msg_send(a, b, "x", 1, 0, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    CHECK(create(2) == b);
    CHECK(mcapi_msg_available(b, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    get(1, 2);
    /* Receives that wait end. */
    mcapi_msg_recv_i(b, &byte, 1, &request, &status);
    EXPECT(MCAPI_PENDING);
    blocked_at = b;
    CHECK(pthread_create(&thread, NULL, blocked_receiver, NULL) == 0);
    await(READY);
    for (i = 0; i < 20; i++)
        serve_once();
    mcapi_endpoint_delete(b, &status);
    EXPECT(MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_ERR_ENDP_INVALID, end_of(&request));
    CHECK(pthread_join(thread, NULL) == 0);
    /* Not while an open is pending, while connected, or while open. */
    b = create(2);
    get(1, 2);
    mcapi_pktchan_recv_open_i(&receive, b, &opening, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_endpoint_delete(b, &status);
    EXPECT(MCAPI_ERR_CHAN_OPEN);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, a, b));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&opening));
    mcapi_endpoint_delete(b, &status);
    EXPECT(MCAPI_ERR_CHAN_OPEN);
    mcapi_endpoint_delete(a, &status);
    EXPECT(MCAPI_ERR_CHAN_CONNECTED);
    send = open_send(&packets, a);
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, receive));
    mcapi_endpoint_delete(b, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_delete(a, &status);
    EXPECT(MCAPI_ERR_CHAN_OPEN);
    EXPECT_IS(MCAPI_SUCCESS, close_send(&packets, send));
    mcapi_endpoint_delete(a, &status);
    EXPECT(MCAPI_SUCCESS);
    finalize();
}

/* One process owns an endpoint, the other has got it: what each may do, and what becomes of it. */
static void owner(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox, b;
    char byte;
    size_t size;

    initialize(1);
    inbox = create(1);
    b = create(2);
    mcapi_msg_recv(inbox, &byte, 1, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_delete(b, &status);
    EXPECT(MCAPI_SUCCESS);
    post(MADE);
    serve(TOLD);
    CHECK(create(2) == b);
    mcapi_msg_recv(inbox, &byte, 1, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    finalize();
    post(DONE);
}

static void user(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b, inbox, local;
    char byte = 0;
    size_t size;

    initialize(2);
    local = create(9);
    inbox = get(1, 1);
    b = (unsigned)DOMAIN << 24 | 1u << 12 | 2;
    /* A process that has the number has not got the endpoint, and a number alone is none. */
    mcapi_msg_send(local, b + 7, &byte, 1, 0, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    mcapi_endpoint_delete(b, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    mcapi_endpoint_release(b, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    a = get(1, 2);
    CHECK(a == b);
    CHECK(get(1, 2) == b);
    mcapi_endpoint_delete(b, &status);
    EXPECT(MCAPI_ERR_ENDP_NOTOWNER);
    mcapi_msg_recv(b, &byte, 1, &size, &status);
    EXPECT(MCAPI_ERR_ENDP_REMOTE);
    CHECK(mcapi_msg_available(b, &status) == 0);
    EXPECT(MCAPI_ERR_ENDP_REMOTE);
    mcapi_endpoint_release(b, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_send(local, b, &byte, 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_release(b, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_release(b, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    get(1, 2);
    /* Deleted by its owner. */
    mcapi_msg_send(local, inbox, &byte, 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    serve(MADE);
    serve_once();
    mcapi_msg_send(local, b, &byte, 1, 0, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    CHECK(mcapi_endpoint_get(DOMAIN, 1, 2, MCAPI_TIMEOUT_IMMEDIATE, &status) == 0);
    EXPECT(MCAPI_TIMEOUT);
    post(TOLD);
    get(1, 2);
    mcapi_msg_send(local, b, &byte, 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    /* Its node finalised. */
    mcapi_msg_send(local, inbox, &byte, 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    await(DONE);
    serve_once();
    mcapi_msg_send(local, inbox, &byte, 1, 0, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    mcapi_msg_send(local, b, &byte, 1, 0, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    finalize();
}

/* Nodes that have as many endpoints as they can, and one more: that of the collector is behind
   it. */
enum { CROWD = MCAPI_MAX_GOT_ENDPOINTS / MCAPI_MAX_ENDPOINTS + 1, COLLECTOR };

static void *member(void *argument)
{
    unsigned i;
    initialize(*(mcapi_node_t *)argument);
    for (i = 0; i < MCAPI_MAX_ENDPOINTS; i++)
        create(i);
    serve(DONE);
    finalize();
    return NULL;
}

static void crowd(void)
{
    in_threads(member, 1, CROWD);
}

/* What is one too many is refused and changes nothing; what is released makes room. */
static void collector(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_endpoint_t late = 0, own;
    unsigned i;
    initialize(COLLECTOR);
    own = create(1);
    for (i = 0; i < MCAPI_MAX_GOT_ENDPOINTS; i++)
        get(1 + i / MCAPI_MAX_ENDPOINTS, i % MCAPI_MAX_ENDPOINTS);
    CHECK(mcapi_endpoint_get(DOMAIN, CROWD, 7, SOON, &status) == 0);
    EXPECT(MCAPI_ERR_ENDP_GET_LIMIT);
    mcapi_endpoint_get_i(DOMAIN, CROWD, 8, &late, &request, &status);
    EXPECT_IS(MCAPI_ERR_ENDP_GET_LIMIT, end_of_call(&request, status));
    CHECK(late == 0);
    mcapi_msg_send(own, get(3, 5), "x", 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_release(get(2, 9), &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_release((unsigned)DOMAIN << 24 | 2u << 12 | 9, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_send(own, get(CROWD, 7), "x", 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    post(DONE);
    finalize();
}

/* An endpoint goes from hand to hand in a message; whichever process takes it may get it. */
static void introduced(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox;
    char text[8];
    size_t size;
    initialize(1);
    inbox = create(1);
    mcapi_msg_recv(inbox, text, sizeof text, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(strcmp(text, "hello") == 0);
    post(DONE);
    finalize();
}

static void introducer(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from, to, who;
    initialize(2);
    from = create(1);
    who = get(1, 1);
    to = get(3, 1);
    mcapi_msg_send(from, to, &who, sizeof who, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    serve(DONE);
    finalize();
}

static void stranger(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox, who = 0;
    size_t size;
    initialize(3);
    inbox = create(1);
    mcapi_msg_recv(inbox, &who, sizeof who, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == sizeof who);
    CHECK(get(1, 1) == who);
    mcapi_msg_send(inbox, who, "hello", 6, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    serve(DONE);
    finalize();
}

int main(void)
{
    ALONE(numbers);
    TOGETHER(zero, zero_receives, zero_is_sent_to);
    TOGETHER(get_waits, getter, creator);
    ALONE(impossible);
    ALONE(own);
    ALONE(deletion);
    TOGETHER(owner_and_user, owner, user);
    TOGETHER(introductions, introduced, introducer, stranger);
    TOGETHER(limit_of_gets, crowd, collector);
    return verdict(9);
}
