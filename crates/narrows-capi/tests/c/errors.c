/*
 * Every function by every error that docs/MCAPI.md has for it, as rows of a table: see
 * errors_rows.h and errors_channels.h. What needs a full or a dead peer is in attributes.c and
 * crash.c. All rows run, and each that fails is printed.
 */
#include "check.h"

enum { READY, DONE };

/* Own ports. */
enum {
    PLAIN,
    IDLE,
    SHORT,
    SENDING,
    RECEIVING,
    SCL_SENDING,
    SCL_RECEIVING,
    CONNECTED,
    CONNECTED_TO,
    PKT_SEND_PENDING,
    PKT_RECV_PENDING,
    SCL_SEND_PENDING,
    SCL_RECV_PENDING,
    PKT_TYPED,
    SCL_TYPED,
    /* Four for each type: one pair whose sender closed, one whose receiver did. */
    CLOSED,
    PORTS = CLOSED + 8
};

#define OWN(port) ((mcapi_endpoint_t)DOMAIN << 24 | 1u << 12 | (mcapi_endpoint_t)(port))
#define FAR(port) ((mcapi_endpoint_t)DOMAIN << 24 | 2u << 12 | (mcapi_endpoint_t)(port))
/* Nobody's endpoint; no handle or request. */
#define UNKNOWN FAR(NOWHERE)
#define NONE 0xfffffff0u
#define WANT(what)                                                              \
    do {                                                                        \
        if (!(what)) {                                                          \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);  \
            wrong_values++;                                                     \
        }                                                                       \
    } while (0)

/* A type of channel: one that is open, one that is disconnected, two closed by one side. */
typedef struct {
    mcapi_port_t send_port, recv_port, send_pending, recv_pending, typed;
    mcapi_port_t closed_send_port, closed_recv_port;
    mcapi_uint32_t send, receive, gone_send, gone_recv;
    mcapi_uint32_t closed_send, half_recv, half_send, closed_recv;
} fixture_t;

static fixture_t pkt, scl;
static mcapi_endpoint_t far;
static mcapi_request_t pending, finished;
static void *held, *released;
static unsigned char bytes[65537];
static int wrong_values;

static void made(mcapi_node_attributes_t *attributes)
{
    mcapi_status_t status;
    mcapi_node_init_attributes(attributes, &status);
    EXPECT(MCAPI_SUCCESS);
}

