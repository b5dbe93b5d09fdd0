#include "offload.h"

#include "dsp_link.h"
#include "queue.h"
#include "statistics.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* How often a DSP that is away is looked for. */
#define HUNT (100 * MILLISECOND)

struct line {
    enum g711 function;
    struct frame *first, *last; /* As they were given. */
    unsigned under_way;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t coded = PTHREAD_COND_INITIALIZER;

/* What the lock guards, besides lines and the statistics. */
static struct {
    struct frame *given, **end; /* Frames that the thread has not seen. */
    int stopping;
} shared = {NULL, &shared.given, 0};

static struct offload_settings settings;
static pthread_t thread;
static int running, event = -1;

static void record(const struct frame *frame, int64_t taken)
{
    struct record record = {frame->function, frame->coded,   frame->number, frame->given,
                            frame->started,  frame->finished, taken};
    statistics_add(&record);
}

static void finish(struct frame *frame, enum coded how)
{
    frame->finished = now();
    pthread_mutex_lock(&lock);
    frame->coded = how;
    frame->done = 1;
    frame->line->under_way--;
    pthread_cond_broadcast(&coded);
    pthread_mutex_unlock(&lock);
}

static void code_here(struct frame *frame, enum coded how)
{
    size_t room = sizeof frame->output;
    size_t length = g711_functions[frame->function].run(frame->input, frame->length, frame->output,
                                                        room);
    if (frame->started == 0)
        frame->started = now();
    /* Of a frame of half a sample nothing comes out. */
    frame->length = length > room ? 0 : length;
    finish(frame, how);
}

/* What the DSP, or the thread that gave up, did with a frame. */
static void done(struct frame *frame, const void *output, size_t length)
{
    size_t expected = g711_functions[frame->function].run == g711_encode_mu ||
                              g711_functions[frame->function].run == g711_encode_a
                          ? frame->length / 2
                          : frame->length * 2;
    if (output == NULL || length != expected) {
        code_here(frame, output == NULL ? CODED_LATE : CODED_HERE);
        return;
    }
    memcpy(frame->output, output, length);
    frame->length = length;
    finish(frame, CODED_BY_DSP);
}

static void take_given(void)
{
    struct frame *frame, *next;
    pthread_mutex_lock(&lock);
    frame = shared.given;
    shared.given = NULL;
    shared.end = &shared.given;
    pthread_mutex_unlock(&lock);
    for (; frame != NULL; frame = next) {
        next = frame->queued;
        if (!dsp_send(frame))
            code_here(frame, CODED_HERE);
    }
}

static int is_stopping(void)
{
    int stopping;
    pthread_mutex_lock(&lock);
    stopping = shared.stopping;
    pthread_mutex_unlock(&lock);
    return stopping;
}

/* Sleeps until a frame is given, the link has something, or something is due. Whether the link
   has. */
static int sleep_until(int64_t due)
{
    struct pollfd set[2] = {{event, POLLIN, 0}, {-1, POLLIN, 0}};
    int64_t left = due - now();
    struct timespec time;
    uint64_t count;
    if (left <= 0)
        return 0;
    /* Something is there already. */
    if (!dsp_arm(&set[1].fd))
        return 1;
    time.tv_sec = left / SECOND;
    time.tv_nsec = left % SECOND;
    if (ppoll(set, 2, &time, NULL) > 0 && set[0].revents != 0 &&
        read(event, &count, sizeof count) < 0 && errno != EAGAIN)
        settings.log("the event of the coding thread cannot be read");
    dsp_disarm();
    return set[1].revents != 0;
}

static void *work(void *unused)
{
    int64_t hunt = 0, due;
    (void)unused;
    while (!is_stopping()) {
        if (!dsp_is_linked() && now() >= hunt) {
            hunt = dsp_hunt() ? 0 : now() + HUNT;
        }
        take_given();
        due = dsp_collect(done);
        if (!dsp_is_linked() && due > hunt)
            due = hunt;
        /* What a link that is looked for has is that it is up. */
        if (sleep_until(due))
            hunt = 0;
    }
    take_given();
    dsp_close(done);
    return NULL;
}

int offload_start(const struct offload_settings *wanted)
{
    sigset_t every, before;
    int wrong;
    settings = *wanted;
    if (settings.strategy == NULL || *settings.strategy == '\0')
        settings.strategy = "interrupt";
    if (settings.dsp == NULL)
        return 0;
    if (dsp_configure(settings.dsp, settings.strategy, settings.log) != 0) {
        settings.dsp = NULL;
        return -1;
    }
    event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* Signals are the client's. */
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    wrong = event < 0 || pthread_create(&thread, NULL, work, NULL) != 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (wrong) {
        settings.log("no thread can be started: frames are coded here");
        settings.dsp = NULL;
        return -1;
    }
    running = 1;
    return 0;
}

static void wake(void)
{
    uint64_t one = 1;
    /* It fails only where it is full of events, which wake as well. */
    if (write(event, &one, sizeof one) < 0 && errno != EAGAIN)
        settings.log("the coding thread cannot be woken");
}

void offload_stop(void)
{
    char sentence[512];
    if (running) {
        pthread_mutex_lock(&lock);
        shared.stopping = 1;
        pthread_mutex_unlock(&lock);
        wake();
        pthread_join(thread, NULL);
        close(event);
        running = 0;
        shared.stopping = 0;
    }
    if (settings.statistics == NULL)
        return;
    if (statistics_write(settings.statistics, settings.dsp, settings.strategy) != 0) {
        snprintf(sentence, sizeof sentence, "cannot write the statistics to %s: %s",
                 settings.statistics, strerror(errno));
        settings.log(sentence);
    }
    settings.statistics = NULL;
}

struct line *line_open(enum g711 function)
{
    struct line *line = calloc(1, sizeof *line);
    if (line != NULL)
        line->function = function;
    return line;
}

void line_close(struct line *line)
{
    struct frame *frame, *next;
    if (line == NULL)
        return;
    pthread_mutex_lock(&lock);
    while (line->under_way > 0)
        pthread_cond_wait(&coded, &lock);
    for (frame = line->first; frame != NULL; frame = next) {
        next = frame->next;
        /* Coded, and taken by nobody. */
        record(frame, 0);
        free(frame);
    }
    pthread_mutex_unlock(&lock);
    free(line);
}

int line_give(struct line *line, const void *input, size_t length, uint32_t number)
{
    struct frame *frame = length <= OFFLOAD_LONGEST ? malloc(sizeof *frame) : NULL;
    if (frame == NULL)
        return -1;
    memset(frame, 0, offsetof(struct frame, input));
    frame->line = line;
    frame->function = line->function;
    frame->number = number;
    frame->length = length;
    frame->given = now();
    memcpy(frame->input, input, length);
    pthread_mutex_lock(&lock);
    if (line->last == NULL)
        line->first = frame;
    else
        line->last->next = frame;
    line->last = frame;
    line->under_way++;
    if (running) {
        *shared.end = frame;
        shared.end = &frame->queued;
    }
    pthread_mutex_unlock(&lock);
    if (running)
        wake();
    else
        code_here(frame, CODED_HERE);
    return 0;
}

size_t line_take(struct line *line, void *output, size_t room, uint32_t *number)
{
    struct frame *frame;
    size_t length = 0;
    pthread_mutex_lock(&lock);
    while (length == 0 && (frame = line->first) != NULL && frame->done) {
        line->first = frame->next;
        if (line->first == NULL)
            line->last = NULL;
        record(frame, now());
        if (frame->length <= room) {
            length = frame->length;
            memcpy(output, frame->output, length);
            *number = frame->number;
        }
        free(frame);
    }
    pthread_mutex_unlock(&lock);
    return length;
}
