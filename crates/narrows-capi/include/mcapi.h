/*
 * The Multicore Communications API, version 2.015, over Narrows. Names, values and types are the
 * standard's. What each function does, with every status, is in docs/MCAPI.md.
 */
#ifndef MCAPI_H
#define MCAPI_H

#include <stddef.h>

#include "mca.h"
#include "mcapi_impl_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef mca_int_t mcapi_int_t;
typedef mca_int8_t mcapi_int8_t;
typedef mca_int16_t mcapi_int16_t;
typedef mca_int32_t mcapi_int32_t;
typedef mca_int64_t mcapi_int64_t;
typedef mca_uint_t mcapi_uint_t;
typedef mca_uint8_t mcapi_uint8_t;
typedef mca_uint16_t mcapi_uint16_t;
typedef mca_uint32_t mcapi_uint32_t;
typedef mca_uint64_t mcapi_uint64_t;
typedef mca_boolean_t mcapi_boolean_t;
typedef mca_domain_t mcapi_domain_t;
typedef mca_node_t mcapi_node_t;
typedef unsigned int mcapi_port_t;
typedef mca_status_t mcapi_status_t;
typedef mca_timeout_t mcapi_timeout_t;
typedef unsigned int mcapi_priority_t;

#define MCAPI_VERSION 2015

#define MCAPI_TRUE MCA_TRUE
#define MCAPI_FALSE MCA_FALSE
#define MCAPI_NULL MCA_NULL
#define MCAPI_PORT_ANY (~0u)
#define MCAPI_TIMEOUT_INFINITE (~0u)
#define MCAPI_TIMEOUT_IMMEDIATE 0u
#define MCAPI_INFINITE MCAPI_TIMEOUT_INFINITE
#define MCAPI_NODE_INVALID (~0u)
#define MCAPI_DOMAIN_INVALID (~0u)
#define MCAPI_RETURN_VALUE_INVALID (~0u)
#define MCAPI_MAX_STATUS_MSG_LEN 32
#define MCAPI_MAX_STATUS_SIZE MCAPI_MAX_STATUS_MSG_LEN

enum mcapi_status_codes {
    MCAPI_SUCCESS = 1,
    MCAPI_PENDING = 2,
    MCAPI_TIMEOUT = 3,
    MCAPI_ERR_PARAMETER = 4,
    MCAPI_ERR_DOMAIN_INVALID = 5,
    MCAPI_ERR_NODE_INVALID = 6,
    MCAPI_ERR_NODE_INITFAILED = 7,
    MCAPI_ERR_NODE_INITIALIZED = 8,
    MCAPI_ERR_NODE_NOTINIT = 9,
    MCAPI_ERR_NODE_FINALFAILED = 10,
    MCAPI_ERR_PORT_INVALID = 11,
    MCAPI_ERR_ENDP_INVALID = 12,
    MCAPI_ERR_ENDP_EXISTS = 13,
    MCAPI_ERR_ENDP_GET_LIMIT = 14,
    MCAPI_ERR_ENDP_NOTOWNER = 15,
    MCAPI_ERR_ENDP_REMOTE = 16,
    MCAPI_ERR_ATTR_INCOMPATIBLE = 17,
    MCAPI_ERR_ATTR_SIZE = 18,
    MCAPI_ERR_ATTR_NUM = 19,
    MCAPI_ERR_ATTR_VALUE = 20,
    MCAPI_ERR_ATTR_NOTSUPPORTED = 21,
    MCAPI_ERR_ATTR_READONLY = 22,
    MCAPI_ERR_MSG_SIZE = 23,
    MCAPI_ERR_MSG_TRUNCATED = 24,
    MCAPI_ERR_CHAN_OPEN = 25,
    MCAPI_ERR_CHAN_TYPE = 26,
    MCAPI_ERR_CHAN_DIRECTION = 27,
    MCAPI_ERR_CHAN_CONNECTED = 28,
    MCAPI_ERR_CHAN_OPENPENDING = 29,
    MCAPI_ERR_CHAN_CLOSEPENDING = 30,
    MCAPI_ERR_CHAN_NOTOPEN = 31,
    MCAPI_ERR_CHAN_INVALID = 32,
    MCAPI_ERR_PKT_SIZE = 33,
    MCAPI_ERR_TRANSMISSION = 34,
    MCAPI_ERR_PRIORITY = 35,
    MCAPI_ERR_BUF_INVALID = 36,
    MCAPI_ERR_MEM_LIMIT = 37,
    MCAPI_ERR_REQUEST_INVALID = 38,
    MCAPI_ERR_REQUEST_LIMIT = 39,
    MCAPI_ERR_REQUEST_CANCELLED = 40,
    MCAPI_ERR_WAIT_PENDING = 41,
    MCAPI_ERR_GENERAL = 42,
    /* Not in every header of the field. */
    MCAPI_ERR_SCL_SIZE = 43,
    MCAPI_ERR_ENDP_DELETED = 44,
    MCAPI_ERR_ENDP_LIMIT = 45,
    MCAPI_ERR_ENDP_NOPORTS = 46,
    MCAPI_STATUSCODE_END = 47
};

