/* Requests: test, wait, wait_any and cancel. */
#include "check.h"

enum { READY, DONE, WAITING, ENDED };

static mcapi_endpoint_t from, to;

/* Node 1 with endpoint 1, and endpoint 2 which it sends to. */
static void loop(void)
{
    initialize(1);
    from = create(1);
    to = create(2);
    get(1, 2);
    set_uint(to, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
}

static char room[16][8];

static mcapi_request_t receive_into(int which)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_msg_recv_i(to, room[which], sizeof room[which], &request, &status);
    EXPECT(MCAPI_PENDING);
    return request;
}

static void send_text(const char *text)
{
    mcapi_status_t status;
    mcapi_msg_send(from, to, text, strlen(text) + 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
}

static void testing(void)
{
    mcapi_status_t status;
    mcapi_request_t request, copy;
    mcapi_uint32_t handle;
    size_t size = 77;

    loop();
    request = receive_into(0);
    copy = request;
    CHECK(mcapi_test(&request, &size, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_PENDING);
    CHECK(request == copy && size == 77);
    CHECK(mcapi_test(NULL, &size, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_ERR_PARAMETER);
    CHECK(mcapi_test(&request, NULL, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_ERR_PARAMETER);
    send_text("one");
    while (!mcapi_test(&request, &size, &status))
        EXPECT(MCAPI_PENDING);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 4 && strcmp(room[0], "one") == 0);
    /* Once reported it is none, whoever has its number. */
    CHECK(request != copy);
    size = 77;
    CHECK(mcapi_test(&request, &size, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    CHECK(mcapi_test(&copy, &size, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    CHECK(mcapi_wait(&copy, &size, MCAPI_TIMEOUT_INFINITE, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    CHECK(size == 77);
    /* What ended with an error ends a loop, too. */
    mcapi_msg_send_i(from, to, "x", 1, 9, &request, &status);
    EXPECT(MCAPI_ERR_PRIORITY);
    while (!mcapi_test(&request, &size, &status))
        CHECK(0);
    EXPECT(MCAPI_ERR_PRIORITY);
    packets.open_recv(&handle, 77, &request, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    CHECK(mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    /* Done at once: the request says so, and how much. */
    mcapi_msg_send_i(from, to, "xyz", 3, 0, &request, &status);
    CHECK(mcapi_wait(&request, &size, SOON, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 3);
    /* A size that is none is 0. */
    packets.open_recv(&handle, to, &request, &status);
    EXPECT(MCAPI_PENDING);
    get(1, 1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, from, to));
    size = 77;
    CHECK(mcapi_wait(&request, &size, SOON, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 0);
    finalize();
}

static void waiting(void)
{
    mcapi_status_t status;
    mcapi_request_t request, copy;
    size_t size = 77;
    int i;

    loop();
    request = copy = receive_into(0);
    for (i = 0; i < 3; i++) {
        CHECK(mcapi_wait(&request, &size, i ? 1 : MCAPI_TIMEOUT_IMMEDIATE, &status)
              == MCAPI_FALSE);
        EXPECT(MCAPI_TIMEOUT);
        CHECK(request == copy && size == 77);
    }
    CHECK(mcapi_wait(NULL, &size, 1, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_PARAMETER);
    CHECK(mcapi_wait(&request, NULL, 1, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_PARAMETER);
    send_text("two");
    CHECK(mcapi_wait(&request, &size, SOON, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 4 && strcmp(room[0], "two") == 0);
    CHECK(mcapi_wait(&request, &size, 1, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    finalize();
}

static void waiting_for_any(void)
{
    mcapi_status_t status;
    mcapi_request_t r[4], none = 0xfffffff0u, wrong;
    mcapi_request_t *all[5];
    size_t size = 77;
    int i;

    loop();
    for (i = 0; i < 4; i++) {
        r[i] = receive_into(i);
        all[i] = &r[i];
    }
    for (i = 0; i < 2; i++) {
        CHECK(mcapi_wait_any(4, all, &size, i ? 1 : MCAPI_TIMEOUT_IMMEDIATE, &status)
              == MCAPI_RETURN_VALUE_INVALID);
        EXPECT(MCAPI_TIMEOUT);
        CHECK(size == 77);
    }
    CHECK(mcapi_wait_any(0, all, &size, 1, &status) == MCAPI_RETURN_VALUE_INVALID);
    EXPECT(MCAPI_ERR_PARAMETER);
    CHECK(mcapi_wait_any(4, NULL, &size, 1, &status) == MCAPI_RETURN_VALUE_INVALID);
    EXPECT(MCAPI_ERR_PARAMETER);
    CHECK(mcapi_wait_any(4, all, NULL, 1, &status) == MCAPI_RETURN_VALUE_INVALID);
    EXPECT(MCAPI_ERR_PARAMETER);
    all[4] = NULL;
    CHECK(mcapi_wait_any(5, all, &size, 1, &status) == MCAPI_RETURN_VALUE_INVALID);
    EXPECT(MCAPI_ERR_PARAMETER);
    all[4] = &none;
    CHECK(mcapi_wait_any(5, all, &size, SOON, &status) == 4);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    /* Index 0 is one, and only that request is freed. */
    send_text("a");
    CHECK(mcapi_wait_any(4, all, &size, SOON, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 2 && strcmp(room[0], "a") == 0);
    CHECK(mcapi_test(&r[0], &size, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    send_text("bb");
    CHECK(mcapi_wait_any(3, all + 1, &size, SOON, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 3 && strcmp(room[1], "bb") == 0);
    /* One that ended with an error is one that ended; the others are as they were. */
    mcapi_msg_send_i(from, to, "x", 1, 8, &wrong, &status);
    EXPECT(MCAPI_ERR_PRIORITY);
    all[1] = &wrong;
    CHECK(mcapi_wait_any(2, all + 1, &size, SOON, &status) == 0);
    EXPECT(MCAPI_ERR_PRIORITY);
    CHECK(mcapi_test(&r[2], &size, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_PENDING);
    /* Cancelled ones are passed over as long as there is another. */
    mcapi_cancel(&r[2], &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(mcapi_wait_any(2, all + 2, &size, 1, &status) == MCAPI_RETURN_VALUE_INVALID);
    EXPECT(MCAPI_TIMEOUT);
    send_text("ccc");
    CHECK(mcapi_wait_any(2, all + 2, &size, SOON, &status) == 1);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 4 && strcmp(room[3], "ccc") == 0);
    r[3] = receive_into(3);
    mcapi_cancel(&r[3], &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(mcapi_wait_any(2, all + 2, &size, SOON, &status) == MCAPI_RETURN_VALUE_INVALID);
    EXPECT(MCAPI_ERR_REQUEST_CANCELLED);
    finalize();
}

static void cancelling(void)
{
    mcapi_status_t status;
    mcapi_request_t request, copy, ended;
    size_t size = 77;

    loop();
    mcapi_cancel(NULL, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    ended = 0xfffffff0u;
    mcapi_cancel(&ended, &status);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    request = copy = receive_into(0);
    mcapi_cancel(&request, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(request != copy);
    mcapi_cancel(&copy, &status);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    CHECK(mcapi_test(&request, &size, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_ERR_REQUEST_CANCELLED);
    CHECK(mcapi_test(&request, &size, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    request = receive_into(0);
    mcapi_cancel(&request, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(mcapi_wait(&request, &size, 1, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_REQUEST_CANCELLED);
    CHECK(mcapi_wait(&request, &size, 1, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    /* What has ended cannot be cancelled, and can still be asked after. */
    request = receive_into(0);
    send_text("end");
    while (mcapi_msg_available(to, &status) != 0)
        EXPECT(MCAPI_SUCCESS);
    mcapi_cancel(&request, &status);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    CHECK(mcapi_test(&request, &size, &status) == MCAPI_TRUE);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 4 && strcmp(room[0], "end") == 0);
    mcapi_cancel(&request, &status);
    EXPECT(MCAPI_ERR_REQUEST_INVALID);
    /* A get that is pending, whatever it is for. */
    mcapi_endpoint_get_i(DOMAIN, 5, 5, &from, &request, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_cancel(&request, &status);
    EXPECT(MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_ERR_REQUEST_CANCELLED, end_of(&request));
    finalize();
}

static mcapi_request_t shared;

static void *waits(void *unused)
{
    mcapi_status_t status;
    mcapi_request_t mine = shared;
    size_t size = 0;
    (void)unused;
    /* It may meet the other process, which looks whether it waits. */
    do
        mcapi_wait(&mine, &size, MCAPI_TIMEOUT_INFINITE, &status);
    while (status == MCAPI_ERR_WAIT_PENDING);
    put(ENDED, status);
    return NULL;
}

/* Waits until another thread waits for the same request. */
static void second_waiter(void)
{
    mcapi_status_t status;
    mcapi_request_t mine = shared;
    size_t size;
    do {
        CHECK(mcapi_wait(&mine, &size, 0, &status) == MCAPI_FALSE);
        CHECK(status == MCAPI_TIMEOUT || status == MCAPI_ERR_WAIT_PENDING);
    } while (status == MCAPI_TIMEOUT);
    CHECK(mine == shared);
}

static void two_waiters(void)
{
    mcapi_status_t status;
    pthread_t thread;
    int i;

    loop();
    for (i = 0; i < 10; i++) {
        shared = receive_into(0);
        put(ENDED, 0);
        CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
        second_waiter();
        if (i % 2) {
            send_text("end");
            CHECK(pthread_join(thread, NULL) == 0);
            EXPECT_IS(MCAPI_SUCCESS, look(ENDED));
        } else {
            mcapi_cancel(&shared, &status);
            EXPECT(MCAPI_SUCCESS);
            CHECK(pthread_join(thread, NULL) == 0);
            EXPECT_IS(MCAPI_ERR_REQUEST_CANCELLED, look(ENDED));
        }
    }
    finalize();
}

static mcapi_request_t several[3];
static unsigned index_of_any;

static void *waits_for_any(void *unused)
{
    mcapi_status_t status;
    mcapi_request_t mine[3];
    mcapi_request_t *all[3];
    size_t size = 0, i;
    (void)unused;
    for (i = 0; i < 3; i++) {
        mine[i] = several[i];
        all[i] = &mine[i];
    }
    post(WAITING);
    index_of_any = mcapi_wait_any(3, all, &size, MCAPI_TIMEOUT_INFINITE, &status);
    put(ENDED, status);
    return NULL;
}

/* Cancelling some of those that a wait_any waits for leaves it waiting for the rest. */
static void any_cancelled(void)
{
    mcapi_status_t status;
    pthread_t thread;
    int i, k;

    for (i = 0; i < 6; i++) {
        loop();
        put(WAITING, 0);
        put(ENDED, 0);
        for (k = 0; k < 3; k++)
            several[k] = receive_into(k);
        CHECK(pthread_create(&thread, NULL, waits_for_any, NULL) == 0);
        await(WAITING);
        for (k = 0; k < 50; k++)
            serve_once();
        mcapi_cancel(&several[0], &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_cancel(&several[1], &status);
        EXPECT(MCAPI_SUCCESS);
        serve_once();
        CHECK(look(ENDED) == 0);
        if (i % 2) {
            send_text("end");
            CHECK(pthread_join(thread, NULL) == 0);
            EXPECT_IS(MCAPI_SUCCESS, look(ENDED));
            CHECK(index_of_any == 2);
        } else {
            mcapi_cancel(&several[2], &status);
            EXPECT(MCAPI_SUCCESS);
            CHECK(pthread_join(thread, NULL) == 0);
            EXPECT_IS(MCAPI_ERR_REQUEST_CANCELLED, look(ENDED));
            CHECK(index_of_any == MCAPI_RETURN_VALUE_INVALID);
        }
        finalize();
    }
}

/* As many as there can be, and one more. */
static void limit(void)
{
    static mcapi_request_t requests[MCAPI_MAX_REQUESTS], another;
    static mcapi_endpoint_t got[MCAPI_MAX_REQUESTS];
    mcapi_status_t status;
    size_t i, size;
    int round;

    initialize(1);
    create(1);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < MCAPI_MAX_REQUESTS; i++) {
            mcapi_endpoint_get_i(DOMAIN, 1, 2, &got[i], &requests[i], &status);
            EXPECT(MCAPI_PENDING);
        }
        mcapi_endpoint_get_i(DOMAIN, 1, 2, &got[0], &another, &status);
        EXPECT(MCAPI_ERR_REQUEST_LIMIT);
        mcapi_msg_recv_i((unsigned)DOMAIN << 24 | 1u << 12 | 1, room[0], 1, &another, &status);
        EXPECT(MCAPI_ERR_REQUEST_LIMIT);
        mcapi_cancel(&requests[512], &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_test(&requests[512], &size, &status);
        EXPECT(MCAPI_ERR_REQUEST_CANCELLED);
        mcapi_endpoint_get_i(DOMAIN, 1, 2, &got[512], &requests[512], &status);
        EXPECT(MCAPI_PENDING);
        create(2);
        for (i = 0; i < MCAPI_MAX_REQUESTS; i++) {
            EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[i]));
            CHECK(got[i] == ((unsigned)DOMAIN << 24 | 1u << 12 | 2));
        }
        mcapi_endpoint_delete((unsigned)DOMAIN << 24 | 1u << 12 | 2, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    /* Sends that are done do not count once they were reported. */
    from = (unsigned)DOMAIN << 24 | 1u << 12 | 1;
    get(1, 1);
    for (i = 0; i < 3 * MCAPI_MAX_REQUESTS; i++) {
        mcapi_msg_send_i(from, from, "x", 1, 0, &another, &status);
        EXPECT_IS(MCAPI_SUCCESS, end_of_call(&another, status));
        mcapi_msg_recv(from, room[0], 1, &size, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    finalize();
}

/* Requests of messages, packets, an open and a get at once, over two processes. */
static void does(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t own;
    mcapi_pktchan_send_hndl_t send;
    initialize(2);
    own = create(1);
    get(2, 1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, own, get(1, 2)));
    send = open_send(&packets, own);
    serve(WAITING);
    create(5);
    serve(WAITING + 10);
    mcapi_pktchan_send(send, "packet", 7, &status);
    EXPECT(MCAPI_SUCCESS);
    serve(WAITING + 11);
    mcapi_msg_send(create(3), get(1, 1), "message", 8, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    serve(DONE);
    finalize();
}

static void is_done_to(void)
{
    mcapi_status_t status;
    mcapi_request_t message, packet, got, opening;
    mcapi_request_t *all[4];
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_sclchan_recv_hndl_t other;
    mcapi_endpoint_t endpoint = 0;
    size_t size = 0;
    char text[8];
    void *bytes = NULL;

    initialize(1);
    to = create(1);
    receive = open_recv(&packets, create(2));
    all[0] = &opening;
    all[1] = &message;
    all[2] = &packet;
    all[3] = &got;
    scalars.open_recv(&other, create(3), &opening, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_msg_recv_i(to, text, sizeof text, &message, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_pktchan_recv_i(receive, &bytes, &packet, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_endpoint_get_i(DOMAIN, 2, 5, &endpoint, &got, &status);
    EXPECT(MCAPI_PENDING);
    post(WAITING);
    CHECK(mcapi_wait_any(4, all, &size, SOON, &status) == 3);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 0 && endpoint == ((unsigned)DOMAIN << 24 | 2u << 12 | 5));
    post(WAITING + 10);
    CHECK(mcapi_wait_any(3, all, &size, SOON, &status) == 2);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 7 && strcmp((char *)bytes, "packet") == 0);
    post(WAITING + 11);
    CHECK(mcapi_wait_any(2, all, &size, SOON, &status) == 1);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 8 && strcmp(text, "message") == 0);
    CHECK(mcapi_wait_any(1, all, &size, 1, &status) == MCAPI_RETURN_VALUE_INVALID);
    EXPECT(MCAPI_TIMEOUT);
    post(DONE);
    finalize();
}

/* Requests of two nodes of one process, of which another thread made one. */
static void *second_node(void *unused)
{
    (void)unused;
    initialize(2);
    create(1);
    get(1, 1);
    return NULL;
}

/* A thread that is no node's may receive for any. */
static mcapi_request_t of_other;

static void *begins_to_receive(void *other)
{
    mcapi_status_t status;
    mcapi_msg_recv_i(*(mcapi_endpoint_t *)other, room[1], sizeof room[1], &of_other, &status);
    EXPECT(MCAPI_PENDING);
    return NULL;
}

static void of_two_nodes(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t own, other = (unsigned)DOMAIN << 24 | 2u << 12 | 1;
    mcapi_request_t requests[1];
    mcapi_request_t *all[2];
    pthread_t thread;
    size_t size;

    initialize(1);
    own = create(1);
    CHECK(pthread_create(&thread, NULL, second_node, NULL) == 0);
    /* Until that get is answered. */
    while (get_uint(own, MCAPI_ENDP_ATTR_GET_COUNT) == 0)
        serve_once();
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, begins_to_receive, &other) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    all[0] = &requests[0];
    all[1] = &of_other;
    mcapi_msg_recv_i(own, room[0], sizeof room[0], &requests[0], &status);
    EXPECT(MCAPI_PENDING);
    CHECK(mcapi_wait_any(2, all, &size, 1, &status) == MCAPI_RETURN_VALUE_INVALID);
    EXPECT(MCAPI_TIMEOUT);
    /* From the one to the other, by this thread, and back to oneself. */
    mcapi_msg_send(other, own, "one", 4, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(mcapi_wait_any(2, all, &size, SOON, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 4 && strcmp(room[0], "one") == 0);
    mcapi_msg_send(other, other, "two", 4, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_recv_i(own, room[0], sizeof room[0], &requests[0], &status);
    EXPECT(MCAPI_PENDING);
    CHECK(mcapi_wait_any(2, all, &size, SOON, &status) == 1);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 4 && strcmp(room[1], "two") == 0);
    all[1] = &requests[0];
    mcapi_cancel(&requests[0], &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(mcapi_wait_any(1, all, &size, SOON, &status) == MCAPI_RETURN_VALUE_INVALID);
    EXPECT(MCAPI_ERR_REQUEST_CANCELLED);
    finalize();
}

int main(void)
{
    ALONE(testing);
    ALONE(waiting);
    ALONE(waiting_for_any);
    ALONE(cancelling);
    ALONE(two_waiters);
    ALONE(any_cancelled);
    ALONE(limit);
    TOGETHER(of_all_sorts, does, is_done_to);
    ALONE(of_two_nodes);
    return verdict(9);
}
