/*
 * The message component of MQX over Narrows: pools of messages, and queues whose ids name processor
 * and queue. Names, values and types are MQX's, so that what is written for it compiles. What each
 * function does, and what is different, is in docs/MQX.md.
 */
#ifndef NARROWS_MQX_MESSAGE_H
#define NARROWS_MQX_MESSAGE_H

#include "mqx.h"

typedef void *_pool_id;
typedef uint16_t _msg_size;     /* Bytes. */
typedef uint16_t _queue_number; /* A queue, on its processor. */
typedef uint16_t _queue_id;     /* A queue anywhere: its processor in the upper eight bits. */

/* What every message begins with. */
typedef struct message_header_struct {
    _msg_size SIZE;       /* Bytes of the message, this header among them. */
    _queue_id TARGET_QID; /* Where it is sent to. */
    _queue_id SOURCE_QID; /* Where answers go to, if its sender says so. */
    unsigned char CONTROL;
    unsigned char RESERVED;
} MESSAGE_HEADER_STRUCT, *MESSAGE_HEADER_STRUCT_PTR;

/* What is told of each message that comes into a queue. */
typedef void (*MSGQ_NOTIFICATION_FPTR)(void *);

#define MSGPOOL_NULL_POOL_ID ((_pool_id)0)
#define MSGPOOL_MESSAGE_DATA_SIZE (0xFFFF - sizeof(MESSAGE_HEADER_STRUCT))
#define MSGQ_NULL_QUEUE_ID ((_queue_id)0)
#define MSGQ_ANY_QUEUE ((_queue_id)0) /* Any queue of the task, where it receives. */
#define MSGQ_FREE_QUEUE 0             /* Any queue that is not open, where one is opened. */
#define MSGQ_FIRST_USER_QUEUE 8       /* The first of those. */
#define MSG_MAX_PRIORITY 0xF

/* CONTROL: the priority, whether it comes before all that are not urgent, and the order of
   bytes. */
#define MSG_HDR_PRIORITY_MASK 0x0F
#define MSG_HDR_URGENT 0x10
#define MSG_DATA_ENDIAN_MASK 0x20
#define MSG_DATA_LITTLE_ENDIAN 0x20
#define MSG_DATA_BIG_ENDIAN 0x00
#define MSG_HDR_ENDIAN_MASK 0x40
#define MSG_HDR_LITTLE_ENDIAN 0x40
#define MSG_HDR_BIG_ENDIAN 0x00

#if PSP_ENDIAN == MQX_LITTLE_ENDIAN
#define MSG_HDR_ENDIAN MSG_HDR_LITTLE_ENDIAN
#define MSG_DATA_ENDIAN MSG_DATA_LITTLE_ENDIAN
#define MSG_SET_DATA_ENDIAN(control) ((control) |= MSG_DATA_ENDIAN_MASK)
#else
#define MSG_HDR_ENDIAN MSG_HDR_BIG_ENDIAN
#define MSG_DATA_ENDIAN MSG_DATA_BIG_ENDIAN
#define MSG_SET_DATA_ENDIAN(control) ((control) &= ~MSG_DATA_ENDIAN_MASK)
#endif

#define MSG_IS_HDR_LITTLE_ENDIAN(control) \
    (((control) & MSG_HDR_ENDIAN_MASK) == MSG_HDR_LITTLE_ENDIAN)
#define MSG_IS_HDR_BIG_ENDIAN(control) (((control) & MSG_HDR_ENDIAN_MASK) == MSG_HDR_BIG_ENDIAN)
#define MSG_IS_DATA_LITTLE_ENDIAN(control) \
    (((control) & MSG_DATA_ENDIAN_MASK) == MSG_DATA_LITTLE_ENDIAN)
#define MSG_IS_DATA_BIG_ENDIAN(control) (((control) & MSG_DATA_ENDIAN_MASK) == MSG_DATA_BIG_ENDIAN)
#define MSG_MUST_CONVERT_HDR_ENDIAN(control) (((control) & MSG_HDR_ENDIAN_MASK) != MSG_HDR_ENDIAN)
#define MSG_MUST_CONVERT_DATA_ENDIAN(control) \
    (((control) & MSG_DATA_ENDIAN_MASK) != MSG_DATA_ENDIAN)

