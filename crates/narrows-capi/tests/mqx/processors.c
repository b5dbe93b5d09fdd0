/* A line of three processors, each a process: 1 and 3 are adjacent to 2 only. The same calls reach
   all three. And a process that is another program. */
#include "check.h"

/* Values that are no message's number: of what is sent until it comes, of the last before the end,
   and of the question how many messages a processor has dropped. */
enum { HELLO = 1000000, SETTLED, END, LOST };
/* Queues of the second processor: one that a function answers, and one that is received from late;
   of the third, one for long messages. */
enum { ANSWERED = 10, LATE = 11, LONG = 12 };
enum { MESSAGES = 500, AHEAD = 8, PRIORITIES = 6 };

static const char *program;
static int number;

static _queue_id at(int processor_number, int queue)
{
    return _msgq_get_id((_processor_number)processor_number, (_queue_number)queue);
}

/* Whoever brought the message runs this: the processor's own thread. */
static void answer(void *queue)
{
    NUMBERED_PTR message = (NUMBERED_PTR)_msgq_poll(*(_queue_id *)queue);
    CHECK(message != NULL);
    if (message->VALUE == LOST)
        message->VALUE = narrows_mqx_lost();
    message->HEADER.TARGET_QID = message->HEADER.SOURCE_QID;
    CHECK(_msgq_send(message));
}

/* Answers the most urgent of so many messages first, when all are there. */
static void answer_late(_queue_id late, _queue_id own)
{
    unsigned n, tries = 0;
    while (_msgq_get_count(late) < PRIORITIES) {
        CHECK(tries++ < SOON);
        usleep(1000);
    }
    for (n = 0; n < PRIORITIES; n++) {
        NUMBERED_PTR message = (NUMBERED_PTR)_msgq_receive(late, SOON);
        CHECK(message != NULL);
        message->HEADER.TARGET_QID = message->HEADER.SOURCE_QID;
        message->HEADER.SOURCE_QID = own;
        /* The answers are all alike, and so come as they are sent. */
        message->HEADER.CONTROL = MSG_HDR_ENDIAN | MSG_DATA_ENDIAN;
        CHECK(_msgq_send(message));
    }
}

static void *answer_long(void *run)
{
    _queue_id queue = opened(LONG);
    void *message;
    (void)run;
    while ((message = _msgq_receive(queue, 0)) != NULL) {
        MESSAGE_HEADER_STRUCT_PTR header = (MESSAGE_HEADER_STRUCT_PTR)message;
        CHECK(_msgq_send_queue(message, header->SOURCE_QID));
    }
    return NULL;
}

static void second(void)
{
    static _queue_id answered_queue;
    _queue_id own, late;
    processor(2, "1-2,2-3");
    answered_queue = _msgq_open_system(ANSWERED, 0, answer, &answered_queue);
    late = opened(LATE);
    own = opened(QUEUE);
    answer_until(own, SETTLED);
    answer_late(late, own);
    answer_until(own, END);
}

static void third(void)
{
    pthread_t thread;
    processor(3, "1-2,2-3");
    CHECK(pthread_create(&thread, NULL, answer_long, NULL) == 0);
    answer_until(opened(QUEUE), END);
}

/* From now on there is nothing on its way but what is sent from now on. */
static void settle(int to, _queue_id own)
{
    answered(at(to, QUEUE), own, HELLO);
    CHECK(_msgq_send(made(at(to, QUEUE), own, SETTLED)));
    while (got(own) != SETTLED)
        ;
}

static void load(int to, _queue_id own)
{
    uint32_t sent = 0, received;
    for (received = 0; received < MESSAGES; received++) {
        for (; sent < MESSAGES && sent < received + AHEAD; sent++)
            CHECK(_msgq_send(made(at(to, QUEUE), own, sent)));
        CHECK(got(own) == received);
    }
}

/* The most urgent comes first, in whatever order they were sent. */
static void priorities(_queue_id own)
{
    static const uint32_t sent[PRIORITIES] = {0, 3, 15, 1, 0, 7};
    static const uint32_t received[PRIORITIES] = {99, 15, 7, 3, 1, 0};
    int n;
    for (n = 0; n < PRIORITIES; n++) {
        NUMBERED_PTR message = made(at(2, LATE), own, n == 4 ? 99 : sent[n]);
        CHECK(n == 4 ? _msgq_send_urgent(message) : _msgq_send_priority(message, sent[n]));
    }
    for (n = 0; n < PRIORITIES; n++)
        CHECK(got(own) == received[n]);
}

static unsigned char byte_at(unsigned n)
{
    return (unsigned char)(n * 31 % 251);
}

