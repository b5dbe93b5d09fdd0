/* Several nodes in a process as threads, and every function from several threads at once. */
#include "check.h"

enum { READY, DONE, RECEIVED, SUM };
enum { NODES = 5, ROUNDS = 300, EACH = 3000 };

static void start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
    CHECK(pthread_create(thread, NULL, run, argument) == 0);
}

static void join(pthread_t thread)
{
    CHECK(pthread_join(thread, NULL) == 0);
}

static mcapi_uint_t add(int slot, mcapi_uint_t value)
{
    return __atomic_add_fetch(&board[slot], value, __ATOMIC_SEQ_CST);
}

/* Nodes as threads pass a token round, each bound to its own. */
static void *ring_node(void *argument)
{
    mcapi_status_t status;
    mcapi_node_t node = *(mcapi_node_t *)argument;
    mcapi_endpoint_t own, next;
    mcapi_uint_t round, token[2] = {0, 0};
    size_t size;

    initialize(node);
    own = create(1);
    next = get((node + 1) % NODES, 1);
    for (round = 0; round < ROUNDS; round++) {
        if (node == 0) {
            token[0] = round;
            token[1] = 1;
            mcapi_msg_send(own, next, token, sizeof token, 0, &status);
            EXPECT(MCAPI_SUCCESS);
        }
        mcapi_msg_recv(own, token, sizeof token, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == sizeof token && token[0] == round);
        CHECK(token[1] == (node == 0 ? (mcapi_uint_t)NODES : node));
        if (node != 0) {
            token[1]++;
            mcapi_msg_send(own, next, token, sizeof token, 0, &status);
            EXPECT(MCAPI_SUCCESS);
        }
    }
    add(DONE, 1);
    while (look(DONE) < NODES)
        serve_once();
    finalize();
    return NULL;
}

static void ring(void)
{
    in_threads(ring_node, 0, NODES);
}

/* A pipe of packets and one of scalars between two nodes of one process. */
static void *feeds(void *unused)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_uint32_t packet_out, scalar_out, i;
    (void)unused;
    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 1);
    get(1, 2);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, a, get(2, 1)));
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, b, get(2, 2)));
    packet_out = open_send(&packets, a);
    scalar_out = open_send(&scalars, b);
    for (i = 0; i < EACH; i++) {
        mcapi_pktchan_send(packet_out, &i, sizeof i, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_sclchan_send_uint32(scalar_out, i, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    finalize();
    return NULL;
}

static void *eats(void *unused)
{
    mcapi_status_t status;
    mcapi_uint32_t packet_in, scalar_in, i;
    mcapi_request_t requests[2];
    size_t size;
    void *packet;
    (void)unused;
    initialize(2);
    packets.open_recv(&packet_in, create(1), &requests[0], &status);
    scalars.open_recv(&scalar_in, create(2), &requests[1], &status);
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[0]));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[1]));
    for (i = 0; i < EACH; i++) {
        mcapi_pktchan_recv(packet_in, &packet, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == sizeof i && memcmp(packet, &i, sizeof i) == 0);
        mcapi_pktchan_release(packet, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_sclchan_recv_uint32(scalar_in, &status) == i);
        EXPECT(MCAPI_SUCCESS);
    }
    finalize();
    return NULL;
}

static void two_nodes(void)
{
    pthread_t a, b;
    start_thread(&a, feeds, NULL);
    start_thread(&b, eats, NULL);
    join(a);
    join(b);
}

/* One node on each side, and all its functions from many threads at once. */

static struct {
    mcapi_node_t node, peer;
    mcapi_endpoint_t to_message;
    mcapi_uint32_t packet_out, packet_in, scalar_out, scalar_in;
} side;

static mcapi_endpoint_t port_of(mcapi_node_t node, mcapi_port_t port)
{
    return (unsigned)DOMAIN << 24 | node << 12 | port;
}

/* Senders of one endpoint and of one channel: two threads each. */
static void *sends_messages(void *unused)
{
    mcapi_status_t status;
    mcapi_uint_t i;
    (void)unused;
    for (i = 1; i <= EACH; i++) {
        if (i % 2) {
            mcapi_msg_send(port_of(side.node, 1), side.to_message, &i, sizeof i, i % 8, &status);
            EXPECT(MCAPI_SUCCESS);
        } else {
            mcapi_request_t request;
            mcapi_msg_send_i(port_of(side.node, 1), side.to_message, &i, sizeof i, i % 8,
                             &request, &status);
            EXPECT_IS(MCAPI_SUCCESS, end_of_call(&request, status));
        }
    }
    return NULL;
}

