/* Two processes and more: hunted before they are there, talked to, attached to, killed. */
#include "check.h"

/* Sends everything back until told to end. */
static void echo_as(const char *name)
{
    LINX *linx = opened(name);
    LINX_SIGSELECT number;
    do {
        union LINX_SIGNAL *sig;
        CHECK(linx_receive_w_tmo(linx, &sig, SOON, any) > 0);
        number = sig->number;
        CHECK(linx_send(linx, &sig, linx_sender(linx, &sig)) == 0);
        CHECK(sig == LINX_NIL);
    } while (number != LAST);
    CHECK(linx_close(linx) == 0);
}

static struct gate gates[3];

static void server(void)
{
    pass(&gates[0]);
    echo_as("server");
}

static void next_server(void)
{
    pass(&gates[1]);
    echo_as("server");
}

static void consumer(void)
{
    pass(&gates[2]);
    echo_as("node1/consumer");
}

static void exchange(LINX *linx, LINX_SPID to)
{
    static const int sizes[] = {4, 8, 12, 28, 29, 48, 49, 4096, 65536};
    static const LINX_SIGSELECT only_two[] = {1, TWO};
    union LINX_SIGNAL *sig;
    size_t n;
    int at;
    for (n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        unsigned char *bytes;
        sig = linx_alloc(linx, sizes[n], ONE);
        CHECK(sig != LINX_NIL);
        bytes = (unsigned char *)sig;
        for (at = 4; at < sizes[n]; at++)
            bytes[at] = (unsigned char)(at * 7);
        CHECK(linx_send(linx, &sig, to) == 0);
        CHECK(sig == LINX_NIL);
        sig = got(linx, ONE);
        CHECK(linx_sender(linx, &sig) == to);
        CHECK(linx_sigsize(linx, &sig) == sizes[n]);
        bytes = (unsigned char *)sig;
        for (at = 4; at < sizes[n]; at++)
            CHECK(bytes[at] == (unsigned char)(at * 7));
        freed(linx, sig);
    }
    /* What is not wanted yet waits. */
    sig = made(linx, ONE, 11);
    CHECK(linx_send(linx, &sig, to) == 0);
    sig = made(linx, TWO, 22);
    CHECK(linx_send(linx, &sig, to) == 0);
    CHECK(linx_receive_w_tmo(linx, &sig, SOON, only_two) > 0);
    CHECK(sig->numbered.value == 22);
    freed(linx, sig);
    sig = got(linx, ONE);
    CHECK(sig->numbered.value == 11);
    freed(linx, sig);
}

static void client(void)
{
    LINX *linx;
    union LINX_SIGNAL *sig;
    LINX_SPID first, second;
    pid_t pids[3];
    int at;

    for (at = 0; at < 3; at++)
        gates[at] = closed_gate();
    pids[0] = start(server);
    pids[1] = start(next_server);
    pids[2] = start(consumer);
    linx = opened("client");

    /* Hunted before it is there; the hunt's signal comes back, with what was in it. */
    sig = made(linx, THREE, 33);
    CHECK(linx_hunt(linx, "server", &sig) == 0);
    CHECK(sig == LINX_NIL);
    CHECK(nothing(linx));
    open_gate(&gates[0]);
    sig = got(linx, THREE);
    CHECK(sig->numbered.value == 33);
    first = linx_sender(linx, &sig);
    freed(linx, sig);
    CHECK(hunted(linx, "server") == first);
    exchange(linx, first);

    /* Killed; what it had sent comes before the word of its end. */
    CHECK(linx_attach(linx, NULL, first) != LINX_ILLEGAL_ATTREF);
    sig = made(linx, TWO, 1);
    CHECK(linx_send(linx, &sig, first) == 0);
    freed(linx, got(linx, TWO));
    murder(pids[0]);
    sig = got(linx, LINX_OS_ATTACH_SIG);
    CHECK(linx_sender(linx, &sig) == first);
    FAILS(ECONNRESET, linx_send(linx, &sig, first) == -1);
    CHECK(sig == LINX_NIL);
    CHECK(nothing(linx));

    /* Its next life is another. */
    open_gate(&gates[1]);
    second = hunted(linx, "server");
    CHECK(second != first);
    CHECK(linx_attach(linx, NULL, second) != LINX_ILLEGAL_ATTREF);
    exchange(linx, second);
    sig = made(linx, LAST, 0);
    CHECK(linx_send(linx, &sig, second) == 0);
    freed(linx, got(linx, LAST));
    freed(linx, got(linx, LINX_OS_ATTACH_SIG));
    finish(pids[1]);

    /* Through a link, and through one that the node at its end does not have. */
    CHECK(linx_hunt(linx, "node1/consumer", NULL) == 0);
    CHECK(nothing(linx));
    open_gate(&gates[2]);
    first = found(linx);
    exchange(linx, first);
    CHECK(linx_hunt(linx, "node1/nowhere/consumer", NULL) == 0);
    sig = made(linx, ONE, 0);
    CHECK(linx_send(linx, &sig, first) == 0);
    sig = got(linx, LINX_OS_HUNT_SIG);
    CHECK(linx_sender(linx, &sig) == LINX_ILLEGAL_SPID);
    freed(linx, sig);
    freed(linx, got(linx, ONE));
    /* The link itself is found too, and its end told. */
    second = hunted(linx, "node1/");
    CHECK(linx_attach(linx, NULL, second) != LINX_ILLEGAL_ATTREF);
    murder(pids[2]);
    sig = got(linx, LINX_OS_ATTACH_SIG);
    CHECK(linx_sender(linx, &sig) == second);
    freed(linx, sig);
    CHECK(linx_close(linx) == 0);
}

static void *echo_thread(void *name)
{
    echo_as((const char *)name);
    return NULL;
}

/* Endpoints of one process, in threads: on one node, and on a node each. */
static void threads(void)
{
    static const char *names[] = {"node2/a", "node2/b", "c"};
    LINX *linx = opened("client");
    pthread_t threads[3];
    union LINX_SIGNAL *sig;
    LINX_SPID to[3];
    uint32_t n;
    int at;
    for (at = 0; at < 3; at++)
        CHECK(pthread_create(&threads[at], NULL, echo_thread, (void *)names[at]) == 0);
    for (at = 0; at < 3; at++)
        to[at] = hunted(linx, names[at]);
    for (n = 0; n < 200; n++) {
        for (at = 0; at < 3; at++) {
            sig = made(linx, ONE, n);
            CHECK(linx_send(linx, &sig, to[at]) == 0);
        }
        for (at = 0; at < 3; at++) {
            CHECK(linx_receive_from(linx, &sig, SOON, any, to[at]) > 0);
            CHECK(sig->numbered.value == n);
            freed(linx, sig);
        }
    }
    for (at = 0; at < 3; at++) {
        sig = made(linx, LAST, 0);
        CHECK(linx_send(linx, &sig, to[at]) == 0);
        freed(linx, got(linx, LAST));
        CHECK(pthread_join(threads[at], NULL) == 0);
    }
    CHECK(linx_close(linx) == 0);
}

int main(void)
{
    int at;
    for (at = 0; on_stack(at); at++) {
        finish(start(client));
        finish(start(threads));
    }
    CHECK(setenv("NARROWS_LINX_STACK", "tall", 1) == 0);
    FAILS(EINVAL, linx_open("client", 0, NULL) == NULL);
    return 0;
}
