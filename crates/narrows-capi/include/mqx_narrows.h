/*
 * What MQX has no word for: Narrows' own. docs/MQX.md says what the environment does.
 */
#ifndef NARROWS_MQX_NARROWS_H
#define NARROWS_MQX_NARROWS_H

#include "mqx_message.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Waits until a neighbour is linked with, for so many milliseconds, or for ever if that is 0.
 * MQX_OK, MSGQ_RECEIVE_TIMEOUT, or MQX_INVALID_PROCESSOR_NUMBER if it is no neighbour; or what
 * _msg_create_component returns, which it calls.
 */
_mqx_uint narrows_mqx_wait(_processor_number neighbour, uint32_t milliseconds);

/* Messages that came over links, or were on their way, and that this processor dropped. */
_mqx_uint narrows_mqx_lost(void);

#ifdef __cplusplus
}
#endif

#endif
