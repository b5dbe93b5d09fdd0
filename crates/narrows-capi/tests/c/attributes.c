/* Endpoint attributes: every number, every error, and what each one does. */
#include "check.h"

enum { READY, GOT, DONE, MADE };

static mcapi_endpoint_t end_point;

static mcapi_status_t read_as(mcapi_uint_t number, size_t size)
{
    mcapi_status_t status;
    char room[64];
    mcapi_endpoint_get_attribute(end_point, number, room, size, &status);
    return status;
}

static mcapi_status_t write_as(mcapi_uint_t number, mcapi_uint_t value, size_t size)
{
    mcapi_status_t status;
    mcapi_uint_t room[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    room[0] = value;
    mcapi_endpoint_set_attribute(end_point, number, room, size, &status);
    return status;
}

static void table(void)
{
    static const struct {
        mcapi_uint_t number;
        int set;
        mcapi_uint_t initial, other, wrong;
    } rows[] = {
        {MCAPI_ENDP_ATTR_TYPE, 1, MCAPI_ENDP_ATTR_TYPE_MESSAGE, MCAPI_ENDP_ATTR_TYPE_PKTCHAN, 3},
        {MCAPI_ENDP_ATTR_GET_COUNT, 0, 0, 0, 0},
        {MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, 1, 65536, 1, 0},
        {MCAPI_ENDP_ATTR_BUFFER_TYPE, 1, MCAPI_ENDP_ATTR_FIFO_BUFFER, MCAPI_ENDP_ATTR_FIFO_BUFFER,
         1},
        {MCAPI_ENDP_ATTR_MEMORY_TYPE, 1, MCAPI_ENDP_ATTR_LOCAL_MEMORY,
         MCAPI_ENDP_ATTR_LOCAL_MEMORY | MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT,
         MCAPI_ENDP_ATTR_REMOTE_MEMORY},
        {MCAPI_ENDP_ATTR_NUM_PRIORITIES, 0, 8, 0, 0},
        {MCAPI_ENDP_ATTR_PRIORITY, 1, 0, 7, 8},
        {MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS, 0, 128, 0, 0},
        {MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS, 0, 512, 0, 0},
        {MCAPI_ENDP_ATTR_STATUS, 0, 0, 0, 0},
        {MCAPI_ENDP_ATTR_TIMEOUT, 1, MCAPI_TIMEOUT_INFINITE, 0, 0},
    };
    mcapi_status_t status;
    mcapi_endp_attr_get_source_t source = {7, 7};
    size_t i;

    initialize(1);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        mcapi_uint_t number = rows[i].number;
        end_point = create(1);
        CHECK(get_uint(end_point, number) == rows[i].initial);
        EXPECT_IS(MCAPI_ERR_ATTR_SIZE, read_as(number, 3));
        EXPECT_IS(MCAPI_ERR_ATTR_SIZE, read_as(number, 8));
        EXPECT_IS(MCAPI_ERR_ATTR_SIZE, read_as(number, 0));
        if (rows[i].set) {
            EXPECT_IS(MCAPI_ERR_ATTR_SIZE, write_as(number, rows[i].other, 8));
            EXPECT_IS(MCAPI_ERR_ATTR_SIZE, write_as(number, rows[i].wrong, 2));
            CHECK(get_uint(end_point, number) == rows[i].initial);
            set_uint(end_point, number, rows[i].other);
            CHECK(get_uint(end_point, number) == rows[i].other);
            if (number != MCAPI_ENDP_ATTR_TIMEOUT) {
                EXPECT_IS(MCAPI_ERR_ATTR_VALUE, write_as(number, rows[i].wrong, 4));
                EXPECT_IS(MCAPI_ERR_ATTR_VALUE, write_as(number, 0x7fffffff, 4));
                EXPECT_IS(MCAPI_ERR_ATTR_VALUE, write_as(number, ~0u, 4));
            }
            CHECK(get_uint(end_point, number) == rows[i].other);
        } else {
            EXPECT_IS(MCAPI_ERR_ATTR_READONLY, write_as(number, 0, 4));
            EXPECT_IS(MCAPI_ERR_ATTR_READONLY, write_as(number, 0, 3));
        }
        mcapi_endpoint_delete(end_point, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    end_point = create(1);
    mcapi_endpoint_get_attribute(end_point, MCAPI_ENDP_ATTR_GET_SOURCE, &source, sizeof source,
                                 &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(source.domain_id == ~0u && source.node_id == ~0u);
    EXPECT_IS(MCAPI_ERR_ATTR_SIZE, read_as(MCAPI_ENDP_ATTR_GET_SOURCE, 4));
    EXPECT_IS(MCAPI_ERR_ATTR_READONLY, write_as(MCAPI_ENDP_ATTR_GET_SOURCE, 0, sizeof source));
    EXPECT_IS(MCAPI_SUCCESS, write_as(MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, 65536, 4));
    EXPECT_IS(MCAPI_ERR_ATTR_VALUE, write_as(MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, 65537, 4));
    EXPECT_IS(MCAPI_SUCCESS, write_as(MCAPI_ENDP_ATTR_TYPE, MCAPI_ENDP_ATTR_TYPE_SCLCHAN, 4));
    EXPECT_IS(MCAPI_SUCCESS, write_as(MCAPI_ENDP_ATTR_TYPE, MCAPI_ENDP_ATTR_TYPE_MESSAGE, 4));
    EXPECT_IS(MCAPI_ERR_ATTR_NUM, read_as(MCAPI_ENDP_ATTR_END, 4));
    EXPECT_IS(MCAPI_ERR_ATTR_NUM, read_as(mcapi_start_endp_attribute(0), 4));
    EXPECT_IS(MCAPI_ERR_ATTR_NUM, write_as(MCAPI_ENDP_ATTR_END, 0, 3));
    EXPECT_IS(MCAPI_ERR_ATTR_NUM, write_as(~0u, 0, 4));
    mcapi_endpoint_get_attribute(end_point, 0, NULL, 4, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    mcapi_endpoint_set_attribute(end_point, 0, NULL, 4, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    /* In the order that is documented. */
    mcapi_endpoint_get_attribute(12345, 99, NULL, 3, &status);
    EXPECT(MCAPI_ERR_PARAMETER);
    end_point = 12345;
    EXPECT_IS(MCAPI_ERR_ENDP_INVALID, read_as(99, 3));
    EXPECT_IS(MCAPI_ERR_ENDP_INVALID, write_as(99, 3, 3));
    finalize();
}

/* An owner whose endpoint is asked for from outside, and that does not always answer. */
static void asked(void)
{
    initialize(1);
    end_point = create(1);
    set_uint(end_point, MCAPI_ENDP_ATTR_PRIORITY, 5);
    post(MADE);
    serve(GOT);
    post(READY);
    await(DONE);
    finalize();
}

static void asks(void)
{
    mcapi_status_t status;
    mcapi_endp_attr_get_source_t source = {7, 7};
    mcapi_uint_t value = 99;

    initialize(2);
    end_point = ((unsigned)DOMAIN << 24 | 1u << 12 | 1);
    serve(MADE);
    EXPECT_IS(MCAPI_SUCCESS, read_as(MCAPI_ENDP_ATTR_PRIORITY, 4));
    get(1, 1);
    CHECK(get_uint(end_point, MCAPI_ENDP_ATTR_PRIORITY) == 5);
    CHECK(get_uint(end_point, MCAPI_ENDP_ATTR_GET_COUNT) == 1);
    get(1, 1);
    CHECK(get_uint(end_point, MCAPI_ENDP_ATTR_GET_COUNT) == 2);
    mcapi_endpoint_get_attribute(end_point, MCAPI_ENDP_ATTR_GET_SOURCE, &source, sizeof source,
                                 &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(source.domain_id == DOMAIN && source.node_id == 2);
    mcapi_endpoint_release(end_point, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(get_uint(end_point, MCAPI_ENDP_ATTR_GET_COUNT) == 1);
    EXPECT_IS(MCAPI_ERR_ATTR_NUM, read_as(99, 4));
    EXPECT_IS(MCAPI_ERR_ATTR_SIZE, read_as(MCAPI_ENDP_ATTR_PRIORITY, 3));
    /* The order: number, remote, then the rest. */
    EXPECT_IS(MCAPI_ERR_ATTR_NUM, write_as(99, 0, 3));
    EXPECT_IS(MCAPI_ERR_ENDP_REMOTE, write_as(MCAPI_ENDP_ATTR_PRIORITY, 1, 4));
    EXPECT_IS(MCAPI_ERR_ENDP_REMOTE, write_as(MCAPI_ENDP_ATTR_STATUS, 1, 3));
    post(GOT);
    await(READY);
    /* Nobody answers. */
    mcapi_endpoint_get_attribute(end_point, MCAPI_ENDP_ATTR_PRIORITY, &value, sizeof value,
                                 &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    CHECK(value == 99);
    post(DONE);
    finalize();
}

/* What the status says of each stage of a channel, and that nothing changes meanwhile. */
static void stages(const kind_t *kind, mcapi_uint_t type)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_request_t opening;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_pktchan_send_hndl_t send;
    mcapi_uint_t from = type | MCAPI_ENDP_ATTR_STATUS_SEND;
    mcapi_uint_t to = type | MCAPI_ENDP_ATTR_STATUS_RECEIVE;

    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 1);
    get(1, 2);
    kind->open_recv(&receive, b, &opening, &status);
    EXPECT(MCAPI_PENDING);
    CHECK(get_uint(b, MCAPI_ENDP_ATTR_STATUS) == (to | MCAPI_ENDP_ATTR_STATUS_OPEN_PENDING));
    mcapi_cancel(&opening, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(get_uint(b, MCAPI_ENDP_ATTR_STATUS) == 0);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(kind, a, b));
    CHECK(get_uint(a, MCAPI_ENDP_ATTR_STATUS) == (from | MCAPI_ENDP_ATTR_STATUS_CONNECTED));
    CHECK(get_uint(b, MCAPI_ENDP_ATTR_STATUS) == (to | MCAPI_ENDP_ATTR_STATUS_CONNECTED));
    end_point = a;
    EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, write_as(MCAPI_ENDP_ATTR_PRIORITY, 1, 4));
    EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, write_as(MCAPI_ENDP_ATTR_TIMEOUT, 1, 4));
    EXPECT_IS(MCAPI_ERR_CHAN_CONNECTED, write_as(MCAPI_ENDP_ATTR_STATUS, 1, 3));
    EXPECT_IS(MCAPI_ERR_ATTR_NUM, write_as(MCAPI_ENDP_ATTR_END, 1, 3));
    send = open_send(kind, a);
    receive = open_recv(kind, b);
    CHECK(get_uint(a, MCAPI_ENDP_ATTR_STATUS)
          == (from | MCAPI_ENDP_ATTR_STATUS_CONNECTED | MCAPI_ENDP_ATTR_STATUS_OPEN));
    CHECK(get_uint(b, MCAPI_ENDP_ATTR_STATUS)
          == (to | MCAPI_ENDP_ATTR_STATUS_CONNECTED | MCAPI_ENDP_ATTR_STATUS_OPEN));
    EXPECT_IS(MCAPI_SUCCESS, close_send(kind, send));
    CHECK(get_uint(a, MCAPI_ENDP_ATTR_STATUS) == 0);
    CHECK(get_uint(b, MCAPI_ENDP_ATTR_STATUS)
          == (to | MCAPI_ENDP_ATTR_STATUS_CONNECTED | MCAPI_ENDP_ATTR_STATUS_OPEN
              | MCAPI_ENDP_ATTR_STATUS_CLOSE_PENDING));
    EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, receive));
    CHECK(get_uint(a, MCAPI_ENDP_ATTR_STATUS) == 0);
    CHECK(get_uint(b, MCAPI_ENDP_ATTR_STATUS) == 0);
    set_uint(a, MCAPI_ENDP_ATTR_PRIORITY, 1);
    finalize();
}

static void stages_of_packets(void)
{
    stages(&packets, MCAPI_ENDP_ATTR_STATUS_PKTCHAN);
}

static void stages_of_scalars(void)
{
    stages(&scalars, MCAPI_ENDP_ATTR_STATUS_SCLCHAN);
}

/* Connect compares five attributes, and the type if it is set. */
static void compatible(void)
{
    static const struct {
        mcapi_uint_t number, value;
    } rows[] = {
        {MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, 100},
        {MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_SHARED_MEMORY},
        {MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT},
        {MCAPI_ENDP_ATTR_PRIORITY, 3},
    };
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    size_t i;

    initialize(1);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        const kind_t *kind = i % 2 ? &packets : &scalars;
        mcapi_pktchan_recv_hndl_t receive;
        mcapi_pktchan_send_hndl_t send;
        a = create(1);
        b = create(2);
        get(1, 1);
        get(1, 2);
        set_uint(a, rows[i].number, rows[i].value);
        EXPECT_IS(MCAPI_ERR_ATTR_INCOMPATIBLE, connect_ends(kind, a, b));
        EXPECT_IS(MCAPI_ERR_ATTR_INCOMPATIBLE, connect_ends(kind, b, a));
        CHECK(get_uint(a, MCAPI_ENDP_ATTR_STATUS) == 0);
        CHECK(get_uint(b, MCAPI_ENDP_ATTR_STATUS) == 0);
        set_uint(b, rows[i].number, rows[i].value);
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(kind, a, b));
        send = open_send(kind, a);
        receive = open_recv(kind, b);
        EXPECT_IS(MCAPI_SUCCESS, close_send(kind, send));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, receive));
        /* Timeouts and what is not compared may differ. */
        set_uint(a, MCAPI_ENDP_ATTR_TIMEOUT, 5);
        set_uint(a, MCAPI_ENDP_ATTR_TYPE, MCAPI_ENDP_ATTR_TYPE_PKTCHAN);
        EXPECT_IS(MCAPI_ERR_ATTR_INCOMPATIBLE, connect_ends(&scalars, a, b));
        EXPECT_IS(MCAPI_ERR_ATTR_INCOMPATIBLE, connect_ends(&scalars, b, a));
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, a, b));
        send = open_send(&packets, a);
        receive = open_recv(&packets, b);
        EXPECT_IS(MCAPI_SUCCESS, close_send(&packets, send));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, receive));
        set_uint(b, MCAPI_ENDP_ATTR_TYPE, MCAPI_ENDP_ATTR_TYPE_SCLCHAN);
        EXPECT_IS(MCAPI_ERR_ATTR_INCOMPATIBLE, connect_ends(&packets, a, b));
        mcapi_endpoint_delete(a, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_endpoint_delete(b, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    finalize();
}

/* The timeout governs what blocks; how much time passes is at least what was asked for. */
static unsigned milliseconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned)((now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000);
}

