/* Calls: whole, in order, too long, too many, failing, timed, and without copies. */
#include "check.h"

/* Of a flow's longest response. */
enum { LONGEST = 64 };

static narrows_flow *flow_of(narrows_peer *peer, const char *strategy)
{
    narrows_flow *flow = NULL;
    WORKS(narrows_open_flow(peer, "doubles", strategy, LONGEST, SOON, &flow));
    return flow;
}

static void whole(narrows_flow *flow)
{
    unsigned char bytes[LONGEST], guard[LONGEST + 1];
    size_t n = sizeof bytes, i;
    memset(bytes, 3, sizeof bytes);
    /* Where the request is. */
    WORKS(narrows_call(flow, bytes, sizeof bytes, bytes, &n, SOON));
    CHECK(n == sizeof bytes && bytes[0] == 6 && bytes[LONGEST - 1] == 6);

    /* Too short a buffer: both lengths are said, nothing is written, and the response is not
       lost. */
    memset(guard, 9, sizeof guard);
    n = 3;
    SAYS(NARROWS_SHORT, narrows_call(flow, "abcd", 4, guard, &n, SOON),
         "the buffer has 3 bytes and 4 are needed");
    CHECK(n == 4);
    for (i = 0; i < sizeof guard; i++)
        CHECK(guard[i] == 9);
    FAILS(NARROWS_OUTSTANDING, narrows_call(flow, "abcd", 4, guard, &n, SOON));
    WORKS(narrows_finish_next(flow, guard, &n, SOON));
    CHECK(n == 4 && guard[3] == (unsigned char)(2 * 'd') && guard[4] == 9);
    FAILS(NARROWS_FINISHED, narrows_finish_next(flow, guard, &n, SOON));

    /* What the function refuses, and what it says it made beyond its room. */
    n = sizeof bytes;
    FAILS(NARROWS_FAILED, narrows_call(flow, NULL, 0, bytes, &n, SOON));
    SAYS(NARROWS_TOO_LONG, narrows_call(flow, "x", 1, bytes, &n, SOON), "longer responses");
    CHECK(n == sizeof bytes);
    WORKS(narrows_call(flow, "a", 1, bytes, &n, SOON));
    CHECK(n == 1);
}

static void in_order(narrows_flow *flow)
{
    narrows_started calls[3];
    unsigned char byte, response[LONGEST];
    size_t i, n;
    for (i = 0; i < 3; i++) {
        byte = (unsigned char)(i + 1);
        WORKS(narrows_start(flow, &byte, 1, &calls[i]));
    }
    n = sizeof response;
    FAILS(NARROWS_ORDER, narrows_finish(calls[1], response, &n, SOON));
    WORKS(narrows_outstanding(flow, &n));
    CHECK(n == 3);
    for (i = 0; i < 3; i++) {
        n = 0;
        SAYS(NARROWS_SHORT, narrows_finish(calls[i], NULL, &n, SOON), "1 are needed");
        CHECK(n == 1);
        WORKS(narrows_finish(calls[i], response, &n, SOON));
        CHECK(n == 1 && response[0] == 2 * (i + 1));
        FAILS(NARROWS_FINISHED, narrows_finish(calls[i], response, &n, SOON));
    }
    calls[0].number = 1000;
    FAILS(NARROWS_FINISHED, narrows_finish(calls[0], response, &n, SOON));
    /* One that failed is finished too. */
    WORKS(narrows_start(flow, NULL, 0, &calls[0]));
    WORKS(narrows_start(flow, "a", 1, &calls[1]));
    FAILS(NARROWS_FAILED, narrows_finish(calls[0], response, &n, SOON));
    FAILS(NARROWS_FINISHED, narrows_finish(calls[0], response, &n, SOON));
    n = sizeof response;
    WORKS(narrows_finish(calls[1], response, &n, SOON));
}

/* Starts calls until there is no room: nothing waits, nothing is lost. */
static void too_many(narrows_flow *flow)
{
    unsigned char number[4], response[LONGEST];
    unsigned started = 0, finished = 0;
    narrows_error error;
    size_t n;
    while (started < 100000) {
        memcpy(number, &started, sizeof number);
        number[0] |= 1;
        error = narrows_start(flow, number, sizeof number, NULL);
        if (error == NARROWS_AGAIN)
            break;
        WORKS(error);
        started++;
    }
    CHECK(started < 100000);
    while (finished < started) {
        n = sizeof response;
        error = narrows_finish_next(flow, response, &n, 0);
        if (error == NARROWS_AGAIN)
            error = narrows_finish_next(flow, response, &n, SOON);
        WORKS(error);
        CHECK(n == sizeof number);
        finished++;
    }
    FAILS(NARROWS_FINISHED, narrows_finish_next(flow, response, &n, 0));
}

