/* Addresses that are handed on: whoever has one reaches the endpoint that it is of, or is told that
   it is gone, and reaches nobody else. */
#include "check.h"

static void post(LINX *linx, LINX_SIGSELECT number, LINX_SPID to, uint32_t value)
{
    union LINX_SIGNAL *sig = made(linx, number, value);
    CHECK(linx_send(linx, &sig, to) == 0);
    CHECK(sig == LINX_NIL);
}

/* Receives a signal from one endpoint: what is in it. */
static uint32_t from(LINX *linx, LINX_SIGSELECT number, LINX_SPID sender)
{
    union LINX_SIGNAL *sig = got(linx, number);
    uint32_t value = sig->numbered.value;
    CHECK(linx_sender(linx, &sig) == sender);
    freed(linx, sig);
    return value;
}

static int is_dead(LINX *linx, LINX_SPID to)
{
    union LINX_SIGNAL *sig = made(linx, THREE, 0);
    int sent = linx_send(linx, &sig, to);
    return sent == -1 && (errno == ECONNRESET || errno == EINVAL) && sig == LINX_NIL;
}

/* One thread has them all: nobody else serves their nodes. */
static void alone(void)
{
    static const char *names[] = {"one", "two", "node1/a", "node1/b", "node2/a", "", "one"};
    enum { COUNT = sizeof names / sizeof *names };
    LINX *linx[COUNT];
    LINX_SPID spids[COUNT];
    int at, other;
    for (at = 0; at < COUNT; at++) {
        linx[at] = opened(names[at]);
        spids[at] = linx_get_spid(linx[at]);
        for (other = 0; other < at; other++)
            CHECK(spids[at] != spids[other]);
    }
    for (at = 0; at < COUNT; at++)
        for (other = 0; other < COUNT; other++)
            post(linx[at], ONE, spids[other], (uint32_t)(COUNT * at + other));
    for (other = 0; other < COUNT; other++) {
        int seen[COUNT] = {0};
        for (at = 0; at < COUNT; at++) {
            union LINX_SIGNAL *sig = got(linx[other], ONE);
            uint32_t value = sig->numbered.value;
            CHECK(value % COUNT == (uint32_t)other && !seen[value / COUNT]++);
            CHECK(linx_sender(linx[other], &sig) == spids[value / COUNT]);
            freed(linx[other], sig);
        }
        CHECK(nothing(linx[other]));
    }
    /* Hunted, attached to, and gone. */
    CHECK(hunted(linx[0], "two") == spids[1]);
    CHECK(hunted(linx[1], "node2/a") == spids[4]);
    CHECK(linx_attach(linx[0], NULL, spids[4]) != LINX_ILLEGAL_ATTREF);
    CHECK(linx_close(linx[4]) == 0);
    (void)from(linx[0], LINX_OS_ATTACH_SIG, spids[4]);
    CHECK(is_dead(linx[0], spids[4]));
    /* Others hear of it in their next calls. */
    CHECK(nothing(linx[5]) && is_dead(linx[5], spids[4]));
    for (at = 0; at < COUNT; at++)
        if (at != 4)
            CHECK(linx_close(linx[at]) == 0);
}

static struct gate gates[2];

/* Tells the server of itself and waits for whom it is told of: talks to that one. */
static void worker(void)
{
    LINX *linx, *late;
    LINX_SPID server, client, own;
    union LINX_SIGNAL *sig;
    pass(&gates[0]);
    linx = opened("worker");
    own = linx_get_spid(linx);
    server = hunted(linx, "server");
    post(linx, ONE, server, own);
    client = from(linx, TWO, server);
    post(linx, ONE, client, own);
    CHECK(from(linx, TWO, client) == 7);
    /* In another's name, that of one more endpoint here, and one that attaches. */
    sig = made(linx, ONE, 8);
    CHECK(linx_send_w_s(linx, &sig, server, client) == 0);
    late = opened("");
    post(late, THREE, client, linx_get_spid(late));
    CHECK(from(late, TWO, client) == 9);
    CHECK(linx_attach(late, NULL, client) != LINX_ILLEGAL_ATTREF);
    post(late, THREE, client, 10);
    (void)from(late, LINX_OS_ATTACH_SIG, client);
    CHECK(linx_attach(linx, NULL, client) != LINX_ILLEGAL_ATTREF);
    (void)from(linx, LINX_OS_ATTACH_SIG, client);
    CHECK(is_dead(late, client) && is_dead(linx, client));
    CHECK(linx_close(late) == 0 && linx_close(linx) == 0);
}

