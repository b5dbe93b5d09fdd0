/*
 * A client hunts a server that is not there yet, sends it signals and gets them back; the server is
 * killed, and the client is told. Nothing is configured and nothing runs beside them.
 *
 *     client                              server
 *       hunt "server" ........ appears ──►  open "server"
 *       attach
 *       REQUEST ─────────────────────────►  receive
 *       receive REPLY ◄──────────────────── the same signal, sent back
 *       attach signal ◄──── killed ──────── ✗
 *
 *     cc -I crates/narrows-capi/include examples/linx/squares.c -lnarrows -o squares && ./squares
 *
 * Expected output:
 *
 *     client: the server is there
 *     client: reply 1: 1 squared is 1
 *     client: reply 2: 2 squared is 4
 *     client: reply 3: 3 squared is 9
 *     client: 1000 signals and back: … us each
 *     client: the server is gone
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST = 1, REPLY = 2, ROUNDS = 1000 };

struct square {
    LINX_SIGSELECT number;
    uint32_t value;
    uint32_t squared;
};

union LINX_SIGNAL {
    LINX_SIGSELECT number;
    struct square square;
};

static const LINX_SIGSELECT any[] = {0};

/* Ends the program if a call failed. */
static void done(int fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void server(void)
{
    union LINX_SIGNAL *sig;
    LINX *linx = linx_open("server", 0, NULL);
    done(linx != NULL, "linx_open");
    for (;;) {
        done(linx_receive(linx, &sig, any) > 0, "linx_receive");
        sig->square.number = REPLY;
        sig->square.squared = sig->square.value * sig->square.value;
        done(linx_send(linx, &sig, linx_sender(linx, &sig)) == 0, "linx_send");
    }
}

/* Sends a number, and receives it squared. */
static uint32_t squared(LINX *linx, LINX_SPID to, uint32_t value)
{
    static const LINX_SIGSELECT replies[] = {1, REPLY};
    uint32_t result;
    union LINX_SIGNAL *sig = linx_alloc(linx, sizeof(struct square), REQUEST);
    done(sig != LINX_NIL, "linx_alloc");
    sig->square.value = value;
    done(linx_send(linx, &sig, to) == 0, "linx_send");
    done(linx_receive(linx, &sig, replies) > 0, "linx_receive");
    result = sig->square.squared;
    done(linx_free_buf(linx, &sig) == 0, "linx_free_buf");
    return result;
}

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(void)
{
    static const LINX_SIGSELECT found[] = {1, LINX_OS_HUNT_SIG};
    static const LINX_SIGSELECT gone[] = {1, LINX_OS_ATTACH_SIG};
    union LINX_SIGNAL *sig;
    LINX_SPID to;
    LINX *linx;
    double begin;
    uint32_t n;
    pid_t pid;

    alarm(60);
    /* The other process is made before there is a handle that it would have a copy of. */
    int go[2];
    char byte = 0;
    done(pipe(go) == 0, "pipe");
    pid = fork();
    done(pid >= 0, "fork");
    if (pid == 0) {
        alarm(60);
        done(read(go[0], &byte, 1) == 1, "read");
        server();
    }

    linx = linx_open("client", 0, NULL);
    done(linx != NULL, "linx_open");
    done(linx_hunt(linx, "server", NULL) == 0, "linx_hunt");
    done(linx_receive_w_tmo(linx, &sig, 0, any) == 0, "linx_receive_w_tmo");
    done(write(go[1], &byte, 1) == 1, "write");

    done(linx_receive(linx, &sig, found) > 0, "linx_receive");
    to = linx_sender(linx, &sig);
    linx_free_buf(linx, &sig);
    puts("client: the server is there");
    done(linx_attach(linx, NULL, to) != LINX_ILLEGAL_ATTREF, "linx_attach");

    for (n = 1; n <= 3; n++)
        printf("client: reply %u: %u squared is %u\n", n, n, squared(linx, to, n));
    begin = microseconds();
    for (n = 0; n < ROUNDS; n++)
        squared(linx, to, n);
    printf("client: %d signals and back: %.2f us each\n", ROUNDS,
           (microseconds() - begin) / ROUNDS);

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    done(linx_receive(linx, &sig, gone) > 0, "linx_receive");
    if (linx_sender(linx, &sig) == to)
        puts("client: the server is gone");
    linx_free_buf(linx, &sig);
    return linx_close(linx) == 0 ? 0 : 1;
}
