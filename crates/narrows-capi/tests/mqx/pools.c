/* The component, pools and messages: what each call does and refuses. No misuse does more than
   fail. */
#include "check.h"

static MSGQ_NOTIFICATION_FPTR function;
static void *data;

/* Calls before there is a component say so, but for those that create it. */
static void before(void)
{
    NUMBERED message = {{sizeof(NUMBERED), 0x0108, 0, 0, 0}, 0};
    _queue_id queues[] = {0x0108, MSGQ_NULL_QUEUE_ID}, queue = 0x0108;
    void *one, *two;
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, _msg_alloc((_pool_id)16) == NULL);
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, _msg_alloc_system(8) == NULL);
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, (_msg_free(&message), 1));
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, !_msgq_close(queue));
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, _msgq_get_count(queue) == 0);
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, _msgq_get_owner(queue) == MQX_NULL_TASK_ID);
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, _msgq_receive(queue, 1) == NULL);
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, _msgq_receive_ticks(MSGQ_ANY_QUEUE, 1) == NULL);
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, _msgq_poll(queue) == NULL);
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, _msgq_peek(queue) == NULL);
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, !_msgq_send(&message));
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, !_msgq_send_urgent(&message));
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, !_msgq_send_priority(&message, 1));
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, !_msgq_send_queue(&message, queue));
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST, _msgq_send_broadcast(&message, queues, NULL) == 0);
    FAILS(MQX_COMPONENT_DOES_NOT_EXIST,
          _msgq_set_notification_function(queue, NULL, NULL) == NULL);
    WORKS(_msgq_get_notification_function(queue, &function, &data) ==
          MQX_COMPONENT_DOES_NOT_EXIST);
    WORKS(_msgpool_destroy((_pool_id)16) == MQX_COMPONENT_DOES_NOT_EXIST);
    WORKS(_msgq_test(&one, &two) == MQX_COMPONENT_DOES_NOT_EXIST);
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 0 && narrows_mqx_lost() == 0);
    WORKS(_task_get_id() == MQX_NULL_TASK_ID);
    WORKS(_msgq_get_id(0, 8) == 0x0108 && _msgq_get_id(3, 9) == 0x0309);

    CHECK(_msg_create_component() == MQX_OK);
    CHECK(_msg_create_component() == MQX_OK);
    CHECK(_task_get_id() >> 16 == 1);
    CHECK(_msgq_test(&one, &two) == MQX_OK && _msgq_test(NULL, NULL) == MQX_OK);
}

static void opens(void)
{
    CHECK(opened(8) == 0x0108);
}

static void makes(void)
{
    CHECK(_msgpool_create(16, 1, 0, 0) != MSGPOOL_NULL_POOL_ID);
    CHECK(_msg_create_component() == MQX_OK);
}

static void settings(void)
{
    static const char *bad_links[] = {"1", "1-", "0-1", "1-256", "1-1", "1-2;2-3",
                                      "1-2,1-3,1-4,1-5,1-6,1-7,1-8,1-9,1-10"};
    static const char *bad_numbers[] = {"0", "256", "-1", "one"};
    char last[] = "1";
    size_t n;
    pid_t other;
    for (n = 0; n < sizeof bad_numbers / sizeof *bad_numbers; n++) {
        CHECK(setenv("NARROWS_MQX_PROCESSOR", bad_numbers[n], 1) == 0);
        CHECK(_msg_create_component() == MQX_INVALID_CONFIGURATION);
        FAILS(MQX_INVALID_CONFIGURATION, _msgq_open(8, 0) == MSGQ_NULL_QUEUE_ID);
        FAILS(MQX_INVALID_CONFIGURATION, !_msgpool_create_system(8, 1, 0, 0));
        WORKS(_msgq_get_id(0, 8) == MSGQ_NULL_QUEUE_ID);
    }
    for (n = 0; n < sizeof bad_links / sizeof *bad_links; n++) {
        processor(1, bad_links[n]);
        CHECK(_msg_create_component() == MQX_INVALID_CONFIGURATION);
    }
    processor(7, "");
    CHECK(setenv("NARROWS_MQX_WAIT", "a while", 1) == 0);
    CHECK(_msg_create_component() == MQX_INVALID_CONFIGURATION);
    CHECK(unsetenv("NARROWS_MQX_WAIT") == 0);
    /* What was wrong can be put right. */
    CHECK(opened(8) == 0x0708);
    CHECK(_msgq_get_id(0, 8) == 0x0708);
    CHECK(narrows_mqx_wait(2, 1) == MQX_INVALID_PROCESSOR_NUMBER);
    CHECK(narrows_mqx_wait(300, 1) == MQX_INVALID_PROCESSOR_NUMBER);
    /* A number is one processor's, and no child's. */
    other = fork();
    if (other == 0) {
        alarm(PATIENCE);
        CHECK(_msg_create_component() == MSG_CANNOT_CREATE_COMPONENT);
        FAILS(MQX_COMPONENT_DOES_NOT_EXIST, !_msgq_close(0x0708));
        CHECK(setenv("NARROWS_MQX_PROCESSOR", last, 1) == 0);
        CHECK(opened(8) == 0x0108);
        _exit(0);
    }
    finish(other);
    CHECK(_msgq_close(0x0708));
}

