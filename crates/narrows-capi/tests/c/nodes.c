/* Nodes: initialise, finalise, queries, attributes, and which node a thread calls for. */
#include "check.h"

static_assert(MCAPI_SUCCESS == 1 && MCAPI_PENDING == 2 && MCAPI_TIMEOUT == 3, "status first");
static_assert((int)MCAPI_ERR_MSG_LIMIT == (int)MCAPI_ERR_MSG_SIZE, "alias");
static_assert((int)MCAPI_ERR_PKT_LIMIT == (int)MCAPI_ERR_PKT_SIZE, "alias");
static_assert((int)MCAPI_ERR_REQUEST_CANCELED == (int)MCAPI_ERR_REQUEST_CANCELLED, "alias");
static_assert(MCAPI_MAX_MSG_SIZE == MCAPI_MAX_MESSAGE_SIZE, "alias");
static_assert(MCAPI_MAX_PKT_SIZE == MCAPI_MAX_PACKET_SIZE, "alias");

static mcapi_status_t initialize_as(mcapi_domain_t domain, mcapi_node_t node)
{
    mcapi_info_t info;
    mcapi_status_t status;
    mcapi_initialize(domain, node, NULL, NULL, &info, &status);
    return status;
}

static void *initialize_three(void *unused)
{
    (void)unused;
    EXPECT_IS(MCAPI_ERR_NODE_INITIALIZED, initialize_as(0, 0));
    EXPECT_IS(MCAPI_SUCCESS, initialize_as(0, 3));
    finalize();
    return NULL;
}

