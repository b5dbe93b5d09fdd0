/* Services: functions with types that are found without knowing their node. */
#include "check.h"

#define NUMBERS "u32", "u64"
#define POINT "Point{x@0:f32,y@4:f32}8"

static int square(void *user, const void *request, size_t length, void *response, size_t *room)
{
    uint32_t number;
    uint64_t result;
    (void)user;
    if (length != sizeof number || *room < sizeof result)
        return 1;
    memcpy(&number, request, sizeof number);
    result = (uint64_t)number * number;
    memcpy(response, &result, sizeof result);
    *room = sizeof result;
    return 0;
}

static int told[2];

static void tell(void)
{
    char byte = 't';
    CHECK(write(told[1], &byte, 1) == 1);
}

static void heard(void)
{
    char byte;
    CHECK(read(told[0], &byte, 1) == 1);
}

static void server(void)
{
    narrows_node *node = opened("dsp");
    WORKS(narrows_offer_service(node, "square", NUMBERS, square, NULL));
    FAILS(NARROWS_TAKEN, narrows_offer_service(node, "square", "u32", "u32", square, NULL));
    /* Names of functions are another matter. */
    WORKS(narrows_offer(node, "square", square, NULL));
    tell();
    for (;;)
        WORKS(narrows_serve(node, SOON, NULL));
}

/* Comes again with other types. */
static void other(void)
{
    narrows_node *node = opened("dsp");
    WORKS(narrows_offer_service(node, "square", POINT, "f32", square, NULL));
    WORKS(narrows_offer_service(node, "long", "[u8;20000000]", "u8", square, NULL));
    tell();
    for (;;)
        WORKS(narrows_serve(node, SOON, NULL));
}

struct seen {
    narrows_node *node;
    unsigned count;
};

static void seen(void *user, const char *node, const char *service, const char *what)
{
    struct seen *seen = (struct seen *)user;
    size_t peers;
    seen->count++;
    CHECK(strcmp(node, "dsp") == 0 && strcmp(service, "square") == 0);
    CHECK(strcmp(what, "call u32 u64") == 0);
    /* The node can be used meanwhile. */
    WORKS(narrows_peers(seen->node, &peers));
}

static uint64_t called(narrows_flow *flow, uint32_t number)
{
    uint64_t result = 0;
    size_t length = sizeof result;
    WORKS(narrows_call(flow, &number, sizeof number, &result, &length, SOON));
    CHECK(length == sizeof result);
    return result;
}

static void refused(narrows_node *node)
{
    const char *bad[] = {"", "u32 u32", "u32\n"};
    narrows_flow *flow = (narrows_flow *)node;
    size_t i;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        SAYS(NARROWS_ARGUMENT, narrows_offer_service(node, "s", bad[i], "u8", square, NULL),
             "describes no type");
        SAYS(NARROWS_ARGUMENT,
             narrows_open_service(node, "s", "u8", bad[i], NULL, 8, SOON, &flow),
             "describes no type");
    }
    FAILS(NARROWS_ARGUMENT, narrows_offer_service(node, "s", NUMBERS, NULL, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_offer_service(node, NULL, NUMBERS, square, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_offer_service(node, "s", NULL, "u8", square, NULL));
    FAILS(NARROWS_NAME, narrows_offer_service(node, ".s", NUMBERS, square, NULL));
    /* As long as a function's name may be, which a service's may not. */
    SAYS(NARROWS_NAME,
         narrows_offer_service(node, "twenty-three-characters", NUMBERS, square, NULL),
         "1 to 22");
    FAILS(NARROWS_ARGUMENT, narrows_open_service(node, "s", NUMBERS, NULL, 8, SOON, NULL));
    SAYS(NARROWS_TOO_LONG, narrows_offer_service(node, "s", "u8", "[f32;5000000]", square, NULL),
         "a response of s has 20000000 bytes");
    FAILS(NARROWS_CLOSED, narrows_open_service(NULL, "s", NUMBERS, NULL, 8, SOON, &flow));
    SAYS(NARROWS_STRATEGY, narrows_open_service(node, "s", NUMBERS, "pol", 8, SOON, &flow),
         "poll");
    SAYS(NARROWS_TIMEOUT, narrows_open_service(node, "s", NUMBERS, NULL, 8, BRIEFLY, &flow),
         "nobody offers s");
    FAILS(NARROWS_AGAIN, narrows_open_service(node, "s", NUMBERS, NULL, 8, 0, &flow));
    FAILS(NARROWS_ARGUMENT, narrows_services(node, NULL, NULL));
    /* Nothing was written where a flow would be. */
    CHECK(flow == (narrows_flow *)node);
}

int main(void)
{
    narrows_node *node;
    narrows_flow *flow, *again;
    struct seen seeing = {NULL, 0};
    uint32_t number = 3;
    uint64_t result;
    size_t length = sizeof result;
    pid_t pid;

    CHECK(pipe(told) == 0);
    alarm(PATIENCE);
    pid = start(server);
    node = opened("gpp");
    refused(node);

    WORKS(narrows_open_service(node, "square", NUMBERS, "hybrid=50us", 8, SOON, &flow));
    CHECK(called(flow, 12) == 144);
    heard();
    seeing.node = node;
    WORKS(narrows_services(node, seen, &seeing));
    CHECK(seeing.count == 1);
    SAYS(NARROWS_TYPES, narrows_open_service(node, "square", "u32", "u32", NULL, 8, SOON, &again),
         "call u32 u64");
    CHECK(strstr(narrows_last_error_text(), "call u32 u32") != NULL);
    /* What is of another length is the function's to refuse. */
    FAILS(NARROWS_FAILED, narrows_call(flow, "", 1, &result, &length, SOON));
    CHECK(called(flow, 4) == 16);

    murder(pid);
    while (narrows_call(flow, &number, sizeof number, &result, &length, SOON) == NARROWS_OK)
        continue;
    FAILS(NARROWS_PEER_GONE,
          narrows_call(flow, &number, sizeof number, &result, &length, SOON));
    WORKS(narrows_close_flow(flow));
    FAILS(NARROWS_TIMEOUT,
          narrows_open_service(node, "square", NUMBERS, NULL, 8, BRIEFLY, &flow));
    pid = start(other);
    heard();
    FAILS(NARROWS_TYPES, narrows_open_service(node, "square", NUMBERS, NULL, 8, SOON, &flow));
    WORKS(narrows_open_service(node, "square", POINT, "f32", NULL, 8, SOON, &flow));
    SAYS(NARROWS_TOO_LONG,
         narrows_open_service(node, "long", "[u8;20000000]", "u8", NULL, 8, SOON, &again),
         "a request of long has 20000000 bytes");
    murder(pid);
    WORKS(narrows_close(node));
    return 0;
}
