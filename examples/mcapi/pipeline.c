/*
 * An image goes through three processes over packet channels, one line of it per packet: the first
 * paints it, the second finds its edges, the third puts it together and compares it with what one
 * process alone would have made. Packets are received where the sender put them, and given back.
 *
 *     node 1 paint  ===packets===>  node 2 edges  ===packets===>  node 3 collect
 *
 *     cc -I crates/narrows-capi/include examples/mcapi/pipeline.c -lnarrows -o pipeline
 *     ./pipeline
 *
 * On a simulated chip nothing forks, and each core has the part that its argument names:
 *
 *     cc -shared -fPIC -DNARROWS_SIMULATED -I crates/narrows-capi/include \
 *         examples/mcapi/pipeline.c -o pipeline.so
 *     narrows mcapi --on nios2-quad 0=./pipeline.so,paint 1=./pipeline.so,edges \
 *         2=./pipeline.so,collect
 *
 * Expected output:
 *
 *     480 lines of 640 pixels, … us each
 *     the image is as it should be
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

enum { DOMAIN = 0, PAINT = 1, EDGES = 2, COLLECT = 3, IN = 0, OUT = 1 };
enum { WIDTH = 640, HEIGHT = 480 };

static mcapi_status_t status;

static void done(const char *what)
{
    char name[MCAPI_MAX_STATUS_SIZE];
    if (status == MCAPI_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, mcapi_display_status(status, name, sizeof name));
    exit(1);
}

static void finished(mcapi_request_t *request, const char *what)
{
    size_t size;
    mcapi_wait(request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    done(what);
}

static void begin(mcapi_node_t node)
{
    mcapi_info_t info;
    mcapi_initialize(DOMAIN, node, NULL, NULL, &info, &status);
    done("initialize");
}

/* The way in from the stage before: it is opened, and that stage connects it. */
static mcapi_pktchan_recv_hndl_t open_in(void)
{
    mcapi_pktchan_recv_hndl_t in;
    mcapi_request_t request;
    mcapi_endpoint_t own = mcapi_endpoint_create(IN, &status);
    done("create the way in");
    mcapi_pktchan_recv_open_i(&in, own, &request, &status);
    finished(&request, "open the way in");
    return in;
}

/* The way out to the next stage, which is connected from here. */
static mcapi_pktchan_send_hndl_t open_out(mcapi_node_t next)
{
    mcapi_pktchan_send_hndl_t out;
    mcapi_request_t request;
    mcapi_endpoint_t own, other;
    own = mcapi_endpoint_create(OUT, &status);
    done("create the way out");
    other = mcapi_endpoint_get(DOMAIN, next, IN, MCAPI_TIMEOUT_INFINITE, &status);
    done("get the next stage");
    mcapi_pktchan_connect_i(own, other, &request, &status);
    finished(&request, "connect");
    mcapi_pktchan_send_open_i(&out, own, &request, &status);
    finished(&request, "open the way out");
    return out;
}

/* The next line, until the sender has closed and all was received. */
static const unsigned char *next_line(mcapi_pktchan_recv_hndl_t in)
{
    void *packet;
    size_t size;
    mcapi_pktchan_recv(in, &packet, &size, &status);
    if (status == MCAPI_ERR_CHAN_CLOSEPENDING)
        return NULL;
    done("receive a line");
    return (const unsigned char *)packet;
}

static void give_back(const unsigned char *line)
{
    mcapi_pktchan_release(line, &status);
    done("release a line");
}

static void send_line(mcapi_pktchan_send_hndl_t out, const unsigned char *line)
{
    mcapi_pktchan_send(out, line, WIDTH, &status);
    done("send a line");
}

/* Closes the way out. What is under way still arrives. */
static void end(mcapi_pktchan_send_hndl_t out)
{
    mcapi_request_t request;
    mcapi_pktchan_send_close_i(out, &request, &status);
    finished(&request, "close");
    mcapi_finalize(&status);
    done("finalize");
}

/* Rings around the middle. */
static void paint_line(unsigned char *line, int y)
{
    int x;
    for (x = 0; x < WIDTH; x++) {
        int dx = x - WIDTH / 2, dy = y - HEIGHT / 2;
        line[x] = (unsigned char)((dx * dx + dy * dy) >> 6);
    }
}

/* How much a pixel differs from its neighbours to the left and above. */
static void edges_of(const unsigned char *line, const unsigned char *above, unsigned char *edges)
{
    int x;
    for (x = 0; x < WIDTH; x++) {
        int left = x ? abs(line[x] - line[x - 1]) : 0;
        int up = above ? abs(line[x] - above[x]) : 0;
        edges[x] = (unsigned char)(left > up ? left : up);
    }
}

static void paint(void)
{
    unsigned char line[WIDTH];
    mcapi_pktchan_send_hndl_t out;
    int y;
    begin(PAINT);
    out = open_out(EDGES);
    for (y = 0; y < HEIGHT; y++) {
        paint_line(line, y);
        send_line(out, line);
    }
    end(out);
}

static void edges(void)
{
    unsigned char result[WIDTH];
    const unsigned char *line, *above = NULL;
    mcapi_pktchan_recv_hndl_t in;
    mcapi_pktchan_send_hndl_t out;
    begin(EDGES);
    in = open_in();
    out = open_out(COLLECT);
    while ((line = next_line(in)) != NULL) {
        edges_of(line, above, result);
        send_line(out, result);
        /* The line before is kept where it is until it is not needed any more. */
        if (above)
            give_back(above);
        above = line;
    }
    give_back(above);
    end(out);
}

static void collect(void)
{
    static unsigned char image[HEIGHT][WIDTH], painted[2][WIDTH], expected[WIDTH];
    struct timespec first, last;
    const unsigned char *line;
    mcapi_pktchan_recv_hndl_t in;
    int y, lines = 0;
    begin(COLLECT);
    in = open_in();
    clock_gettime(CLOCK_MONOTONIC, &first);
    while ((line = next_line(in)) != NULL) {
        if (lines < HEIGHT)
            memcpy(image[lines], line, WIDTH);
        lines++;
        give_back(line);
    }
    clock_gettime(CLOCK_MONOTONIC, &last);
    printf("%d lines of %d pixels, %.1f us each\n", lines, WIDTH,
           ((double)(last.tv_sec - first.tv_sec) * 1e6
            + (double)(last.tv_nsec - first.tv_nsec) / 1e3) / HEIGHT);
    for (y = 0; y < HEIGHT; y++) {
        paint_line(painted[y % 2], y);
        edges_of(painted[y % 2], y ? painted[(y + 1) % 2] : NULL, expected);
        if (lines != HEIGHT || memcmp(image[y], expected, WIDTH) != 0) {
            fprintf(stderr, "line %d is not as it should be\n", y);
            exit(1);
        }
    }
    printf("the image is as it should be\n");
    mcapi_finalize(&status);
    done("finalize");
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"paint", "edges", "collect"};
    void (*const stages[])(void) = {paint, edges, collect};
    pid_t children[2];
    int i, ended, well = 1;
    for (i = 0; argc > 1 && i < 3; i++) {
        if (strcmp(argv[1], names[i]) == 0) {
            stages[i]();
            return 0;
        }
    }
    for (i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            stages[i]();
            return 0;
        }
    }
    collect();
    for (i = 0; i < 2; i++) {
        waitpid(children[i], &ended, 0);
        well &= ended == 0;
    }
    return !well;
}