/* Other spellings of the same. */
#define MCAPI_ERR_MSG_LIMIT MCAPI_ERR_MSG_SIZE
#define MCAPI_ERR_PKT_LIMIT MCAPI_ERR_PKT_SIZE
#define MCAPI_ERR_REQUEST_CANCELED MCAPI_ERR_REQUEST_CANCELLED

enum mcapi_node_attribute_numbers {
    MCAPI_NODE_ATTR_TYPE,
    MCAPI_NODE_ATTR_END
};

typedef mcapi_uint_t mcapi_node_attr_type_t;

enum mcapi_node_attribute_types {
    MCAPI_NODE_ATTR_TYPE_REGULAR,
    MCAPI_NODE_ATTR_TYPE_END
};

/* "Compatible": two endpoints that are to be connected must have the same value. */
enum mcapi_endp_attribute_numbers {
    MCAPI_ENDP_ATTR_TYPE,
    MCAPI_ENDP_ATTR_GET_COUNT,
    MCAPI_ENDP_ATTR_GET_SOURCE,
    MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, /* compatible */
    MCAPI_ENDP_ATTR_BUFFER_TYPE,      /* compatible */
    MCAPI_ENDP_ATTR_MEMORY_TYPE,      /* compatible */
    MCAPI_ENDP_ATTR_NUM_PRIORITIES,   /* compatible */
    MCAPI_ENDP_ATTR_PRIORITY,         /* compatible */
    MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS,
    MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS,
    MCAPI_ENDP_ATTR_STATUS,
    MCAPI_ENDP_ATTR_TIMEOUT,
    MCAPI_ENDP_ATTR_END
};
#define MCAPI_ENDP_ATTR_ENDP_STATUS MCAPI_ENDP_ATTR_STATUS

typedef mcapi_uint_t mcapi_endp_attr_type_t;
#define MCAPI_ENDP_ATTR_TYPE_MESSAGE 0x00000001
#define MCAPI_ENDP_ATTR_TYPE_PKTCHAN 0x00000002
#define MCAPI_ENDP_ATTR_TYPE_SCLCHAN 0x00000004

typedef mcapi_uint_t mcapi_endp_attr_get_count_t;

typedef struct {
    mcapi_domain_t domain_id;
    mcapi_node_t node_id;
} mcapi_endp_attr_get_source_t;

typedef mcapi_int_t mcapi_endp_attr_max_payload_size_t;

typedef mcapi_uint_t mcapi_endp_attr_buffer_type_t;
enum mcapi_buffer_type {
    MCAPI_ENDP_ATTR_FIFO_BUFFER
};

/* Where the memory is in the lower two bytes, what to do when there is none left in the upper. */
typedef mcapi_uint_t mcapi_endp_attr_memory_type_t;
enum mcapi_memory_type {
    MCAPI_ENDP_ATTR_LOCAL_MEMORY,
    MCAPI_ENDP_ATTR_SHARED_MEMORY,
    MCAPI_ENDP_ATTR_REMOTE_MEMORY
};
#define MCAPI_ENDP_ATTR_BLOCK_ON_MEM_LIMIT 0x00000000
#define MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT 0x00010000

typedef mcapi_int_t mcapi_endp_attr_num_priorities_t;
typedef mcapi_uint_t mcapi_endp_attr_priority_t;
typedef mcapi_int_t mcapi_endp_attr_num_send_buffers_t;
typedef mcapi_uint_t mcapi_endp_attr_num_recv_buffers_t;

