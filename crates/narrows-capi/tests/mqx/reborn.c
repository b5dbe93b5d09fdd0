/* A processor that is killed again and again, and comes back under the same number: whoever sends
   to it is told while it is away, or gets no answer, and answers come again when it is back. */
#include "check.h"

enum { LIVES = 5 };

static int ask[2], told[2];

/* Answers for ever, as long as there is a way back. */
static void answers(int number)
{
    _queue_id queue;
    processor(number, "1-2,2-3");
    queue = opened(QUEUE);
    for (;;) {
        NUMBERED_PTR message = (NUMBERED_PTR)_msgq_receive(queue, 0);
        CHECK(message != NULL);
        if (!_msgq_send_queue(message, message->HEADER.SOURCE_QID))
            CHECK(_task_set_error(MQX_OK) == MSGQ_INVALID_QUEUE_ID);
    }
}

static void server(void)
{
    answers(2);
}

/* Beyond the one that is killed. */
static void last(void)
{
    answers(3);
}

static void client(void)
{
    _queue_id own;
    uint32_t value = 1;
    int life;
    char byte = 0;
    processor(1, "1-2,2-3");
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 64, 0, 0));
    own = opened(QUEUE);
    for (life = 0; life < LIVES; life++) {
        answered(0x0200 | QUEUE, own, value++);
        answered(0x0300 | QUEUE, own, value++);
        /* Away: what is sent now is refused, or lost with it. */
        if (_msgq_send(made(0x0200 | QUEUE, own, value++)))
            (void)_task_set_error(MQX_OK);
        CHECK(write(ask[1], &byte, 1) == 1 && read(told[0], &byte, 1) == 1);
        if (!_msgq_send(made(0x0200 | QUEUE, own, value++)))
            CHECK(_task_set_error(MQX_OK) == MSGQ_INVALID_QUEUE_ID);
        CHECK(write(ask[1], &byte, 1) == 1);
    }
    answered(0x0200 | QUEUE, own, value++);
    answered(0x0300 | QUEUE, own, value++);
}

int main(void)
{
    pid_t here, there, asks;
    int life;
    char byte = 0;
    CHECK(pipe(ask) == 0 && pipe(told) == 0);
    here = start(server);
    there = start(last);
    asks = start(client);
    CHECK(close(ask[1]) == 0);
    for (life = 0; life < LIVES; life++) {
        CHECK(read(ask[0], &byte, 1) == 1);
        murder(here);
        CHECK(write(told[1], &byte, 1) == 1 && read(ask[0], &byte, 1) == 1);
        here = start(server);
    }
    finish(asks);
    murder(here);
    murder(there);
    return 0;
}
