/* What the MQX programs share: checks, processors that are started together, and messages. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <mqx_narrows.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Milliseconds within which something comes that has to come, and after which nothing is taken
   to. */
#define SOON 30000u
#define BRIEFLY 30u
/* How soon what may have been lost is sent again. */
#define AGAIN 50u

/* The queue that each processor of a test listens at, and one that nobody opens. */
enum { QUEUE = 8, CLOSED = 200 };

typedef struct numbered {
    MESSAGE_HEADER_STRUCT HEADER;
    uint32_t VALUE;
} NUMBERED, *NUMBERED_PTR;

static inline void fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: not so: %s (task error 0x%x)\n", file, line, what,
            (unsigned)_task_get_error());
    fflush(stdout);
    _exit(1);
}

#define CHECK(what) ((what) ? (void)0 : fail(__FILE__, __LINE__, #what))
/* A call that fails, and how; and one that does not. */
#define FAILS(code, what) \
    ((void)_task_set_error(MQX_OK), CHECK(what), CHECK(_task_get_error() == (code)))
#define WORKS(what) FAILS(MQX_OK, what)

#include "../process.h"

static inline void finish(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Which processor this process is, before its first call. */
static inline void processor(int number, const char *links)
{
    char text[8];
    snprintf(text, sizeof text, "%d", number);
    CHECK(setenv("NARROWS_MQX_PROCESSOR", text, 1) == 0);
    CHECK(setenv("NARROWS_MQX_LINKS", links, 1) == 0);
}

static inline _queue_id opened(_queue_number number)
{
    _queue_id queue = _msgq_open(number, 0);
    CHECK(queue != MSGQ_NULL_QUEUE_ID);
    return queue;
}

static inline NUMBERED_PTR made(_queue_id to, _queue_id from, uint32_t value)
{
    NUMBERED_PTR message = (NUMBERED_PTR)_msg_alloc_system(sizeof(NUMBERED));
    CHECK(message != NULL);
    message->HEADER.TARGET_QID = to;
    message->HEADER.SOURCE_QID = from;
    message->VALUE = value;
    return message;
}

/* The value of the next message of a queue, which has to come. */
static inline uint32_t got(_queue_id queue)
{
    uint32_t value;
    NUMBERED_PTR message = (NUMBERED_PTR)_msgq_receive(queue, SOON);
    CHECK(message != NULL && message->HEADER.SIZE == sizeof(NUMBERED));
    CHECK(message->HEADER.TARGET_QID == queue);
    value = message->VALUE;
    WORKS((_msg_free(message), 1));
    return value;
}

/* Asks for an answer with this value until it comes: before all links are up there is no way, or
   what is sent may be lost between. */
static inline void answered(_queue_id to, _queue_id own, uint32_t value)
{
    unsigned tries;
    for (tries = 0; tries < SOON / AGAIN; tries++) {
        NUMBERED_PTR message = made(to, own, value);
        uint32_t seen = value + 1;
        if (!_msgq_send(message)) {
            CHECK(_task_set_error(MQX_OK) == MSGQ_INVALID_QUEUE_ID);
            usleep(AGAIN * 1000);
            continue;
        }
        message = (NUMBERED_PTR)_msgq_receive(own, AGAIN);
        if (message != NULL) {
            seen = message->VALUE;
            _msg_free(message);
        }
        (void)_task_set_error(MQX_OK);
        if (seen == value)
            return;
    }
    CHECK(!"an answer comes");
}

/* Sends messages back to where they come from, until one says to end. */
static inline void answer_until(_queue_id queue, uint32_t end)
{
    uint32_t value;
    do {
        NUMBERED_PTR message = (NUMBERED_PTR)_msgq_receive(queue, SOON);
        CHECK(message != NULL);
        value = message->VALUE;
        message->HEADER.TARGET_QID = message->HEADER.SOURCE_QID;
        message->HEADER.SOURCE_QID = queue;
        CHECK(_msgq_send(message));
    } while (value != end);
}

#endif
