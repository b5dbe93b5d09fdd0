/* More nodes than one deals with: what is one too many is refused and does no harm. */
#include "check.h"

enum { HUB = 1, FIRST = 10, EACH = 14, CROWDS = 5, NODES = EACH * CROWDS, LINKS = 64 };
/* Places on the board: how many nodes are there, and what became of their gets. */
enum { THERE, SERVED, LIMITED, LEFT };

static void count(int slot)
{
    __atomic_add_fetch(&board[slot], 1, __ATOMIC_SEQ_CST);
}

/* Lets a node answer its peers. serve_once would link it with itself, which takes places, too. */
static void answer(mcapi_endpoint_t own)
{
    mcapi_status_t status;
    mcapi_msg_available(own, &status);
    EXPECT(MCAPI_SUCCESS);
}

/* A crowd's nodes are threads of one process, each bound to its own. */
static void crowd(int number, void *(*member)(void *))
{
    in_threads(member, FIRST + (unsigned)number * EACH, EACH);
}

/* Is there until it gets a message. */
static void *got(void *argument)
{
    mcapi_node_t node = *(mcapi_node_t *)argument;
    mcapi_status_t status;
    mcapi_endpoint_t own;
    size_t size;
    initialize(node);
    own = create(1);
    count(THERE);
    mcapi_msg_recv(own, NULL, 0, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    finalize();
    count(LEFT);
    return NULL;
}

static void let_go(mcapi_endpoint_t own, mcapi_endpoint_t there)
{
    mcapi_status_t status;
    mcapi_msg_send(own, there, NULL, 0, 0, &status);
    EXPECT(MCAPI_SUCCESS);
}

static void got_0(void) { crowd(0, got); }
static void got_1(void) { crowd(1, got); }
static void got_2(void) { crowd(2, got); }
static void got_3(void) { crowd(3, got); }
static void got_4(void) { crowd(4, got); }

/* As get, once there is room: a node notices that another has left when it looks at the rendezvous
   next, which calls do once in a millisecond or two. */
static mcapi_endpoint_t get_in_time(mcapi_node_t node)
{
    mcapi_status_t status;
    mcapi_endpoint_t endpoint;
    int tries = 1000;
    do {
        endpoint = mcapi_endpoint_get(DOMAIN, node, 1, SOON, &status);
    } while (status == MCAPI_ERR_ENDP_GET_LIMIT && tries-- > 0 && usleep(1000) == 0);
    EXPECT(MCAPI_SUCCESS);
    return endpoint;
}

static void gets_many(void)
{
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_endpoint_t own, there[LINKS], late = 0;
    unsigned i;
    initialize(HUB);
    own = create(1);
    while (look(THERE) < NODES)
        answer(own);
    for (i = 0; i < LINKS; i++)
        there[i] = get(FIRST + i, 1);
    CHECK(mcapi_endpoint_get(DOMAIN, FIRST + LINKS, 1, SOON, &status) == 0);
    EXPECT(MCAPI_ERR_ENDP_GET_LIMIT);
    mcapi_endpoint_get_i(DOMAIN, FIRST + NODES - 1, 1, &late, &request, &status);
    EXPECT_IS(MCAPI_ERR_ENDP_GET_LIMIT, end_of_call(&request, status));
    CHECK(late == 0);
    /* When one leaves there is room for another; the rest are as they were. */
    let_go(own, there[0]);
    while (!look(LEFT))
        answer(own);
    let_go(own, get_in_time(FIRST + LINKS));
    mcapi_msg_send(own, there[0], NULL, 0, 0, &status);
    EXPECT(MCAPI_ERR_ENDP_INVALID);
    for (i = 1; i < LINKS; i++)
        let_go(own, there[i]);
    while (look(LEFT) < LINKS + 1)
        answer(own);
    for (i = LINKS + 1; i < NODES; i++)
        let_go(own, get_in_time(FIRST + i));
    finalize();
}

/* Gets an endpoint that too many want. */
static void *wants(void *argument)
{
    mcapi_node_t node = *(mcapi_node_t *)argument;
    mcapi_status_t status;
    mcapi_endpoint_t own, hub;
    mcapi_request_t request;
    size_t size;
    initialize(node);
    own = create(1);
    mcapi_endpoint_get_i(DOMAIN, HUB, 1, &hub, &request, &status);
    while (!mcapi_wait(&request, &size, 100, &status) && look(SERVED) < LINKS)
        EXPECT(MCAPI_TIMEOUT);
    if (status == MCAPI_SUCCESS) {
        mcapi_msg_send(own, hub, &node, sizeof node, 0, &status);
        EXPECT(MCAPI_SUCCESS);
        count(SERVED);
        mcapi_msg_recv(own, NULL, 0, &size, &status);
        EXPECT(MCAPI_SUCCESS);
    } else {
        EXPECT(MCAPI_TIMEOUT);
        mcapi_cancel(&request, &status);
        EXPECT(MCAPI_SUCCESS);
        count(LIMITED);
    }
    finalize();
    return NULL;
}

static void wants_0(void) { crowd(0, wants); }
static void wants_1(void) { crowd(1, wants); }
static void wants_2(void) { crowd(2, wants); }
static void wants_3(void) { crowd(3, wants); }
static void wants_4(void) { crowd(4, wants); }

static void is_wanted(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t own;
    mcapi_node_t from;
    unsigned char heard[NODES] = {0};
    unsigned i;
    size_t size;
    initialize(HUB);
    own = create(1);
    for (i = 0; i < LINKS; i++) {
        mcapi_msg_recv(own, &from, sizeof from, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(from >= FIRST && from < FIRST + NODES && heard[from - FIRST]++ == 0);
    }
    while (look(LIMITED) < NODES - LINKS)
        answer(own);
    CHECK(look(SERVED) == LINKS);
    CHECK(mcapi_msg_available(own, &status) == 0);
    EXPECT(MCAPI_SUCCESS);
    for (i = 0; i < NODES; i++)
        if (heard[i])
            let_go(own, get(FIRST + i, 1));
    finalize();
}

int main(void)
{
    CHECK(setenv("NARROWS_MCAPI_PEERS", "64", 1) == 0);
    TOGETHER(more_are_got_than_there_is_room_for, got_0, got_1, got_2, got_3, got_4, gets_many);
    TOGETHER(more_want_one_than_it_has_room_for, wants_0, wants_1, wants_2, wants_3, wants_4,
             is_wanted);
    return verdict(2);
}
