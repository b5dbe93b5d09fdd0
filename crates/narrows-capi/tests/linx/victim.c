/* A program whose peers write garbage: the test that runs it is their other end. A link to one that
 * it is attached to ends, and those of the others do not disturb it. */
#include "check.h"

int main(void)
{
    LINX *linx;
    union LINX_SIGNAL *sig;
    LINX_SPID bad;
    LINX_SIGSELECT number = 0;
    alarm(PATIENCE);
    linx = opened("victim");
    bad = hunted(linx, "attacker/");
    CHECK(linx_attach(linx, NULL, bad) != LINX_ILLEGAL_ATTREF);
    while (number != LAST) {
        CHECK(linx_receive_w_tmo(linx, &sig, SOON, any) > 0);
        number = sig->number;
        if (number == LINX_OS_ATTACH_SIG) {
            CHECK(linx_sender(linx, &sig) == bad);
            FAILS(ECONNRESET, linx_send(linx, &sig, bad) == -1);
            bad = LINX_ILLEGAL_SPID;
        } else {
            CHECK(linx_send(linx, &sig, linx_sender(linx, &sig)) == 0);
        }
    }
    CHECK(bad == LINX_ILLEGAL_SPID);
    /* What was sent last is received before this end is seen. */
    CHECK(linx_receive_w_tmo(linx, &sig, SOON, any) > 0);
    CHECK(linx_close(linx) == 0);
    return 0;
}
