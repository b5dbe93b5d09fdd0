/* Queues within one process: opened, closed, received from and looked at, by one task and by
   several; and functions that are told of messages. */
#include "check.h"

static _queue_id private_queue, system_queue;

static void opening(void)
{
    _queue_id first, queue;
    int count;
    WORKS((first = _msgq_open(MSGQ_FREE_QUEUE, 0)) == 0x0108);
    WORKS((queue = _msgq_open(3, 0)) == 0x0103);
    FAILS(MSGQ_QUEUE_IN_USE, _msgq_open(3, 0) == MSGQ_NULL_QUEUE_ID);
    FAILS(MSGQ_QUEUE_IN_USE, _msgq_open_system(3, 0, NULL, NULL) == MSGQ_NULL_QUEUE_ID);
    FAILS(MSGQ_INVALID_QUEUE_NUMBER, _msgq_open(256, 0) == MSGQ_NULL_QUEUE_ID);
    FAILS(MSGQ_INVALID_QUEUE_NUMBER,
          _msgq_open_system(0xffff, 0, NULL, NULL) == MSGQ_NULL_QUEUE_ID);
    WORKS(_msgq_get_owner(first) == _task_get_id() && _task_get_id() >> 16 == 1);
    for (count = 1; _msgq_open(MSGQ_FREE_QUEUE, 0) != MSGQ_NULL_QUEUE_ID; count++)
        ;
    CHECK(_task_set_error(MQX_OK) == MSGQ_QUEUE_IN_USE && count == 248);
    WORKS(_msgq_close(first));
    WORKS(_msgq_open_system(MSGQ_FREE_QUEUE, 0, NULL, NULL) == first);
    WORKS(_msgq_get_owner(first) == MQX_NULL_TASK_ID);

    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, !_msgq_close(0x0104));
    FAILS(MSGQ_INVALID_QUEUE_ID, !_msgq_close(0x0203));
    FAILS(MSGQ_INVALID_QUEUE_ID, !_msgq_close(0x0003));
    FAILS(MSGQ_INVALID_QUEUE_ID, !_msgq_close(0x0100));
    FAILS(MQX_INVALID_PROCESSOR_NUMBER, _msgq_get_owner(0x0203) == MQX_NULL_TASK_ID);
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, _msgq_get_owner(0x0104) == MQX_NULL_TASK_ID);
    WORKS(_msgq_get_id(0, 5) == 0x0105 && _msgq_get_id(255, 255) == 0xffff);
    WORKS(_msgq_get_id(256, 1) == MSGQ_NULL_QUEUE_ID);
    WORKS(_msgq_get_id(1, 256) == MSGQ_NULL_QUEUE_ID);
}

