/*
 * MQX over Narrows: types and task error codes of MQX, as far as its message component uses them.
 * Names, values and types are MQX's, so that what is written for it compiles. What is there, and
 * what is different, is in docs/MQX.md.
 */
#ifndef NARROWS_MQX_H
#define NARROWS_MQX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define _PTR_ *
#define _CODE_PTR_ *

/* Types of MQX up to version 4.0, beside those of the standard library, which later ones use. */
typedef int8_t int_8, *int_8_ptr;
typedef uint8_t uint_8, *uint_8_ptr;
typedef int16_t int_16, *int_16_ptr;
typedef uint16_t uint_16, *uint_16_ptr;
typedef int32_t int_32, *int_32_ptr;
typedef uint32_t uint_32, *uint_32_ptr;
typedef int64_t int_64, *int_64_ptr;
typedef uint64_t uint_64, *uint_64_ptr;
typedef unsigned char uchar, *uchar_ptr;
typedef char *char_ptr;
typedef void *pointer;
typedef bool boolean;

typedef int32_t _mqx_int, *_mqx_int_ptr;
typedef uint32_t _mqx_uint, *_mqx_uint_ptr;

typedef uint32_t _task_id; /* A task: its processor and its number there. */
typedef uint16_t _processor_number;

#ifndef FALSE
#define FALSE ((boolean)0)
#endif
#ifndef TRUE
#define TRUE ((boolean)1)
#endif

#define MQX_NULL_TASK_ID ((_task_id)0)
#define MQX_MAX_PROCESSOR_NUMBER ((_processor_number)255)

#define MQX_BIG_ENDIAN 0
#define MQX_LITTLE_ENDIAN 1
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PSP_ENDIAN MQX_BIG_ENDIAN
#else
#define PSP_ENDIAN MQX_LITTLE_ENDIAN
#endif

/* Task error codes. */
#define MQX_OK 0
#define MQX_ERROR_BASE 0x0000
#define MSG_ERROR_BASE (MQX_ERROR_BASE | 0x0700)
#define MQX_INVALID_POINTER (MQX_ERROR_BASE | 0x01)
#define MQX_NOT_RESOURCE_OWNER (MQX_ERROR_BASE | 0x03)
#define MQX_OUT_OF_MEMORY (MQX_ERROR_BASE | 0x04)
#define MQX_INVALID_PARAMETER (MQX_ERROR_BASE | 0x0C)
#define MQX_CANNOT_CALL_FUNCTION_FROM_ISR (MQX_ERROR_BASE | 0x0D)
#define MQX_INVALID_PROCESSOR_NUMBER (MQX_ERROR_BASE | 0x13)
#define MQX_INVALID_CONFIGURATION (MQX_ERROR_BASE | 0x16)
#define MQX_COMPONENT_DOES_NOT_EXIST (MQX_ERROR_BASE | 0x18)

#ifdef __cplusplus
extern "C" {
#endif

/* Tasks: each thread that calls is one. Its code keeps the first error until it is set to
   MQX_OK. */
_task_id _task_get_id(void);
_mqx_uint _task_get_error(void);
_mqx_uint_ptr _task_get_error_ptr(void);
_mqx_uint _task_set_error(_mqx_uint error);

#define _task_errno (*_task_get_error_ptr())

#ifdef __cplusplus
}
#endif

#endif