static void timeouts(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b, c, d;
    mcapi_pktchan_recv_hndl_t packet_in;
    mcapi_sclchan_recv_hndl_t scalar_in;
    void *packet;
    size_t size = 5;
    char byte;
    struct timespec then;

    initialize(1);
    a = create(1);
    b = create(2);
    c = create(3);
    d = create(4);
    get(1, 1);
    get(1, 2);
    get(1, 3);
    get(1, 4);
    set_uint(b, MCAPI_ENDP_ATTR_TIMEOUT, BRIEFLY);
    set_uint(d, MCAPI_ENDP_ATTR_TIMEOUT, BRIEFLY);
    clock_gettime(CLOCK_MONOTONIC, &then);
    mcapi_msg_recv(b, &byte, 1, &size, &status);
    EXPECT(MCAPI_TIMEOUT);
    CHECK(size == 5);
    CHECK(milliseconds_since(&then) >= BRIEFLY - 1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, a, b));
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, c, d));
    open_send(&packets, a);
    open_send(&scalars, c);
    packet_in = open_recv(&packets, b);
    scalar_in = open_recv(&scalars, d);
    clock_gettime(CLOCK_MONOTONIC, &then);
    mcapi_pktchan_recv(packet_in, &packet, &size, &status);
    EXPECT(MCAPI_TIMEOUT);
    CHECK(milliseconds_since(&then) >= BRIEFLY - 1);
    clock_gettime(CLOCK_MONOTONIC, &then);
    mcapi_sclchan_recv_uint32(scalar_in, &status);
    EXPECT(MCAPI_TIMEOUT);
    CHECK(milliseconds_since(&then) >= BRIEFLY - 1);
    finalize();
}

