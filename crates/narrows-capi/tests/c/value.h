/* One value over a channel, whatever its type, for what the two types have in common. */
#ifndef VALUE_H
#define VALUE_H

#include "check.h"

static const kind_t *const kinds[] = {&packets, &scalars};

/* One value over a channel of either type. */
static inline mcapi_status_t send_one(const kind_t *kind, mcapi_uint32_t handle, mcapi_uint32_t value)
{
    mcapi_status_t status;
    if (kind == &packets)
        mcapi_pktchan_send(handle, &value, sizeof value, &status);
    else
        mcapi_sclchan_send_uint32(handle, value, &status);
    return status;
}

static inline mcapi_status_t recv_one(const kind_t *kind, mcapi_uint32_t handle, mcapi_uint32_t *value)
{
    mcapi_status_t status, released;
    void *packet;
    size_t size;
    if (kind == &scalars) {
        *value = mcapi_sclchan_recv_uint32(handle, &status);
        return status;
    }
    mcapi_pktchan_recv(handle, &packet, &size, &status);
    if (status == MCAPI_SUCCESS) {
        memcpy(value, packet, sizeof *value);
        mcapi_pktchan_release(packet, &released);
        EXPECT_IS(MCAPI_SUCCESS, released);
    }
    return status;
}

/* Endpoints 1 and 2 of node 1, which it has got itself. */
static inline void two(mcapi_endpoint_t *a, mcapi_endpoint_t *b)
{
    *a = create(1);
    *b = create(2);
    get(1, 1);
    get(1, 2);
    set_uint(*a, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
    set_uint(*b, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
}

#endif
