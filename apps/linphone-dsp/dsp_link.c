#include "dsp_link.h"

#include <narrows.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls of a function under way at most; a link has room for more. */
enum { MOST = 32 };
/* How long a flow may take to open while frames wait, which have OFFLOAD_PATIENCE; and after how
   many hunts in vain it is said that the DSP is there and does not open them. */
#define OPEN (OFFLOAD_PATIENCE * MILLISECOND * 2 / 3)
enum { PATIENT = 20 };
/* When nothing is due. */
#define LATER (10 * SECOND)

/* The calls of a function, oldest first; NULL where the frame was given up. */
struct calls {
    narrows_flow *flow;
    struct frame *frames[MOST];
    unsigned first, count;
};

static struct {
    const char *name;
    char strategy[128]; /* As narrows.h knows it, which has no timer. */
    int64_t every;      /* Between two looks; 0: the DSP interrupts. */
    int always;         /* It looks whether or not a call is under way. */
    void (*log)(const char *);
    narrows_node *node;
    narrows_peer *peer;
    struct calls calls[G711_ALL];
    int open; /* How many functions have a flow. */
    int64_t look;
    int armed;
    int hopeless;   /* A retry would fail as well. */
    int was_linked;
    int is_late;
    int failed;     /* The log has it. */
    int in_vain;
} dsp;

static void say(const char *format, ...)
{
    char sentence[512];
    va_list values;
    va_start(values, format);
    vsnprintf(sentence, sizeof sentence, format, values);
    va_end(values);
    dsp.log(sentence);
}

