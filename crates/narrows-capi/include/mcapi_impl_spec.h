/* What MCAPI 2.015 leaves to each implementation: types of handles, limits, spellings. */
#ifndef MCAPI_IMPL_SPEC_H
#define MCAPI_IMPL_SPEC_H

#include "mca.h"

/* The same in every process: domain in bits 24 to 31, node in 12 to 23, port in 0 to 11. */
typedef mca_uint32_t mcapi_endpoint_t;
typedef mca_uint32_t mcapi_pktchan_recv_hndl_t;
typedef mca_uint32_t mcapi_pktchan_send_hndl_t;
typedef mca_uint32_t mcapi_sclchan_recv_hndl_t;
typedef mca_uint32_t mcapi_sclchan_send_hndl_t;
typedef mca_uint32_t mcapi_request_t;

/* Not looked at; where nodes meet is said by the environment, see docs/MCAPI.md. */
typedef mca_uint_t mcapi_param_t;

/* Filled by mcapi_node_init_attributes; use mcapi_node_set_attribute to change it. */
typedef struct {
    mca_uint_t type;
    mca_uint_t mark;
} mcapi_node_attributes_t;

/* What mcapi_initialize says beyond the standard. */
typedef struct {
    mca_uint_t max_requests;
    mca_uint_t max_channels; /* from one node to one other */
    mca_uint_t max_links;    /* nodes that one node can deal with at a time */
} impl_info_t;

#define MCAPI_MIN_DOMAIN 0
#define MCAPI_MAX_DOMAIN 255
#define MCAPI_MIN_NODE 0
#define MCAPI_MAX_NODE 4095
#define MCAPI_MIN_PORT 0
#define MCAPI_MAX_PORT 4095
#define MCAPI_NUM_RESERVED_PORTS 0

/* The smallest and the largest number. Priority 0 is the most urgent. */
#define MCAPI_MIN_PRORITY 0
#define MCAPI_MIN_PRIORITY MCAPI_MIN_PRORITY
#define MCAPI_MAX_PRORITY 7
#define MCAPI_MAX_PRIORITY MCAPI_MAX_PRORITY

#define MCAPI_MAX_MESSAGE_SIZE 65536
#define MCAPI_MAX_PACKET_SIZE 65536
#define MCAPI_MAX_MSG_SIZE MCAPI_MAX_MESSAGE_SIZE
#define MCAPI_MAX_PKT_SIZE MCAPI_MAX_PACKET_SIZE

/* Of one node. */
#define MCAPI_MAX_ENDPOINTS 256
#define MCAPI_MAX_REQUESTS 1000
#define MCAPI_MAX_CHANNELS 32
/* Fewer where NARROWS_MCAPI_PEERS says so. */
#define MCAPI_MAX_LINKS 1024
/* Endpoints of other nodes that were got and not released. */
#define MCAPI_MAX_GOT_ENDPOINTS 3072
/* Of one process. */
#define MCAPI_MAX_LOCAL_NODES 16

#endif
