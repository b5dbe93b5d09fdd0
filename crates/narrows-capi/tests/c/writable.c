/* Received packets that the program writes to: it has asked for copies. */
#include "check.h"

enum { DONE };
enum { PACKETS = 600, HELD = 5 };

static unsigned char out[65536];

static size_t size_of(unsigned number)
{
    static const size_t sizes[] = {0, 1, 48, 49, 1000, 4097, 65536};
    return sizes[number % (sizeof sizes / sizeof *sizes)];
}

static void works_in_place(void)
{
    mcapi_status_t status;
    mcapi_pktchan_recv_hndl_t receive;
    void *held[HELD] = {NULL};
    size_t size, length[HELD] = {0};
    unsigned i;
    initialize(1);
    receive = open_recv(&packets, create(1));
    for (i = 0; i < PACKETS; i++) {
        unsigned at = i % HELD;
        if (held[at]) {
            /* What was written stays, whatever came meanwhile. */
            CHECK(filled((unsigned char *)held[at], length[at], i + 7));
            mcapi_pktchan_release(held[at], &status);
            EXPECT(MCAPI_SUCCESS);
        }
        mcapi_pktchan_recv(receive, &held[at], &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == size_of(i));
        CHECK(filled((unsigned char *)held[at], size, i));
        length[at] = size;
        fill((unsigned char *)held[at], size, i + HELD + 7);
    }
    for (i = 0; i < HELD; i++) {
        mcapi_pktchan_release(held[i], &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_pktchan_release(held[i], &status);
        EXPECT(MCAPI_ERR_BUF_INVALID);
    }
    post(DONE);
    finalize();
}

static void sends(void)
{
    mcapi_status_t status;
    mcapi_endpoint_t from;
    mcapi_pktchan_send_hndl_t send;
    unsigned i;
    initialize(2);
    from = create(1);
    EXPECT_IS(MCAPI_SUCCESS, connect_ends(&packets, from, get(1, 1)));
    send = open_send(&packets, from);
    for (i = 0; i < PACKETS; i++) {
        fill(out, size_of(i), i);
        mcapi_pktchan_send(send, out, size_of(i), &status);
        EXPECT(MCAPI_SUCCESS);
    }
    serve(DONE);
    finalize();
}

static void is_neither(void)
{
    mcapi_info_t info;
    mcapi_status_t status;
    CHECK(setenv("NARROWS_MCAPI_PACKETS", "both", 1) == 0);
    mcapi_initialize(DOMAIN, 1, NULL, NULL, &info, &status);
    EXPECT(MCAPI_ERR_NODE_INITFAILED);
}

int main(void)
{
    CHECK(setenv("NARROWS_MCAPI_PACKETS", "copied", 1) == 0);
    TOGETHER(copied, works_in_place, sends);
    ALONE(is_neither);
    return verdict(2);
}