/* Task error codes. */
#define MSGPOOL_OUT_OF_MESSAGES (MSG_ERROR_BASE | 0x01)
#define MSGPOOL_OUT_OF_POOLS (MSG_ERROR_BASE | 0x02)
#define MSGPOOL_INVALID_POOL_ID (MSG_ERROR_BASE | 0x03)
#define MSGPOOL_ALL_MESSAGES_NOT_FREE (MSG_ERROR_BASE | 0x04)
#define MSGPOOL_MESSAGE_SIZE_TOO_SMALL (MSG_ERROR_BASE | 0x05)
#define MSGPOOL_POOL_NOT_CREATED (MSG_ERROR_BASE | 0x06)
#define MSGQ_INVALID_QUEUE_ID (MSG_ERROR_BASE | 0x10)
#define MSGQ_QUEUE_IN_USE (MSG_ERROR_BASE | 0x11)
#define MSGQ_NOT_QUEUE_OWNER (MSG_ERROR_BASE | 0x12)
#define MSGQ_QUEUE_IS_NOT_OPEN (MSG_ERROR_BASE | 0x13)
#define MSGQ_MESSAGE_NOT_AVAILABLE (MSG_ERROR_BASE | 0x14)
#define MSGQ_INVALID_MESSAGE_PRIORITY (MSG_ERROR_BASE | 0x15)
#define MSGQ_INVALID_MESSAGE (MSG_ERROR_BASE | 0x16)
#define MSGQ_QUEUE_FULL (MSG_ERROR_BASE | 0x17)
#define MSGQ_RECEIVE_TIMEOUT (MSG_ERROR_BASE | 0x18)
#define MSGQ_TOO_MANY_QUEUES (MSG_ERROR_BASE | 0x19)
#define MSGQ_MESSAGE_IS_QUEUED (MSG_ERROR_BASE | 0x1A)
#define MSGQ_INVALID_QUEUE_NUMBER (MSG_ERROR_BASE | 0x1B)
#define MSG_CANNOT_CREATE_COMPONENT (MSG_ERROR_BASE | 0x20)

#ifdef __cplusplus
extern "C" {
#endif

/* The component. Making a pool or opening a queue creates it as well. */
_mqx_uint _msg_create_component(void);

/* Pools. The size of a pool's messages counts their header. */
_pool_id _msgpool_create(uint16_t message_size, uint16_t num_messages, uint16_t grow_number,
                         uint16_t grow_limit);
bool _msgpool_create_system(uint16_t message_size, uint16_t num_messages, uint16_t grow_number,
                            uint16_t grow_limit);
_mqx_uint _msgpool_destroy(_pool_id pool);

/* Messages. */
void *_msg_alloc(_pool_id pool);
void *_msg_alloc_system(_msg_size message_size);
void _msg_free(void *message);
_mqx_uint _msg_available(_pool_id pool);
void _msg_swap_endian_data(unsigned char *definition, MESSAGE_HEADER_STRUCT_PTR message);
void _msg_swap_endian_header(MESSAGE_HEADER_STRUCT_PTR message);

/* Queues. */
_queue_id _msgq_open(_queue_number queue, uint16_t max_queue_size);
_queue_id _msgq_open_system(_queue_number queue, uint16_t max_queue_size,
                            MSGQ_NOTIFICATION_FPTR function, void *data);
bool _msgq_close(_queue_id queue);
_mqx_uint _msgq_get_count(_queue_id queue);
_queue_id _msgq_get_id(_processor_number processor, _queue_number queue);
_task_id _msgq_get_owner(_queue_id queue);
MSGQ_NOTIFICATION_FPTR _msgq_set_notification_function(_queue_id queue,
                                                       MSGQ_NOTIFICATION_FPTR function,
                                                       void *data);
_mqx_uint _msgq_get_notification_function(_queue_id queue, MSGQ_NOTIFICATION_FPTR *function,
                                          void **data);
_mqx_uint _msgq_test(void **queue_error, void **message_error);

/* Sending and receiving. Times are milliseconds or ticks; 0 is for ever. */
bool _msgq_send(void *message);
bool _msgq_send_priority(void *message, _mqx_uint priority);
bool _msgq_send_urgent(void *message);
bool _msgq_send_queue(void *message, _queue_id queue);
_mqx_uint _msgq_send_broadcast(void *message, _queue_id *queues, _pool_id pool);
void *_msgq_receive(_queue_id queue, uint32_t milliseconds);
void *_msgq_receive_ticks(_queue_id queue, _mqx_uint ticks);
void *_msgq_poll(_queue_id queue);
void *_msgq_peek(_queue_id queue);

#ifdef __cplusplus
}
#endif

#endif