typedef mcapi_uint_t mcapi_endp_attr_status_t;
#define MCAPI_ENDP_ATTR_STATUS_CONNECTED 0x00000001
#define MCAPI_ENDP_ATTR_STATUS_OPEN 0x00000002
#define MCAPI_ENDP_ATTR_STATUS_OPEN_PENDING 0x00000004
#define MCAPI_ENDP_ATTR_STATUS_CLOSE_PENDING 0x00000008
#define MCAPI_ENDP_ATTR_STATUS_PKTCHAN 0x00000010
#define MCAPI_ENDP_ATTR_STATUS_SCLCHAN 0x00000020
#define MCAPI_ENDP_ATTR_STATUS_SEND 0x00000040
#define MCAPI_ENDP_ATTR_STATUS_RECEIVE 0x00000080
#define MCAPI_ENDP_ATTR_STATUS_GET_PENDING 0x00000100

typedef mcapi_timeout_t mcapi_endp_attr_timeout_t;

#define MCAPI_MAX_NUM_ENDP_ATTRS_MCA 64
#define MCAPI_MAX_NUM_ENDP_ATTRS_OTHER 32
#define mcapi_start_endp_attribute(x) \
    (MCAPI_MAX_NUM_ENDP_ATTRS_MCA + (x) * MCAPI_MAX_NUM_ENDP_ATTRS_OTHER)
#define mcapi_end_endp_attribute(x) \
    (MCAPI_MAX_NUM_ENDP_ATTRS_MCA + ((x) + 1) * MCAPI_MAX_NUM_ENDP_ATTRS_OTHER)

/* The last three digits of mcapi_version are the minor number, as in MCAPI_VERSION. */
typedef struct {
    mcapi_uint_t mcapi_version;
    mcapi_uint_t organization_id;
    mcapi_uint_t implementation_version;
    mcapi_uint_t number_of_domains;
    mcapi_uint_t number_of_nodes;
    mcapi_uint_t number_of_ports;
    impl_info_t impl_info;
} mcapi_info_t;

/* For buffers of programs that align them; no call needs that. */
#ifndef MCAPI_DECL_ALIGNED
#define MCAPI_DECL_ALIGNED MCA_DECL_ALIGNED
#endif
#ifndef MCAPI_BUF_ALIGN
#define MCAPI_BUF_ALIGN 64
#endif

#ifndef MCAPI_IN
#define MCAPI_IN const
#endif
#ifndef MCAPI_OUT
#define MCAPI_OUT
#endif

/* Nodes */