static void waits(void)
{
    /* A processor that is not there is waited for as long as the variable says. */
    processor(1, "1-2");
    CHECK(setenv("NARROWS_MQX_WAIT", "20", 1) == 0);
    CHECK(_msg_create_component() == MQX_OK);
    CHECK(narrows_mqx_wait(2, 1) == MSGQ_RECEIVE_TIMEOUT);
    CHECK(narrows_mqx_wait(3, 1) == MQX_INVALID_PROCESSOR_NUMBER);
}

static void errors(void)
{
    CHECK(_task_get_error() == MQX_OK && _task_errno == MQX_OK);
    CHECK(_task_set_error(MQX_INVALID_PARAMETER) == MQX_OK);
    /* The first stays. */
    CHECK(_task_set_error(MSGQ_QUEUE_FULL) == MQX_INVALID_PARAMETER);
    CHECK(_task_get_error() == MQX_INVALID_PARAMETER && _task_errno == MQX_INVALID_PARAMETER);
    CHECK(_task_set_error(MQX_OK) == MQX_INVALID_PARAMETER);
    _task_errno = MSGQ_QUEUE_FULL;
    CHECK(_task_get_error() == MSGQ_QUEUE_FULL);
}

static void pools(void)
{
    _pool_id pool, other;
    void *all[3], *message;
    int n;
    FAILS(MSGPOOL_MESSAGE_SIZE_TOO_SMALL, _msgpool_create(7, 1, 0, 0) == MSGPOOL_NULL_POOL_ID);
    FAILS(MSGPOOL_MESSAGE_SIZE_TOO_SMALL, !_msgpool_create_system(7, 1, 0, 0));
    FAILS(MQX_OUT_OF_MEMORY, _msgpool_create(8, 9000, 0, 0) == MSGPOOL_NULL_POOL_ID);

    /* It grows to its limit and no further. */
    WORKS((pool = _msgpool_create(sizeof(NUMBERED), 1, 1, 3)) != MSGPOOL_NULL_POOL_ID);
    CHECK(_msg_available(pool) == 1);
    for (n = 0; n < 3; n++)
        WORKS((all[n] = _msg_alloc(pool)) != NULL);
    FAILS(MSGPOOL_OUT_OF_MESSAGES, _msg_alloc(pool) == NULL);
    FAILS(MSGPOOL_INVALID_POOL_ID, _msg_alloc(MSGPOOL_NULL_POOL_ID) == NULL);
    FAILS(MSGPOOL_INVALID_POOL_ID, _msg_alloc((_pool_id)&n) == NULL);
    FAILS(MSGPOOL_INVALID_POOL_ID, _msg_available((_pool_id)&n) == 0);
    WORKS(_msg_available(pool) == 0);
    WORKS(_msgpool_destroy((_pool_id)&n) == MSGPOOL_INVALID_POOL_ID);
    WORKS(_msgpool_destroy(MSGPOOL_NULL_POOL_ID) == MSGPOOL_INVALID_POOL_ID);
    WORKS(_msgpool_destroy(pool) == MSGPOOL_ALL_MESSAGES_NOT_FREE);
    for (n = 0; n < 3; n++)
        WORKS((_msg_free(all[n]), 1));
    FAILS(MQX_NOT_RESOURCE_OWNER, (_msg_free(all[0]), 1));
    WORKS(_msg_available(pool) == 3);
    WORKS(_msgpool_destroy(pool) == MQX_OK);
    WORKS(_msgpool_destroy(pool) == MSGPOOL_INVALID_POOL_ID);
    FAILS(MSGPOOL_INVALID_POOL_ID, _msg_alloc(pool) == NULL);
    FAILS(MQX_INVALID_POINTER, (_msg_free(all[0]), 1));
    FAILS(MSGQ_INVALID_MESSAGE, !_msgq_send(all[0]));

    /* Its id is nobody else's. */
    WORKS((other = _msgpool_create(8, 1, 0, 5)) != MSGPOOL_NULL_POOL_ID && other != pool);
    FAILS(MSGPOOL_INVALID_POOL_ID, _msg_alloc(pool) == NULL);
    /* Nothing but a header, and without growth no limit of growth. */
    WORKS((message = _msg_alloc(other)) != NULL);
    FAILS(MSGPOOL_OUT_OF_MESSAGES, _msg_alloc(other) == NULL);
    CHECK(((MESSAGE_HEADER_STRUCT_PTR)message)->SIZE == 8);
    WORKS((_msg_free(message), 1));

    while (_msgpool_create(8, 0, 1, 0) != MSGPOOL_NULL_POOL_ID)
        ;
    CHECK(_task_set_error(MQX_OK) == MSGPOOL_OUT_OF_POOLS);
    FAILS(MSGPOOL_OUT_OF_POOLS, !_msgpool_create_system(8, 0, 1, 0));
    WORKS(_msgpool_destroy(other) == MQX_OK);
    WORKS(_msgpool_create_system(8, 0, 1, 0));
}

