/* Scalar channels: four sizes, both directions, order, and sizes that do not agree. */
#include "check.h"

enum { READY, DONE, FILLED };
enum { MANY = 20000 };

static void loop(mcapi_sclchan_send_hndl_t *send, mcapi_sclchan_recv_hndl_t *receive)
{
    mcapi_endpoint_t a, b;
    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 1);
    get(1, 2);
    set_uint(b, MCAPI_ENDP_ATTR_TIMEOUT, SOON);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, a, b));
    *send = open_send(&scalars, a);
    *receive = open_recv(&scalars, b);
}

static const mcapi_uint64_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0x1234, 0xffff, 0x12345678,
                                        0xffffffff, 0x123456789abcdef0, 0xffffffffffffffff};
enum { VALUES = sizeof values / sizeof *values };

/* Every size and value there and back, each way over a channel of its own. */
static void exchange(mcapi_node_t here, mcapi_node_t there, int first)
{
    mcapi_status_t status;
    mcapi_endpoint_t from, to;
    mcapi_sclchan_send_hndl_t send;
    mcapi_sclchan_recv_hndl_t receive;
    mcapi_request_t requests[2];
    size_t i;
    int turn;

    initialize(here);
    from = create(0);
    to = create(1);
    get(here, 0);
    scalars.open_recv(&receive, to, &requests[0], &status);
    CHECK(status == MCAPI_PENDING || status == MCAPI_SUCCESS);
    scalars.open_send(&send, from, &requests[1], &status);
    CHECK(status == MCAPI_PENDING || status == MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, from, get(there, 1)));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[1]));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[0]));
    for (i = 0; i < VALUES; i++) {
        mcapi_uint64_t v = values[i];
        for (turn = 0; turn < 2; turn++) {
            if (turn == first) {
                mcapi_sclchan_send_uint8(send, (mcapi_uint8_t)v, &status);
                EXPECT(MCAPI_SUCCESS);
                mcapi_sclchan_send_uint16(send, (mcapi_uint16_t)v, &status);
                EXPECT(MCAPI_SUCCESS);
                mcapi_sclchan_send_uint32(send, (mcapi_uint32_t)v, &status);
                EXPECT(MCAPI_SUCCESS);
                mcapi_sclchan_send_uint64(send, v, &status);
                EXPECT(MCAPI_SUCCESS);
            } else {
                CHECK(mcapi_sclchan_recv_uint8(receive, &status) == (mcapi_uint8_t)v);
                EXPECT(MCAPI_SUCCESS);
                CHECK(mcapi_sclchan_recv_uint16(receive, &status) == (mcapi_uint16_t)v);
                EXPECT(MCAPI_SUCCESS);
                CHECK(mcapi_sclchan_recv_uint32(receive, &status) == (mcapi_uint32_t)v);
                EXPECT(MCAPI_SUCCESS);
                CHECK(mcapi_sclchan_recv_uint64(receive, &status) == v);
                EXPECT(MCAPI_SUCCESS);
            }
        }
    }
    EXPECT_IS(MCAPI_SUCCESS, close_send(&scalars, send));
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&scalars, receive));
    finalize();
}

static void exchange_1(void)
{
    exchange(1, 2, 0);
}

static void exchange_2(void)
{
    exchange(2, 1, 1);
}

static void send_size(mcapi_sclchan_send_hndl_t send, int size, mcapi_uint64_t value)
{
    mcapi_status_t status;
    switch (size) {
    case 0:
        mcapi_sclchan_send_uint8(send, (mcapi_uint8_t)value, &status);
        break;
    case 1:
        mcapi_sclchan_send_uint16(send, (mcapi_uint16_t)value, &status);
        break;
    case 2:
        mcapi_sclchan_send_uint32(send, (mcapi_uint32_t)value, &status);
        break;
    default:
        mcapi_sclchan_send_uint64(send, value, &status);
    }
    EXPECT(MCAPI_SUCCESS);
}

static mcapi_uint64_t recv_size(mcapi_sclchan_recv_hndl_t receive, int size,
                                mcapi_status_t *status)
{
    switch (size) {
    case 0:
        return mcapi_sclchan_recv_uint8(receive, status);
    case 1:
        return mcapi_sclchan_recv_uint16(receive, status);
    case 2:
        return mcapi_sclchan_recv_uint32(receive, status);
    default:
        return mcapi_sclchan_recv_uint64(receive, status);
    }
}

