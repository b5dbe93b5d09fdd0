/* What goes wrong before anything is sent: handles, arguments, names, options and strategies. */
#include "check.h"

static void handles(void)
{
    /* None, one that never was, and, below, one that was. */
    void *wrong[] = {NULL, (void *)(uintptr_t)1, (void *)(uintptr_t)0x7fffffff, (void *)(uintptr_t)-1};
    size_t i, n = 1;
    char text[8], name[NARROWS_NAME_ROOM];
    void *memory = text;
    const void *view;
    int descriptor;
    narrows_peer *peer;
    narrows_flow *flow;
    narrows_started started = {NULL, 0};
    narrows_phases phases;
    narrows_span span;
    for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        narrows_node *none = (narrows_node *)wrong[i];
        narrows_peer *nobody = (narrows_peer *)wrong[i];
        narrows_flow *nowhere = (narrows_flow *)wrong[i];
        started.flow = nowhere;
        FAILS(NARROWS_CLOSED, narrows_close(none));
        FAILS(NARROWS_CLOSED, narrows_wait(none, 0));
        FAILS(NARROWS_CLOSED, narrows_wake(none));
        FAILS(NARROWS_CLOSED, narrows_descriptor(none, &descriptor));
        FAILS(NARROWS_CLOSED, narrows_arm(none));
        FAILS(NARROWS_CLOSED, narrows_hear(none));
        FAILS(NARROWS_CLOSED, narrows_hunt(none, "a", 0, &peer));
        FAILS(NARROWS_CLOSED, narrows_peers(none, &n));
        FAILS(NARROWS_CLOSED, narrows_open_port(none, 1));
        FAILS(NARROWS_CLOSED, narrows_close_port(none, 1));
        n = sizeof text;
        FAILS(NARROWS_CLOSED, narrows_receive(none, 1, text, &n, NULL, 0));
        CHECK(n == sizeof text);
        FAILS(NARROWS_CLOSED, narrows_receive_view(none, 1, &view, &n, NULL, 0));
        FAILS(NARROWS_CLOSED, narrows_release(none, text));
        FAILS(NARROWS_CLOSED, narrows_offer(none, "f", doubles, NULL));
        FAILS(NARROWS_CLOSED, narrows_serve(none, 0, NULL));
        FAILS(NARROWS_CLOSED, narrows_served(none, &span));
        FAILS(NARROWS_CLOSED, narrows_check(nobody));
        FAILS(NARROWS_CLOSED, narrows_peer_name(nobody, name));
        FAILS(NARROWS_CLOSED, narrows_attach(nobody, 1));
        FAILS(NARROWS_CLOSED, narrows_part(nobody));
        FAILS(NARROWS_CLOSED, narrows_send(nobody, 1, 1, "a", 1, 0));
        FAILS(NARROWS_CLOSED, narrows_open_flow(nobody, "f", "spin", 8, 0, &flow));
        FAILS(NARROWS_CLOSED, narrows_open_flow_to_port(nobody, 1, "spin", 0, &flow));
        FAILS(NARROWS_CLOSED, narrows_send_over(nowhere, 1, "a", 1, 0));
        FAILS(NARROWS_CLOSED, narrows_switch(nowhere, "spin", 0));
        FAILS(NARROWS_CLOSED, narrows_close_flow(nowhere));
        FAILS(NARROWS_CLOSED, narrows_call(nowhere, "a", 1, text, &n, 0));
        FAILS(NARROWS_CLOSED, narrows_start(nowhere, "a", 1, &started));
        FAILS(NARROWS_CLOSED, narrows_finish(started, text, &n, 0));
        FAILS(NARROWS_CLOSED, narrows_finish_next(nowhere, text, &n, 0));
        FAILS(NARROWS_CLOSED, narrows_outstanding(nowhere, &n));
        FAILS(NARROWS_CLOSED, narrows_reserve(nowhere, 8, &memory, 0));
        FAILS(NARROWS_CLOSED, narrows_commit(nowhere, text, 1, 0));
        FAILS(NARROWS_CLOSED, narrows_start_with(nowhere, text, NULL));
        FAILS(NARROWS_CLOSED, narrows_cancel(nowhere, text));
        FAILS(NARROWS_CLOSED, narrows_spans(nowhere, &phases));
        /* What was to be written was not. */
        CHECK(memory == text && n == sizeof text);
    }
}

