/* A node whose program makes no call is found, and so are its endpoints. */
#include "value.h"

enum { READY, FOUND };

/* Nothing of this one's own answers anybody. */
static void makes_no_call(void)
{
    initialize(1);
    create(1);
    create(2);
    post(READY);
    await(FOUND);
    finalize();
}

static void looks_for_it(void)
{
    mcapi_endpoint_t own, there;
    mcapi_status_t status;
    unsigned value = 1;
    initialize(2);
    own = create(1);
    await(READY);
    /* The first meets the node, the second asks one that is met. */
    get(1, 1);
    there = get(1, 2);
    mcapi_msg_send(own, there, &value, sizeof value, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&scalars, own, there));
    post(FOUND);
    finalize();
}

int main(void)
{
    TOGETHER(idle, makes_no_call, looks_for_it);
    return verdict(1);
}
