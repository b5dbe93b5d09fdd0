/* Children of a process that has an endpoint, with threads if it is layered: by fork alone, and
   with exec. Each opens an endpoint of its own and talks to a server and to its parent. */
#include "check.h"

enum { CHILDREN = 4, ECHOES = 20 };

static int rounds = 6;
static const char *program;
static struct gate gate;

static void echo(LINX *linx, LINX_SPID to, uint32_t value)
{
    union LINX_SIGNAL *sig = made(linx, ONE, value);
    CHECK(linx_send(linx, &sig, to) == 0);
    CHECK(linx_receive_from(linx, &sig, SOON, any, to) > 0);
    CHECK(sig->number == ONE && sig->numbered.value == value);
    freed(linx, sig);
}

/* Answers whatever comes until told to end. */
static void server(void)
{
    LINX *linx;
    LINX_SIGSELECT number;
    pass(&gate);
    linx = opened("server");
    do {
        union LINX_SIGNAL *sig;
        CHECK(linx_receive_w_tmo(linx, &sig, SOON, any) > 0);
        number = sig->number;
        CHECK(linx_send(linx, &sig, linx_sender(linx, &sig)) == 0);
    } while (number != LAST);
    CHECK(linx_close(linx) == 0);
}

static void child(void)
{
    LINX *linx;
    LINX_SPID server, parent;
    uint32_t n;
    char name[20];
    alarm(PATIENCE);
    snprintf(name, sizeof name, "child%d", (int)getpid());
    linx = opened(name);
    server = hunted(linx, "server");
    parent = hunted(linx, "parent");
    for (n = 0; n < ECHOES; n++) {
        echo(linx, server, n);
        echo(linx, parent, n);
    }
    CHECK(linx_close(linx) == 0);
}

/* What a child does with what it has of its parent's: nothing but hear that it has none. */
static void inherited(LINX *linx, union LINX_SIGNAL *sig, LINX_SPID to)
{
    union LINX_SIGNAL *none;
    FAILS(EBADF, linx_send(linx, &sig, to) == -1);
    FAILS(EBADF, linx_receive_w_tmo(linx, &none, 0, any) == -1);
    FAILS(EBADF, linx_get_spid(linx) == LINX_ILLEGAL_SPID);
    FAILS(EBADF, linx_close(linx) == -1);
}

static void generation(LINX *linx, LINX_SPID to, int by_exec)
{
    pid_t pids[CHILDREN];
    int at, ended = 0;
    union LINX_SIGNAL *sig;
    for (at = 0; at < CHILDREN; at++) {
        sig = made(linx, ONE, 0);
        /* So that threads of this process are at work while it forks. */
        CHECK(linx_send(linx, &sig, to) == 0);
        sig = made(linx, TWO, 0);
        pids[at] = fork();
        CHECK(pids[at] >= 0);
        if (pids[at] == 0 && by_exec) {
            execl(program, program, "child", (char *)NULL);
            _exit(2);
        }
        if (pids[at] == 0) {
            inherited(linx, sig, to);
            child();
            _exit(0);
        }
        freed(linx, sig);
    }
    /* Each is answered, attached to, and heard to end. */
    while (ended < CHILDREN) {
        LINX_SPID sender;
        CHECK(linx_receive_w_tmo(linx, &sig, SOON, any) > 0);
        sender = linx_sender(linx, &sig);
        if (sig->number == LINX_OS_ATTACH_SIG) {
            ended++;
            freed(linx, sig);
        } else if (sender == to) {
            freed(linx, sig);
        } else {
            if (sig->numbered.value == 0)
                CHECK(linx_attach(linx, NULL, sender) != LINX_ILLEGAL_ATTREF);
            CHECK(linx_send(linx, &sig, sender) == 0);
        }
    }
    for (at = 0; at < CHILDREN; at++)
        finish(pids[at]);
}

static void parent_of(int by_exec)
{
    LINX *linx;
    LINX_SPID to;
    union LINX_SIGNAL *sig;
    pid_t serving;
    int round;
    gate = closed_gate();
    serving = start(server);
    linx = opened("parent");
    open_gate(&gate);
    to = hunted(linx, "server");
    for (round = 0; round < rounds; round++)
        generation(linx, to, by_exec);
    sig = made(linx, LAST, 0);
    CHECK(linx_send(linx, &sig, to) == 0);
    finish(serving);
    CHECK(linx_close(linx) == 0);
}

static void by_fork(void)
{
    parent_of(0);
}

static void by_exec(void)
{
    parent_of(1);
}

/* With a number of rounds it prints a table of the children that did all they had to. */
int main(int argc, char **argv)
{
    int at, kind;
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        child();
        return 0;
    }
    if (argc > 1)
        rounds = atoi(argv[1]);
    for (at = 0; on_stack(at); at++)
        for (kind = 0; kind < 2; kind++) {
            finish(start(kind == 0 ? by_fork : by_exec));
            printf("%s, %s: %d of %d children\n", getenv("NARROWS_LINX_STACK"), kind == 0 ? "fork" : "exec",
                   rounds * CHILDREN, rounds * CHILDREN);
        }
    return 0;
}