static void receiving(void)
{
    _queue_id one, two;
    NUMBERED_PTR sent, message;
    void *bad[2];
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 4, 0, 0));
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, _msgq_receive(MSGQ_ANY_QUEUE, 1) == NULL);
    WORKS(_msgq_get_count(MSGQ_ANY_QUEUE) == 0);
    one = opened(8);
    two = opened(9);
    FAILS(MSGQ_MESSAGE_NOT_AVAILABLE, _msgq_receive(one, BRIEFLY) == NULL);
    FAILS(MSGQ_MESSAGE_NOT_AVAILABLE, _msgq_receive(MSGQ_ANY_QUEUE, 1) == NULL);
    FAILS(MSGQ_MESSAGE_NOT_AVAILABLE, _msgq_receive_ticks(one, 1) == NULL);
    FAILS(MSGQ_MESSAGE_NOT_AVAILABLE, _msgq_poll(one) == NULL);
    FAILS(MSGQ_MESSAGE_NOT_AVAILABLE, _msgq_peek(one) == NULL);
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, _msgq_receive(0x010a, 1) == NULL);
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, _msgq_poll(0x010a) == NULL);
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, _msgq_peek(0x010a) == NULL);
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, _msgq_get_count(0x010a) == 0);
    FAILS(MSGQ_INVALID_QUEUE_ID, _msgq_receive(0x0208, 1) == NULL);
    FAILS(MSGQ_INVALID_QUEUE_ID, _msgq_receive_ticks(0x0008, 1) == NULL);
    FAILS(MSGQ_INVALID_QUEUE_ID, _msgq_poll(0x0208) == NULL);
    FAILS(MSGQ_INVALID_QUEUE_ID, _msgq_poll(MSGQ_ANY_QUEUE) == NULL);
    FAILS(MSGQ_INVALID_QUEUE_ID, _msgq_peek(0x0100) == NULL);
    FAILS(MSGQ_INVALID_QUEUE_ID, _msgq_get_count(0x0208) == 0);

    /* The pointer itself is passed: nothing is copied. */
    sent = made(one, two, 5);
    WORKS(_msgq_send(sent));
    WORKS(_msgq_get_count(one) == 1 && _msgq_get_count(two) == 0);
    WORKS(_msgq_get_count(MSGQ_ANY_QUEUE) == 1);
    WORKS(_msgq_peek(one) == sent && _msgq_get_count(one) == 1);
    WORKS((message = (NUMBERED_PTR)_msgq_receive(one, 0)) == sent);
    CHECK(message->VALUE == 5 && message->HEADER.SOURCE_QID == two);
    /* What was received is sent on as it is; 0 is this processor. */
    message->HEADER.TARGET_QID = 0x0009;
    WORKS(_msgq_send(message));
    WORKS(_msgq_receive_ticks(MSGQ_ANY_QUEUE, 0) == sent && sent->HEADER.TARGET_QID == two);
    WORKS(_msgq_send_queue(sent, one));
    WORKS(_msgq_poll(one) == sent && sent->HEADER.TARGET_QID == one);
    WORKS((_msg_free(sent), 1));
    WORKS(_msgq_test(&bad[0], &bad[1]) == MQX_OK);
}

static void *other_task(void *run)
{
    _queue_id own;
    (void)run;
    FAILS(MSGQ_NOT_QUEUE_OWNER, _msgq_receive(private_queue, 1) == NULL);
    FAILS(MSGQ_NOT_QUEUE_OWNER, _msgq_poll(private_queue) == NULL);
    FAILS(MSGQ_NOT_QUEUE_OWNER, _msgq_peek(private_queue) == NULL);
    FAILS(MSGQ_NOT_QUEUE_OWNER, !_msgq_close(private_queue));
    WORKS(_msgq_get_count(private_queue) == 0);
    CHECK(_msgq_get_owner(private_queue) != _task_get_id());
    /* A system queue is everybody's, and nobody waits for it. */
    CHECK(_msgq_send(made(system_queue, 0, 1)) && _msgq_send(made(system_queue, 0, 2)));
    WORKS(_msgq_peek(system_queue) != NULL);
    CHECK(got(system_queue) == 1);
    WORKS((_msg_free(_msgq_poll(system_queue)), 1));
    FAILS(MSGQ_MESSAGE_NOT_AVAILABLE, _msgq_receive(system_queue, 0) == NULL);
    FAILS(MSGQ_MESSAGE_NOT_AVAILABLE, _msgq_poll(system_queue) == NULL);
    /* Its queue, what is in it and what it has end with it. */
    own = opened(20);
    CHECK(_msgq_send(made(own, 0, 3)) && made(own, 0, 4) != NULL);
    CHECK(_msg_available(MSGPOOL_NULL_POOL_ID) == 2);
    CHECK(_msgq_send(made(private_queue, own, 5)));
    return NULL;
}

static void tasks(void)
{
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 4, 0, 0));
    private_queue = opened(8);
    system_queue = _msgq_open_system(9, 0, NULL, NULL);
    in_threads(other_task, 0, 1);
    CHECK(_task_get_error() == MQX_OK);
    CHECK(got(private_queue) == 5);
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, _msgq_get_count(0x0114) == 0);
    CHECK(_msg_available(MSGPOOL_NULL_POOL_ID) == 4);
}