static void *receives_messages(void *unused)
{
    mcapi_status_t status;
    mcapi_uint_t i, got;
    size_t size;
    (void)unused;
    for (i = 1; i <= EACH; i++) {
        if (i % 2) {
            mcapi_msg_recv(port_of(side.node, 1), &got, sizeof got, &size, &status);
            EXPECT(MCAPI_SUCCESS);
        } else {
            mcapi_request_t request;
            mcapi_msg_recv_i(port_of(side.node, 1), &got, sizeof got, &request, &status);
            EXPECT_IS(MCAPI_SUCCESS, end_of_call(&request, status));
        }
        add(SUM + 4 * (int)side.node, got);
    }
    return NULL;
}

static void *sends_packets(void *unused)
{
    mcapi_status_t status;
    mcapi_uint_t i;
    (void)unused;
    for (i = 1; i <= EACH; i++) {
        if (i % 2) {
            mcapi_pktchan_send(side.packet_out, &i, sizeof i, &status);
            EXPECT(MCAPI_SUCCESS);
        } else {
            mcapi_request_t request;
            mcapi_pktchan_send_i(side.packet_out, &i, sizeof i, &request, &status);
            EXPECT_IS(MCAPI_SUCCESS, end_of_call(&request, status));
        }
    }
    return NULL;
}

