/* Sending within one process: in which order messages come, which fail and what becomes of those,
   and to several queues at a time. */
#include "check.h"

static void refused(void)
{
    _queue_id queue = _msgq_open(8, 1);
    NUMBERED_PTR message;
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 2, 0, 0));
    /* Each is freed: the pool has it again. */
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, !_msgq_send(made(0x0109, 0, 1)));
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, !_msgq_send(made(0x0009, 0, 1)));
    FAILS(MSGQ_INVALID_QUEUE_ID, !_msgq_send(made(0x0100, 0, 1)));
    FAILS(MSGQ_INVALID_QUEUE_ID, !_msgq_send(made(MSGQ_NULL_QUEUE_ID, 0, 1)));
    FAILS(MSGQ_INVALID_QUEUE_ID, !_msgq_send_urgent(made(0x0208, 0, 1)));
    FAILS(MSGQ_INVALID_QUEUE_ID, !_msgq_send_priority(made(0xff08, 0, 1), 3));
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, !_msgq_send_queue(made(queue, 0, 1), 0x0109));
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 2);
    CHECK(_msgq_send(made(queue, 0, 1)));
    FAILS(MSGQ_QUEUE_FULL, !_msgq_send(made(queue, 0, 2)));
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 1);
    /* But not for a priority that is none. */
    message = made(queue, 0, 3);
    FAILS(MSGQ_INVALID_MESSAGE_PRIORITY, !_msgq_send_priority(message, MSG_MAX_PRIORITY + 1));
    FAILS(MSGQ_INVALID_MESSAGE_PRIORITY, !_msgq_send_priority(NULL, MSG_MAX_PRIORITY + 1));
    CHECK(got(queue) == 1);
    WORKS(_msgq_send_priority(message, MSG_MAX_PRIORITY));
    CHECK(got(queue) == 3);
}

static void order(void)
{
    _queue_id queue = opened(8);
    NUMBERED_PTR message;
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 8, 0, 0));
    CHECK(_msgq_send(made(queue, 0, 6)));
    CHECK(_msgq_send_priority(made(queue, 0, 4), 1));
    CHECK(_msgq_send(made(queue, 0, 7)));
    CHECK(_msgq_send_priority(made(queue, 0, 2), 15));
    CHECK(_msgq_send_priority(made(queue, 0, 3), 15));
    CHECK(_msgq_send_priority(made(queue, 0, 5), 1));
    CHECK(_msgq_send_urgent(made(queue, 0, 1)));
    message = (NUMBERED_PTR)_msgq_receive(queue, 0);
    CHECK(message->VALUE == 1);
    CHECK(message->HEADER.CONTROL == (MSG_HDR_ENDIAN | MSG_DATA_ENDIAN | MSG_HDR_URGENT));
    /* Sent on it is still urgent. */
    CHECK(_msgq_send(message));
    CHECK(got(queue) == 1);
    message = (NUMBERED_PTR)_msgq_receive(queue, 0);
    CHECK(message->VALUE == 2 && (message->HEADER.CONTROL & MSG_HDR_PRIORITY_MASK) == 15);
    _msg_free(message);
    CHECK(got(queue) == 3 && got(queue) == 4 && got(queue) == 5 && got(queue) == 6);
    CHECK(got(queue) == 7 && _msgq_get_count(queue) == 0);
}

static void broadcast(void)
{
    _queue_id to[4], none[] = {MSGQ_NULL_QUEUE_ID}, one[] = {0, MSGQ_NULL_QUEUE_ID};
    _pool_id pool = _msgpool_create(sizeof(NUMBERED), 1, 0, 0);
    _pool_id small = _msgpool_create(sizeof(MESSAGE_HEADER_STRUCT), 1, 0, 0);
    NUMBERED_PTR message, stranger = NULL;
    int n;
    for (n = 0; n < 3; n++)
        to[n] = opened((_queue_number)(10 + n));
    to[3] = MSGQ_NULL_QUEUE_ID;
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 3, 0, 0));

    message = made(0, to[0], 5);
    FAILS(MSGQ_INVALID_MESSAGE, _msgq_send_broadcast(stranger, to, pool) == 0);
    FAILS(MSGQ_INVALID_MESSAGE, _msgq_send_broadcast(&n, to, pool) == 0);
    FAILS(MQX_INVALID_PARAMETER, _msgq_send_broadcast(message, NULL, pool) == 0);
    WORKS(_msgq_send_broadcast(message, none, pool) == 0);
    /* Copies of the system pools to all but the last, which gets the message itself. */
    WORKS(_msgq_send_broadcast(message, to, MSGPOOL_NULL_POOL_ID) == 3);
    CHECK(_msgq_peek(to[2]) == message && _msgq_peek(to[0]) != message);
    for (n = 0; n < 3; n++)
        CHECK(got(to[n]) == 5);

    /* No copy for the second: that gets the message, and the third nothing. */
    FAILS(MSGPOOL_OUT_OF_MESSAGES, _msgq_send_broadcast(made(0, 0, 6), to, pool) == 2);
    CHECK(got(to[0]) == 6 && got(to[1]) == 6 && _msgq_get_count(to[2]) == 0);
    WORKS(_msg_available(pool) == 1);
    /* Nor is there one of too small a pool, or of none. */
    FAILS(MSGPOOL_MESSAGE_SIZE_TOO_SMALL, _msgq_send_broadcast(made(0, 0, 7), to, small) == 1);
    CHECK(got(to[0]) == 7);
    WORKS(_msg_available(small) == 1);
    FAILS(MSGPOOL_INVALID_POOL_ID, _msgq_send_broadcast(made(0, 0, 8), to, (_pool_id)&n) == 1);
    CHECK(got(to[0]) == 8);

    /* A queue that is not open keeps no other from getting it. */
    CHECK(_msgq_close(to[1]));
    WORKS(_msgq_send_broadcast(made(0, 0, 9), to, MSGPOOL_NULL_POOL_ID) == 2);
    CHECK(got(to[0]) == 9 && got(to[2]) == 9);
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 3);
    one[0] = to[0];
    WORKS(_msgq_send_broadcast(made(0, 0, 10), one, MSGPOOL_NULL_POOL_ID) == 1);
    CHECK(got(to[0]) == 10);
    message = made(0, 0, 11);
    message->HEADER.SIZE = 100;
    FAILS(MSGPOOL_OUT_OF_MESSAGES, _msgq_send_broadcast(message, to, MSGPOOL_NULL_POOL_ID) == 0);
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 3);
    message = made(0, 0, 12);
    message->HEADER.SIZE = 3;
    FAILS(MSGPOOL_MESSAGE_SIZE_TOO_SMALL, _msgq_send_broadcast(message, to, pool) == 0);
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 3);
}

int main(void)
{
    finish(start(refused));
    finish(start(order));
    finish(start(broadcast));
    return 0;
}
