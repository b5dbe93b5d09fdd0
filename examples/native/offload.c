/*
 * Frames of sound that another core encodes. The application starts a call for each frame, and
 * looks every 10 ms, without waiting, for what has come back. When the other core dies, it goes on
 * without.
 *
 *   process app                                  process dsp
 *
 *     every 10 ms: start ─── frame, 320 bytes ───► encode
 *     every 10 ms: finish_next ◄── 160 bytes ─────
 *
 * Expected output:
 *
 *     app: 20 frames went to the dsp, 20 came back, in order
 *     app: half of the calls were away for less than … us
 *     app: the dsp is gone
 *     app: 5 frames were encoded here
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <narrows.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOON ((int64_t)20 * 1000 * 1000 * 1000)
enum { SAMPLES = 160, FRAMES = 20 };

/* Ends the program if a call fails. */
static void done(narrows_error error, const char *what)
{
    if (error == NARROWS_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, narrows_last_error_text());
    exit(1);
}

/* Sixteen bits to eight: the sign, where the highest bit is, and the four bits below it. */
static uint8_t compressed(int16_t sample)
{
    unsigned sign = sample < 0 ? 0x80 : 0, exponent = 7, magnitude;
    magnitude = (unsigned)(sample < 0 ? -(sample + 1) : sample) + 0x84;
    if (magnitude > 0x7fff)
        magnitude = 0x7fff;
    while (exponent > 0 && !(magnitude & (0x80u << exponent)))
        exponent--;
    return (uint8_t)(sign | exponent << 4 | ((magnitude >> (exponent + 3)) & 0x0f));
}

static int encode(void *user, const void *request, size_t length, void *response, size_t *room)
{
    uint8_t *to = (uint8_t *)response;
    int16_t sample;
    size_t i, samples = length / sizeof sample;
    (void)user;
    if (length % sizeof sample != 0 || samples > *room)
        return 1;
    for (i = 0; i < samples; i++) {
        memcpy(&sample, (const char *)request + i * sizeof sample, sizeof sample);
        to[i] = compressed(sample);
    }
    *room = samples;
    return 0;
}

static void dsp(void)
{
    narrows_node *node;
    alarm(60);
    done(narrows_open("dsp", NULL, &node), "open");
    done(narrows_offer(node, "encode", encode, NULL), "offer");
    for (;;)
        done(narrows_serve(node, NARROWS_FOREVER, NULL), "serve");
}

/* A frame that says which it is. */
static void microphone(int16_t frame[SAMPLES], int number)
{
    int i;
    for (i = 0; i < SAMPLES; i++)
        frame[i] = (int16_t)(1000 * number + i);
}

int main(void)
{
    narrows_options options = NARROWS_OPTIONS;
    narrows_node *node;
    narrows_peer *peer;
    narrows_flow *flow;
    narrows_phases phases;
    narrows_error error;
    int16_t frame[SAMPLES], first[SAMPLES];
    uint8_t code[SAMPLES];
    size_t length;
    int sent = 0, back = 0, here = 0;
    pid_t pid = fork();

    alarm(60);
    if (pid < 0)
        return 1;
    if (pid == 0)
        dsp();
    options.flags = NARROWS_MEASURE;
    done(narrows_open("app", &options, &node), "open");
    done(narrows_hunt(node, "dsp", SOON, &peer), "hunt");
    done(narrows_open_flow(peer, "encode", "single_copy/interrupt", SAMPLES, SOON, &flow), "flow");

    while (back < FRAMES) {
        if (sent < FRAMES) {
            microphone(frame, sent);
            error = narrows_start(flow, frame, sizeof frame, NULL);
            if (error != NARROWS_AGAIN) {
                done(error, "start");
                sent++;
            }
        }
        usleep(10000);
        while (length = sizeof code, narrows_finish_next(flow, code, &length, 0) == NARROWS_OK) {
            microphone(first, back);
            if (length != SAMPLES || code[0] != compressed(first[0]))
                return 1;
            back++;
        }
    }
    printf("app: %d frames went to the dsp, %d came back, in order\n", sent, back);
    done(narrows_spans(flow, &phases), "spans");
    printf("app: half of the calls were away for less than %ld us\n",
           (long)(phases.away.median / 1000 + 1));

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (here < 5) {
        microphone(frame, here);
        length = sizeof code;
        error = narrows_call(flow, frame, sizeof frame, code, &length, SOON);
        if (error == NARROWS_PEER_GONE) {
            /* Until a hunt finds it again, this core does it. */
            if (here == 0)
                puts("app: the dsp is gone");
            length = sizeof code;
            encode(NULL, frame, sizeof frame, code, &length);
            here++;
        } else
            done(error, "call");
    }
    printf("app: %d frames were encoded here\n", here);
    done(narrows_close_flow(flow), "close_flow");
    done(narrows_close(node), "close");
    return 0;
}