static void longest(_queue_id own)
{
    _pool_id pool = _msgpool_create(0xffff, 1, 0, 0);
    MESSAGE_HEADER_STRUCT_PTR message;
    unsigned n, tries = 0;
    void *again = NULL;
    /* Its thread may not listen yet. */
    for (tries = 0; again == NULL && tries < SOON / AGAIN; tries++) {
        message = (MESSAGE_HEADER_STRUCT_PTR)_msg_alloc(pool);
        if (message != NULL) {
            CHECK(message->SIZE == 0xffff);
            message->SOURCE_QID = own;
            for (n = 0; n < MSGPOOL_MESSAGE_DATA_SIZE; n++)
                ((unsigned char *)(message + 1))[n] = byte_at(n);
            CHECK(_msgq_send_queue(message, at(3, LONG)));
        }
        again = _msgq_receive(own, AGAIN);
    }
    (void)_task_set_error(MQX_OK);
    message = (MESSAGE_HEADER_STRUCT_PTR)again;
    CHECK(message != NULL && message->SIZE == 0xffff && message->TARGET_QID == own);
    for (n = 0; n < MSGPOOL_MESSAGE_DATA_SIZE; n++)
        CHECK(((unsigned char *)(message + 1))[n] == byte_at(n));
    /* What came over links is sent on here as it is, too. */
    CHECK(_msgq_send(message) && _msgq_receive(own, 0) == message);
    WORKS((_msg_free(message), 1));
}

static void first(void)
{
    _queue_id own, all[4];
    uint32_t lost, sum = 0;
    NUMBERED_PTR message;
    int n;
    processor(1, "1-2,2-3");
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 64, 0, 0));
    own = opened(QUEUE);
    CHECK(narrows_mqx_wait(2, SOON) == MQX_OK);
    CHECK(narrows_mqx_wait(3, 1) == MQX_INVALID_PROCESSOR_NUMBER);
    settle(3, own);
    settle(2, own);
    priorities(own);
    load(2, own);
    load(3, own);

    /* To a queue of each processor, by copies. */
    for (n = 0; n < 3; n++)
        all[n] = at(n + 1, QUEUE);
    all[3] = MSGQ_NULL_QUEUE_ID;
    CHECK(_msgq_send_broadcast(made(0, own, 5), all, MSGPOOL_NULL_POOL_ID) == 3);
    for (n = 0; n < 3; n++)
        sum += got(own);
    CHECK(sum == 15);

    /* A processor that was never seen is told apart; a queue that is not open is counted where it
       would be. */
    FAILS(MSGQ_INVALID_QUEUE_ID, !_msgq_send(made(at(9, QUEUE), own, 1)));
    CHECK(_msgq_send(made(at(2, ANSWERED), own, LOST)));
    lost = got(own);
    CHECK(_msgq_send(made(at(2, CLOSED), own, 1)));
    CHECK(_msgq_send(made(at(2, ANSWERED), own, LOST)));
    CHECK(got(own) == lost + 1);

    longest(own);
    for (n = 3; n > 1; n--) {
        CHECK(_msgq_send(made(at(n, QUEUE), own, END)));
        while ((message = (NUMBERED_PTR)_msgq_receive(own, SOON)) != NULL &&
               (message->HEADER.SIZE != sizeof(NUMBERED) || message->VALUE != END))
            _msg_free(message);
        CHECK(message != NULL);
    }
}

static void line(void)
{
    pid_t two = start(second), three = start(third);
    finish(start(first));
    finish(two);
    finish(three);
}

/* Another program, which knows what it is by its environment alone. */
static void another(void)
{
    processor(number, "1-2");
    CHECK(setenv("NARROWS_MQX_WAIT", "30000", 1) == 0);
    execl(program, program, number == 1 ? "ask" : "answer", (char *)NULL);
    _exit(2);
}

static void programs(void)
{
    pid_t answers;
    number = 2;
    answers = start(another);
    number = 1;
    finish(start(another));
    finish(answers);
}

/* Its neighbour is there when the first call returns, if not its queue. */
static void ask(void)
{
    _queue_id own = opened(QUEUE);
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 4, 0, 0));
    WORKS(_msgq_send(made(0x0200 | CLOSED, own, 1)));
    answered(0x0200 | QUEUE, own, HELLO);
    CHECK(_msgq_send(made(0x0200 | QUEUE, own, END)));
    while (got(own) != END)
        ;
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "ask") == 0)
        ask();
    else if (argc > 1)
        answer_until(opened(QUEUE), END);
    else {
        finish(start(line));
        finish(start(programs));
    }
    return 0;
}
