/*
 * A node that has more messages waiting than it has room for, and one whose ring to it is full:
 * what nodes say to each other gets past them.
 */
#include "value.h"

enum { FULL, DONE, ASKING };
/*
 * More than wait at the receiver's and less than are on the way besides; all that there can be if
 * no message is more urgent than those before it; and some that find no room.
 */
enum { SOME = 600, ALL = 512 + 128, EXTRA = 8 };

/* Priorities in use. */
static unsigned levels = 8;

static void send_number(mcapi_endpoint_t from, mcapi_endpoint_t to, unsigned number)
{
    mcapi_status_t status;
    mcapi_msg_send(from, to, &number, sizeof number, number % levels, &status);
    EXPECT(MCAPI_SUCCESS);
}

/* Of each priority the numbers come in order. */
static void receive_numbers(mcapi_endpoint_t own, unsigned count)
{
    unsigned next[8] = {0, 1, 2, 3, 4, 5, 6, 7}, i, number;
    for (i = 0; i < count; i++) {
        mcapi_status_t status;
        size_t size;
        mcapi_msg_recv(own, &number, sizeof number, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(number == next[number % levels]);
        next[number % levels] += levels;
    }
}

/* Whatever nodes have to ask each other is answered before the first message is received. */
static void asks_first(unsigned messages)
{
    mcapi_endpoint_t own, there, mine, back;
    mcapi_uint32_t send, receive, value = 0;
    initialize(1);
    own = create(1);
    mine = create(2);
    serve(FULL);
    there = get(2, 1);
    back = get(2, 2);
    CHECK(get_uint(back, MCAPI_ENDP_ATTR_GET_COUNT) == 1);
    get(1, 2);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, mine, back));
    send = open_send(&packets, mine);
    EXPECT_IS(MCAPI_SUCCESS, send_one(&packets, send, 77));
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, get(2, 3), own));
    receive = open_recv(&scalars, own);
    EXPECT_IS(MCAPI_SUCCESS, recv_one(&scalars, receive, &value));
    CHECK(value == 78);
    post(DONE);
    receive_numbers(own, messages);
    send_number(own, there, 0);
    finalize();
}

static void answers(unsigned messages)
{
    static unsigned numbers[EXTRA];
    mcapi_endpoint_t own, to, back, third;
    mcapi_request_t requests[EXTRA];
    mcapi_status_t status;
    mcapi_uint32_t send, receive, value = 0;
    unsigned i;
    initialize(2);
    own = create(1);
    back = create(2);
    third = create(3);
    to = get(1, 1);
    for (i = 0; i < messages && i < ALL; i++)
        send_number(own, to, i);
    for (; i < messages; i++) {
        numbers[i - ALL] = i;
        mcapi_msg_send_i(own, to, &numbers[i - ALL], sizeof i, i % levels, &requests[i - ALL], &status);
        EXPECT(MCAPI_PENDING);
    }
    post(FULL);
    receive = open_recv(&packets, back);
    EXPECT_IS(MCAPI_SUCCESS, recv_one(&packets, receive, &value));
    CHECK(value == 77);
    send = open_send(&scalars, third);
    EXPECT_IS(MCAPI_SUCCESS, send_one(&scalars, send, 78));
    serve(DONE);
    for (i = ALL; i < messages; i++)
        EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[i - ALL]));
    receive_numbers(own, 1);
    finalize();
}

static void asks_with_some(void) { asks_first(SOME); }
static void answers_with_some(void) { answers(SOME); }

static void asks_with_all(void)
{
    levels = 1;
    asks_first(ALL + EXTRA);
}

static void answers_with_all(void)
{
    levels = 1;
    answers(ALL + EXTRA);
}

/* The death of a node is noticed though more of its messages wait than there is room for. */
static void outlives(void)
{
    mcapi_endpoint_t own;
    mcapi_status_t status;
    size_t size;
    initialize(1);
    own = create(1);
    serve(FULL);
    post(ASKING);
    mcapi_endpoint_get(DOMAIN, 2, NOWHERE, SOON, &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    receive_numbers(own, SOME);
    mcapi_msg_recv(own, NULL, 0, &size, &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    finalize();
}

static void dies(void)
{
    mcapi_endpoint_t own, to;
    unsigned i;
    initialize(2);
    own = create(1);
    to = get(1, 1);
    for (i = 0; i < SOME; i++)
        send_number(own, to, i);
    post(FULL);
    serve(ASKING);
    for (i = 0; i < 5; i++)
        serve_once();
    _exit(0);
}

int main(void)
{
    TOGETHER(some, asks_with_some, answers_with_some);
    TOGETHER(all, asks_with_all, answers_with_all);
    TOGETHER(death, outlives, dies);
    return verdict(3);
}