/* A receiver that takes nothing: sends end with TIMEOUT or MEM_LIMIT, as the attributes say. */
static void takes_nothing(void)
{
    initialize(1);
    create(1);
    set_uint(create(2), MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT);
    set_uint(create(3), MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT);
    post(READY);
    open_recv(&packets, ((unsigned)DOMAIN << 24 | 1u << 12 | 2));
    open_recv(&scalars, ((unsigned)DOMAIN << 24 | 1u << 12 | 3));
    post(MADE);
    await(DONE);
    finalize();
}

static void fills(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t to, patient, failing, a, b;
    mcapi_pktchan_send_hndl_t packet_out, scalar_out;
    mcapi_request_t request;
    unsigned char bytes[2000];
    unsigned sent;

    initialize(2);
    to = get(1, 1);
    patient = create(1);
    failing = create(2);
    a = create(3);
    b = create(4);
    set_uint(patient, MCAPI_ENDP_ATTR_TIMEOUT, BRIEFLY);
    set_uint(failing, MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT);
    set_uint(a, MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT);
    set_uint(b, MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT);
    get(2, 3);
    get(2, 4);
    /* An endpoint may be got before its owner has set what the connection depends on. */
    serve(READY);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, a, get(1, 2)));
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, b, get(1, 3)));
    packet_out = open_send(&packets, a);
    scalar_out = open_send(&scalars, b);
    serve(MADE);
    memset(bytes, 1, sizeof bytes);
    status = MCAPI_SUCCESS;
    for (sent = 0; status == MCAPI_SUCCESS && sent < 100000; sent++)
        mcapi_msg_send(patient, to, bytes, sizeof bytes, 0, &status);
    EXPECT(MCAPI_TIMEOUT);
    mcapi_msg_send(failing, to, bytes, sizeof bytes, 0, &status);
    EXPECT(MCAPI_ERR_MEM_LIMIT);
    mcapi_msg_send_i(failing, to, bytes, sizeof bytes, 0, &request, &status);
    EXPECT(MCAPI_ERR_MEM_LIMIT);
    EXPECT_IS(MCAPI_ERR_MEM_LIMIT, end_of(&request));
    status = MCAPI_SUCCESS;
    for (sent = 0; status == MCAPI_SUCCESS && sent < 100000; sent++)
        mcapi_pktchan_send(packet_out, bytes, sizeof bytes, &status);
    EXPECT(MCAPI_ERR_MEM_LIMIT);
    mcapi_pktchan_send_i(packet_out, bytes, sizeof bytes, &request, &status);
    EXPECT(MCAPI_ERR_MEM_LIMIT);
    EXPECT_IS(MCAPI_ERR_MEM_LIMIT, end_of(&request));
    status = MCAPI_SUCCESS;
    for (sent = 0; status == MCAPI_SUCCESS && sent < 100000; sent++)
        mcapi_sclchan_send_uint64(scalar_out, sent, &status);
    EXPECT(MCAPI_ERR_MEM_LIMIT);
    post(DONE);
    finalize();
}