static void system_pools(void)
{
    MESSAGE_HEADER_STRUCT_PTR small, large;
    CHECK(_msgpool_create_system(64, 1, 0, 0) && _msgpool_create_system(16, 1, 0, 0));
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 2);
    FAILS(MSGPOOL_OUT_OF_MESSAGES, _msg_alloc_system(65) == NULL);
    /* The smallest that does, and the next when that has none. */
    WORKS((small = (MESSAGE_HEADER_STRUCT_PTR)_msg_alloc_system(10)) != NULL && small->SIZE == 10);
    WORKS((large = (MESSAGE_HEADER_STRUCT_PTR)_msg_alloc_system(10)) != NULL && large->SIZE == 10);
    FAILS(MSGPOOL_OUT_OF_MESSAGES, _msg_alloc_system(8) == NULL);
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 0);
    large->SIZE = 64;
    large->TARGET_QID = small->TARGET_QID = opened(8);
    WORKS(_msgq_send(large));
    /* More than it has room for: refused, and freed. */
    small->SIZE = 17;
    FAILS(MSGPOOL_MESSAGE_SIZE_TOO_SMALL, !_msgq_send(small));
    FAILS(MQX_NOT_RESOURCE_OWNER, (_msg_free(small), 1));
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 1);
    /* Less than its header. */
    WORKS((small = (MESSAGE_HEADER_STRUCT_PTR)_msg_alloc_system(3)) != NULL);
    small->SIZE = 7;
    FAILS(MSGPOOL_MESSAGE_SIZE_TOO_SMALL, !_msgq_send(small));
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 1);
}