/* A task that waits gets what comes. */
static void *sender(void *run)
{
    (void)run;
    usleep(BRIEFLY * 1000);
    CHECK(_msgq_send(made(private_queue, 0, 7)));
    return NULL;
}

static void waiting(void)
{
    pthread_t thread;
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 4, 0, 0));
    private_queue = opened(8);
    CHECK(pthread_create(&thread, NULL, sender, NULL) == 0);
    CHECK(got(private_queue) == 7);
    CHECK(pthread_join(thread, NULL) == 0);
}

static int told[2];

static void count(void *which)
{
    /* It may look, but not wait. */
    CHECK(_msgq_get_count(system_queue) > 0);
    (void)_task_set_error(MQX_OK);
    FAILS(MQX_CANNOT_CALL_FUNCTION_FROM_ISR, _msgq_receive(MSGQ_ANY_QUEUE, 1) == NULL);
    (void)_task_set_error(MQX_OK);
    ++*(int *)which;
}

/* It gets the message and passes it on. */
static void pass_on(void *to)
{
    NUMBERED_PTR message = (NUMBERED_PTR)_msgq_poll(system_queue);
    CHECK(message != NULL);
    message->HEADER.TARGET_QID = *(_queue_id *)to;
    CHECK(_msgq_send(message));
}

static void notifications(void)
{
    MSGQ_NOTIFICATION_FPTR function = pass_on;
    void *data = NULL;
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 8, 0, 0));
    system_queue = _msgq_open_system(8, 0, count, &told[0]);
    private_queue = opened(9);
    CHECK(_msgq_send(made(system_queue, 0, 1)) && told[0] == 1);
    WORKS(_msgq_get_notification_function(system_queue, &function, &data) == MQX_OK);
    CHECK(function == count && data == &told[0]);
    WORKS(_msgq_get_notification_function(private_queue, &function, &data) == MQX_OK);
    CHECK(function == NULL && data == NULL);
    WORKS(_msgq_get_notification_function(system_queue, NULL, NULL) == MQX_INVALID_PARAMETER);
    WORKS(_msgq_get_notification_function(0x0208, &function, &data) == MSGQ_INVALID_QUEUE_ID);
    WORKS(_msgq_get_notification_function(0x010a, &function, &data) == MSGQ_QUEUE_IS_NOT_OPEN);
    FAILS(MSGQ_INVALID_QUEUE_ID, _msgq_set_notification_function(0x0208, count, NULL) == NULL);
    FAILS(MSGQ_QUEUE_IS_NOT_OPEN, _msgq_set_notification_function(0x010a, count, NULL) == NULL);

    /* Of a private queue, too. */
    WORKS(_msgq_set_notification_function(private_queue, count, &told[1]) == NULL);
    CHECK(_msgq_send(made(private_queue, 0, 2)) && told[1] == 1);
    WORKS(_msgq_set_notification_function(private_queue, NULL, NULL) == count);
    CHECK(_msgq_send(made(private_queue, 0, 3)) && told[1] == 1);
    CHECK(got(private_queue) == 2 && got(private_queue) == 3);

    CHECK(got(system_queue) == 1);
    WORKS(_msgq_set_notification_function(system_queue, pass_on, &private_queue) == count);
    CHECK(_msgq_send(made(system_queue, 0, 4)) && _msgq_get_count(system_queue) == 0);
    CHECK(got(private_queue) == 4 && told[0] == 1);

    /* Opened anew it has none of what it had. */
    CHECK(_msgq_close(system_queue) && opened(8) == system_queue);
    WORKS(_msgq_get_notification_function(system_queue, &function, &data) == MQX_OK);
    CHECK(function == NULL && data == NULL);
}

int main(void)
{
    finish(start(opening));
    finish(start(receiving));
    finish(start(tasks));
    finish(start(waiting));
    finish(start(notifications));
    return 0;
}
