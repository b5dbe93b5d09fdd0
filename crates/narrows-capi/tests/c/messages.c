/* Messages: sizes, order, priorities, requests, and what happens when there is no room. */
#include "check.h"

enum { READY, DONE, FILLED, DRAIN, STOP };
enum { MANY = 5000 };

static unsigned char out[65537], in[65537];

static const size_t sizes[] = {0, 1, 2, 47, 48, 49, 63, 64, 65, 127, 1000, 4096, 65535, 65536};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Every size and content, blocking and not, and back. */
static void echoes(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox, to;
    mcapi_request_t request;
    size_t i, size;

    initialize(1);
    inbox = create(1);
    to = get(2, 1);
    for (i = 0; i < 2 * SIZES; i++) {
        size = 99999;
        if (i % 2) {
            mcapi_msg_recv(inbox, in, sizeof in, &size, &status);
            EXPECT(MCAPI_SUCCESS);
        } else {
            mcapi_msg_recv_i(inbox, in, sizeof in, &request, &status);
            CHECK(status == MCAPI_SUCCESS || status == MCAPI_PENDING);
            CHECK(mcapi_wait(&request, &size, SOON, &status) == MCAPI_TRUE);
            EXPECT(MCAPI_SUCCESS);
        }
        CHECK(size == sizes[i / 2]);
        CHECK(filled(in, size, (unsigned)i));
        mcapi_msg_send(inbox, to, in, size, (unsigned)i % 8, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    serve(DONE);
    finalize();
}

static void calls(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox, to;
    mcapi_request_t request;
    size_t i, size;

    initialize(2);
    inbox = create(1);
    to = get(1, 1);
    for (i = 0; i < 2 * SIZES; i++) {
        size_t length = sizes[i / 2];
        fill(out, length, (unsigned)i);
        if (i % 2) {
            mcapi_msg_send(inbox, to, length ? out : NULL, length, 0, &status);
            EXPECT(MCAPI_SUCCESS);
        } else {
            mcapi_msg_send_i(inbox, to, length ? out : NULL, length, 0, &request, &status);
            CHECK(status == MCAPI_SUCCESS || status == MCAPI_PENDING);
            size = 99999;
            CHECK(mcapi_wait(&request, &size, SOON, &status) == MCAPI_TRUE);
            EXPECT(MCAPI_SUCCESS);
            CHECK(size == length);
            memset(out, 0xee, length);
        }
        size = 99999;
        mcapi_msg_recv(inbox, in, sizeof in, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == length);
        CHECK(filled(in, size, (unsigned)i));
    }
    post(DONE);
    finalize();
}

/* What is not sent, and in which order errors are found. */
static void refused(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_request_t request;
    size_t size = 7;

    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 2);
    mcapi_msg_send(a, b, NULL, 1, 0, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    mcapi_msg_send(a, b, out, 65537, 0, &status);
    EXPECT(MCAPI_ERR_MSG_SIZE);
    mcapi_msg_send(a, b, out, 1, 8, &status);
    EXPECT(MCAPI_ERR_PRIORITY);
    mcapi_msg_send(a, b, out, 65537, 8, &status);
    EXPECT(MCAPI_ERR_MSG_SIZE);
    mcapi_msg_send(a, 77, out, 65537, 8, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    mcapi_msg_send(77, b, out, 65537, 8, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    mcapi_msg_send(77, b, NULL, 65537, 8, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    /* A failed call has a request that says the same, once. */
    mcapi_msg_send_i(a, b, out, 1, 8, &request, &status);
    EXPECT(MCAPI_ERR_PRIORITY);
    while (!mcapi_test(&request, &size, &status))
        ;
    EXPECT(MCAPI_ERR_PRIORITY);
    CHECK(size == 7);
    mcapi_msg_recv_i(77, in, 1, &request, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    CHECK(mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    mcapi_msg_recv(b, NULL, 1, &size, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    mcapi_msg_recv(b, in, 1, NULL, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    CHECK(mcapi_msg_available(b, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    finalize();
}

/* Waits until so many wait at an endpoint. */
static void arrive(mcapi_endpoint_t inbox, mcapi_uint_t count)
{
    mcapi_status_t status;
    while (mcapi_msg_available(inbox, &status) < count)
        EXPECT(MCAPI_SUCCESS);
    CHECK(mcapi_msg_available(inbox, &status) == count);
}

static void too_short(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_request_t request;
    size_t size, length;

    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 2);
    for (length = 40; length <= 4000; length *= 10) {
        fill(out, length, 3);
        mcapi_msg_send(a, b, out, length, 0, &status);
        mcapi_msg_send(a, b, out, length, 0, &status);
        mcapi_msg_send(a, b, out, length, 0, &status);
        mcapi_msg_send(a, b, "last", 5, 0, &status);
        EXPECT(MCAPI_SUCCESS);
        memset(in, 0xee, sizeof in);
        mcapi_msg_recv(b, in, 10, &size, &status);
        EXPECT(MCAPI_ERR_MSG_TRUNCATED);
        CHECK(size == 10 && filled(in, 10, 3) && in[10] == 0xee);
        memset(in, 0xee, sizeof in);
        mcapi_msg_recv_i(b, in, length - 1, &request, &status);
        size = 0;
        if (status != MCAPI_PENDING)
            EXPECT(MCAPI_ERR_MSG_TRUNCATED);
        while (!mcapi_test(&request, &size, &status))
            EXPECT(MCAPI_PENDING);
        EXPECT(MCAPI_ERR_MSG_TRUNCATED);
        CHECK(size == length - 1 && filled(in, length - 1, 3) && in[length - 1] == 0xee);
        size = 5;
        mcapi_msg_recv(b, NULL, 0, &size, &status);
        EXPECT(MCAPI_ERR_MSG_TRUNCATED);
        CHECK(size == 0);
        /* The rest of each is lost; the next comes whole. */
        mcapi_msg_recv(b, in, 5, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == 5 && strcmp((char *)in, "last") == 0);
    }
    mcapi_msg_send(a, b, NULL, 0, 0, &status);
    mcapi_msg_recv(b, NULL, 0, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 0);
    finalize();
}

static void priorities(void)
{
    static const mcapi_priority_t sent[] = {7, 3, 0, 3, 7, 0, 1, 0};
    static const unsigned char order[] = {2, 5, 7, 6, 1, 3, 0, 4};
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    unsigned char i;
    size_t size;

    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 2);
    for (i = 0; i < 8; i++) {
        mcapi_msg_send(a, b, &i, 1, sent[i], &status);
        EXPECT(MCAPI_SUCCESS);
    }
    arrive(b, 8);
    for (i = 0; i < 8; i++) {
        mcapi_msg_recv(b, in, 1, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(in[0] == order[i]);
        CHECK(mcapi_msg_available(b, &status) == 7u - i);
    }
    finalize();
}

/* Receives are served in the order they were made, and a cancelled one takes nothing. */
static void order_of_receives(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_request_t requests[4];
    unsigned char i, got[5] = {9, 9, 9, 9, 9};
    size_t size;

    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 2);
    set_uint(b, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
    for (i = 0; i < 4; i++) {
        mcapi_msg_recv_i(b, &got[i], 1, &requests[i], &status);
        EXPECT(MCAPI_PENDING);
    }
    mcapi_cancel(&requests[1], &status);
    EXPECT(MCAPI_SUCCESS);
    for (i = 0; i < 4; i++) {
        mcapi_msg_send(a, b, &i, 1, 0, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    mcapi_msg_recv(b, &got[4], 1, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(got[4] == 3);
    /* Asked for in another order than they were made. */
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[3]));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[0]));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[2]));
    CHECK(got[0] == 0 && got[1] == 9 && got[2] == 1 && got[3] == 2);
    finalize();
}

/* A sender fills all there is to be filled; what waits behind comes in order, none twice. */
static void drains(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox;
    mcapi_uint_t expected = 0, count;
    size_t size;
    mcapi_uint_t number[300];

    initialize(1);
    inbox = create(1);
    serve(READY);
    await(FILLED);
    count = look(FILLED);
    while (expected < count) {
        mcapi_msg_recv(inbox, number, sizeof number, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == sizeof number);
        CHECK(number[0] == expected && number[299] == expected);
        expected++;
    }
    mcapi_msg_recv(inbox, number, sizeof number, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(number[0] == ~0u);
    post(DONE);
    finalize();
}

static void fills(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from, to;
    mcapi_request_t requests[10], last;
    mcapi_uint_t numbers[10][300], number[300], sent = 0;
    size_t i, size;
    int k;

    initialize(2);
    from = create(1);
    to = get(1, 1);
    set_uint(from, MCAPI_ENDP_ATTR_TIMEOUT, BRIEFLY);
    post(READY);
    for (;;) {
        for (i = 0; i < 300; i++)
            number[i] = sent;
        mcapi_msg_send(from, to, number, sizeof number, 0, &status);
        if (status == MCAPI_TIMEOUT)
            break;
        EXPECT(MCAPI_SUCCESS);
        sent++;
        CHECK(sent < 100000);
    }
    CHECK(sent > 0);
    /* These wait; the sixth is taken back. */
    for (k = 0; k < 10; k++) {
        mcapi_uint_t which = k < 5 ? sent + (unsigned)k : sent + (unsigned)k - 1;
        for (i = 0; i < 300; i++)
            numbers[k][i] = which;
        mcapi_msg_send_i(from, to, numbers[k], sizeof numbers[k], 0, &requests[k], &status);
        EXPECT(MCAPI_PENDING);
    }
    CHECK(mcapi_wait(&requests[0], &size, 1, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_TIMEOUT);
    mcapi_cancel(&requests[5], &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_test(&requests[5], &size, &status);
    EXPECT(MCAPI_ERR_REQUEST_CANCELLED);
    /* One that has room waits behind them all the same. */
    mcapi_msg_send(from, to, NULL, 0, 0, &status);
    EXPECT(MCAPI_TIMEOUT);
    put(FILLED, sent + 9);
    for (k = 0; k < 10; k++) {
        if (k != 5) {
            size = 0;
            CHECK(mcapi_wait(&requests[k], &size, SOON, &status) == MCAPI_TRUE);
            EXPECT(MCAPI_SUCCESS);
            CHECK(size == sizeof number);
        }
    }
    memset(number, 0xff, sizeof number);
    mcapi_msg_send_i(from, to, number, sizeof number, 0, &last, &status);
    EXPECT_IS(MCAPI_SUCCESS, end_of_call(&last, status));
    serve(DONE);
    finalize();
}

/* A blocked sender goes on as soon as its receiver takes something. */
static void takes_all(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox;
    mcapi_uint_t i, number[100];
    size_t size;
    initialize(1);
    inbox = create(1);
    for (i = 0; i < MANY; i++) {
        mcapi_msg_recv(inbox, number, sizeof number, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == sizeof(mcapi_uint_t) * (1 + i % 100));
        CHECK(number[0] == i && number[i % 100] == i);
    }
    post(DONE);
    finalize();
}

static void sends_all(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from, to;
    mcapi_uint_t i, k, number[100];
    initialize(2);
    from = create(1);
    to = get(1, 1);
    for (i = 0; i < MANY; i++) {
        for (k = 0; k <= i % 100; k++)
            number[k] = i;
        mcapi_msg_send(from, to, number, sizeof(mcapi_uint_t) * (1 + i % 100), 0, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    serve(DONE);
    finalize();
}

/* Three send to one; from each they come in order. */
static void sender(mcapi_node_t node)
{
    mcapi_status_t status;
    mcapi_endpoint_t from, to;
    mcapi_uint_t word[2];
    initialize(node);
    from = create(MCAPI_PORT_ANY);
    to = get(1, 1);
    word[0] = node;
    for (word[1] = 0; word[1] < MANY / 5; word[1]++) {
        mcapi_msg_send(from, to, word, sizeof word, 4, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    serve(DONE);
    finalize();
}

static void sender_2(void)
{
    sender(2);
}

static void sender_3(void)
{
    sender(3);
}

static void sender_4(void)
{
    sender(4);
}

static void collects(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox;
    mcapi_uint_t word[2], next[5] = {0, 0, 0, 0, 0}, i;
    size_t size;
    initialize(1);
    inbox = create(1);
    for (i = 0; i < 3 * (MANY / 5); i++) {
        mcapi_msg_recv(inbox, word, sizeof word, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(word[0] >= 2 && word[0] <= 4);
        CHECK(word[1] == next[word[0]]++);
    }
    CHECK(mcapi_msg_available(inbox, &status) == 0);
    post(DONE);
    finalize();
}

static mcapi_status_t send_eight(mcapi_endpoint_t from, mcapi_endpoint_t to)
{
    mcapi_status_t status;
    mcapi_msg_send(from, to, "12345678", 8, 1, &status);
    return status;
}

/* What was so for one message need not be so for the next. */
static void own_ends_change(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    size_t size;
    int i;

    initialize(1);
    a = create(1);
    b = create(2);
    for (i = 0; i < 3; i++)
        EXPECT_IS(MCAPI_SUCCESS, send_eight(a, b));
    set_uint(a, MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, 7);
    EXPECT_IS(MCAPI_ERR_MSG_SIZE, send_eight(a, b));
    set_uint(a, MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, 8);
    for (i = 0; i < 3; i++)
        EXPECT_IS(MCAPI_SUCCESS, send_eight(a, b));
    mcapi_endpoint_delete(b, &status);
    EXPECT(MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_ERR_ENDP_INVALID, send_eight(a, b));
    CHECK(create(2) == b);
    for (i = 0; i < 3; i++)
        EXPECT_IS(MCAPI_SUCCESS, send_eight(a, b));
    CHECK(mcapi_msg_available(b, &status) == 3);
    mcapi_msg_recv(b, in, sizeof in, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 8 && memcmp(in, "12345678", 8) == 0);
    mcapi_endpoint_delete(a, &status);
    EXPECT(MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_ERR_ENDP_INVALID, send_eight(a, b));
    finalize();
}

static void gets_and_gives_back(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from, to;
    int round, i;

    initialize(2);
    from = create(1);
    for (round = 0; round < 3; round++) {
        to = get(1, 1);
        for (i = 0; i < 3; i++)
            EXPECT_IS(MCAPI_SUCCESS, send_eight(from, to));
        mcapi_endpoint_release(to, &status);
        EXPECT(MCAPI_SUCCESS);
        /* As one that was passed on. */
        EXPECT_IS(MCAPI_SUCCESS, send_eight(from, to));
    }
    post(READY);
    finalize();
}

static void is_got(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t inbox;
    size_t size;
    int i;

    initialize(1);
    inbox = create(1);
    for (i = 0; i < 12; i++) {
        mcapi_msg_recv(inbox, in, sizeof in, &size, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    serve(READY);
    CHECK(mcapi_msg_available(inbox, &status) == 0);
    finalize();
}

/* The first look sees all that was sent. */
static void counts_at_once(void)
{
    mcapi_endpoint_t a, b;
    mcapi_status_t status;
    unsigned i;
    initialize(1);
    a = create(1);
    b = create(2);
    for (i = 0; i < 256; i++) {
        mcapi_msg_send(a, b, &i, sizeof i, 0, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    CHECK(mcapi_msg_available(b, &status) == 256);
    EXPECT(MCAPI_SUCCESS);
    finalize();
}

/* A node that sends to itself has room from the first message on. */
static void fails_at_limit(void)
{
    static unsigned numbers[8];
    mcapi_endpoint_t a, b;
    mcapi_request_t requests[8];
    mcapi_status_t status;
    unsigned i, value;
    size_t size;
    initialize(1);
    a = create(1);
    b = create(2);
    set_uint(a, MCAPI_ENDP_ATTR_MEMORY_TYPE,
             MCAPI_ENDP_ATTR_LOCAL_MEMORY | MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT);
    for (i = 0; i < 8; i++) {
        numbers[i] = i;
        mcapi_msg_send_i(a, b, &numbers[i], sizeof i, 0, &requests[i], &status);
        EXPECT(MCAPI_SUCCESS);
    }
    for (i = 0; i < 8; i++) {
        EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[i]));
        mcapi_msg_recv(b, &value, sizeof value, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(value == i);
    }
    finalize();
}

int main(void)
{
    TOGETHER(echo, echoes, calls);
    ALONE(refused);
    ALONE(too_short);
    ALONE(priorities);
    ALONE(order_of_receives);
    TOGETHER(full, drains, fills);
    TOGETHER(stream, takes_all, sends_all);
    TOGETHER(fan_in, collects, sender_2, sender_3, sender_4);
    ALONE(own_ends_change);
    TOGETHER(given_back, gets_and_gives_back, is_got);
    ALONE(fails_at_limit);
    ALONE(counts_at_once);
    return verdict(12);
}
