/*
 * Types and numbers of the LINX interface: those that programs for Linux LINX use.
 */
#ifndef LINX_TYPES_H
#define LINX_TYPES_H

#include <stdint.h>

typedef int LINX_OSBUFSIZE;      /* Bytes. */
typedef uint32_t LINX_SPID;      /* An endpoint, as this node numbers it. */
typedef uint32_t LINX_SIGSELECT; /* A signal's number, or how many follow. */
typedef uint32_t LINX_OSTIME;    /* Milliseconds. */
typedef uint32_t LINX_OSATTREF;  /* An attach. */
typedef uint32_t LINX_OSTMOREF;  /* A timeout that was asked for. */
typedef int LINX_OSBOOLEAN;

typedef struct LINX_IPC LINX;
union LINX_SIGNAL;

#define LINX_FALSE 0
#define LINX_TRUE 1

#define LINX_NIL ((union LINX_SIGNAL *)0)
#define LINX_ILLEGAL_SPID ((LINX_SPID)0)
#define LINX_ILLEGAL_ATTREF ((LINX_OSATTREF)0)
#define LINX_ILLEGAL_TMOREF ((LINX_OSTMOREF)0)

#define LINX_OS_TMO_SIG ((LINX_SIGSELECT)249)
#define LINX_OS_HUNT_SIG ((LINX_SIGSELECT)251)
#define LINX_OS_ATTACH_SIG ((LINX_SIGSELECT)252)

#endif
