/*
 * One receiver and many senders, one after the other, each of which is another node and ends: what
 * the receiver has of them is given back. NARROWS_SENDERS says how many senders a case has, 3000 in
 * the full form.
 */
#include "value.h"

enum { RECEIVER = 1, FIRST = 2, FEW = 30, USUALLY = 150 };
/* Numbers on the board: the sender whose turn it is, and how many were received. */
enum { TURN, RECEIVED, LEFT };

static unsigned senders(void)
{
    const char *said = getenv("NARROWS_SENDERS");
    unsigned count = USUALLY;
    if (said)
        count = (unsigned)strtoul(said, NULL, 10);
    CHECK(count > FEW && count < MCAPI_MAX_NODE - FIRST);
    return count;
}

/* KiB that are in memory, and mappings. */
typedef struct {
    size_t resident, mappings;
} use_t;

static use_t used(void)
{
    use_t use = {0, 0};
    char line[512];
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file))
        use.mappings++;
    fclose(file);
    file = fopen("/proc/self/status", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            use.resident = strtoul(line + 6, NULL, 10);
    fclose(file);
    CHECK(use.resident > 0 && use.mappings > 0);
    return use;
}

/* A few may be there still: the links of the last, and what the allocator keeps. */
static void check_use(use_t before, use_t after)
{
    if (after.resident > before.resident + 20000 || after.mappings > before.mappings + 20) {
        fprintf(stderr, "after %d senders %zu KiB and %zu mappings, after %u %zu and %zu\n",
                (int)FEW, before.resident, before.mappings, senders(), after.resident,
                after.mappings);
        CHECK(0 && "flat");
    }
}

/* Serves until the sender before has ended, so that the two are not there together. */
static void receives(void (*one)(mcapi_endpoint_t, unsigned))
{
    mcapi_endpoint_t own;
    use_t few = {0, 0};
    unsigned i, count = senders();
    initialize(RECEIVER);
    own = create(1);
    for (i = 0; i < count; i++) {
        one(own, i);
        put(RECEIVED, i + 1);
        while (look(LEFT) <= i)
            serve_once();
        if (i == FEW)
            few = used();
    }
    check_use(few, used());
    finalize();
}

static void sends(void (*one)(mcapi_endpoint_t, mcapi_endpoint_t, unsigned))
{
    unsigned i, count = senders();
    for (i = 0; i < count; i++) {
        mcapi_endpoint_t own, there;
        alarm(PATIENCE);
        initialize(FIRST + i);
        own = create(1);
        CHECK(get(FIRST + i, 1) == own);
        there = get(RECEIVER, 1);
        one(own, there, i);
        while (look(RECEIVED) <= i)
            serve_once();
        finalize();
        put(LEFT, i + 1);
    }
}

static void receive_packet(mcapi_endpoint_t own, unsigned i)
{
    mcapi_uint32_t handle, value = 0;
    alarm(PATIENCE);
    handle = open_recv(&packets, own);
    EXPECT_IS(MCAPI_SUCCESS, recv_one(&packets, handle, &value));
    CHECK(value == i);
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, handle));
}

static void send_packet(mcapi_endpoint_t own, mcapi_endpoint_t there, unsigned i)
{
    mcapi_uint32_t handle;
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, own, there));
    handle = open_send(&packets, own);
    EXPECT_IS(MCAPI_SUCCESS, send_one(&packets, handle, i));
    EXPECT_IS(MCAPI_SUCCESS, close_send(&packets, handle));
}

static void receive_message(mcapi_endpoint_t own, unsigned i)
{
    mcapi_status_t status;
    unsigned value = 0;
    size_t size;
    alarm(PATIENCE);
    mcapi_msg_recv(own, &value, sizeof value, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == sizeof value && value == i);
}

static void send_message(mcapi_endpoint_t own, mcapi_endpoint_t there, unsigned i)
{
    mcapi_status_t status;
    mcapi_msg_send(own, there, &i, sizeof i, 0, &status);
    EXPECT(MCAPI_SUCCESS);
}

static void receives_packets(void) { receives(receive_packet); }
static void sends_packets(void) { sends(send_packet); }
static void receives_messages(void) { receives(receive_message); }
static void sends_messages(void) { sends(send_message); }

/* A packet is the receiver's until it gives it back, whatever became of the sender. */
enum { KEPT = 20 };

static void keeps_packets(void)
{
    mcapi_endpoint_t own;
    mcapi_status_t status;
    void *kept[KEPT];
    use_t few = {0, 0};
    unsigned i, round;
    initialize(RECEIVER);
    own = create(1);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < KEPT; i++) {
            mcapi_uint32_t handle = open_recv(&packets, own);
            size_t size;
            mcapi_pktchan_recv(handle, &kept[i], &size, &status);
            EXPECT(MCAPI_SUCCESS);
            EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, handle));
            put(RECEIVED, round * KEPT + i + 1);
            while (look(LEFT) <= round * KEPT + i)
                serve_once();
        }
        for (i = 0; i < KEPT; i++) {
            CHECK(*(mcapi_uint32_t *)kept[i] == round * KEPT + i);
            CHECK(!mcapi_pktchan_release_test(kept[i], &status));
            EXPECT(MCAPI_PENDING);
            mcapi_pktchan_release(kept[i], &status);
            EXPECT(MCAPI_SUCCESS);
            mcapi_pktchan_release(kept[i], &status);
            EXPECT(MCAPI_ERR_BUF_INVALID);
        }
        if (round == 0)
            few = used();
    }
    check_use(few, used());
    finalize();
}

static void sends_few(void)
{
    unsigned i;
    for (i = 0; i < 3 * KEPT; i++) {
        mcapi_endpoint_t own, there;
        initialize(FIRST + i);
        own = create(1);
        CHECK(get(FIRST + i, 1) == own);
        there = get(RECEIVER, 1);
        send_packet(own, there, i);
        while (look(RECEIVED) <= i)
            serve_once();
        finalize();
        put(LEFT, i + 1);
    }
}

int main(void)
{
    TOGETHER(packets, receives_packets, sends_packets);
    TOGETHER(messages, receives_messages, sends_messages);
    TOGETHER(kept, keeps_packets, sends_few);
    return verdict(3);
}
