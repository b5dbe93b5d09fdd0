/*
 * The peer is killed in every state in which a call can wait for it. The call has to end with an
 * error, how long that took is printed, and afterwards the node works with a new peer of the same
 * name, over the same endpoints.
 */
#include "check.h"

#include <fcntl.h>

enum { READY, BLOCKING, KILLED_AT, AGAIN, DONE, ROUND, ENDED, PREPARED };
/* Milliseconds; far more than it takes, far less than any timeout. */
#define LATE 1000

enum role { MESSAGES, RECEIVES, SENDS };

/* The survivor's: 1 for messages, 2 receives, 3 sends; the peer's the same. */
#define OWN(port) ((mcapi_endpoint_t)DOMAIN << 24 | 1u << 12 | (mcapi_endpoint_t)(port))
#define FAR(port) ((mcapi_endpoint_t)DOMAIN << 24 | 2u << 12 | (mcapi_endpoint_t)(port))

typedef struct {
    const char *name;
    /* What the survivor does, and over which channels. */
    enum role role;
    const kind_t *kind;
    /* Whether the peer is in no call of MCAPI, so that nothing is answered or taken. */
    int hangs;
    /* Blocks until the peer has died. */
    mcapi_status_t (*block)(void);
} state_t;

static const state_t *state;
static mcapi_uint32_t handle;
static char bytes[3000];

static unsigned microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned)now.tv_sec * 1000000u + (unsigned)(now.tv_nsec / 1000);
}

/* What blocks. */

static mcapi_status_t in_msg_recv(void)
{
    mcapi_status_t status;
    size_t size;
    mcapi_msg_recv(OWN(1), bytes, sizeof bytes, &size, &status);
    return status;
}

static mcapi_status_t in_msg_recv_i(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_msg_recv_i(OWN(1), bytes, sizeof bytes, &request, &status);
    EXPECT(MCAPI_PENDING);
    return end_of(&request);
}

