/*
 * Version 1 of the Multicore Communications API over version 2.015, for older programs: include it
 * instead of mcapi.h. All nodes are of domain 0. What functions do, and what they end with, is as
 * in version 2; docs/MCAPI.md says where the two differ.
 */
#ifndef MCAPI_V1_H
#define MCAPI_V1_H

#include "mcapi.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NARROWS_V1 static __inline__
#define NARROWS_V1_OF_THREAD __thread
#else
#define NARROWS_V1 static inline
#define NARROWS_V1_OF_THREAD _Thread_local
#endif

/* The version number that is written is that of mcapi.h. */
typedef mcapi_uint_t mcapi_version_t;

NARROWS_V1 void narrows_v1_initialize(mcapi_node_t node_id, mcapi_version_t *mcapi_version,
                                      mcapi_status_t *mcapi_status)
{
    mcapi_info_t info;
    mcapi_initialize(0, node_id, MCAPI_NULL, MCAPI_NULL, &info, mcapi_status);
    if (mcapi_version && mcapi_status && *mcapi_status == MCAPI_SUCCESS)
        *mcapi_version = info.mcapi_version;
}

NARROWS_V1 void narrows_v1_get_endpoint_i(mcapi_node_t node_id, mcapi_port_t port_id,
                                          mcapi_endpoint_t *endpoint, mcapi_request_t *request,
                                          mcapi_status_t *mcapi_status)
{
    mcapi_endpoint_get_i(0, node_id, port_id, endpoint, request, mcapi_status);
}

NARROWS_V1 mcapi_endpoint_t narrows_v1_get_endpoint(mcapi_node_t node_id, mcapi_port_t port_id,
                                                    mcapi_status_t *mcapi_status)
{
    return mcapi_endpoint_get(0, node_id, port_id, MCAPI_TIMEOUT_INFINITE, mcapi_status);
}

/* In version 1 the status comes before the timeout. */
NARROWS_V1 mcapi_boolean_t narrows_v1_wait(mcapi_request_t *request, size_t *size,
                                           mcapi_status_t *mcapi_status,
                                           mcapi_timeout_t timeout)
{
    return mcapi_wait(request, size, timeout, mcapi_status);
}

NARROWS_V1 mcapi_int_t narrows_v1_wait_any(size_t number, mcapi_request_t **requests,
                                           size_t *size, mcapi_status_t *mcapi_status,
                                           mcapi_timeout_t timeout)
{
    return (mcapi_int_t)mcapi_wait_any(number, requests, size, timeout, mcapi_status);
}

/* The text is the thread's until the next call. */
NARROWS_V1 const char *narrows_v1_display_status(mcapi_status_t status)
{
    static NARROWS_V1_OF_THREAD char text[MCAPI_MAX_STATUS_MSG_LEN];
    mcapi_display_status(status, text, sizeof text);
    return text;
}

#ifdef __cplusplus
}
#endif

/* On a simulated chip these are macros already. */
#undef mcapi_initialize
#undef mcapi_wait
#undef mcapi_wait_any
#undef mcapi_display_status

/* Functions that take something else than in version 2. */
#define mcapi_initialize narrows_v1_initialize
#define mcapi_get_endpoint_i narrows_v1_get_endpoint_i
#define mcapi_get_endpoint narrows_v1_get_endpoint
#define mcapi_wait narrows_v1_wait
#define mcapi_wait_any narrows_v1_wait_any
#define mcapi_display_status narrows_v1_display_status

/* Functions that are called otherwise. */
#define mcapi_get_node_id mcapi_node_id_get
#define mcapi_create_endpoint mcapi_endpoint_create
#define mcapi_delete_endpoint mcapi_endpoint_delete
#define mcapi_get_endpoint_attribute mcapi_endpoint_get_attribute
#define mcapi_set_endpoint_attribute mcapi_endpoint_set_attribute
#define mcapi_connect_pktchan_i mcapi_pktchan_connect_i
#define mcapi_open_pktchan_recv_i mcapi_pktchan_recv_open_i
#define mcapi_open_pktchan_send_i mcapi_pktchan_send_open_i
#define mcapi_packetchan_recv_close_i mcapi_pktchan_recv_close_i
#define mcapi_packetchan_send_close_i mcapi_pktchan_send_close_i
#define mcapi_pktchan_free mcapi_pktchan_release
#define mcapi_connect_sclchan_i mcapi_sclchan_connect_i
#define mcapi_open_sclchan_recv_i mcapi_sclchan_recv_open_i
#define mcapi_open_sclchan_send_i mcapi_sclchan_send_open_i

