/* What a peer that was killed leaves: gets and opens, what it had sent, and room for the next. */
#include "kill.h"

static char bytes[3000];

/* What is asked of a peer ends with it: a get, too. The next peer is another. */
static mcapi_request_t getting;
static mcapi_endpoint_t got;

static void gets(void)
{
    mcapi_status_t status;
    size_t size;
    initialize(1);
    create(1);
    get(2, 1);
    mcapi_endpoint_get_i(DOMAIN, 2, 7, &got, &getting, &status);
    EXPECT(MCAPI_PENDING);
    post(BLOCKING);
    CHECK(mcapi_endpoint_get(DOMAIN, 2, 8, SOON, &status) == 0);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    CHECK(mcapi_wait(&getting, &size, SOON, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    post(AGAIN);
    mcapi_endpoint_get_i(DOMAIN, 2, 7, &got, &getting, &status);
    CHECK(get(2, 8) == FAR(8));
    EXPECT_IS(MCAPI_SUCCESS, end_of(&getting));
    CHECK(got == FAR(7));
    mcapi_msg_send(OWN(1), FAR(7), "x", 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_send(OWN(1), FAR(8), "x", 1, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    post(DONE);
    finalize();
}

static void is_got(void)
{
    initialize(2);
    create(1);
    if (look(AGAIN)) {
        create(7);
        create(8);
    }
    serve(DONE);
    finalize();
}

/* Runs a survivor and a peer that is killed while the survivor waits, and then that peer again. */
static void twice(const char *name, side_t survivor, side_t peer)
{
    pid_t first, second, survives;
    int well;
    if (getenv("CASE"))
        return;
    make_board();
    survives = start(survivor);
    first = start(peer);
    kill_when_blocked(survives, first);
    while (!look(AGAIN) && !gone(survives))
        sched_yield();
    second = start(peer);
    well = ended_well(name, 1, survives);
    well &= ended_well(name, 2, second);
    printf("%s %s\n", name, well ? "ok" : "FAILED");
    cases_run++;
    cases_failed += !well;
}

/* An open waits for whoever connects its endpoint: not for one peer, and so not for its life. */
static void opens(void)
{
    mcapi_status_t status;
    mcapi_request_t opening;
    mcapi_pktchan_recv_hndl_t handle;
    void *packet;
    size_t size;

    initialize(1);
    create(1);
    mcapi_pktchan_recv_open_i(&handle, OWN(1), &opening, &status);
    EXPECT(MCAPI_PENDING);
    get(2, 1);
    post(PREPARED);
    serve(READY);
    post(BLOCKING);
    mcapi_endpoint_get(DOMAIN, 2, 7, SOON, &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    CHECK(mcapi_test(&opening, &size, &status) == MCAPI_FALSE);
    EXPECT(MCAPI_PENDING);
    post(AGAIN);
    EXPECT_IS(MCAPI_SUCCESS, end_of(&opening));
    mcapi_pktchan_recv(handle, &packet, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 6 && strcmp((char *)packet, "again") == 0);
    post(DONE);
    finalize();
}

static void connects(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t to;
    mcapi_pktchan_send_hndl_t handle;

    initialize(2);
    create(1);
    get(2, 1);
    to = get(1, 1);
    serve(PREPARED);
    post(READY);
    while (!look(AGAIN))
        serve_once();
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, FAR(1), to));
    handle = open_send(&packets, FAR(1));
    mcapi_pktchan_send(handle, "again", 6, &status);
    EXPECT(MCAPI_SUCCESS);
    serve(DONE);
    finalize();
}

/* What a dead peer had sent over a channel is there, and what was received stays readable. */
static void inherits(void)
{
    mcapi_status_t status;
    mcapi_uint32_t packet_in, scalar_in, i;
    void *received[6];
    size_t size;

    initialize(1);
    create(1);
    create(2);
    packet_in = open_recv(&packets, OWN(1));
    scalar_in = open_recv(&scalars, OWN(2));
    for (i = 0; i < 3; i++) {
        mcapi_pktchan_recv(packet_in, &received[i], &size, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    serve(READY);
    post(BLOCKING);
    await(KILLED_AT);
    for (; i < 6; i++) {
        mcapi_pktchan_recv(packet_in, &received[i], &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == 1000 + i);
    }
    mcapi_pktchan_recv(packet_in, &received[0], &size, &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    for (i = 0; i < 6; i++) {
        CHECK(mcapi_sclchan_recv_uint8(scalar_in, &status) == i);
        EXPECT(MCAPI_SUCCESS);
    }
    mcapi_sclchan_recv_uint8(scalar_in, &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    for (i = 0; i < 6; i++) {
        CHECK(filled(received[i], 1000 + i, i));
        mcapi_pktchan_release(received[i], &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_pktchan_release(received[i], &status);
        EXPECT(MCAPI_ERR_BUF_INVALID);
    }
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, packet_in));
    EXPECT_IS(MCAPI_SUCCESS, close_recv(&scalars, scalar_in));
    finalize();
}

static void bequeaths(void)
{
    mcapi_status_t status;
    mcapi_uint32_t packet_out, scalar_out;
    unsigned char content[1006];
    mcapi_uint8_t i;

    initialize(2);
    create(1);
    create(2);
    get(2, 1);
    get(2, 2);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, FAR(1), get(1, 1)));
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, FAR(2), get(1, 2)));
    packet_out = open_send(&packets, FAR(1));
    scalar_out = open_send(&scalars, FAR(2));
    for (i = 0; i < 6; i++) {
        fill(content, 1000u + i, i);
        mcapi_pktchan_send(packet_out, content, 1000u + i, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_sclchan_send_uint8(scalar_out, i, &status);
        EXPECT(MCAPI_SUCCESS);
    }
    post(READY);
    for (;;)
        pause();
}

static void inheritance(void)
{
    pid_t dies, survives;
    int well;
    if (getenv("CASE"))
        return;
    make_board();
    survives = start(inherits);
    dies = start(bequeaths);
    while (!look(BLOCKING) && !gone(survives))
        sched_yield();
    murder(dies);
    post(KILLED_AT);
    well = ended_well("inheritance", 1, survives);
    printf("inheritance %s\n", well ? "ok" : "FAILED");
    cases_run++;
    cases_failed += !well;
}

/* A death that another call saw first ends the next receive, and that one only. */
static void receives(void)
{
    mcapi_status_t status;
    mcapi_request_t receiving;
    size_t size;
    initialize(1);
    create(1);
    get(2, 1);
    serve(READY);
    post(BLOCKING);
    mcapi_endpoint_get(DOMAIN, 2, 7, SOON, &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    mcapi_msg_recv(OWN(1), bytes, sizeof bytes, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 4);
    mcapi_msg_recv(OWN(1), bytes, sizeof bytes, &size, &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    mcapi_msg_recv_i(OWN(1), bytes, sizeof bytes, &receiving, &status);
    EXPECT(MCAPI_PENDING);
    post(AGAIN);
    EXPECT_IS(MCAPI_SUCCESS, end_of(&receiving));
    post(DONE);
    finalize();
}

static void sends(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t to;
    initialize(2);
    create(1);
    to = get(1, 1);
    mcapi_msg_send(FAR(1), to, "left", 4, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    post(READY);
    serve(DONE);
    finalize();
}

/* A peer that does all there is, killed at any moment, many times. */
enum { KILLS = 25 };

static void busy_peer(void)
{
    mcapi_status_t status;
    mcapi_uint32_t packet_out, scalar_out, packet_in, i;
    mcapi_request_t request;
    size_t size;
    void *packet;

    initialize(2);
    for (i = 1; i <= 4; i++) {
        create(i);
        get(2, i);
    }
    get(1, 1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, FAR(2), get(1, 2)));
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, FAR(3), get(1, 3)));
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, get(1, 4), FAR(4)));
    packet_out = open_send(&packets, FAR(2));
    scalar_out = open_send(&scalars, FAR(3));
    packet_in = open_recv(&packets, FAR(4));
    for (i = 0;; i++) {
        fill((unsigned char *)bytes, i % 3000, i);
        mcapi_msg_send(FAR(1), OWN(1), &i, sizeof i, i % 8, &status);
        mcapi_pktchan_send(packet_out, bytes, i % 3000, &status);
        mcapi_sclchan_send_uint32(scalar_out, i, &status);
        mcapi_pktchan_recv_i(packet_in, &packet, &request, &status);
        if (mcapi_wait(&request, &size, SOON, &status))
            mcapi_pktchan_release(packet, &status);
    }
}

static void outlives_many(void)
{
    mcapi_status_t status;
    mcapi_uint32_t round, i, packet_in, scalar_in, packet_out;
    mcapi_port_t port;
    void *packet;
    size_t size;

    initialize(1);
    for (port = 1; port <= 4; port++)
        create(port);
    for (round = 1; round <= KILLS; round++) {
        mcapi_request_t requests[3];
        put(ROUND, round);
        packets.open_recv(&packet_in, OWN(2), &requests[0], &status);
        scalars.open_recv(&scalar_in, OWN(3), &requests[1], &status);
        packets.open_send(&packet_out, OWN(4), &requests[2], &status);
        EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[0]));
        EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[1]));
        EXPECT_IS(MCAPI_SUCCESS, end_of(&requests[2]));
        put(BLOCKING, round);
        for (i = 0;; i++) {
            mcapi_uint32_t word;
            mcapi_msg_recv(OWN(1), bytes, sizeof bytes, &size, &status);
            if (status != MCAPI_SUCCESS)
                break;
            CHECK(size == sizeof i);
            mcapi_pktchan_recv(packet_in, &packet, &size, &status);
            if (status != MCAPI_SUCCESS)
                break;
            CHECK(size == i % 3000 && filled(packet, size, i));
            mcapi_pktchan_release(packet, &status);
            EXPECT(MCAPI_SUCCESS);
            word = mcapi_sclchan_recv_uint32(scalar_in, &status);
            if (status != MCAPI_SUCCESS)
                break;
            CHECK(word == i);
            mcapi_pktchan_send(packet_out, &word, sizeof word, &status);
            if (status != MCAPI_SUCCESS)
                break;
        }
        EXPECT(MCAPI_ERR_TRANSMISSION);
        EXPECT_IS(MCAPI_SUCCESS, close_recv(&packets, packet_in));
        EXPECT_IS(MCAPI_SUCCESS, close_recv(&scalars, scalar_in));
        EXPECT_IS(MCAPI_SUCCESS, close_send(&packets, packet_out));
        /* Messages of the dead are not for the next. */
        while (mcapi_msg_available(OWN(1), &status) > 0) {
            mcapi_msg_recv(OWN(1), bytes, sizeof bytes, &size, &status);
            EXPECT(MCAPI_SUCCESS);
        }
        put(ENDED, round);
    }
    finalize();
}

static void storm(void)
{
    pid_t survives, dies;
    unsigned round, seed = 1;
    int well;
    if (getenv("CASE"))
        return;
    make_board();
    survives = start(outlives_many);
    for (round = 1; round <= KILLS; round++) {
        unsigned from, wait;
        while (look(ROUND) < round && !gone(survives))
            sched_yield();
        dies = start(busy_peer);
        while (look(BLOCKING) < round && !gone(survives))
            sched_yield();
        seed = seed * 1103515245u + 12345u;
        wait = (seed >> 16) % 20000;
        for (from = microseconds(); microseconds() - from < wait;)
            sched_yield();
        murder(dies);
        while (look(ENDED) < round && !gone(survives))
            sched_yield();
    }
    well = ended_well("storm", 1, survives);
    printf("storm %s\n", well ? "ok" : "FAILED");
    cases_run++;
    cases_failed += !well;
}

int main(void)
{
    twice("getting", gets, is_got);
    twice("opening", opens, connects);
    twice("receiving", receives, sends);
    inheritance();
    storm();
    return verdict(5);
}
