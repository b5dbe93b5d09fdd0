/* Two nodes that see no directory in common: bridges stand for each of them. */
#include "check.h"

enum { HERE, BOTH };

/* As on a machine of its own. */
static void move_to(const char *place)
{
    char path[4096];
    const char *all = getenv("NARROWS_DIR");
    CHECK(all != NULL);
    CHECK((size_t)snprintf(path, sizeof path, "%s/%s", all, place) < sizeof path);
    CHECK(setenv("NARROWS_DIR", path, 1) == 0);
}

/* A message each way. */
static void talk(mcapi_node_t other, unsigned value)
{
    mcapi_endpoint_t own = create(1), there = get(other, 1);
    mcapi_status_t status;
    unsigned got = 0;
    size_t size;
    mcapi_msg_send(own, there, &value, sizeof value, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_recv(own, &got, sizeof got, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == sizeof got && got == 3 - value);
}

static void one(void)
{
    move_to("here");
    initialize(1);
    talk(2, 1);
    post(HERE);
    await(BOTH);
    finalize();
}

static void other(void)
{
    move_to("there");
    initialize(2);
    talk(1, 2);
    await(HERE);
    post(BOTH);
    finalize();
}

int main(void)
{
    TOGETHER(distant, one, other);
    return verdict(1);
}
