/* Endpoints that are passed on in a message: they are used without being got. */
#include "value.h"

enum { SERVED, GONE, LEFT };

/* Node 1 knows nobody, and answers whom it is told of. */
static void is_told(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t own, told[2];
    mcapi_request_t request;
    mcapi_uint32_t send;
    size_t size;
    unsigned value = 77;
    initialize(1);
    own = create(1);
    set_uint(own, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
    mcapi_msg_recv(own, told, sizeof told, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == sizeof told);
    /* Each call that an endpoint can be used in. */
    mcapi_msg_send(own, told[0], &value, sizeof value, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    value = 78;
    mcapi_msg_send_i(own, told[1], &value, sizeof value, 0, &request, &status);
    EXPECT_IS(MCAPI_SUCCESS, end_of_call(&request, status));
    mcapi_msg_recv(own, told, sizeof told, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(get_uint(told[0], MCAPI_ENDP_ATTR_TIMEOUT) == 12345);
    mcapi_msg_recv(own, told, sizeof told, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, own, told[0]));
    send = open_send(&scalars, own);
    EXPECT_IS(MCAPI_SUCCESS, send_one(&scalars, send, 79));
    EXPECT_IS(MCAPI_SUCCESS, close_send(&scalars, send));
    /* It was not got, so there is nothing to give back. */
    mcapi_endpoint_release(told[0], &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    /* It was deleted and made again before it was passed on once more. */
    mcapi_msg_recv(own, told, sizeof told, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_send(own, told[1], &value, sizeof value, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    post(SERVED);
    serve(GONE);
    serve_once();
    /* Of what is no more nothing becomes, whether it was used before or not. */
    mcapi_msg_send(own, told[1], &value, sizeof value, 0, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    mcapi_msg_send_i(own, told[1] - 100, &value, sizeof value, 0, &request, &status);
    EXPECT_IS(MCAPI_ERR_ENDP_INVALID, end_of_call(&request, status));
    mcapi_endpoint_get_attribute(told[1] - 100, MCAPI_ENDP_ATTR_PRIORITY, &value, sizeof value,
                                 &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    EXPECT_IS(MCAPI_ERR_ENDP_INVALID, connect_ends(&packets, own, told[1] - 100));
    post(LEFT);
    finalize();
}

static unsigned receive_number(mcapi_endpoint_t own)
{
    mcapi_status_t status;
    unsigned value = 0;
    size_t size;
    mcapi_msg_recv(own, &value, sizeof value, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == sizeof value);
    return value;
}

static void tells(mcapi_endpoint_t from, mcapi_endpoint_t to, const mcapi_endpoint_t own[3])
{
    mcapi_status_t status;
    mcapi_msg_send(from, to, own, 2 * sizeof *own, 0, &status);
    EXPECT(MCAPI_SUCCESS);
}

static void tells_of(void)
{
    mcapi_endpoint_t own[3], there;
    mcapi_uint32_t receive, value = 0;
    mcapi_status_t status;
    initialize(2);
    /* Any port: nobody could get these but by their number. */
    own[0] = create(MCAPI_PORT_ANY);
    own[1] = create(MCAPI_PORT_ANY);
    own[2] = create(1);
    there = get(1, 1);
    tells(own[2], there, own);
    CHECK(receive_number(own[0]) == 77);
    CHECK(receive_number(own[1]) == 78);
    set_uint(own[0], MCAPI_ENDP_ATTR_TIMEOUT, 12345);
    tells(own[2], there, own);
    tells(own[2], there, own);
    CHECK(get_uint(own[0], MCAPI_ENDP_ATTR_GET_COUNT) == 0);
    receive = open_recv(&scalars, own[0]);
    EXPECT_IS(MCAPI_SUCCESS, recv_one(&scalars, receive, &value));
    CHECK(value == 79);
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&scalars, receive));
    mcapi_endpoint_delete(own[1], &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(create(own[1] & MCAPI_MAX_PORT) == own[1]);
    tells(own[2], there, own);
    CHECK(receive_number(own[1]) == 78);
    serve(SERVED);
    mcapi_endpoint_delete(own[1], &status);
    EXPECT(MCAPI_SUCCESS);
    post(GONE);
    serve(LEFT);
    finalize();
}

int main(void)
{
    TOGETHER(passed, is_told, tells_of);
    return verdict(1);
}