/* Reads the interval of "poll=20ms"; 0 if it is none. */
static int64_t interval(const char *word, size_t length, const char *what)
{
    static const struct {
        const char *name;
        int64_t unit;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", MILLISECOND}, {"s", SECOND}};
    char *end;
    double count;
    size_t i;
    if (length < strlen(what) || strncmp(word, what, strlen(what)) != 0)
        return 0;
    count = strtod(word + strlen(what), &end);
    for (i = 0; i < sizeof units / sizeof *units; i++) {
        size_t name = strlen(units[i].name);
        if (end + name == word + length && strncmp(end, units[i].name, name) == 0 && count > 0 &&
            count < 1e9)
            return (int64_t)(count * (double)units[i].unit);
    }
    return 0;
}

int dsp_configure(const char *name, const char *strategy, void (*log)(const char *))
{
    const char *word = strategy;
    size_t room = sizeof dsp.strategy, used = 0;
    int named = 0;
    memset(&dsp, 0, sizeof dsp);
    dsp.name = name;
    dsp.log = log;
    while (*word != '\0' && used < room) {
        size_t length = strcspn(word, "/");
        int poll = length >= 4 && strncmp(word, "poll", 4) == 0;
        int timer = length >= 5 && strncmp(word, "timer", 5) == 0;
        if (length == 9 && strncmp(word, "interrupt", length) == 0)
            named = 1;
        if (poll || timer) {
            dsp.every = interval(word, length, timer ? "timer=" : "poll=");
            dsp.always = timer;
            named = dsp.every > 0;
        }
        /* The timer is the plugin's own, from each frame on: the stack's flow polls, and it
           looks. */
        used += (size_t)snprintf(dsp.strategy + used, room - used, "%s%s%.*s",
                                 used == 0 ? "" : "/", timer ? "poll" : "",
                                 (int)length - (timer ? 5 : 0), word + (timer ? 5 : 0));
        word += length + (word[length] == '/');
    }
    if (!named || used >= room) {
        /* The others look all the time, which would take the core from the client's own timer. */
        say("the strategy %s does not say interrupt, poll=TIME or timer=TIME, such as poll=20ms: "
            "frames are coded here",
            strategy);
        return -1;
    }
    return 0;
}

int dsp_is_linked(void)
{
    return dsp.open == G711_ALL;
}

static unsigned under_way(void)
{
    unsigned count = 0, i;
    for (i = 0; i < G711_ALL; i++)
        count += dsp.calls[i].count;
    return count;
}

/* Whether it looks every so often, and nobody rings. */
static int looks(void)
{
    return dsp.every > 0 && (dsp.always ? dsp_is_linked() : under_way() > 0);
}

static void unlink_dsp(void)
{
    int i;
    for (i = 0; i < G711_ALL; i++) {
        if (dsp.calls[i].flow != NULL)
            narrows_close_flow(dsp.calls[i].flow);
        dsp.calls[i].flow = NULL;
    }
    if (dsp.peer != NULL)
        narrows_part(dsp.peer);
    dsp.peer = NULL;
    dsp.open = 0;
}

/* Says why it did not work, once until it does. */
static void failed(const char *what)
{
    if (!dsp.failed)
        say("%s: %s: frames are coded here", what, narrows_last_error_text());
    dsp.failed = 1;
}

static int open_node(void)
{
    char name[32];
    snprintf(name, sizeof name, "phone-%ld", (long)getpid());
    if (narrows_open(name, NULL, &dsp.node) == NARROWS_OK)
        return 1;
    dsp.node = NULL;
    failed("this client's node cannot be opened");
    return 0;
}

/* Opens a flow to one more function. 0 if it did not. */
static int open_next(void)
{
    narrows_flow **flow = &dsp.calls[dsp.open].flow;
    narrows_error error = narrows_open_flow(dsp.peer, g711_functions[dsp.open].name, dsp.strategy,
                                            OFFLOAD_LONGEST, OPEN, flow);
    if (error == NARROWS_OK) {
        dsp.open++;
        return 1;
    }
    *flow = NULL;
    dsp.hopeless = error == NARROWS_STRATEGY;
    if (dsp.hopeless)
        failed("the strategy does not do");
    else if (error != NARROWS_TIMEOUT || ++dsp.in_vain == PATIENT)
        failed("the DSP opens no flow");
    /* A DSP that has much to do opens the next one later: those that are open stay so. */
    if (error != NARROWS_TIMEOUT)
        unlink_dsp();
    return 0;
}

int dsp_hunt(void)
{
    narrows_error error;
    if (dsp.hopeless || (dsp.node == NULL && !open_node()))
        return 0;
    if (dsp.peer == NULL) {
        error = narrows_hunt(dsp.node, dsp.name, 0, &dsp.peer);
        if (error != NARROWS_OK) {
            dsp.peer = NULL;
            if (error != NARROWS_AGAIN && error != NARROWS_TIMEOUT && error != NARROWS_PEER_GONE)
                failed("the DSP cannot be looked for");
            return 0;
        }
        return 1;
    }
    if (!open_next())
        return 0;
    if (dsp_is_linked()) {
        if (dsp.was_linked)
            say("the DSP %s is back", dsp.name);
        statistics_found();
        dsp.was_linked = 1;
        dsp.look = now() + dsp.every;
        dsp.is_late = dsp.failed = dsp.in_vain = 0;
    }
    return 1;
}

/* Whether a function's oldest call is one that was given up: no more are sent until it answers. */
static int is_behind(const struct calls *calls)
{
    return calls->count > 0 && calls->frames[calls->first] == NULL;
}

int dsp_send(struct frame *frame)
{
    struct calls *calls = &dsp.calls[frame->function];
    if (!dsp_is_linked() || calls->count == MOST || is_behind(calls))
        return 0;
    /* Stamped before, as the DSP may be done before this thread looks at the clock again. */
    frame->started = now();
    /* An error has another reason than room only if the DSP is gone, which collecting finds. */
    if (narrows_start(calls->flow, frame->input, frame->length, NULL) != NARROWS_OK)
        return 0;
    if (dsp.every > 0 && !dsp.always && under_way() == 0)
        dsp.look = frame->started + dsp.every;
    calls->frames[(calls->first + calls->count++) % MOST] = frame;
    return 1;
}

static struct frame *pop(struct calls *calls)
{
    struct frame *frame = calls->frames[calls->first];
    calls->first = (calls->first + 1) % MOST;
    calls->count--;
    return frame;
}

static void give_up_all(dsp_done done)
{
    int i;
    for (i = 0; i < G711_ALL; i++) {
        while (dsp.calls[i].count > 0) {
            struct frame *frame = pop(&dsp.calls[i]);
            if (frame != NULL)
                done(frame, NULL, 0);
        }
    }
}

static void lost(dsp_done done)
{
    say("the DSP %s is gone: frames are coded here until it is back", dsp.name);
    statistics_lost();
    unlink_dsp();
    give_up_all(done);
}

/* Takes what a function has given back. 0 if the DSP is gone. */
static int collect(struct calls *calls, dsp_done done)
{
    uint8_t output[OFFLOAD_LONGEST];
    struct frame *frame;
    while (calls->count > 0) {
        size_t length = sizeof output;
        narrows_error error = narrows_finish_next(calls->flow, output, &length, 0);
        if (error == NARROWS_AGAIN || error == NARROWS_TIMEOUT)
            return 1;
        if (error != NARROWS_OK && error != NARROWS_FAILED && error != NARROWS_TOO_LONG)
            return 0;
        frame = pop(calls);
        if (frame != NULL)
            done(frame, output, error == NARROWS_OK ? length : 0);
        else if (!is_behind(calls) && dsp.is_late) {
            say("the DSP %s answers again", dsp.name);
            dsp.is_late = 0;
        }
    }
    return 1;
}

/* Gives up what has been under way for too long. When the next will have been. */
static int64_t give_up_late(dsp_done done)
{
    int64_t due, first = now() + LATER;
    unsigned i, k;
    for (i = 0; i < G711_ALL; i++) {
        struct calls *calls = &dsp.calls[i];
        for (k = 0; k < calls->count; k++) {
            struct frame **frame = &calls->frames[(calls->first + k) % MOST];
            if (*frame == NULL)
                continue;
            due = (*frame)->given + OFFLOAD_PATIENCE * MILLISECOND;
            if (due <= now()) {
                if (!dsp.is_late)
                    say("the DSP %s does not answer: frames are coded here until it does",
                        dsp.name);
                dsp.is_late = 1;
                done(*frame, NULL, 0);
                *frame = NULL;
            } else if (due < first)
                first = due;
        }
    }
    return first;
}

int64_t dsp_collect(dsp_done done)
{
    int64_t due;
    int i;
    if (!dsp_is_linked())
        return now() + LATER;
    if (!looks() || now() >= dsp.look) {
        int up = narrows_check(dsp.peer) == NARROWS_OK;
        for (i = 0; i < G711_ALL; i++)
            up = collect(&dsp.calls[i], done) && up;
        if (!up) {
            lost(done);
            return now();
        }
        /* The timer runs on: of poll=TIME for as long as there is a call. */
        while (dsp.every > 0 && dsp.look <= now())
            dsp.look += dsp.every;
    }
    due = give_up_late(done);
    return looks() && dsp.look < due ? dsp.look : due;
}

int dsp_arm(int *descriptor)
{
    *descriptor = -1;
    dsp.armed = 0;
    /* Whoever looks every so often has nobody ring. */
    if (dsp.node == NULL || looks())
        return 1;
    if (narrows_descriptor(dsp.node, descriptor) != NARROWS_OK) {
        *descriptor = -1;
        return 1;
    }
    dsp.armed = 1;
    return narrows_arm(dsp.node) == NARROWS_OK;
}

void dsp_disarm(void)
{
    if (dsp.armed)
        narrows_hear(dsp.node);
    dsp.armed = 0;
}

void dsp_close(dsp_done done)
{
    unlink_dsp();
    give_up_all(done);
    if (dsp.node != NULL)
        narrows_close(dsp.node);
    dsp.node = NULL;
}