static void lifecycle(void)
{
    mcapi_info_t info;
    mcapi_status_t status;
    pthread_t thread;
    mcapi_node_attributes_t attributes;
    mcapi_param_t parameters = 0;

    CHECK(mcapi_domain_id_get(&status) == MCAPI_DOMAIN_INVALID);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    CHECK(mcapi_node_id_get(&status) == MCAPI_NODE_INVALID);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    EXPECT_IS(MCAPI_ERR_DOMAIN_INVALID, initialize_as(256, 0));
    EXPECT_IS(MCAPI_ERR_NODE_INVALID, initialize_as(0, 4096));
    mcapi_initialize(0, 0, NULL, NULL, NULL, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    memset(&attributes, 0x55, sizeof attributes);
    mcapi_initialize(0, 0, &attributes, NULL, &info, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    mcapi_initialize(0, 0, NULL, NULL, &info, NULL);
    mcapi_node_id_get(&status);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);

    mcapi_node_init_attributes(&attributes, &status);
    EXPECT(MCAPI_SUCCESS);
    memset(&info, 0, sizeof info);
    mcapi_initialize(0, 0, &attributes, &parameters, &info, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(info.mcapi_version == MCAPI_VERSION);
    CHECK(info.number_of_domains == MCAPI_MAX_DOMAIN + 1);
    CHECK(info.number_of_nodes == MCAPI_MAX_NODE + 1);
    CHECK(info.number_of_ports == MCAPI_MAX_ENDPOINTS);
    CHECK(info.impl_info.max_requests == MCAPI_MAX_REQUESTS);
    CHECK(info.impl_info.max_channels == MCAPI_MAX_CHANNELS);
    CHECK(info.impl_info.max_links == MCAPI_MAX_LINKS);
    CHECK(mcapi_domain_id_get(&status) == 0);
    EXPECT(MCAPI_SUCCESS);
    CHECK(mcapi_node_id_get(&status) == 0);
    EXPECT(MCAPI_SUCCESS);

    EXPECT_IS(MCAPI_ERR_NODE_INITIALIZED, initialize_as(0, 0));
    EXPECT_IS(MCAPI_ERR_NODE_INITIALIZED, initialize_as(0, 1));
    CHECK(pthread_create(&thread, NULL, initialize_three, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);

    mcapi_finalize(NULL);
    CHECK(mcapi_node_id_get(&status) == 0);
    EXPECT(MCAPI_SUCCESS);
    finalize();
    mcapi_finalize(&status);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    EXPECT_IS(MCAPI_SUCCESS, initialize_as(255, 4095));
    CHECK(mcapi_domain_id_get(&status) == 255);
    CHECK(mcapi_node_id_get(&status) == 4095);
    CHECK(create(4095) == 0xffffffffu);
    finalize();
    EXPECT_IS(MCAPI_SUCCESS, initialize_as(255, 4095));
    finalize();
}

/* A null status makes every call do nothing. */
static void null_status(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_request_t request = 77;
    size_t size = 99;
    unsigned char byte = 1;

    initialize(0);
    a = create(1);
    b = get(0, 1);
    CHECK(a == b);
    mcapi_endpoint_create(2, NULL);
    mcapi_endpoint_get(DOMAIN, 0, 2, MCAPI_TIMEOUT_IMMEDIATE, &status);
    EXPECT(MCAPI_TIMEOUT);
    mcapi_endpoint_delete(a, NULL);
    mcapi_msg_send(a, b, &byte, 1, 0, NULL);
    CHECK(mcapi_msg_available(a, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_recv_i(a, &byte, 1, &request, NULL);
    CHECK(request == 77);
    mcapi_msg_recv(a, &byte, 1, &size, NULL);
    CHECK(size == 99);
    mcapi_cancel(&request, NULL);
    mcapi_test(&request, &size, NULL);
    mcapi_wait(&request, &size, 0, NULL);
    CHECK(request == 77 && size == 99);
    finalize();
}

static void attributes(void)
{
    mcapi_status_t status;
    mcapi_node_attributes_t made, unmade;
    mcapi_node_attr_type_t type = MCAPI_NODE_ATTR_TYPE_REGULAR, wrong = MCAPI_NODE_ATTR_TYPE_END;

    memset(&unmade, 0x55, sizeof unmade);
    mcapi_node_init_attributes(NULL, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    mcapi_node_init_attributes(&made, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_node_set_attribute(&made, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_node_set_attribute(&made, MCAPI_NODE_ATTR_END, &type, sizeof type, &status);
    EXPECT(MCAPI_ERR_ATTR_NUM);
    mcapi_node_set_attribute(&made, MCAPI_NODE_ATTR_TYPE, &type, 1, &status);
    EXPECT(MCAPI_ERR_ATTR_SIZE);
    mcapi_node_set_attribute(&made, MCAPI_NODE_ATTR_TYPE, &wrong, sizeof wrong, &status);
    EXPECT(MCAPI_ERR_ATTR_VALUE);
    mcapi_node_set_attribute(&made, MCAPI_NODE_ATTR_TYPE, NULL, sizeof type, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    mcapi_node_set_attribute(NULL, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    mcapi_node_set_attribute(&unmade, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    EXPECT(MCAPI_ERR_PARAMETER);

    initialize(0);
    type = 99;
    mcapi_node_get_attribute(DOMAIN, 0, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(type == MCAPI_NODE_ATTR_TYPE_REGULAR);
    mcapi_node_get_attribute(DOMAIN, 7, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    EXPECT(MCAPI_ERR_NODE_INVALID);
    mcapi_node_get_attribute(DOMAIN, 4096, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    EXPECT(MCAPI_ERR_NODE_INVALID);
    mcapi_node_get_attribute(256, 0, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    EXPECT(MCAPI_ERR_DOMAIN_INVALID);
    mcapi_node_get_attribute(DOMAIN, 0, MCAPI_NODE_ATTR_END, &type, sizeof type, &status);
    EXPECT(MCAPI_ERR_ATTR_NUM);
    mcapi_node_get_attribute(DOMAIN, 0, MCAPI_NODE_ATTR_TYPE, &type, 3, &status);
    EXPECT(MCAPI_ERR_ATTR_SIZE);
    mcapi_node_get_attribute(DOMAIN, 0, MCAPI_NODE_ATTR_TYPE, NULL, sizeof type, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    finalize();
}

enum { READY, DONE, GONE, GOT, SENT };

static void holder(void)
{
    initialize(1);
    post(READY);
    serve(DONE);
    finalize();
    post(GONE);
}

static void rival(void)
{
    mcapi_status_t status;
    mcapi_node_attr_type_t type = 99;

    await(READY);
    EXPECT_IS(MCAPI_ERR_NODE_INITFAILED, initialize_as(DOMAIN, 1));
    initialize(2);
    mcapi_node_get_attribute(DOMAIN, 1, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(type == MCAPI_NODE_ATTR_TYPE_REGULAR);
    finalize();
    post(DONE);
    await(GONE);
    initialize(1);
    finalize();
}

static void sends_and_ends(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from, to;

    initialize(1);
    from = create(1);
    to = get(2, 1);
    mcapi_msg_send(from, to, "last", 5, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    finalize();
    post(SENT);
}

static void receives_afterwards(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox;
    char text[8];
    size_t size = 0;

    initialize(2);
    inbox = create(1);
    serve(SENT);
    mcapi_msg_recv(inbox, text, sizeof text, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 5 && strcmp(text, "last") == 0);
    finalize();
}

static mcapi_endpoint_t waited_at;
static mcapi_request_t waited_for;

static void *wait_for_message(void *unused)
{
    mcapi_status_t status;
    char text[8];
    size_t size = 123;
    (void)unused;
    post(READY);
    mcapi_msg_recv(waited_at, text, sizeof text, &size, &status);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    CHECK(size == 123);
    return NULL;
}

static void *wait_for_request(void *unused)
{
    mcapi_status_t status;
    size_t size = 123;
    (void)unused;
    post(DONE);
    CHECK(mcapi_wait(&waited_for, &size, MCAPI_TIMEOUT_INFINITE, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    CHECK(size == 123);
    return NULL;
}

static void *wait_for_endpoint(void *unused)
{
    mcapi_status_t status;
    (void)unused;
    post(GOT);
    CHECK(mcapi_endpoint_get(DOMAIN, 9, 9, MCAPI_TIMEOUT_INFINITE, &status) == 0);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    return NULL;
}

/* Ends a node with everything under way: channels open, an open pending, calls waiting. */
static void finalize_in_use(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b, c;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_pktchan_send_hndl_t send;
    mcapi_request_t opening;
    void *packet = NULL;
    char text[8];
    size_t size;
    pthread_t threads[3];
    int i;

    initialize(1);
    a = create(1);
    b = create(2);
    c = create(3);
    get(1, 1);
    get(1, 2);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, a, b));
    send = open_send(&packets, a);
    receive = open_recv(&packets, b);
    mcapi_pktchan_send(send, "one", 4, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_send(send, "two", 4, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_recv(receive, &packet, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(strcmp((char *)packet, "one") == 0);
    mcapi_pktchan_recv_open_i(&receive, c, &opening, &status);
    EXPECT(MCAPI_PENDING);
    waited_at = create(4);
    mcapi_msg_recv_i(waited_at, text, sizeof text, &waited_for, &status);
    EXPECT(MCAPI_PENDING);
    CHECK(pthread_create(&threads[0], NULL, wait_for_message, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, wait_for_request, NULL) == 0);
    CHECK(pthread_create(&threads[2], NULL, wait_for_endpoint, NULL) == 0);
    await(READY);
    await(DONE);
    await(GOT);
    for (i = 0; i < 20; i++)
        serve_once();
    finalize();
    for (i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(mcapi_test(&opening, &size, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    initialize(1);
    CHECK(create(1) == a);
    CHECK(mcapi_msg_available(b, &status) == 0);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    finalize();
}

static void forked(void)
{
    mcapi_status_t status;
    pid_t child;
    int state;

    initialize(1);
    create(1);
    child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        CHECK(mcapi_node_id_get(&status) == MCAPI_NODE_INVALID);
        EXPECT(MCAPI_ERR_NODE_NOTINIT);
        CHECK(mcapi_endpoint_create(2, &status) == 0);
        EXPECT(MCAPI_ERR_NODE_NOTINIT);
        mcapi_finalize(&status);
        EXPECT(MCAPI_ERR_NODE_NOTINIT);
        EXPECT_IS(MCAPI_ERR_NODE_INITFAILED, initialize_as(DOMAIN, 1));
        initialize(2);
        get(1, 1);
        create(1);
        post(DONE);
        finalize();
        _exit(0);
    }
    serve(DONE);
    CHECK(waitpid(child, &state, 0) == child);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    CHECK(mcapi_node_id_get(&status) == 1);
    CHECK(create(2) != 0);
    finalize();
}

static void *one_of_sixteen(void *number)
{
    mcapi_status_t status;
    mcapi_node_t node = *(mcapi_node_t *)number;
    initialize(node);
    CHECK(mcapi_node_id_get(&status) == node);
    EXPECT(MCAPI_SUCCESS);
    CHECK(create(5) == ((unsigned)DOMAIN << 24 | node << 12 | 5));
    __atomic_add_fetch(&board[READY], 1, __ATOMIC_SEQ_CST);
    await(DONE);
    finalize();
    return NULL;
}

static void sixteen_nodes(void)
{
    pthread_t threads[MCAPI_MAX_LOCAL_NODES];
    mcapi_node_t numbers[MCAPI_MAX_LOCAL_NODES];
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_endpoint_t own = (unsigned)DOMAIN << 24 | 4u << 12 | 5, got = 0;
    size_t i;

    for (i = 0; i < MCAPI_MAX_LOCAL_NODES; i++) {
        numbers[i] = (mcapi_node_t)i;
        CHECK(pthread_create(&threads[i], NULL, one_of_sixteen, &numbers[i]) == 0);
    }
    while (look(READY) < MCAPI_MAX_LOCAL_NODES)
        sched_yield();
    EXPECT_IS(MCAPI_ERR_NODE_INITFAILED, initialize_as(DOMAIN, 99));
    /* This thread is bound to none, and there are several. */
    CHECK(mcapi_node_id_get(&status) == MCAPI_NODE_INVALID);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    CHECK(mcapi_domain_id_get(&status) == MCAPI_DOMAIN_INVALID);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    CHECK(mcapi_endpoint_create(1, &status) == 0);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    CHECK(mcapi_endpoint_get(DOMAIN, 1, 5, 0, &status) == 0);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    mcapi_endpoint_get_i(DOMAIN, 1, 5, &got, &request, &status);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    mcapi_finalize(&status);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    /* The argument says which node it is. */
    CHECK(mcapi_msg_available(own, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    CHECK(get_uint(own, MCAPI_ENDP_ATTR_PRIORITY) == 0);
    mcapi_endpoint_delete(own, &status);
    EXPECT(MCAPI_SUCCESS);
    post(DONE);
    for (i = 0; i < MCAPI_MAX_LOCAL_NODES; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    mcapi_node_id_get(&status);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
}

static void *for_the_only_node(void *unused)
{
    mcapi_status_t status;
    (void)unused;
    CHECK(mcapi_node_id_get(&status) == 1);
    EXPECT(MCAPI_SUCCESS);
    create(1);
    get(1, 1);
    finalize();
    return NULL;
}

static void unbound_thread(void)
{
    mcapi_status_t status;
    pthread_t thread;
    initialize(1);
    CHECK(pthread_create(&thread, NULL, for_the_only_node, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    mcapi_node_id_get(&status);
    EXPECT(MCAPI_ERR_NODE_NOTINIT);
    /* Whoever was bound to it is free for another. */
    initialize(2);
    finalize();
}

static void display_status(void)
{
    static const char *const names[] = {
        NULL, "MCAPI_SUCCESS", "MCAPI_PENDING", "MCAPI_TIMEOUT", "MCAPI_ERR_PARAMETER",
        "MCAPI_ERR_DOMAIN_INVALID", "MCAPI_ERR_NODE_INVALID", "MCAPI_ERR_NODE_INITFAILED",
        "MCAPI_ERR_NODE_INITIALIZED", "MCAPI_ERR_NODE_NOTINIT", "MCAPI_ERR_NODE_FINALFAILED",
        "MCAPI_ERR_PORT_INVALID", "MCAPI_ERR_ENDP_INVALID", "MCAPI_ERR_ENDP_EXISTS",
        "MCAPI_ERR_ENDP_GET_LIMIT", "MCAPI_ERR_ENDP_NOTOWNER", "MCAPI_ERR_ENDP_REMOTE",
        "MCAPI_ERR_ATTR_INCOMPATIBLE", "MCAPI_ERR_ATTR_SIZE", "MCAPI_ERR_ATTR_NUM",
        "MCAPI_ERR_ATTR_VALUE", "MCAPI_ERR_ATTR_NOTSUPPORTED", "MCAPI_ERR_ATTR_READONLY",
        "MCAPI_ERR_MSG_SIZE", "MCAPI_ERR_MSG_TRUNCATED", "MCAPI_ERR_CHAN_OPEN",
        "MCAPI_ERR_CHAN_TYPE", "MCAPI_ERR_CHAN_DIRECTION", "MCAPI_ERR_CHAN_CONNECTED",
        "MCAPI_ERR_CHAN_OPENPENDING", "MCAPI_ERR_CHAN_CLOSEPENDING", "MCAPI_ERR_CHAN_NOTOPEN",
        "MCAPI_ERR_CHAN_INVALID", "MCAPI_ERR_PKT_SIZE", "MCAPI_ERR_TRANSMISSION",
        "MCAPI_ERR_PRIORITY", "MCAPI_ERR_BUF_INVALID", "MCAPI_ERR_MEM_LIMIT",
        "MCAPI_ERR_REQUEST_INVALID", "MCAPI_ERR_REQUEST_LIMIT", "MCAPI_ERR_REQUEST_CANCELLED",
        "MCAPI_ERR_WAIT_PENDING", "MCAPI_ERR_GENERAL", "MCAPI_ERR_SCL_SIZE",
        "MCAPI_ERR_ENDP_DELETED", "MCAPI_ERR_ENDP_LIMIT", "MCAPI_ERR_ENDP_NOPORTS",
    };
    char text[MCAPI_MAX_STATUS_MSG_LEN];
    mcapi_status_t i;

    static_assert(sizeof names / sizeof *names == MCAPI_STATUSCODE_END, "each has a name");
    for (i = 1; i < MCAPI_STATUSCODE_END; i++) {
        CHECK(mcapi_display_status(i, text, sizeof text) == text);
        CHECK(strcmp(text, names[i]) == 0);
    }
    CHECK(mcapi_display_status(0, text, sizeof text) == NULL);
    CHECK(mcapi_display_status(MCAPI_STATUSCODE_END, text, sizeof text) == NULL);
    CHECK(mcapi_display_status(~0u, text, sizeof text) == NULL);
    memset(text, '#', sizeof text);
    CHECK(mcapi_display_status(MCAPI_SUCCESS, text, 6) == text);
    CHECK(strcmp(text, "MCAPI") == 0 && text[6] == '#');
}

/* Four nodes of two domains; a node's number says nothing without its domain. */
static void in_domain(mcapi_domain_t domain, mcapi_node_t node)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox, to;
    mcapi_uint_t i, got[3] = {0, 0, 0}, seen = 0;
    size_t size;

    initialize_in(domain, node);
    inbox = create(1);
    for (i = 0; i < 4; i++) {
        mcapi_domain_t other_domain = i / 2 ? 200 : 0;
        mcapi_node_t other_node = i % 2;
        mcapi_uint_t word[3] = {0, 0, 0};
        word[0] = domain;
        word[1] = node;
        word[2] = i;
        to = mcapi_endpoint_get(other_domain, other_node, 1, SOON, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(to == (other_domain << 24 | other_node << 12 | 1));
        mcapi_msg_send(inbox, to, word, sizeof word, 0, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    for (i = 0; i < 4; i++) {
        mcapi_msg_recv(inbox, got, sizeof got, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(got[2] == (domain ? 2 : 0) + node);
        seen |= 1u << ((got[0] ? 2 : 0) + got[1]);
    }
    CHECK(seen == 15);
    __atomic_add_fetch(&board[DONE], 1, __ATOMIC_SEQ_CST);
    while (look(DONE) < 4)
        serve_once();
    finalize();
}

/* What a node's numbers were kept for is nothing to the node that comes after it. */
static void old_numbers(void)
{
    mcapi_status_t status;
    mcapi_sclchan_send_hndl_t send, old_send = 0;
    mcapi_sclchan_recv_hndl_t receive, old_receive = 0;
    mcapi_request_t request, old, old_request = 0;
    mcapi_endpoint_t a, b;
    char byte;
    size_t size;
    int life;

    for (life = 0; life < 3; life++) {
        initialize(1);
        a = create(1);
        b = create(2);
        mcapi_msg_recv_i(a, &byte, 1, &request, &status);
        EXPECT(MCAPI_PENDING);
        get(1, 1);
        get(1, 2);
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, a, b));
        send = open_send(&scalars, a);
        receive = open_recv(&scalars, b);
        if (life > 0) {
            CHECK(request != old_request && send != old_send && receive != old_receive);
            old = old_request;
            mcapi_cancel(&old, &status);
            EXPECT(MCAPI_ERR_REQUEST_INVALID);
            mcapi_sclchan_send_uint8(old_send, 1, &status);
            EXPECT(MCAPI_ERR_CHAN_INVALID);
            mcapi_sclchan_recv_uint8(old_receive, &status);
            EXPECT(MCAPI_ERR_CHAN_INVALID);
        }
        CHECK(!mcapi_test(&request, &size, &status));
        EXPECT(MCAPI_PENDING);
        old_request = request;
        old_send = send;
        old_receive = receive;
        finalize();
    }
}

static void domain_0_node_0(void)
{
    in_domain(0, 0);
}

static void domain_0_node_1(void)
{
    in_domain(0, 1);
}

static void domain_200_node_0(void)
{
    in_domain(200, 0);
}

static void domain_200_node_1(void)
{
    in_domain(200, 1);
}

/* Names that programs of the field use, and what they stand for. */
static MCAPI_DECL_ALIGNED char aligned_buffer[MCAPI_BUF_ALIGN];

static void names(void)
{
    mcapi_info_t info;
    mcapi_status_t status;
    char text[MCAPI_MAX_STATUS_MSG_LEN] = "untouched";
    MCA_IN mca_uint_t none = MCA_NODE_INVALID;
    mcapi_initialize(DOMAIN, 1, NULL, NULL, &info, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(info.organization_id == MCA_ORG_ID_NARROWS);
    CHECK(info.organization_id != MCA_ORG_ID_PSI && info.organization_id != MCA_ORG_ID_FSL);
    CHECK(info.organization_id != MCA_ORG_ID_MGC && info.organization_id > MCA_ORG_ID_TBA);
    CHECK(none == MCA_DOMAIN_INVALID && none == MCA_RETURN_VALUE_INVALID);
    CHECK((size_t)aligned_buffer % MCAPI_BUF_ALIGN == 0);
    CHECK(mcapi_display_status(4711, text, sizeof text) == NULL);
    CHECK(strcmp(text, "unknown status") == 0);
    CHECK(mcapi_display_status(4711, text, 4) == NULL && strcmp(text, "unk") == 0);
    CHECK(MCAPI_MIN_PRIORITY == 0 && MCAPI_MAX_PRIORITY == 7);
    finalize();
}

/* A signal's handler that ends the process from within a call that waits. */
static pthread_t waiting_thread;

static void ends_process(int number)
{
    (void)number;
    exit(0);
}

static void finalizes_at_exit(void)
{
    mcapi_status_t status;
    mcapi_info_t info;
    mcapi_finalize(&status);
    EXPECT(MCAPI_ERR_NODE_FINALFAILED);
    CHECK(mcapi_node_id_get(&status) == ~0u);
    EXPECT(MCAPI_ERR_GENERAL);
    mcapi_initialize(DOMAIN, 2, NULL, NULL, &info, &status);
    EXPECT(MCAPI_ERR_NODE_INITFAILED);
    post(0);
}

static void *interrupts(void *unused)
{
    (void)unused;
    usleep(20000);
    CHECK(pthread_kill(waiting_thread, SIGUSR1) == 0);
    return NULL;
}

static void waits_for_ever(void)
{
    mcapi_status_t status;
    pthread_t thread;
    size_t size;
    CHECK(atexit(finalizes_at_exit) == 0);
    CHECK(signal(SIGUSR1, ends_process) != SIG_ERR);
    waiting_thread = pthread_self();
    initialize(1);
    CHECK(pthread_create(&thread, NULL, interrupts, NULL) == 0);
    mcapi_msg_recv(create(1), NULL, 0, &size, &status);
    CHECK(0 && "the call returned");
}

static void exit_within_a_call(void)
{
    CHECK(ended_well("waits", 1, start(waits_for_ever)));
    CHECK(look(0) == 1);
}

int main(void)
{
    ALONE(lifecycle);
    ALONE(null_status);
    ALONE(attributes);
    TOGETHER(names_are_taken, holder, rival);
    TOGETHER(sent_before_finalize, sends_and_ends, receives_afterwards);
    ALONE(finalize_in_use);
    ALONE(old_numbers);
    ALONE(forked);
    ALONE(sixteen_nodes);
    ALONE(unbound_thread);
    TOGETHER(two_domains, domain_0_node_0, domain_0_node_1, domain_200_node_0, domain_200_node_1);
    ALONE(display_status);
    ALONE(exit_within_a_call);
    ALONE(names);
    return verdict(14);
}