static mcapi_status_t in_msg_send(void)
{
    mcapi_status_t status;
    do
        mcapi_msg_send(OWN(1), FAR(1), bytes, sizeof bytes, 0, &status);
    while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_msg_send_i(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    do {
        mcapi_msg_send_i(OWN(1), FAR(1), bytes, sizeof bytes, 0, &request, &status);
        status = end_of_call(&request, status);
    } while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_pktchan_recv(void)
{
    mcapi_status_t status;
    void *packet;
    size_t size;
    mcapi_pktchan_recv(handle, &packet, &size, &status);
    return status;
}

static mcapi_status_t in_pktchan_recv_i(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    void *packet;
    mcapi_pktchan_recv_i(handle, &packet, &request, &status);
    EXPECT(MCAPI_PENDING);
    return end_of(&request);
}

static mcapi_status_t in_pktchan_send(void)
{
    mcapi_status_t status;
    do
        mcapi_pktchan_send(handle, bytes, sizeof bytes, &status);
    while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_pktchan_send_i(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    do {
        mcapi_pktchan_send_i(handle, bytes, sizeof bytes, &request, &status);
        status = end_of_call(&request, status);
    } while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_sclchan_recv(void)
{
    mcapi_status_t status;
    mcapi_sclchan_recv_uint32(handle, &status);
    return status;
}

static mcapi_status_t in_sclchan_send(void)
{
    mcapi_status_t status;
    do
        mcapi_sclchan_send_uint32(handle, 7, &status);
    while (status == MCAPI_SUCCESS);
    return status;
}

static mcapi_status_t in_connect(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_pktchan_connect_i(OWN(3), FAR(1), &request, &status);
    EXPECT(MCAPI_PENDING);
    return end_of(&request);
}

static mcapi_status_t in_connect_of_others(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_sclchan_connect_i(FAR(1), FAR(2), &request, &status);
    EXPECT(MCAPI_PENDING);
    return end_of(&request);
}

static mcapi_status_t in_get_attribute(void)
{
    mcapi_status_t status;
    mcapi_uint_t value;
    mcapi_endpoint_get_attribute(FAR(1), MCAPI_ENDP_ATTR_PRIORITY, &value, sizeof value, &status);
    return status;
}

/* One of three ends; the others, of whom nobody died, are as they were. */
static mcapi_status_t in_wait_any(void)
{
    static mcapi_endpoint_t nowhere;
    mcapi_status_t status, end;
    mcapi_request_t requests[3];
    mcapi_request_t *all[3];
    mcapi_uint32_t unset;
    void *packet;
    size_t i, size;
    for (i = 0; i < 3; i++)
        all[i] = &requests[i];
    mcapi_endpoint_get_i(DOMAIN, 9, NOWHERE, &nowhere, &requests[0], &status);
    EXPECT(MCAPI_PENDING);
    mcapi_pktchan_recv_i(handle, &packet, &requests[1], &status);
    EXPECT(MCAPI_PENDING);
    mcapi_pktchan_recv_open_i(&unset, OWN(4), &requests[2], &status);
    EXPECT(MCAPI_PENDING);
    CHECK(mcapi_wait_any(3, all, &size, SOON, &end) == 1);
    for (i = 0; i < 3; i += 2) {
        CHECK(mcapi_test(&requests[i], &size, &status) == MCAPI_FALSE);
        EXPECT(MCAPI_PENDING);
        mcapi_cancel(&requests[i], &status);
        EXPECT(MCAPI_SUCCESS);
    }
    return end;
}

static const state_t states[] = {
    {"msg_recv", MESSAGES, &packets, 0, in_msg_recv},
    {"msg_recv_i", MESSAGES, &packets, 0, in_msg_recv_i},
    {"msg_send", MESSAGES, &packets, 1, in_msg_send},
    {"msg_send_i", MESSAGES, &packets, 1, in_msg_send_i},
    {"pktchan_recv", RECEIVES, &packets, 0, in_pktchan_recv},
    {"pktchan_recv_i", RECEIVES, &packets, 0, in_pktchan_recv_i},
    {"pktchan_recv, peer in no call", RECEIVES, &packets, 1, in_pktchan_recv},
    {"pktchan_send", SENDS, &packets, 0, in_pktchan_send},
    {"pktchan_send_i", SENDS, &packets, 1, in_pktchan_send_i},
    {"sclchan_recv", RECEIVES, &scalars, 0, in_sclchan_recv},
    {"sclchan_send", SENDS, &scalars, 1, in_sclchan_send},
    {"connect_i", MESSAGES, &packets, 1, in_connect},
    {"connect_i of others", MESSAGES, &packets, 1, in_connect_of_others},
    {"endpoint_get_attribute", MESSAGES, &packets, 1, in_get_attribute},
    {"wait_any", RECEIVES, &packets, 0, in_wait_any},
};
enum { STATES = 15 };

/* The peer: its side of the channel, and, if it is the second, something over it. */
static void peer(void)
{
    mcapi_status_t status;
    mcapi_port_t port;
    char text[8];
    size_t size;
    void *packet;

    initialize(2);
    for (port = 1; port <= 3; port++)
        create(port);
    get(1, 1);
    if (state->role == RECEIVES) {
        get(2, 3);
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(state->kind, FAR(3), get(1, 2)));
        handle = open_send(state->kind, FAR(3));
    } else if (state->role == SENDS) {
        handle = open_recv(state->kind, FAR(2));
    }
    if (!look(AGAIN)) {
        serve(PREPARED);
        post(READY);
        while (state->hangs)
            pause();
        for (;;)
            serve_once();
    }
    if (state->role == RECEIVES && state->kind == &packets)
        mcapi_pktchan_send(handle, "packet", 7, &status);
    else if (state->role == RECEIVES)
        mcapi_sclchan_send_uint16(handle, 16, &status);
    else if (state->role == SENDS && state->kind == &packets)
        mcapi_pktchan_recv(handle, &packet, &size, &status);
    else if (state->role == SENDS)
        CHECK(mcapi_sclchan_recv_uint16(handle, &status) == 16);
    else
        status = MCAPI_SUCCESS;
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_send(FAR(1), OWN(1), "again", 6, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_recv(FAR(1), text, sizeof text, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(strcmp(text, "well") == 0);
    serve(DONE);
    finalize();
}

static void set_up(void)
{
    get(2, 1);
    get(2, 2);
    if (state->role == RECEIVES)
        handle = open_recv(state->kind, OWN(2));
    else if (state->role == SENDS) {
        EXPECT_IS(MCAPI_SUCCESS, connect_ends(state->kind, OWN(3), get(2, 2)));
        handle = open_send(state->kind, OWN(3));
    }
}

static void survivor(void)
{
    mcapi_status_t status;
    mcapi_port_t port;
    unsigned took;
    size_t size;
    void *packet;

    initialize(1);
    for (port = 1; port <= 4; port++)
        create(port);
    get(1, 3);
    set_up();
    post(PREPARED);
    serve(READY);
    post(BLOCKING);
    status = state->block();
    took = microseconds() - look(KILLED_AT);
    printf("%s: %u us\n", state->name, took);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    CHECK(took < LATE * 1000u);
    /* What there was of it is gone. */
    mcapi_msg_send(OWN(1), FAR(1), "x", 1, 0, &status);
    EXPECT(MCAPI_ERR_TRANSMISSION);
    if (state->role == RECEIVES)
        EXPECT_IS(MCAPI_SUCCESS, close_recv(state->kind, handle));
    else if (state->role == SENDS)
        EXPECT_IS(MCAPI_SUCCESS, close_send(state->kind, handle));
    for (port = 1; port <= 4; port++)
        CHECK(get_uint(OWN(port), MCAPI_ENDP_ATTR_STATUS) == 0);
    post(AGAIN);
    set_up();
    if (state->role == RECEIVES && state->kind == &packets) {
        mcapi_pktchan_recv(handle, &packet, &size, &status);
        CHECK(status != MCAPI_SUCCESS || strcmp((char *)packet, "packet") == 0);
    } else if (state->role == RECEIVES)
        CHECK(mcapi_sclchan_recv_uint16(handle, &status) == 16);
    else if (state->role == SENDS && state->kind == &packets)
        mcapi_pktchan_send(handle, "packet", 7, &status);
    else if (state->role == SENDS)
        mcapi_sclchan_send_uint16(handle, 16, &status);
    else
        status = MCAPI_SUCCESS;
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_recv(OWN(1), bytes, sizeof bytes, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(strcmp(bytes, "again") == 0);
    mcapi_msg_send(OWN(1), FAR(1), "well", 5, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    post(DONE);
    finalize();
}

/* Whether a process waits in the system, as far as that can be seen from outside. */
static int sleeps(pid_t pid)
{
    char path[64], text[512];
    const char *end;
    ssize_t length;
    int file;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = open(path, O_RDONLY);
    CHECK(file >= 0);
    length = read(file, text, sizeof text - 1);
    close(file);
    CHECK(length > 0);
    text[length] = 0;
    end = strrchr(text, ')');
    CHECK(end != NULL);
    /* Z and X: it failed, and says itself why. */
    return end[2] == 'S' || end[2] == 'Z' || end[2] == 'X';
}

static int gone(pid_t pid)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0);
    return info.si_pid == pid;
}

/* Kills the peer once the survivor has been waiting for a while. */
static void kill_when_blocked(pid_t survivor_pid, pid_t peer_pid)
{
    int seen = 0, unused;
    while (!look(BLOCKING) && !gone(survivor_pid))
        sched_yield();
    while (seen < 20) {
        seen = sleeps(survivor_pid) ? seen + 1 : 0;
        sched_yield();
    }
    put(KILLED_AT, microseconds());
    CHECK(kill(peer_pid, SIGKILL) == 0);
    CHECK(waitpid(peer_pid, &unused, 0) == peer_pid);
}

static void in_state(const state_t *which)
{
    pid_t first, second, survives;
    int well;
    const char *only = getenv("CASE");
    if (only && strcmp(only, which->name) != 0)
        return;
    state = which;
    make_board();
    survives = start(survivor);
    first = start(peer);
    kill_when_blocked(survives, first);
    while (!look(AGAIN) && !gone(survives))
        sched_yield();
    second = look(AGAIN) ? start(peer) : 0;
    well = ended_well(which->name, 1, survives);
    if (second)
        well &= ended_well(which->name, 2, second);
    printf("%s %s\n", which->name, well ? "ok" : "FAILED");
    cases_run++;
    cases_failed += !well;
}

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

static void getting_goes_on(void)
{
    pid_t first, second, survives;
    int well;
    if (getenv("CASE"))
        return;
    make_board();
    survives = start(gets);
    first = start(is_got);
    kill_when_blocked(survives, first);
    while (!look(AGAIN) && !gone(survives))
        sched_yield();
    second = start(is_got);
    well = ended_well("getting", 1, survives);
    well &= ended_well("getting", 2, second);
    printf("getting %s\n", well ? "ok" : "FAILED");
    cases_run++;
    cases_failed += !well;
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
    int well, unused;
    if (getenv("CASE"))
        return;
    make_board();
    survives = start(inherits);
    dies = start(bequeaths);
    while (!look(BLOCKING) && !gone(survives))
        sched_yield();
    CHECK(kill(dies, SIGKILL) == 0);
    CHECK(waitpid(dies, &unused, 0) == dies);
    post(KILLED_AT);
    well = ended_well("inheritance", 1, survives);
    printf("inheritance %s\n", well ? "ok" : "FAILED");
    cases_run++;
    cases_failed += !well;
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
    int well, unused;
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
        CHECK(kill(dies, SIGKILL) == 0);
        CHECK(waitpid(dies, &unused, 0) == dies);
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
    size_t i;
    static_assert(sizeof states / sizeof *states == STATES, "none vanishes");
    for (i = 0; i < STATES; i++)
        in_state(&states[i]);
    getting_goes_on();
    inheritance();
    storm();
    return verdict(STATES + 3);
}
