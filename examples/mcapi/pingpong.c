/*
 * Two processes find each other by number, play ping-pong with messages, connect two scalar
 * channels, and play on with scalars. Nothing is configured and nothing runs beside them.
 *
 *     node 1                                       node 2
 *     port 1  <---- messages, both ways --------> port 1
 *     port 2  ----- scalars --------------------> port 2
 *     port 3  <---- scalars --------------------- port 3
 *
 *     cc -I crates/narrows-capi/include examples/mcapi/pingpong.c -lnarrows -o pingpong
 *     ./pingpong
 *
 * On a simulated chip nothing forks, and each core has the part that its argument names:
 *
 *     cc -shared -fPIC -DNARROWS_SIMULATED -I crates/narrows-capi/include \
 *         examples/mcapi/pingpong.c -o pingpong.so
 *     narrows mcapi --on nios2-dual 0=./pingpong.so,ping 1=./pingpong.so,pong
 *
 * Expected output:
 *
 *     1000 messages of 48 bytes and back: … us each
 *     1000 scalars and back: … us each
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mcapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DOMAIN = 0, ROUNDS = 1000, SIZE = 48 };

/* The status of the last call. Every call sets one, and none may be overlooked. */
static mcapi_status_t status;

static void done(const char *what)
{
    char name[MCAPI_MAX_STATUS_SIZE];
    if (status == MCAPI_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, mcapi_display_status(status, name, sizeof name));
    exit(1);
}

/* Waits for what a call ending in _i has begun. */
static void finished(mcapi_request_t *request, const char *what)
{
    size_t size;
    mcapi_wait(request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    done(what);
}

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* What both do first: a node, its endpoints, and the other's, for which each waits. */
static void begin(mcapi_node_t own, mcapi_node_t other, mcapi_endpoint_t here[4],
                  mcapi_endpoint_t there[4])
{
    mcapi_info_t info;
    mcapi_port_t port;
    mcapi_initialize(DOMAIN, own, NULL, NULL, &info, &status);
    done("initialize");
    for (port = 1; port <= 3; port++) {
        here[port] = mcapi_endpoint_create(port, &status);
        done("create an endpoint");
    }
    for (port = 1; port <= 3; port++) {
        there[port] = mcapi_endpoint_get(DOMAIN, other, port, MCAPI_TIMEOUT_INFINITE, &status);
        done("get an endpoint");
    }
}

/* Opens both channels of a node. An open completes when somebody has connected its endpoint. */
static void open_both(mcapi_endpoint_t sends, mcapi_endpoint_t receives,
                      mcapi_sclchan_send_hndl_t *out, mcapi_sclchan_recv_hndl_t *in)
{
    mcapi_request_t sending, receiving;
    mcapi_sclchan_send_open_i(out, sends, &sending, &status);
    mcapi_sclchan_recv_open_i(in, receives, &receiving, &status);
    finished(&sending, "open the sending side");
    finished(&receiving, "open the receiving side");
}

static void ping(void)
{
    mcapi_endpoint_t here[4], there[4];
    mcapi_request_t request;
    mcapi_sclchan_send_hndl_t out;
    mcapi_sclchan_recv_hndl_t in;
    mcapi_uint32_t i, back;
    char ball[SIZE] = "ball", caught[SIZE];
    size_t size;
    double start;

    begin(1, 2, here, there);
    start = microseconds();
    for (i = 0; i < ROUNDS; i++) {
        mcapi_msg_send(here[1], there[1], ball, sizeof ball, 0, &status);
        done("send");
        mcapi_msg_recv(here[1], caught, sizeof caught, &size, &status);
        done("receive");
    }
    printf("%d messages of %d bytes and back: %.1f us each\n", ROUNDS, SIZE,
           (microseconds() - start) / ROUNDS);

    /* Either side may connect both channels, or a third. */
    mcapi_sclchan_connect_i(here[2], there[2], &request, &status);
    finished(&request, "connect there");
    mcapi_sclchan_connect_i(there[3], here[3], &request, &status);
    finished(&request, "connect back");
    open_both(here[2], here[3], &out, &in);
    start = microseconds();
    for (i = 0; i < ROUNDS; i++) {
        mcapi_sclchan_send_uint32(out, i, &status);
        done("send a scalar");
        back = mcapi_sclchan_recv_uint32(in, &status);
        done("receive a scalar");
        if (back != i + 1) {
            fprintf(stderr, "%u came back for %u\n", back, i);
            exit(1);
        }
    }
    printf("%d scalars and back: %.1f us each\n", ROUNDS, (microseconds() - start) / ROUNDS);
    mcapi_finalize(&status);
    done("finalize");
}

static void pong(void)
{
    mcapi_endpoint_t here[4], there[4];
    mcapi_sclchan_send_hndl_t out;
    mcapi_sclchan_recv_hndl_t in;
    mcapi_uint32_t i;
    char ball[SIZE];
    size_t size;

    begin(2, 1, here, there);
    for (i = 0; i < ROUNDS; i++) {
        mcapi_msg_recv(here[1], ball, sizeof ball, &size, &status);
        done("receive");
        mcapi_msg_send(here[1], there[1], ball, size, 0, &status);
        done("send");
    }
    open_both(here[3], here[2], &out, &in);
    for (i = 0; i < ROUNDS; i++) {
        mcapi_uint32_t number = mcapi_sclchan_recv_uint32(in, &status);
        done("receive a scalar");
        mcapi_sclchan_send_uint32(out, number + 1, &status);
        done("send a scalar");
    }
    mcapi_finalize(&status);
    done("finalize");
}

int main(int argc, char **argv)
{
    int ended = 1;
    pid_t child;
    if (argc > 1) {
        if (strcmp(argv[1], "ping") == 0)
            ping();
        else
            pong();
        return 0;
    }
    /* A child has no node of its parent's, so fork first. */
    child = fork();
    if (child == 0) {
        pong();
        return 0;
    }
    ping();
    waitpid(child, &ended, 0);
    return ended != 0;
}