static void messages(void)
{
    static NUMBERED stranger;
    static unsigned char fields[] = {4, 0};
    _queue_id queue = opened(MSGQ_FREE_QUEUE);
    NUMBERED_PTR message;
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 1, 0, 0));
    message = (NUMBERED_PTR)_msg_alloc_system(sizeof(NUMBERED));
    CHECK(message != NULL && (uintptr_t)message % 16 == 0);
    CHECK(message->HEADER.SIZE == sizeof(NUMBERED));
    CHECK(message->HEADER.TARGET_QID == MSGQ_NULL_QUEUE_ID);
    CHECK(message->HEADER.SOURCE_QID == MSGQ_NULL_QUEUE_ID);
    CHECK(message->HEADER.CONTROL == (MSG_HDR_ENDIAN | MSG_DATA_ENDIAN));
    CHECK(!MSG_MUST_CONVERT_HDR_ENDIAN(message->HEADER.CONTROL));

    message->HEADER.TARGET_QID = 0x0102;
    message->HEADER.CONTROL ^= MSG_HDR_ENDIAN_MASK | MSG_DATA_ENDIAN_MASK;
    CHECK(MSG_MUST_CONVERT_HDR_ENDIAN(message->HEADER.CONTROL));
    WORKS((_msg_swap_endian_header(&message->HEADER), 1));
    CHECK(message->HEADER.TARGET_QID == 0x0201 && message->HEADER.SIZE == sizeof(NUMBERED) << 8);
    CHECK(!MSG_MUST_CONVERT_HDR_ENDIAN(message->HEADER.CONTROL));
    message->VALUE = 0x01020304;
    WORKS((_msg_swap_endian_data(fields, &message->HEADER), 1));
    CHECK(message->VALUE == 0x04030201);
    CHECK(!MSG_MUST_CONVERT_DATA_ENDIAN(message->HEADER.CONTROL));
    message->HEADER.SIZE = sizeof(NUMBERED);

    /* Nobody's, in its middle, sent, freed. */
    FAILS(MQX_INVALID_POINTER, (_msg_free(NULL), 1));
    FAILS(MQX_INVALID_POINTER, (_msg_free(&stranger), 1));
    FAILS(MQX_INVALID_POINTER, (_msg_free(&message->VALUE), 1));
    FAILS(MSGQ_INVALID_MESSAGE, !_msgq_send(NULL));
    FAILS(MSGQ_INVALID_MESSAGE, !_msgq_send(&stranger));
    FAILS(MSGQ_INVALID_MESSAGE, !_msgq_send_urgent(&stranger));
    FAILS(MSGQ_INVALID_MESSAGE, !_msgq_send_priority(&stranger, 1));
    FAILS(MSGQ_INVALID_MESSAGE, !_msgq_send_queue(&stranger, queue));
    FAILS(MSGQ_INVALID_MESSAGE, (_msg_swap_endian_header(&stranger.HEADER), 1));
    FAILS(MSGQ_INVALID_MESSAGE, (_msg_swap_endian_data(fields, &stranger.HEADER), 1));
    FAILS(MQX_INVALID_PARAMETER, (_msg_swap_endian_data(NULL, &message->HEADER), 1));
    message->HEADER.TARGET_QID = queue;
    WORKS(_msgq_send(message));
    FAILS(MSGQ_MESSAGE_IS_QUEUED, (_msg_free(message), 1));
    FAILS(MSGQ_INVALID_MESSAGE, !_msgq_send(message));
    FAILS(MSGQ_INVALID_MESSAGE, (_msg_swap_endian_header(&message->HEADER), 1));
    CHECK(got(queue) == 0x04030201);
    FAILS(MQX_NOT_RESOURCE_OWNER, (_msg_free(message), 1));
    FAILS(MSGQ_INVALID_MESSAGE, !_msgq_send(message));
    /* Closing a queue frees what is in it. */
    CHECK(_msgq_send(made(queue, 0, 1)));
    WORKS(_msgq_close(queue));
    FAILS(MQX_NOT_RESOURCE_OWNER, (_msg_free(message), 1));
    WORKS(_msg_available(MSGPOOL_NULL_POOL_ID) == 1);
}

int main(void)
{
    /* Each in a process of its own: what is left open does not outlive it. */
    finish(start(before));
    finish(start(opens));
    finish(start(makes));
    finish(start(settings));
    finish(start(waits));
    finish(start(errors));
    finish(start(pools));
    finish(start(system_pools));
    finish(start(messages));
    return 0;
}