static void too_long(narrows_flow *flow)
{
    static unsigned char request[70000];
    unsigned char response[LONGEST];
    size_t n = sizeof response;
    SAYS(NARROWS_TOO_LONG, narrows_call(flow, request, sizeof request, response, &n, SOON),
         "largest block");
    FAILS(NARROWS_TOO_LONG, narrows_start(flow, request, sizeof request, NULL));
    WORKS(narrows_outstanding(flow, &n));
    CHECK(n == 0);
}

static void without_copies(narrows_flow *flow, narrows_flow *other)
{
    void *memory = NULL, *more[4];
    unsigned char response[LONGEST];
    narrows_started started;
    size_t n, i;
    WORKS(narrows_reserve(flow, 4, &memory, SOON));
    memcpy(memory, "\1\2\3\4", 4);
    FAILS(NARROWS_ARGUMENT, narrows_start_with(other, memory, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_cancel(other, memory));
    FAILS(NARROWS_ARGUMENT, narrows_commit(flow, memory, 1, SOON));
    FAILS(NARROWS_OUTSTANDING, narrows_close_flow(flow));
    WORKS(narrows_start_with(flow, memory, &started));
    FAILS(NARROWS_ARGUMENT, narrows_start_with(flow, memory, &started));
    FAILS(NARROWS_ARGUMENT, narrows_cancel(flow, memory));
    n = sizeof response;
    WORKS(narrows_finish(started, response, &n, SOON));
    CHECK(n == 4 && response[3] == 8);
    SAYS(NARROWS_TOO_LONG, narrows_reserve(flow, 70000, &memory, SOON), "largest block");
    /* Of the internal memory there are four blocks for the longest. */
    for (i = 0; i < 4; i++)
        WORKS(narrows_reserve(other, 65536, &more[i], 0));
    memory = NULL;
    FAILS(NARROWS_AGAIN, narrows_reserve(other, 65536, &memory, 0));
    FAILS(NARROWS_TIMEOUT, narrows_reserve(other, 65536, &memory, BRIEFLY));
    CHECK(memory == NULL);
    for (i = 0; i < 4; i++)
        WORKS(narrows_cancel(other, more[i]));
    FAILS(NARROWS_ARGUMENT, narrows_cancel(other, more[0]));
}

static void measured(narrows_node *node, narrows_flow *flow)
{
    narrows_phases phases;
    unsigned char response[LONGEST];
    size_t n, i;
    for (i = 0; i < 20; i++) {
        n = sizeof response;
        WORKS(narrows_call(flow, "abc", 3, response, &n, SOON));
    }
    WORKS(narrows_spans(flow, &phases));
    CHECK(phases.a.count >= 20 && phases.b.count == phases.a.count);
    CHECK(phases.away.count == phases.a.count && phases.e.count == phases.a.count);
    CHECK(phases.away.minimum > 0 && phases.away.minimum <= phases.away.median);
    CHECK(phases.away.median <= phases.away.p99 && phases.away.p99 <= phases.away.maximum);
    CHECK(phases.a.minimum <= phases.a.median && phases.e.p99 <= phases.e.maximum);
    (void)node;
}

static void server(void)
{
    serves("server");
}

int main(void)
{
    static const char *const strategies[] = {"", "interrupt", "poll=1ms", "hybrid=20us/internal",
                                             "single_copy/interrupt", "in_place/internal",
                                             "copy_lazy/granularity=4"};
    narrows_node *node = NULL;
    narrows_peer *peer;
    narrows_flow *flow, *other;
    narrows_options options = NARROWS_OPTIONS;
    pid_t pid = start(server);
    size_t i;
    options.longest_message = 65536;
    options.flags = NARROWS_MEASURE;
    WORKS(narrows_open("caller", &options, &node));
    peer = hunted(node, "server");
    other = flow_of(peer, "single_copy/interrupt/internal");
    for (i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        flow = flow_of(peer, strategies[i]);
        whole(flow);
        in_order(flow);
        too_many(flow);
        too_long(flow);
        measured(node, flow);
        WORKS(narrows_close_flow(flow));
    }
    flow = flow_of(peer, "single_copy/interrupt");
    without_copies(flow, other);
    WORKS(narrows_close(node));
    finished(pid);
    return 0;
}