/* A receive of another size leaves the scalar where it is. */
static void sizes_agree(void)
{
    mcapi_status_t status;
    mcapi_sclchan_send_hndl_t send;
    mcapi_sclchan_recv_hndl_t receive;
    int sent, wanted;

    loop(&send, &receive);
    for (sent = 0; sent < 4; sent++) {
        send_size(send, sent, 0x5a);
        send_size(send, (sent + 1) % 4, 0x5b);
        for (wanted = 0; wanted < 4; wanted++)
            if (wanted != sent) {
                recv_size(receive, wanted, &status);
                EXPECT(MCAPI_ERR_SCL_SIZE);
            }
        CHECK(recv_size(receive, sent, &status) == 0x5a);
        EXPECT(MCAPI_SUCCESS);
        recv_size(receive, sent, &status);
        EXPECT(MCAPI_ERR_SCL_SIZE);
        CHECK(mcapi_sclchan_available(receive, &status) == 1);
        CHECK(recv_size(receive, (sent + 1) % 4, &status) == 0x5b);
        EXPECT(MCAPI_SUCCESS);
    }
    finalize();
}

static void available(void)
{
    mcapi_status_t status;
    mcapi_sclchan_send_hndl_t send;
    mcapi_sclchan_recv_hndl_t receive;
    mcapi_uint_t i;

    loop(&send, &receive);
    CHECK(mcapi_sclchan_available(receive, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    for (i = 1; i <= 10; i++) {
        send_size(send, (int)i % 4, i);
        while (mcapi_sclchan_available(receive, &status) < i)
            EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_sclchan_available(receive, &status) == i);
    }
    for (i = 1; i <= 10; i++) {
        CHECK(recv_size(receive, (int)i % 4, &status) == i);
        EXPECT(MCAPI_SUCCESS);
        CHECK(mcapi_sclchan_available(receive, &status) == 10 - i);
    }
    CHECK(mcapi_sclchan_available(send, &status) == 0);
    EXPECT(MCAPI_ERR_CHAN_INVALID);
    finalize();
}

/* No room: the send ends at its timeout, and what was sent comes in order. */
static void holds(void)
{
    mcapi_status_t status;
    mcapi_sclchan_recv_hndl_t receive;
    mcapi_uint_t i, count;

    initialize(1);
    receive = open_recv(&scalars, create(1));
    post(READY);
    serve(FILLED);
    count = look(FILLED);
    for (i = 0; i < count; i++) {
        CHECK(mcapi_sclchan_recv_uint32(receive, &status) == i);
        EXPECT(MCAPI_SUCCESS);
    }
    CHECK(mcapi_sclchan_recv_uint32(receive, &status) == ~0u);
    EXPECT(MCAPI_SUCCESS);
    post(DONE);
    finalize();
}

static void fills(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from;
    mcapi_sclchan_send_hndl_t send;
    mcapi_uint_t sent = 0;

    initialize(2);
    from = create(1);
    get(2, 1);
    set_uint(from, MCAPI_ENDP_ATTR_TIMEOUT, BRIEFLY);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, from, get(1, 1)));
    send = open_send(&scalars, from);
    serve(READY);
    for (;;) {
        mcapi_sclchan_send_uint32(send, sent, &status);
        if (status == MCAPI_TIMEOUT)
            break;
        EXPECT(MCAPI_SUCCESS);
        sent++;
        CHECK(sent < 1000000);
    }
    CHECK(sent > 0);
    put(FILLED, sent);
    do
        mcapi_sclchan_send_uint32(send, ~0u, &status);
    while (status == MCAPI_TIMEOUT);
    EXPECT(MCAPI_SUCCESS);
    serve(DONE);
    finalize();
}

static void takes_all(void)
{
    mcapi_status_t status;
    mcapi_sclchan_recv_hndl_t receive;
    mcapi_uint64_t i;
    initialize(1);
    receive = open_recv(&scalars, create(1));
    for (i = 0; i < MANY; i++) {
        CHECK(mcapi_sclchan_recv_uint64(receive, &status) == i * i);
        EXPECT(MCAPI_SUCCESS);
    }
    mcapi_sclchan_recv_uint64(receive, &status);
    EXPECT(MCAPI_ERR_CHAN_CLOSEPENDING);
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&scalars, receive));
    finalize();
}

static void sends_all(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from;
    mcapi_sclchan_send_hndl_t send;
    mcapi_uint64_t i;
    initialize(2);
    from = create(1);
    get(2, 1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, from, get(1, 1)));
    send = open_send(&scalars, from);
    for (i = 0; i < MANY; i++) {
        mcapi_sclchan_send_uint64(send, i * i, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    EXPECT_IS(MCAPI_SUCCESS, close_send(&scalars, send));
    finalize();
}

int main(void)
{
    TOGETHER(all_sizes, exchange_1, exchange_2);
    ALONE(sizes_agree);
    ALONE(available);
    TOGETHER(full, holds, fills);
    TOGETHER(stream, takes_all, sends_all);
    return verdict(5);
}