/* Statuses. Where version 2 has one for several of version 1, a switch over them can have one. */
#define MCAPI_INCOMPLETE MCAPI_PENDING
#define MCAPI_INITIALIZED MCAPI_ERR_NODE_INITIALIZED
#define MCAPI_ENO_INIT MCAPI_ERR_NODE_INITFAILED
#define MCAPI_ENO_FINAL MCAPI_ERR_NODE_FINALFAILED
#define MCAPI_ENODE_NOTINIT MCAPI_ERR_NODE_NOTINIT
#define MCAPI_ENODE_NOTVALID MCAPI_ERR_NODE_INVALID
#define MCAPI_EPORT_NOTVALID MCAPI_ERR_PORT_INVALID
#define MCAPI_EPARAM MCAPI_ERR_PARAMETER
#define MCAPI_ENOT_ENDP MCAPI_ERR_ENDP_INVALID
#define MCAPI_ENO_ENDPOINT MCAPI_ERR_ENDP_INVALID
#define MCAPI_EENDP_ISCREATED MCAPI_ERR_ENDP_EXISTS
#define MCAPI_EENDP_LIMIT MCAPI_ERR_ENDP_LIMIT
#define MCAPI_EEP_NOTALLOWED MCAPI_ERR_ENDP_NOPORTS
#define MCAPI_ENOT_OWNER MCAPI_ERR_ENDP_NOTOWNER
#define MCAPI_EATTR_NUM MCAPI_ERR_ATTR_NUM
#define MCAPI_EATTR_SIZE MCAPI_ERR_ATTR_SIZE
#define MCAPI_EATTR_INCOMP MCAPI_ERR_ATTR_INCOMPATIBLE
#define MCAPI_EREAD_ONLY MCAPI_ERR_ATTR_READONLY
#define MCAPI_EMESS_LIMIT MCAPI_ERR_MSG_SIZE
#define MCAPI_ETRUNCATED MCAPI_ERR_MSG_TRUNCATED
#define MCAPI_EPRIO MCAPI_ERR_PRIORITY
#define MCAPI_ENO_BUFFER MCAPI_ERR_MEM_LIMIT
#define MCAPI_ENO_MEM MCAPI_ERR_MEM_LIMIT
#define MCAPI_ECHAN_OPEN MCAPI_ERR_CHAN_OPEN
#define MCAPI_ECHAN_TYPE MCAPI_ERR_CHAN_TYPE
#define MCAPI_ECONNECTED MCAPI_ERR_CHAN_CONNECTED
#define MCAPI_ENOT_CONNECTED MCAPI_ERR_CHAN_INVALID
#define MCAPI_EDIR MCAPI_ERR_CHAN_DIRECTION
#define MCAPI_ENOT_HANDLE MCAPI_ERR_CHAN_INVALID
#define MCAPI_ENOT_OPEN MCAPI_ERR_CHAN_NOTOPEN
#define MCAPI_EPACK_LIMIT MCAPI_ERR_PKT_SIZE
#define MCAPI_ENOT_VALID_BUF MCAPI_ERR_BUF_INVALID
#define MCAPI_ESCL_SIZE MCAPI_ERR_SCL_SIZE
#define MCAPI_ENO_REQUEST MCAPI_ERR_REQUEST_LIMIT
#define MCAPI_ENOTREQ_HANDLE MCAPI_ERR_REQUEST_INVALID
#define MCAPI_EREQ_CANCELED MCAPI_ERR_REQUEST_CANCELLED
#define MCAPI_EREQ_TIMEOUT MCAPI_TIMEOUT
#define MCAPI_EREQ_PENDING MCAPI_ERR_WAIT_PENDING

#endif
