/*
 * Frames through the coding thread, with a DSP that is there, is killed, comes back, hangs, and
 * never was: `test DSP`, where DSP is the program of dsp.c. All that went in has to come out, in
 order. */
#include "offload.h"

#include <narrows.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what)                                                                               \
    do {                                                                                          \
        if (!(what)) {                                                                            \
            fprintf(stderr, "test.c:%d: %s; said: %s\n", __LINE__, #what, said);                  \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

enum { SAMPLES = 160 };
/* Longer than any of this takes. */
#define FOREVER ((int64_t)30 * 1000 * 1000 * 1000)

static const char *program;
static char said[4096];
static char directory[] = "/tmp/linphone-dsp-XXXXXX", statistics[64];


static void listen_to(const char *sentence)
{
    strncat(said, sentence, sizeof said - strlen(said) - 2);
    strcat(said, "\n");
}

static int times_said(const char *part)
{
    const char *at = said;
    int count = 0;
    while ((at = strstr(at, part)) != NULL) {
        count++;
        at++;
    }
    return count;
}

/* Starts the DSP with calls that take so long, and waits until others can find it. */
static pid_t start_slow_dsp(const char *microseconds)
{
    int ends[2];
    char ready;
    pid_t pid;
    CHECK(pipe(ends) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        execl(program, program, "--work", microseconds, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    CHECK(read(ends[0], &ready, 1) == 1);
    close(ends[0]);
    return pid;
}

static pid_t start_dsp(void)
{
    return start_slow_dsp("0");
}

/* Starts another client, of which the DSP always has calls to serve. */
static pid_t keep_busy(void)
{
    uint8_t codes[SAMPLES];
    narrows_node *node;
    narrows_peer *peer;
    narrows_flow *flow;
    int16_t samples[SAMPLES] = {0};
    int ends[2], under_way = 0;
    char ready = 0;
    pid_t pid;
    CHECK(pipe(ends) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid > 0) {
        close(ends[1]);
        CHECK(read(ends[0], &ready, 1) == 1);
        close(ends[0]);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK(narrows_open("busy", NULL, &node) == NARROWS_OK);
    CHECK(narrows_hunt(node, "dsp", FOREVER, &peer) == NARROWS_OK);
    CHECK(narrows_open_flow(peer, "g711.encode.mu", "interrupt", SAMPLES, FOREVER,
                            &flow) == NARROWS_OK);
    for (;;) {
        size_t length = sizeof codes;
        for (; under_way < 2; under_way++)
            CHECK(narrows_start(flow, samples, sizeof samples, NULL) == NARROWS_OK);
        CHECK(narrows_finish_next(flow, codes, &length, FOREVER) == NARROWS_OK);
        under_way--;
        if (ready == 0)
            CHECK(write(ends[1], "", 1) == 1);
        ready = 1;
    }
}

static void end(pid_t pid, int signal)
{
    int status;
    CHECK(kill(pid, signal) == 0 && kill(pid, SIGCONT) == 0);
    CHECK(waitpid(pid, &status, 0) == pid);
}

static void start(const char *dsp, const char *strategy)
{
    struct offload_settings settings = {dsp, strategy, statistics, listen_to};
    said[0] = '\0';
    offload_start(&settings);
}

/* What the file says of frames that were coded so. */
static unsigned long counted(const char *function, const char *how)
{
    char name[32];
    unsigned long dsp, here, late;
    FILE *file = fopen(statistics, "r");
    char text[256];
    CHECK(file != NULL);
    while (fgets(text, sizeof text, file) != NULL)
        if (sscanf(text, "function %31s dsp %lu here %lu late %lu", name, &dsp, &here, &late) ==
                4 &&
            strcmp(name, function) == 0) {
            fclose(file);
            return *how == 'd' ? dsp : *how == 'h' ? here : late;
        }
    CHECK(!"the function is in the file");
    return 0;
}

static void fill(int16_t samples[SAMPLES], uint32_t number)
{
    int i;
    for (i = 0; i < SAMPLES; i++)
        samples[i] = (int16_t)((int)(number * 7919 + (uint32_t)i * 127) % 65536 - 32768);
}

/* A line and what has gone through it. */
struct talk {
    struct line *line;
    uint32_t given, taken;
};

static void give(struct talk *talk)
{
    int16_t samples[SAMPLES];
    fill(samples, talk->given);
    CHECK(line_give(talk->line, samples, sizeof samples, talk->given) == 0);
    talk->given++;
}

/* Takes what is there, and looks whether it is what this process makes of the frame. */
static void take(struct talk *talk)
{
    int16_t samples[SAMPLES];
    uint8_t codes[OFFLOAD_LONGEST], expected[SAMPLES];
    uint32_t number;
    size_t length;
    while ((length = line_take(talk->line, codes, sizeof codes, &number)) > 0) {
        CHECK(number == talk->taken && length == SAMPLES);
        fill(samples, number);
        CHECK(g711_encode_mu(samples, sizeof samples, expected, sizeof expected) == SAMPLES);
        CHECK(memcmp(codes, expected, SAMPLES) == 0);
        talk->taken++;
    }
}

static void drain(struct talk *talk)
{
    while (talk->taken < talk->given) {
        usleep(1000);
        take(talk);
    }
}

static void frames(struct talk *talk, int count)
{
    while (count-- > 0) {
        give(talk);
        usleep(5000);
        take(talk);
    }
}

/* Goes on until the thread has said something. */
static void until(struct talk *talk, const char *part)
{
    while (times_said(part) == 0)
        frames(talk, 1);
}

static struct talk begin(void)
{
    struct talk talk = {line_open(G711_ENCODE_MU), 0, 0};
    CHECK(talk.line != NULL);
    return talk;
}

static void a_dsp_codes_all(const char *strategy)
{
    pid_t dsp = start_dsp();
    struct talk talk;
    unsigned long here, by_dsp;
    start("dsp", strategy);
    talk = begin();
    frames(&talk, 60);
    drain(&talk);
    line_close(talk.line);
    offload_stop();
    end(dsp, SIGTERM);
    /* It may have been late on a machine that has much to do. */
    CHECK(times_said("is gone") == 0);
    here = counted("g711.encode.mu", "here");
    by_dsp = counted("g711.encode.mu", "dsp") + counted("g711.encode.mu", "late");
    /* Until the link was up it did them itself. */
    CHECK(here + by_dsp == talk.given && by_dsp > 0);
}

static void a_dsp_is_killed_and_comes_back(const char *strategy)
{
    pid_t dsp = start_dsp();
    struct talk talk;
    start("dsp", strategy);
    talk = begin();
    frames(&talk, 40);
    give(&talk);
    end(dsp, SIGKILL);
    until(&talk, "is gone");
    frames(&talk, 20);
    CHECK(times_said("is gone") == 1);
    dsp = start_dsp();
    until(&talk, "dsp is back");
    frames(&talk, 20);
    drain(&talk);
    line_close(talk.line);
    offload_stop();
    end(dsp, SIGTERM);
    CHECK(times_said("dsp is back") == 1 && times_said("is gone") == 1);
    CHECK(counted("g711.encode.mu", "here") >= 20);
}

static void a_dsp_hangs(void)
{
    pid_t dsp = start_dsp();
    struct talk talk;
    start("dsp", NULL);
    talk = begin();
    frames(&talk, 40);
    CHECK(kill(dsp, SIGSTOP) == 0);
    until(&talk, "does not answer");
    frames(&talk, 20);
    CHECK(times_said("does not answer") == 1);
    CHECK(kill(dsp, SIGCONT) == 0);
    until(&talk, "answers again");
    drain(&talk);
    line_close(talk.line);
    offload_stop();
    end(dsp, SIGTERM);
    CHECK(counted("g711.encode.mu", "late") > 0);
}

/* Each flow is opened only once two calls of somebody else have been served, after 30 ms. */
static void a_dsp_is_busy(void)
{
    pid_t dsp = start_slow_dsp("15000"), other = keep_busy();
    struct talk talk;
    start("dsp", NULL);
    talk = begin();
    frames(&talk, 400);
    drain(&talk);
    line_close(talk.line);
    offload_stop();
    end(other, SIGKILL);
    end(dsp, SIGTERM);
    CHECK(counted("g711.encode.mu", "dsp") + counted("g711.encode.mu", "late") > 0);
}

static void there_is_none(const char *dsp, const char *strategy, const char *sentence)
{
    struct talk talk;
    start(dsp, strategy);
    talk = begin();
    frames(&talk, 20);
    if (sentence != NULL)
        until(&talk, sentence);
    drain(&talk);
    line_close(talk.line);
    offload_stop();
    CHECK(sentence == NULL ? said[0] == '\0' : times_said(sentence) == 1);
    CHECK(counted("g711.encode.mu", "here") == talk.given);
}

static void a_strategy_is_unknown(void)
{
    pid_t dsp = start_dsp();
    there_is_none("dsp", "interrupt/nonsense", "the strategy does not do");
    end(dsp, SIGTERM);
}

static void odd_frames(void)
{
    uint8_t frame[OFFLOAD_LONGEST + 1] = {0};
    uint32_t number;
    struct line *line;
    start(NULL, NULL);
    line = line_open(G711_ENCODE_A);
    CHECK(line_give(line, frame, sizeof frame, 0) == -1);
    CHECK(line_give(line, frame, 0, 1) == 0 && line_give(line, frame, 3, 2) == 0);
    CHECK(line_give(line, frame, 4, 3) == 0);
    /* Nothing comes of the first two. */
    CHECK(line_take(line, frame, sizeof frame, &number) == 2 && number == 3);
    CHECK(line_take(line, frame, sizeof frame, &number) == 0);
    line_close(line);
    offload_stop();
}

int main(int count, char **words)
{
    if (count != 2) {
        fprintf(stderr, "usage: test DSP\n");
        return 2;
    }
    program = words[1];
    alarm(100);
    CHECK(mkdtemp(directory) != NULL);
    CHECK(setenv("NARROWS_DIR", directory, 1) == 0);
    snprintf(statistics, sizeof statistics, "%s/statistics", directory);
    a_dsp_codes_all("interrupt");
    a_dsp_codes_all("single_copy/poll=20ms/internal");
    a_dsp_is_killed_and_comes_back("interrupt");
    a_dsp_is_killed_and_comes_back("poll=5ms");
    a_dsp_codes_all("in_place/timer=10ms/internal");
    a_dsp_is_killed_and_comes_back("timer=5ms");
    a_dsp_hangs();
    a_dsp_is_busy();
    there_is_none("nobody", NULL, NULL);
    there_is_none("dsp", "spin", "does not say interrupt, poll=TIME");
    there_is_none("dsp", "timer=", "does not say interrupt, poll=TIME");
    there_is_none("dsp", "poll=never", "does not say interrupt, poll=TIME");
    a_strategy_is_unknown();
    odd_frames();
    unlink(statistics);
    rmdir(directory);
    puts("linphone-dsp: all tests passed");
    return 0;
}