/* A message for oneself, which is there when this returns. */
static void to_self(size_t size)
{
    mcapi_status_t status;
    mcapi_msg_send(OWN(IDLE), OWN(PLAIN), bytes, size, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    while (mcapi_msg_available(OWN(PLAIN), &status) == 0)
        EXPECT(MCAPI_SUCCESS);
}

static void scalar_not_of(int bits)
{
    mcapi_status_t status;
    if (bits == 8)
        mcapi_sclchan_send_uint16(scl.send, 1, &status);
    else
        mcapi_sclchan_send_uint8(scl.send, 1, &status);
    EXPECT(MCAPI_SUCCESS);
    while (mcapi_sclchan_available(scl.receive, &status) == 0)
        EXPECT(MCAPI_SUCCESS);
}

static void take_scalar(int bits)
{
    mcapi_status_t status;
    mcapi_uint64_t got = bits == 8 ? mcapi_sclchan_recv_uint16(scl.receive, &status)
                                   : mcapi_sclchan_recv_uint8(scl.receive, &status);
    EXPECT(MCAPI_SUCCESS);
    WANT(got == 1);
}

static mcapi_request_t cancelled(void)
{
    static mcapi_endpoint_t nowhere;
    mcapi_request_t request;
    mcapi_status_t status;
    mcapi_endpoint_get_i(DOMAIN, 2, NOWHERE, &nowhere, &request, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_cancel(&request, &status);
    EXPECT(MCAPI_SUCCESS);
    return request;
}

/* What a request that was just made ends with, if that is what its call said. */
static mcapi_status_t agreed(mcapi_request_t *request, mcapi_status_t said)
{
    mcapi_status_t status;
    size_t size;
    WANT(!mcapi_wait(request, &size, SOON, &status));
    WANT(said == MCAPI_PENDING || said == status);
    return status;
}

#define LOCALS                                                                    \
    mcapi_status_t s = 0;                                                         \
    mcapi_request_t r = NONE;                                                     \
    mcapi_request_t *list[2] = {NULL, NULL};                                      \
    mcapi_info_t info;                                                            \
    mcapi_node_attributes_t attributes;                                           \
    mcapi_uint32_t word = 0;                                                      \
    void *packet = NULL;                                                          \
    size_t size = 0;                                                              \
    (void)r, (void)list, (void)info, (void)attributes, (void)word, (void)packet, (void)size;
#define ROW(table, name, expected, ...) DEFINE(table, name, __VA_ARGS__; return s;)
#define REQUEST_ROW(table, name, expected, ...) DEFINE(table, name, __VA_ARGS__; return agreed(&r, s);)
#define DEFINE(table, name, ...) DEFINE_(table, name, __VA_ARGS__)
#define DEFINE_(table, name, ...)                 \
    static mcapi_status_t table##_##name(void)    \
    {                                             \
        LOCALS                                    \
        __VA_ARGS__                               \
    }
#include "errors_rows.h"
#define CHAN pktchan
#define THIS pkt
#define THAT scl
#define PENDING PKT
#include "errors_channels.h"
#undef CHAN
#undef THIS
#undef THAT
#undef PENDING
#define CHAN sclchan
#define THIS scl
#define THAT pkt
#define PENDING SCL
#include "errors_channels.h"
#undef CHAN
#undef ROW
#undef REQUEST_ROW

enum table { before, after, full };

static const struct {
    enum table table;
    const char *name;
    mcapi_status_t (*provoke)(void);
    mcapi_status_t expected;
} rows[] = {
#define ROW(table, name, expected, ...) ENTRY(table, name, expected)
#define REQUEST_ROW(table, name, expected, ...) ENTRY(table, name, expected)
#define ENTRY(table, name, expected) ENTRY_(table, name, expected)
#define ENTRY_(table, name, expected) {table, #name, table##_##name, expected},
#include "errors_rows.h"
#define CHAN pktchan
#include "errors_channels.h"
#undef CHAN
#define CHAN sclchan
#include "errors_channels.h"
#undef CHAN
};

/* So that none vanishes. */
enum { BEFORE = 57, AFTER = 291, LIMITS = 10 };

static void run(enum table table, size_t count)
{
    size_t i, ran = 0, failed = 0;
    char a[MCAPI_MAX_STATUS_MSG_LEN], b[MCAPI_MAX_STATUS_MSG_LEN];
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        mcapi_status_t got;
        int values = wrong_values;
        if (rows[i].table != table)
            continue;
        got = rows[i].provoke();
        ran++;
        if (got != rows[i].expected || values != wrong_values) {
            fprintf(stderr, "%s: expected %s, got %s\n", rows[i].name,
                    status_name(rows[i].expected, a, sizeof a), status_name(got, b, sizeof b));
            failed++;
        }
    }
    if (ran != count)
        fprintf(stderr, "%zu rows ran, of %zu\n", ran, count);
    printf("%zu rows, %zu failed\n", ran, failed);
    fflush(stdout);
    if (failed || ran != count)
        _exit(1);
}

/* Connects two own ports and opens both ends. */
static void channel(const kind_t *kind, mcapi_port_t from, mcapi_port_t to, mcapi_uint32_t *send,
                    mcapi_uint32_t *receive)
{
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(kind, OWN(from), OWN(to)));
    *send = open_send(kind, OWN(from));
    *receive = open_recv(kind, OWN(to));
}

static void set_up(fixture_t *fixture, const kind_t *kind, mcapi_port_t closed)
{
    static mcapi_uint32_t unset;
    mcapi_status_t status;
    mcapi_request_t request;
    channel(kind, fixture->send_port, fixture->recv_port, &fixture->gone_send,
            &fixture->gone_recv);
    EXPECT_IS(MCAPI_SUCCESS, close_send(kind, fixture->gone_send));
    EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, fixture->gone_recv));
    channel(kind, fixture->send_port, fixture->recv_port, &fixture->send, &fixture->receive);
    fixture->closed_send_port = closed;
    channel(kind, closed, closed + 1, &fixture->closed_send, &fixture->half_recv);
    EXPECT_IS(MCAPI_SUCCESS, close_send(kind, fixture->closed_send));
    fixture->closed_recv_port = closed + 3;
    channel(kind, closed + 2, closed + 3, &fixture->half_send, &fixture->closed_recv);
    EXPECT_IS(MCAPI_SUCCESS, close_recv(kind, fixture->closed_recv));
    kind->open_send(&unset, OWN(fixture->send_pending), &request, &status);
    EXPECT(MCAPI_PENDING);
    kind->open_recv(&unset, OWN(fixture->recv_pending), &request, &status);
    EXPECT(MCAPI_PENDING);
}