void mcapi_initialize(MCAPI_IN mcapi_domain_t domain_id, MCAPI_IN mcapi_node_t node_id,
                      MCAPI_IN mcapi_node_attributes_t *mcapi_node_attributes,
                      MCAPI_IN mcapi_param_t *init_parameters, MCAPI_OUT mcapi_info_t *mcapi_info,
                      MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_finalize(MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_domain_t mcapi_domain_id_get(MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_node_t mcapi_node_id_get(MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_node_init_attributes(MCAPI_OUT mcapi_node_attributes_t *mcapi_node_attributes,
                                MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_node_set_attribute(MCAPI_OUT mcapi_node_attributes_t *mcapi_node_attributes,
                              MCAPI_IN mcapi_uint_t attribute_num, MCAPI_IN void *attribute,
                              MCAPI_IN size_t attribute_size,
                              MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_node_get_attribute(MCAPI_IN mcapi_domain_t domain_id, MCAPI_IN mcapi_node_t node_id,
                              MCAPI_IN mcapi_uint_t attribute_num, MCAPI_OUT void *attribute,
                              MCAPI_IN size_t attribute_size,
                              MCAPI_OUT mcapi_status_t *mcapi_status);

/* Endpoints */

mcapi_endpoint_t mcapi_endpoint_create(MCAPI_IN mcapi_port_t port_id,
                                       MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_endpoint_get_i(MCAPI_IN mcapi_domain_t domain_id, MCAPI_IN mcapi_node_t node_id,
                          MCAPI_IN mcapi_port_t port_id, MCAPI_OUT mcapi_endpoint_t *endpoint,
                          MCAPI_OUT mcapi_request_t *request,
                          MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_endpoint_t mcapi_endpoint_get(MCAPI_IN mcapi_domain_t domain_id,
                                    MCAPI_IN mcapi_node_t node_id, MCAPI_IN mcapi_port_t port_id,
                                    MCAPI_IN mcapi_timeout_t timeout,
                                    MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_endpoint_release(MCAPI_IN mcapi_endpoint_t endpoint,
                            MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_endpoint_delete(MCAPI_IN mcapi_endpoint_t endpoint,
                           MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_endpoint_get_attribute(MCAPI_IN mcapi_endpoint_t endpoint,
                                  MCAPI_IN mcapi_uint_t attribute_num, MCAPI_OUT void *attribute,
                                  MCAPI_IN size_t attribute_size,
                                  MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_endpoint_set_attribute(MCAPI_IN mcapi_endpoint_t endpoint,
                                  MCAPI_IN mcapi_uint_t attribute_num,
                                  MCAPI_IN void *attribute, MCAPI_IN size_t attribute_size,
                                  MCAPI_OUT mcapi_status_t *mcapi_status);

/* Messages */

void mcapi_msg_send_i(MCAPI_IN mcapi_endpoint_t send_endpoint,
                      MCAPI_IN mcapi_endpoint_t receive_endpoint, MCAPI_IN void *buffer,
                      MCAPI_IN size_t buffer_size, MCAPI_IN mcapi_priority_t priority,
                      MCAPI_OUT mcapi_request_t *request, MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_msg_send(MCAPI_IN mcapi_endpoint_t send_endpoint,
                    MCAPI_IN mcapi_endpoint_t receive_endpoint, MCAPI_IN void *buffer,
                    MCAPI_IN size_t buffer_size, MCAPI_IN mcapi_priority_t priority,
                    MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_msg_recv_i(MCAPI_IN mcapi_endpoint_t receive_endpoint, MCAPI_OUT void *buffer,
                      MCAPI_IN size_t buffer_size, MCAPI_OUT mcapi_request_t *request,
                      MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_msg_recv(MCAPI_IN mcapi_endpoint_t receive_endpoint, MCAPI_OUT void *buffer,
                    MCAPI_IN size_t buffer_size, MCAPI_OUT size_t *received_size,
                    MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_uint_t mcapi_msg_available(MCAPI_IN mcapi_endpoint_t receive_endpoint,
                                 MCAPI_OUT mcapi_status_t *mcapi_status);

/* Packet channels */

void mcapi_pktchan_connect_i(MCAPI_IN mcapi_endpoint_t send_endpoint,
                             MCAPI_IN mcapi_endpoint_t receive_endpoint,
                             MCAPI_OUT mcapi_request_t *request,
                             MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_pktchan_recv_open_i(MCAPI_OUT mcapi_pktchan_recv_hndl_t *receive_handle,
                               MCAPI_IN mcapi_endpoint_t receive_endpoint,
                               MCAPI_OUT mcapi_request_t *request,
                               MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_pktchan_send_open_i(MCAPI_OUT mcapi_pktchan_send_hndl_t *send_handle,
                               MCAPI_IN mcapi_endpoint_t send_endpoint,
                               MCAPI_OUT mcapi_request_t *request,
                               MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_pktchan_send_i(MCAPI_IN mcapi_pktchan_send_hndl_t send_handle, MCAPI_IN void *buffer,
                          MCAPI_IN size_t size, MCAPI_OUT mcapi_request_t *request,
                          MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_pktchan_send(MCAPI_IN mcapi_pktchan_send_hndl_t send_handle, MCAPI_IN void *buffer,
                        MCAPI_IN size_t size, MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_pktchan_recv_i(MCAPI_IN mcapi_pktchan_recv_hndl_t receive_handle,
                          MCAPI_OUT void **buffer, MCAPI_OUT mcapi_request_t *request,
                          MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_pktchan_recv(MCAPI_IN mcapi_pktchan_recv_hndl_t receive_handle,
                        MCAPI_OUT void **buffer, MCAPI_OUT size_t *received_size,
                        MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_uint_t mcapi_pktchan_available(MCAPI_IN mcapi_pktchan_recv_hndl_t receive_handle,
                                     MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_pktchan_release(MCAPI_IN void *buffer, MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_boolean_t mcapi_pktchan_release_test(MCAPI_IN void *buffer,
                                           MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_pktchan_recv_close_i(MCAPI_IN mcapi_pktchan_recv_hndl_t receive_handle,
                                MCAPI_OUT mcapi_request_t *request,
                                MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_pktchan_send_close_i(MCAPI_IN mcapi_pktchan_send_hndl_t send_handle,
                                MCAPI_OUT mcapi_request_t *request,
                                MCAPI_OUT mcapi_status_t *mcapi_status);

/* Scalar channels */

void mcapi_sclchan_connect_i(MCAPI_IN mcapi_endpoint_t send_endpoint,
                             MCAPI_IN mcapi_endpoint_t receive_endpoint,
                             MCAPI_OUT mcapi_request_t *request,
                             MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_sclchan_recv_open_i(MCAPI_OUT mcapi_sclchan_recv_hndl_t *receive_handle,
                               MCAPI_IN mcapi_endpoint_t receive_endpoint,
                               MCAPI_OUT mcapi_request_t *request,
                               MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_open_i(MCAPI_OUT mcapi_sclchan_send_hndl_t *send_handle,
                               MCAPI_IN mcapi_endpoint_t send_endpoint,
                               MCAPI_OUT mcapi_request_t *request,
                               MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_uint64(MCAPI_IN mcapi_sclchan_send_hndl_t send_handle,
                               MCAPI_IN mcapi_uint64_t dataword,
                               MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_uint32(MCAPI_IN mcapi_sclchan_send_hndl_t send_handle,
                               MCAPI_IN mcapi_uint32_t dataword,
                               MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_uint16(MCAPI_IN mcapi_sclchan_send_hndl_t send_handle,
                               MCAPI_IN mcapi_uint16_t dataword,
                               MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_uint8(MCAPI_IN mcapi_sclchan_send_hndl_t send_handle,
                              MCAPI_IN mcapi_uint8_t dataword,
                              MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_uint64_t mcapi_sclchan_recv_uint64(MCAPI_IN mcapi_sclchan_recv_hndl_t receive_handle,
                                         MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_uint32_t mcapi_sclchan_recv_uint32(MCAPI_IN mcapi_sclchan_recv_hndl_t receive_handle,
                                         MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_uint16_t mcapi_sclchan_recv_uint16(MCAPI_IN mcapi_sclchan_recv_hndl_t receive_handle,
                                         MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_uint8_t mcapi_sclchan_recv_uint8(MCAPI_IN mcapi_sclchan_recv_hndl_t receive_handle,
                                       MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_uint_t mcapi_sclchan_available(MCAPI_IN mcapi_sclchan_recv_hndl_t receive_handle,
                                     MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_sclchan_recv_close_i(MCAPI_IN mcapi_sclchan_recv_hndl_t receive_handle,
                                MCAPI_OUT mcapi_request_t *request,
                                MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_close_i(MCAPI_IN mcapi_sclchan_send_hndl_t send_handle,
                                MCAPI_OUT mcapi_request_t *request,
                                MCAPI_OUT mcapi_status_t *mcapi_status);

/* Requests */

mcapi_boolean_t mcapi_test(mcapi_request_t *request, MCAPI_OUT size_t *size,
                           MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_boolean_t mcapi_wait(mcapi_request_t *request, MCAPI_OUT size_t *size,
                           MCAPI_IN mcapi_timeout_t timeout,
                           MCAPI_OUT mcapi_status_t *mcapi_status);
mcapi_uint_t mcapi_wait_any(MCAPI_IN size_t number, mcapi_request_t **requests,
                            MCAPI_OUT size_t *size, MCAPI_IN mcapi_timeout_t timeout,
                            MCAPI_OUT mcapi_status_t *mcapi_status);
void mcapi_cancel(mcapi_request_t *request, MCAPI_OUT mcapi_status_t *mcapi_status);

/*
 * The name of a status, cut to size - 1 characters. Of a number that no status has, the text is
 * "unknown status", and null is returned.
 */
char *mcapi_display_status(MCAPI_IN mcapi_status_t status, MCAPI_OUT char *status_message,
                           MCAPI_IN size_t size);

#ifdef __cplusplus
}
#endif

#ifdef NARROWS_SIMULATED
#include "mcapi_simulated.h"
#endif

#endif
