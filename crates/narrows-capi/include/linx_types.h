/*
 * Types and numbers of the LINX interface: those that programs for Linux LINX use.
 */
#ifndef LINX_TYPES_H
#define LINX_TYPES_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

typedef int LINX_OSBUFSIZE;      /* Bytes. */
typedef uint32_t LINX_SPID;      /* An endpoint, in the whole domain. */
typedef uint32_t LINX_SIGSELECT; /* A signal's number, or how many follow. */
typedef uint32_t LINX_OSTIME;    /* Milliseconds. */
typedef uint32_t LINX_OSATTREF;  /* An attach. */
typedef uint32_t LINX_OSTMOREF;  /* A timeout that was asked for. */
typedef uint32_t LINX_RLNH;      /* A link. */
typedef uint32_t LINX_NLREF;     /* A request for new links. */
typedef uint32_t LINX_NLTOKEN;   /* The last new link that was told of. */
typedef int LINX_OSBOOLEAN;

typedef struct LINX_IPC LINX;
union LINX_SIGNAL;

#define LINX_FALSE 0
#define LINX_TRUE 1

#define LINX_NIL ((union LINX_SIGNAL *)0)
#define LINX_ILLEGAL_SPID ((LINX_SPID)0)
#define LINX_ILLEGAL_ATTREF ((LINX_OSATTREF)0)
#define LINX_ILLEGAL_TMOREF ((LINX_OSTMOREF)0)
#define LINX_ILLEGAL_RLNH ((LINX_RLNH)0)
#define LINX_ILLEGAL_NLREF ((LINX_NLREF)0)

#define LINX_OS_NEW_LINK_SIG ((LINX_SIGSELECT)248)
#define LINX_OS_TMO_SIG ((LINX_SIGSELECT)249)
#define LINX_OS_LINK_SIG ((LINX_SIGSELECT)250)
#define LINX_OS_HUNT_SIG ((LINX_SIGSELECT)251)
#define LINX_OS_ATTACH_SIG ((LINX_SIGSELECT)252)

/* Options of linx_send_w_opt, and attributes of linx_sigattr. */
#define LINX_SIG_OPT_END 0
#define LINX_SIG_OPT_OOB 1
#define LINX_SIG_ATTR_OOB 1

/* What an endpoint has sent and received. Remote are other computers, which there are none of. */
struct linx_info_stat {
    LINX_SPID spid;
    uint64_t no_sent_local_signals, no_recv_local_signals;
    uint64_t no_sent_local_bytes, no_recv_local_bytes;
    uint64_t no_sent_remote_signals, no_recv_remote_signals;
    uint64_t no_sent_remote_bytes, no_recv_remote_bytes;
    uint64_t no_sent_signals, no_recv_signals;
    uint64_t no_sent_bytes, no_recv_bytes;
    uint64_t no_queued_bytes, no_queued_signals;
};

#endif