static void world(void)
{
    static mcapi_endpoint_t nowhere;
    mcapi_port_t port;
    mcapi_status_t status;
    mcapi_request_t request;
    size_t size;
    mcapi_uint32_t i;

    initialize(1);
    for (port = 0; port < PORTS; port++) {
        create(port);
        set_uint(OWN(port), MCAPI_ENDP_ATTR_TIMEOUT, 1);
        if (port != SENDING && port != SHORT)
            continue;
        set_uint(OWN(port), MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, port == SHORT ? 10 : 65536);
    }
    set_uint(OWN(PKT_TYPED), MCAPI_ENDP_ATTR_TYPE, MCAPI_ENDP_ATTR_TYPE_PKTCHAN);
    set_uint(OWN(SCL_TYPED), MCAPI_ENDP_ATTR_TYPE, MCAPI_ENDP_ATTR_TYPE_SCLCHAN);
    for (port = 0; port < PORTS; port++)
        get(1, port);
    mcapi_endpoint_release(OWN(PLAIN), &status);
    EXPECT(MCAPI_SUCCESS);
    far = get(2, 1);
    pkt.send_port = SENDING;
    pkt.recv_port = RECEIVING;
    pkt.send_pending = PKT_SEND_PENDING;
    pkt.recv_pending = PKT_RECV_PENDING;
    pkt.typed = PKT_TYPED;
    scl.send_port = SCL_SENDING;
    scl.recv_port = SCL_RECEIVING;
    scl.send_pending = SCL_SEND_PENDING;
    scl.recv_pending = SCL_RECV_PENDING;
    scl.typed = SCL_TYPED;
    set_up(&pkt, &packets, CLOSED);
    set_up(&scl, &scalars, CLOSED + 4);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, OWN(CONNECTED), OWN(CONNECTED_TO)));
    for (i = 0; i < 2; i++) {
        mcapi_pktchan_send(pkt.send, bytes, 10, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    mcapi_pktchan_recv(pkt.receive, &held, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_recv(pkt.receive, &released, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_release(released, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_endpoint_get_i(DOMAIN, 2, NOWHERE, &nowhere, &pending, &status);
    EXPECT(MCAPI_PENDING);
    mcapi_msg_recv_i(OWN(PLAIN), bytes, 1, &request, &status);
    EXPECT(MCAPI_PENDING);
    finished = request;
    mcapi_msg_send(OWN(IDLE), OWN(PLAIN), bytes, 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_SUCCESS, end_of(&request));
}

/* Uses up what there is of requests and endpoints. */
static void use_up(void)
{
    static mcapi_endpoint_t nowhere;
    mcapi_status_t status;
    mcapi_request_t request;
    int i;
    for (i = PORTS; i < MCAPI_MAX_ENDPOINTS; i++)
        create(MCAPI_PORT_ANY);
    for (i = 0; i <= MCAPI_MAX_REQUESTS; i++) {
        mcapi_endpoint_get_i(DOMAIN, 2, NOWHERE, &nowhere, &request, &status);
        if (status == MCAPI_ERR_REQUEST_LIMIT)
            return;
        EXPECT(MCAPI_PENDING);
    }
    CHECK(!"there is a limit");
}

static void provokes(void)
{
    await(READY);
    run(before, BEFORE);
    world();
    run(after, AFTER);
    use_up();
    run(full, LIMITS);
    post(DONE);
    finalize();
}

static void peer(void)
{
    initialize(2);
    create(1);
    create(2);
    post(READY);
    serve(DONE);
    finalize();
}

int main(void)
{
    TOGETHER(matrix, provokes, peer);
    return verdict(1);
}