static void *receives_packets(void *unused)
{
    mcapi_status_t status;
    mcapi_uint_t i, got;
    size_t size;
    void *packet;
    (void)unused;
    for (i = 1; i <= EACH; i++) {
        if (i % 2) {
            mcapi_pktchan_recv(side.packet_in, &packet, &size, &status);
            EXPECT(MCAPI_SUCCESS);
        } else {
            mcapi_request_t request;
            mcapi_pktchan_recv_i(side.packet_in, &packet, &request, &status);
            EXPECT_IS(MCAPI_SUCCESS, end_of_call(&request, status));
        }
        memcpy(&got, packet, sizeof got);
        add(SUM + 4 * (int)side.node + 1, got);
        CHECK(mcapi_pktchan_release_test(packet, &status) == MCAPI_FALSE);
        EXPECT(MCAPI_PENDING);
        mcapi_pktchan_release(packet, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    return NULL;
}

static void *sends_scalars(void *unused)
{
    mcapi_status_t status;
    mcapi_uint_t i;
    (void)unused;
    for (i = 1; i <= EACH; i++) {
        mcapi_sclchan_send_uint32(side.scalar_out, i, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    return NULL;
}

static void *receives_scalars(void *unused)
{
    mcapi_status_t status;
    mcapi_uint_t i;
    (void)unused;
    for (i = 1; i <= EACH; i++) {
        add(SUM + 4 * (int)side.node + 2, mcapi_sclchan_recv_uint32(side.scalar_in, &status));
        EXPECT(MCAPI_SUCCESS);
    }
    return NULL;
}

/* What is neither data nor waits for any: over and over until the others are done. */
static void *does_the_rest(void *unused)
{
    mcapi_status_t status;
    mcapi_endpoint_t own, other, got;
    mcapi_request_t requests[2];
    mcapi_request_t *all[2];
    mcapi_node_attr_type_t type;
    mcapi_uint32_t handle, send, receive;
    mcapi_info_t info;
    mcapi_node_attributes_t attributes;
    char text[MCAPI_MAX_STATUS_MSG_LEN];
    size_t size;
    (void)unused;
    all[0] = &requests[0];
    all[1] = &requests[1];
    while (!look(READY + (int)side.node * 16)) {
        CHECK(mcapi_domain_id_get(&status) == DOMAIN);
        CHECK(mcapi_node_id_get(&status) == side.node);
        mcapi_node_init_attributes(&attributes, &status);
        EXPECT(MCAPI_SUCCESS);
        type = MCAPI_NODE_ATTR_TYPE_REGULAR;
        mcapi_node_set_attribute(&attributes, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_initialize(DOMAIN, side.node, &attributes, NULL, &info, &status);
        EXPECT(MCAPI_ERR_NODE_INITIALIZED);
        mcapi_node_get_attribute(DOMAIN, side.node, MCAPI_NODE_ATTR_TYPE, &type, sizeof type,
                                 &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_display_status(status, text, sizeof text) == text);
        own = create(MCAPI_PORT_ANY);
        other = create(MCAPI_PORT_ANY);
        set_uint(own, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
        CHECK(get_uint(own, MCAPI_ENDP_ATTR_TIMEOUT) == SOON);
        mcapi_endpoint_get_i(DOMAIN, side.node, other & 4095, &got, &requests[0], &status);
        EXPECT_IS(MCAPI_SUCCESS, end_of_call(&requests[0], status));
        CHECK(get(side.node, own & 4095) == own);
        CHECK(get(side.peer, 1) == side.to_message);
        mcapi_endpoint_release(side.to_message, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_msg_recv_i(own, text, 1, &requests[0], &status);
        EXPECT(MCAPI_PENDING);
        scalars.open_recv(&handle, other, &requests[1], &status);
        EXPECT(MCAPI_PENDING);
        CHECK(mcapi_test(&requests[1], &size, &status) == MCAPI_FALSE);
        CHECK(mcapi_wait(&requests[0], &size, 0, &status) == MCAPI_FALSE);
        EXPECT(MCAPI_TIMEOUT);
        mcapi_cancel(&requests[1], &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_msg_send(own, own, "x", 1, 0, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_wait_any(2, all, &size, SOON, &status) == 0);
        EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_msg_available(own, &status) == 0);
        EXPECT(MCAPI_SUCCESS);
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, own, other));
        send = open_send(&scalars, own);
        receive = open_recv(&scalars, other);
        mcapi_sclchan_send_uint8(send, 8, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_sclchan_recv_uint8(receive, &status) == 8);
        EXPECT(MCAPI_SUCCESS);
        mcapi_sclchan_available(side.scalar_in, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_pktchan_available(side.packet_in, &status);
        EXPECT(MCAPI_SUCCESS);
        EXPECT_IS(MCAPI_SUCCESS, close_recv(&scalars, receive));
        EXPECT_IS(MCAPI_SUCCESS, close_send(&scalars, send));
        mcapi_endpoint_delete(own, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_endpoint_delete(other, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    return NULL;
}

static void crowd(mcapi_node_t here, mcapi_node_t there)
{
    mcapi_status_t status;
    mcapi_request_t requests[2];
    pthread_t workers[12], rest[2];
    mcapi_uint_t sum = 2u * (EACH * (EACH + 1u) / 2u);
    int i;

    initialize(here);
    side.node = here;
    side.peer = there;
    for (i = 1; i <= 5; i++)
        create((mcapi_port_t)i);
    side.to_message = get(there, 1);
    get(here, 2);
    get(here, 4);
    packets.open_recv(&side.packet_in, port_of(here, 3), &requests[0], &status);
    scalars.open_recv(&side.scalar_in, port_of(here, 5), &requests[1], &status);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, port_of(here, 2), get(there, 3)));
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, port_of(here, 4), get(there, 5)));
    side.packet_out = open_send(&packets, port_of(here, 2));
    side.scalar_out = open_send(&scalars, port_of(here, 4));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[0]));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[1]));
    for (i = 0; i < 2; i++) {
        start_thread(&workers[6 * i], sends_messages, NULL);
        start_thread(&workers[6 * i + 1], receives_messages, NULL);
        start_thread(&workers[6 * i + 2], sends_packets, NULL);
        start_thread(&workers[6 * i + 3], receives_packets, NULL);
        start_thread(&workers[6 * i + 4], sends_scalars, NULL);
        start_thread(&workers[6 * i + 5], receives_scalars, NULL);
    }
    start_thread(&rest[0], does_the_rest, NULL);
    start_thread(&rest[1], does_the_rest, NULL);
    for (i = 0; i < 12; i++)
        join(workers[i]);
    add(DONE, 1);
    while (look(DONE) < 2)
        serve_once();
    post(READY + (int)here * 16);
    /* The other's may still ask this node. */
    join(rest[0]);
    join(rest[1]);
    for (i = 0; i < 3; i++)
        CHECK(look(SUM + 4 * (int)here + i) == sum);
    add(RECEIVED, 1);
    while (look(RECEIVED) < 2)
        serve_once();
    finalize();
}

static void crowd_1(void)
{
    crowd(1, 2);
}

static void crowd_2(void)
{
    crowd(2, 1);
}

/* Threads come and go with nodes of their own, while another one of the process works. */
static void *comes_and_goes(void *argument)
{
    mcapi_status_t status;
    mcapi_node_t node = *(mcapi_node_t *)argument;
    mcapi_endpoint_t own;
    int i;
    for (i = 0; i < 30; i++) {
        initialize(node);
        own = create(1);
        mcapi_msg_send(own, get(1, 1), &node, sizeof node, 0, &status);
        EXPECT(MCAPI_SUCCESS);
        finalize();
    }
    return NULL;
}

static void coming_and_going(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox;
    mcapi_node_t numbers[3] = {2, 3, 4}, got;
    pthread_t threads[3];
    unsigned counts[5] = {0, 0, 0, 0, 0}, i;
    size_t size;

    initialize(1);
    inbox = create(1);
    for (i = 0; i < 3; i++)
        start_thread(&threads[i], comes_and_goes, &numbers[i]);
    for (i = 0; i < 90; i++) {
        mcapi_msg_recv(inbox, &got, sizeof got, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(got >= 2 && got <= 4);
        counts[got]++;
    }
    CHECK(counts[2] == 30 && counts[3] == 30 && counts[4] == 30);
    for (i = 0; i < 3; i++)
        join(threads[i]);
    finalize();
}

/* Which node a thread is bound to decides what it owns, and any thread that waits drives all. */
static pthread_barrier_t barrier;
static mcapi_endpoint_t ends[3];
enum { CONNECT_BY_RECEIVER, CONNECT_BY_THIRD, CONNECT_BY_BOTH, CASES };

static void meet(void)
{
    pthread_barrier_wait(&barrier);
}

static void disowned(mcapi_endpoint_t theirs, mcapi_status_t deleted, mcapi_status_t used)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_uint32_t handle;
    mcapi_uint_t priority = 3;
    size_t size;
    int kind;
    mcapi_endpoint_delete(theirs, &status);
    EXPECT(deleted);
    mcapi_endpoint_set_attribute(theirs, MCAPI_ENDP_ATTR_PRIORITY, &priority, sizeof priority,
                                 &status);
    EXPECT(used);
    mcapi_msg_recv(theirs, NULL, 0, &size, &status);
    EXPECT(used);
    mcapi_msg_recv_i(theirs, NULL, 0, &request, &status);
    EXPECT(used);
    mcapi_msg_available(theirs, &status);
    EXPECT(used);
    for (kind = 0; kind < 2; kind++) {
        (kind ? &packets : &scalars)->open_recv(&handle, theirs, &request, &status);
        EXPECT(used);
        (kind ? &packets : &scalars)->open_send(&handle, theirs, &request, &status);
        EXPECT(used);
    }
}

static void *owns(void *argument)
{
    unsigned node = *(unsigned *)argument;
    mcapi_status_t status;
    int i;
    initialize(node);
    ends[node] = create(1);
    meet();
    /* The first node's thread makes no call while the others ask for its endpoint. */
    if (node != 0) {
        disowned(ends[0], MCAPI_ERR_ENDP_INVALID, MCAPI_ERR_ENDP_INVALID);
        CHECK(get(0, 1) == ends[0]);
        disowned(ends[0], MCAPI_ERR_ENDP_NOTOWNER, MCAPI_ERR_ENDP_REMOTE);
        CHECK(get(1, 1) == ends[1]);
        CHECK(get(2, 1) == ends[2]);
    }
    meet();
    if (node == 0)
        CHECK(get(1, 1) == ends[1]);
    meet();
    for (i = 0; i < CASES; i++) {
        /* Packets go from the first node to the second. */
        mcapi_uint32_t handle;
        if ((i == CONNECT_BY_RECEIVER && node == 1) || (i == CONNECT_BY_THIRD && node == 2))
            EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, ends[0], ends[1]));
        if (i == CONNECT_BY_BOTH && node != 2) {
            status = connect_ends(&packets, ends[0], ends[1]);
            CHECK(status == MCAPI_SUCCESS || status == MCAPI_ERR_CHAN_CONNECTED);
            add(i + 8, status == MCAPI_SUCCESS);
        }
        meet();
        CHECK(look(i + 8) == (i == CONNECT_BY_BOTH));
        if (node == 0) {
            handle = open_send(&packets, ends[0]);
            EXPECT_IS(MCAPI_SUCCESS, close_send(&packets, handle));
        }
        meet();
        if (node == 1) {
            handle = open_recv(&packets, ends[1]);
            EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, handle));
            serve_once();
        }
        meet();
    }
    /* A thread that is no node's may use any. */
    if (node == 2) {
        finalize();
        set_uint(ends[0], MCAPI_ENDP_ATTR_PRIORITY, 3);
        mcapi_endpoint_delete(ends[1], &status);
        EXPECT(MCAPI_SUCCESS);
    }
    meet();
    if (node != 2)
        finalize();
    return NULL;
}

static void owners(void)
{
    pthread_t threads[3];
    unsigned nodes[3] = {0, 1, 2}, i;
    CHECK(pthread_barrier_init(&barrier, NULL, 3) == 0);
    for (i = 0; i < 3; i++)
        start_thread(&threads[i], owns, &nodes[i]);
    for (i = 0; i < 3; i++)
        join(threads[i]);
}

int main(void)
{
    ALONE(ring);
    ALONE(two_nodes);
    TOGETHER(crowds, crowd_1, crowd_2);
    ALONE(coming_and_going);
    ALONE(owners);
    return verdict(5);
}
