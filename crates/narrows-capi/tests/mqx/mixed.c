/* A processor in C beside one in Rust, which sends back what comes: each has the other's messages
   as they were sent. */
#include "check.h"

enum { MESSAGES = 100, END = 1000000 };

int main(void)
{
    _queue_id own, there = _msgq_get_id(2, QUEUE);
    uint32_t value;
    NUMBERED_PTR message;
    alarm(PATIENCE);
    processor(1, "1-2");
    own = opened(QUEUE);
    CHECK(_msgpool_create_system(sizeof(NUMBERED), 8, 0, 0));
    answered(there, own, END - 1);
    for (value = 0; value < MESSAGES; value++) {
        CHECK(_msgq_send_priority(made(there, own, value), value % 16));
        /* What was asked more than once comes first. */
        do {
            message = (NUMBERED_PTR)_msgq_receive(own, SOON);
            CHECK(message != NULL && message->HEADER.SIZE == sizeof(NUMBERED));
            CHECK(message->HEADER.SOURCE_QID == there && message->HEADER.TARGET_QID == own);
            if (message->VALUE == END - 1)
                _msg_free(message);
        } while (message->VALUE == END - 1);
        CHECK(message->VALUE == value);
        CHECK((message->HEADER.CONTROL & MSG_HDR_PRIORITY_MASK) == value % 16);
        _msg_free(message);
    }
    /* Nothing but a header, and then the end. */
    message = made(there, own, 0);
    message->HEADER.SIZE = sizeof(MESSAGE_HEADER_STRUCT);
    CHECK(_msgq_send(message));
    message = (NUMBERED_PTR)_msgq_receive(own, SOON);
    CHECK(message != NULL && message->HEADER.SIZE == sizeof(MESSAGE_HEADER_STRUCT));
    _msg_free(message);
    CHECK(_msgq_send(made(there, own, END)));
    CHECK(got(own) == END);
    return 0;
}