/* The longest that may be sent, and how many more there is room for. */
static void payloads(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t a, b;
    mcapi_pktchan_recv_hndl_t receive;
    mcapi_pktchan_send_hndl_t send;
    unsigned char bytes[101];
    size_t size = 0;
    void *packet;
    int i;

    initialize(1);
    a = create(1);
    b = create(2);
    get(1, 1);
    get(1, 2);
    fill(bytes, sizeof bytes, 1);
    set_uint(a, MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, 100);
    mcapi_msg_send(a, b, bytes, 101, 0, &status);
    EXPECT(MCAPI_ERR_MSG_SIZE);
    mcapi_msg_send(a, b, bytes, 100, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    /* The receiver's says nothing. */
    mcapi_msg_send(b, a, bytes, 101, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    for (i = 0; i < 4; i++)
        mcapi_msg_send(a, b, bytes, 10, 0, &status);
    while (mcapi_msg_available(b, &status) < 5)
        EXPECT(MCAPI_SUCCESS);
    CHECK(get_uint(b, MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS) == 512 - 5);
    mcapi_msg_recv(b, bytes, sizeof bytes, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 100);
    CHECK(get_uint(b, MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS) == 512 - 4);
    set_uint(b, MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, 100);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, a, b));
    send = open_send(&packets, a);
    receive = open_recv(&packets, b);
    mcapi_pktchan_send(send, bytes, 101, &status);
    EXPECT(MCAPI_ERR_PKT_SIZE);
    mcapi_pktchan_send(send, bytes, 100, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_recv(receive, &packet, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 100);
    finalize();
}

int main(void)
{
    answer_in_calls_only();
    ALONE(table);
    TOGETHER(from_outside, asked, asks);
    ALONE(stages_of_packets);
    ALONE(stages_of_scalars);
    ALONE(compatible);
    ALONE(timeouts);
    TOGETHER(full, takes_nothing, fills);
    ALONE(payloads);
    return verdict(8);
}