static void arguments(narrows_node *node, narrows_peer *peer, narrows_flow *flow)
{
    size_t n = 8;
    char text[8];
    FAILS(NARROWS_ARGUMENT, narrows_open(NULL, NULL, &node));
    FAILS(NARROWS_ARGUMENT, narrows_open("a", NULL, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_descriptor(node, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_hunt(node, NULL, 0, &peer));
    FAILS(NARROWS_ARGUMENT, narrows_hunt(node, "a", 0, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_peers(node, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_open_port(node, 65535));
    FAILS(NARROWS_TAKEN, narrows_open_port(node, 1));
    FAILS(NARROWS_NOT_FOUND, narrows_close_port(node, 2));
    FAILS(NARROWS_ARGUMENT, narrows_receive(node, 1, text, NULL, NULL, 0));
    FAILS(NARROWS_ARGUMENT, narrows_receive(node, 1, NULL, &n, NULL, 0));
    FAILS(NARROWS_NOT_FOUND, narrows_receive(node, 2, text, &n, NULL, 0));
    FAILS(NARROWS_ARGUMENT, narrows_receive_view(node, 1, NULL, &n, NULL, 0));
    FAILS(NARROWS_ARGUMENT, narrows_release(node, text));
    FAILS(NARROWS_ARGUMENT, narrows_release(node, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_offer(node, NULL, doubles, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_offer(node, "f", NULL, NULL));
    WORKS(narrows_offer(node, "f", doubles, NULL));
    FAILS(NARROWS_TAKEN, narrows_offer(node, "f", doubles, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_peer_name(peer, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_send(peer, 1, 1, NULL, 1, 0));
    FAILS(NARROWS_ARGUMENT, narrows_send(peer, 1, 1, text, SIZE_MAX, 0));
    FAILS(NARROWS_ARGUMENT, narrows_send_marked(peer, 1, 1, text, 1, 8, 0, 0));
    FAILS(NARROWS_NOT_FOUND, narrows_send(peer, 2, 1, text, 1, 0));
    FAILS(NARROWS_ARGUMENT, narrows_open_flow(peer, NULL, "spin", 8, 0, &flow));
    FAILS(NARROWS_ARGUMENT, narrows_open_flow(peer, "f", "spin", 8, 0, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_call(flow, NULL, 1, text, &n, 0));
    FAILS(NARROWS_ARGUMENT, narrows_call(flow, text, 1, NULL, &n, 0));
    FAILS(NARROWS_ARGUMENT, narrows_call(flow, text, 1, text, NULL, 0));
    FAILS(NARROWS_ARGUMENT, narrows_start(flow, NULL, 1, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_finish_next(flow, text, NULL, 0));
    FAILS(NARROWS_ARGUMENT, narrows_outstanding(flow, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_reserve(flow, 8, NULL, 0));
    FAILS(NARROWS_ARGUMENT, narrows_commit(flow, text, 1, 0));
    FAILS(NARROWS_ARGUMENT, narrows_cancel(flow, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_spans(flow, NULL));
    /* A handle of another kind is none of this. */
    FAILS(NARROWS_CLOSED, narrows_close((narrows_node *)(void *)peer));
    FAILS(NARROWS_CLOSED, narrows_part((narrows_peer *)(void *)flow));
    FAILS(NARROWS_CLOSED, narrows_close_flow((narrows_flow *)(void *)node));
    CHECK(n == 8);
}

static void names(narrows_node *node)
{
    static const char *const wrong[] = {"", ".hidden", "two words", "a/b",
                                        "a_name_of_thirty_two_characters_", "caf\xc3\xa9",
                                        "no \xff\xfe text"};
    size_t i;
    narrows_node *other = NULL;
    narrows_peer *peer = NULL;
    for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        FAILS(NARROWS_NAME, narrows_open(wrong[i], NULL, &other));
        FAILS(NARROWS_NAME, narrows_hunt(node, wrong[i], 0, &peer));
        FAILS(NARROWS_NAME, narrows_offer(node, wrong[i], doubles, NULL));
    }
    SAYS(NARROWS_NAME, narrows_hunt(node, "two words", 0, &peer), "'two words'");
    SAYS(NARROWS_TAKEN, narrows_open("refused", NULL, &other), "a node of this name is running");
    CHECK(other == NULL && peer == NULL);
}

static void options(void)
{
    narrows_node *node = NULL;
    narrows_options options = NARROWS_OPTIONS;
    struct {
        narrows_options known;
        char more[64];
    } later;
    options.size = 0;
    SAYS(NARROWS_ARGUMENT, narrows_open("a", &options, &node), "NARROWS_OPTIONS");
    options.size = SIZE_MAX;
    FAILS(NARROWS_ARGUMENT, narrows_open("a", &options, &node));
    options.size = sizeof options;
    options.flags = 1u << 31;
    SAYS(NARROWS_ARGUMENT, narrows_open("a", &options, &node), "flag");
    options.flags = 0;
    options.domain = "no domain";
    FAILS(NARROWS_NAME, narrows_open("a", &options, &node));
    options.domain = NULL;
    options.directory = "/proc/none";
    FAILS(NARROWS_SYSTEM, narrows_open("a", &options, &node));
    options.directory = NULL;
    options.longest_message = (size_t)1 << 30;
    SAYS(NARROWS_ARGUMENT, narrows_open("a", &options, &node), "1073741824");
    CHECK(node == NULL);
    /* A later program that wants no more than this version knows, and one that does. */
    memset(&later, 0, sizeof later);
    later.known.size = sizeof later;
    WORKS(narrows_open("a", &later.known, &node));
    WORKS(narrows_close(node));
    later.more[63] = 1;
    FAILS(NARROWS_ARGUMENT, narrows_open("a", &later.known, &node));
}

static void strategies(narrows_peer *peer, narrows_flow *flow)
{
    narrows_flow *other = NULL;
    SAYS(NARROWS_STRATEGY, narrows_open_flow(peer, "doubles", "copy/hybird=50us", 8, SOON, &other),
         "'hybird=50us' is no word of a strategy; 'hybrid' is");
    SAYS(NARROWS_STRATEGY, narrows_open_flow_to_port(peer, 1, "inplace", SOON, &other),
         "'inplace' is no word of a strategy; 'in_place' is");
    SAYS(NARROWS_STRATEGY, narrows_switch(flow, "poll=0s", SOON), "a time in a strategy");
    FAILS(NARROWS_STRATEGY, narrows_open_flow(peer, "doubles", "\xff", 8, SOON, &other));
    SAYS(NARROWS_STRATEGY, narrows_open_flow(peer, "doubles", "copy_engine", 8, SOON, &other),
         "copy engine");
    SAYS(NARROWS_NOT_FOUND, narrows_open_flow(peer, "triples", "", 8, SOON, &other), "no function");
    FAILS(NARROWS_NOT_FOUND, narrows_open_flow_to_port(peer, 9, NULL, SOON, &other));
    CHECK(other == NULL);
    WORKS(narrows_switch(flow, "single_copy/poll=1ms/internal", SOON));
}

static void closed(narrows_node *node, narrows_peer *peer, narrows_flow *flow)
{
    char text[8];
    size_t n = sizeof text;
    narrows_started started;
    WORKS(narrows_call(flow, "ab", 2, text, &n, SOON));
    CHECK(n == 2 && text[0] == (char)(2 * 'a'));
    WORKS(narrows_start(flow, "ab", 2, &started));
    FAILS(NARROWS_OUTSTANDING, narrows_close_flow(flow));
    n = sizeof text;
    WORKS(narrows_finish(started, text, &n, SOON));
    WORKS(narrows_close_flow(flow));
    FAILS(NARROWS_CLOSED, narrows_finish(started, text, &n, 0));
    FAILS(NARROWS_CLOSED, narrows_close_flow(flow));
    /* One that is opened where it was is another. */
    WORKS(narrows_open_flow(peer, "doubles", NULL, 8, SOON, &flow));
    FAILS(NARROWS_CLOSED, narrows_finish(started, text, &n, 0));
    WORKS(narrows_part(peer));
    FAILS(NARROWS_CLOSED, narrows_check(peer));
    FAILS(NARROWS_PEER_GONE, narrows_call(flow, "ab", 2, text, &n, SOON));
    WORKS(narrows_close_flow(flow));
    WORKS(narrows_close(node));
    FAILS(NARROWS_CLOSED, narrows_close(node));
    FAILS(NARROWS_CLOSED, narrows_call(flow, "ab", 2, text, &n, SOON));
}

static void server(void)
{
    serves("server");
}

int main(void)
{
    narrows_node *node;
    narrows_peer *peer;
    narrows_flow *flow = NULL;
    pid_t other = start(server);
    int i;
    CHECK(narrows_error_text(NARROWS_OK) != NULL);
    for (i = 1; i <= NARROWS_TYPES; i++)
        CHECK(strcmp(narrows_error_text(i), narrows_error_text(i - 1)) != 0);
    CHECK(strcmp(narrows_error_text(-1), narrows_error_text(i)) == 0);
    handles();
    node = opened("refused");
    peer = hunted(node, "server");
    WORKS(narrows_open_port(node, 1));
    WORKS(narrows_open_flow(peer, "doubles", "interrupt", 8, SOON, &flow));
    handles();
    arguments(node, peer, flow);
    names(node);
    options();
    strategies(peer, flow);
    closed(node, peer, flow);
    handles();
    finished(other);
    return 0;
}