static void client(void)
{
    LINX *linx;
    LINX_SPID server, worker, late;
    union LINX_SIGNAL *sig;
    pass(&gates[1]);
    linx = opened("client");
    server = hunted(linx, "server");
    post(linx, ONE, server, linx_get_spid(linx));
    sig = got(linx, ONE);
    worker = linx_sender(linx, &sig);
    CHECK(sig->numbered.value == worker && worker != server && worker != linx_get_spid(linx));
    freed(linx, sig);
    post(linx, TWO, worker, 7);
    CHECK(from(linx, ONE, server) == 8);
    sig = got(linx, THREE);
    late = linx_sender(linx, &sig);
    CHECK(sig->numbered.value == late && late != worker);
    freed(linx, sig);
    post(linx, TWO, late, 9);
    CHECK(from(linx, THREE, late) == 10);
    CHECK(linx_close(linx) == 0);
}

/* Brings a worker and a client together that never hunted each other. */
static void introduce(void)
{
    LINX *linx;
    LINX_SPID first, second;
    union LINX_SIGNAL *sig;
    pid_t pids[2];
    gates[0] = closed_gate();
    gates[1] = closed_gate();
    pids[0] = start(worker);
    pids[1] = start(client);
    linx = opened("server");
    open_gate(&gates[0]);
    sig = got(linx, ONE);
    first = linx_sender(linx, &sig);
    CHECK(sig->numbered.value == first);
    freed(linx, sig);
    open_gate(&gates[1]);
    sig = got(linx, ONE);
    second = linx_sender(linx, &sig);
    CHECK(sig->numbered.value == second && first != second);
    freed(linx, sig);
    post(linx, TWO, first, second);
    /* The client is told that it is served while it waits. */
    finish(pids[1]);
    finish(pids[0]);
    CHECK(nothing(linx));
    CHECK(linx_close(linx) == 0);
}

static struct gate told;

static void short_lived(void)
{
    LINX *linx, *other;
    LINX_SPID spids[2];
    pass(&gates[0]);
    linx = opened("short");
    other = opened("shorter");
    spids[0] = linx_get_spid(linx);
    spids[1] = linx_get_spid(other);
    CHECK(linx_close(other) == 0);
    CHECK(write(told.ends[1], spids, sizeof spids) == sizeof spids);
    pause();
}

/* Addresses of endpoints that are gone, closed or killed, whose names have new holders. */
static void gone(void)
{
    LINX *linx, *next[2];
    LINX_SPID spids[2];
    pid_t pid;
    gates[0] = closed_gate();
    told = closed_gate();
    pid = start(short_lived);
    open_gate(&gates[0]);
    CHECK(read(told.ends[0], spids, sizeof spids) == sizeof spids);
    linx = opened("linx");
    CHECK(is_dead(linx, spids[1]));
    murder(pid);
    CHECK(is_dead(linx, spids[0]));
    next[0] = opened("short");
    next[1] = opened("shorter");
    CHECK(is_dead(linx, spids[0]) && is_dead(linx, spids[1]));
    CHECK(linx_attach(linx, NULL, spids[0]) == LINX_ILLEGAL_ATTREF);
    CHECK(nothing(next[0]) && nothing(next[1]) && nothing(linx));
    CHECK(linx_close(next[0]) == 0 && linx_close(next[1]) == 0 && linx_close(linx) == 0);
}

static void asks(void)
{
    LINX *linx;
    LINX_SPID server;
    uint32_t n;
    pass(&gates[0]);
    linx = opened("");
    server = hunted(linx, "server");
    for (n = 0; n < 5; n++) {
        union LINX_SIGNAL *sig;
        post(linx, ONE, server, n);
        sig = got(linx, TWO);
        CHECK(linx_sender(linx, &sig) != server && sig->numbered.value == n);
        freed(linx, sig);
    }
    post(linx, LAST, server, 0);
    CHECK(linx_close(linx) == 0);
}

/* A server that forks for each request: the child answers whom its parent heard. */
static void forks(void)
{
    LINX *linx;
    pid_t asking;
    gates[0] = closed_gate();
    asking = start(asks);
    linx = opened("server");
    open_gate(&gates[0]);
    for (;;) {
        union LINX_SIGNAL *sig;
        LINX_SPID whom;
        uint32_t value;
        pid_t child;
        CHECK(linx_receive_w_tmo(linx, &sig, SOON, any) > 0);
        if (sig->number == LAST)
            break;
        whom = linx_sender(linx, &sig);
        value = sig->numbered.value;
        freed(linx, sig);
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            LINX *own;
            alarm(PATIENCE);
            own = opened("server");
            post(own, TWO, whom, value);
            CHECK(linx_close(own) == 0);
            _exit(0);
        }
        finish(child);
    }
    finish(asking);
    CHECK(linx_close(linx) == 0);
}

int main(void)
{
    int at;
    for (at = 0; on_stack(at); at++) {
        finish(start(alone));
        finish(start(introduce));
        finish(start(gone));
        finish(start(forks));
    }
    return 0;
}
