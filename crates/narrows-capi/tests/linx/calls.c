/* What each call does and refuses, within one process: no misuse does more than fail. */
#include "check.h"

static void signals(void)
{
    LINX *one = opened("one"), *two = opened("two");
    union LINX_SIGNAL *sig, *copy, stranger = {7};

    sig = made(one, ONE, 5);
    CHECK(linx_sigsize(one, &sig) == (int)sizeof(struct numbered));
    CHECK(linx_set_sigsize(one, &sig, 8) == 0 && linx_sigsize(one, &sig) == 8);
    CHECK(sig->numbered.value == 5);
    FAILS(EMSGSIZE, linx_set_sigsize(one, &sig, 3) == -1);
    FAILS(EMSGSIZE, linx_set_sigsize(one, &sig, 1 << 20) == -1);
    FAILS(EMSGSIZE, linx_set_sigsize(one, &sig, -1) == -1);

    /* Another's, freed twice, or nobody's. */
    FAILS(EINVAL, linx_free_buf(two, &sig) == -1);
    CHECK(sig != LINX_NIL);
    copy = sig;
    freed(one, sig);
    FAILS(EINVAL, linx_free_buf(one, &copy) == -1);
    FAILS(EINVAL, linx_sigsize(one, &copy) == -1);
    FAILS(EINVAL, linx_sender(one, &copy) == LINX_ILLEGAL_SPID);
    FAILS(EINVAL, linx_send(one, &copy, linx_get_spid(one)) == -1);
    copy = &stranger;
    FAILS(EINVAL, linx_free_buf(one, &copy) == -1);
    FAILS(EINVAL, linx_send(one, &copy, linx_get_spid(one)) == -1);
    FAILS(EINVAL, linx_hunt(one, "two", &copy) == -1);
    FAILS(EINVAL, linx_attach(one, &copy, linx_get_spid(one)) == LINX_ILLEGAL_ATTREF);
    FAILS(EINVAL, linx_request_tmo(one, 1, &copy) == LINX_ILLEGAL_TMOREF);
    FAILS(EINVAL, linx_free_buf(one, NULL) == -1);
    FAILS(EINVAL, linx_send(one, NULL, 1) == -1);

    /* Used after it was sent. */
    sig = made(one, ONE, 5);
    copy = sig;
    CHECK(linx_send(one, &sig, linx_get_spid(one)) == 0);
    CHECK(sig == LINX_NIL);
    FAILS(EINVAL, linx_send(one, &copy, linx_get_spid(one)) == -1);
    freed(one, got(one, ONE));

    /* The longest, the shortest, and what is neither. */
    FAILS(EMSGSIZE, linx_alloc(one, 3, ONE) == LINX_NIL);
    FAILS(EMSGSIZE, linx_alloc(one, -1, ONE) == LINX_NIL);
    FAILS(EMSGSIZE, linx_alloc(one, 65537, ONE) == LINX_NIL);
    FAILS(EINVAL, linx_s_alloc(one, 4, ONE, 1) == LINX_NIL);
    sig = linx_alloc(one, 4, ONE);
    CHECK(sig != LINX_NIL && linx_sigsize(one, &sig) == 4);
    freed(one, sig);
    sig = linx_s_alloc(one, 65536, TWO, 0);
    CHECK(sig != LINX_NIL && sig->number == TWO);
    CHECK(linx_send(one, &sig, linx_get_spid(one)) == 0);
    CHECK(linx_receive(one, &sig, any) == 65536);
    CHECK(linx_sender(one, &sig) == linx_get_spid(one));
    freed(one, sig);
    CHECK(linx_close(one) == 0 && linx_close(two) == 0);
}

static void handles(void)
{
    LINX *one = opened("one"), *nameless, *a, *b;
    union LINX_SIGNAL *sig;
    FAILS(EINVAL, linx_open("a/b/c", 0, NULL) == NULL);
    FAILS(EINVAL, linx_open("/a", 0, NULL) == NULL);
    FAILS(EINVAL, linx_open("a/", 0, NULL) == NULL);
    FAILS(EINVAL, linx_open(NULL, 0, NULL) == NULL);
    FAILS(EINVAL, linx_open("two", 1, NULL) == NULL);
    nameless = opened("");
    CHECK(linx_get_spid(nameless) != LINX_ILLEGAL_SPID);
    a = opened("node1/a");
    b = opened("node1/b");
    CHECK(linx_get_spid(a) != linx_get_spid(b));
    CHECK(linx_close(one) == 0);
    FAILS(EBADF, linx_close(one) == -1);
    FAILS(EBADF, linx_close(NULL) == -1);
    FAILS(EBADF, linx_alloc(one, 4, ONE) == LINX_NIL);
    FAILS(EBADF, linx_receive(one, &sig, any) == -1);
    FAILS(EBADF, linx_hunt(one, "two", NULL) == -1);
    FAILS(EBADF, linx_get_spid(one) == LINX_ILLEGAL_SPID);
    FAILS(EBADF, linx_get_descriptor(one) == -1);
    CHECK(linx_close(nameless) == 0 && linx_close(a) == 0 && linx_close(b) == 0);
    /* The name is free again. */
    one = opened("one");
    CHECK(linx_close(one) == 0);
}

static void selection(void)
{
    static const LINX_SIGSELECT one_or_three[] = {2, ONE, THREE};
    static const LINX_SIGSELECT not_one[] = {(LINX_SIGSELECT)-1, ONE};
    static const LINX_SIGSELECT last[] = {1, LAST};
    static const LINX_SIGSELECT endless[] = {0x7fffffff, ONE};
    LINX *linx = opened("one");
    LINX_SPID own = linx_get_spid(linx);
    union LINX_SIGNAL *sig;
    LINX_SIGSELECT n;
    for (n = TWO; n >= ONE; n--) {
        sig = made(linx, n, n);
        CHECK(linx_send(linx, &sig, own) == 0);
    }
    CHECK(linx_receive_w_tmo(linx, &sig, 0, last) == 0 && sig == LINX_NIL);
    CHECK(linx_receive_w_tmo(linx, &sig, SOON, one_or_three) > 0 && sig->number == ONE);
    CHECK(linx_send(linx, &sig, own) == 0);
    CHECK(linx_receive(linx, &sig, not_one) > 0 && sig->number == TWO);
    freed(linx, sig);
    CHECK(linx_receive_from(linx, &sig, 0, any, own + 1) == 0 && sig == LINX_NIL);
    CHECK(linx_receive_from(linx, &sig, SOON, any, own) > 0 && sig->number == ONE);
    freed(linx, sig);
    FAILS(EINVAL, linx_receive(linx, NULL, any) == -1);
    FAILS(EINVAL, linx_receive(linx, &sig, endless) == -1);
    CHECK(linx_close(linx) == 0);
}

static void addresses(void)
{
    LINX *linx = opened("node1/one"), *other = opened("node1/two");
    LINX_SPID two = hunted(linx, "two");
    LINX_OSATTREF attach, copy;
    union LINX_SIGNAL *sig = made(linx, ONE, 1);

    CHECK(two == linx_get_spid(other));
    FAILS(EINVAL, linx_send(linx, &sig, 0x12345) == -1);
    CHECK(sig == LINX_NIL);
    sig = made(linx, ONE, 1);
    FAILS(EINVAL, linx_send_w_s(linx, &sig, 0x12345, two) == -1);
    FAILS(EINVAL, linx_attach(linx, NULL, 0x12345) == LINX_ILLEGAL_ATTREF);
    FAILS(EINVAL, linx_hunt(linx, "", NULL) == -1);
    FAILS(EINVAL, linx_hunt(linx, "a//b", NULL) == -1);
    FAILS(EINVAL, linx_hunt(linx, NULL, NULL) == -1);
    FAILS(EOPNOTSUPP, linx_hunt_from(linx, "two", NULL, two) == -1);
    sig = made(linx, ONE, 1);
    FAILS(EOPNOTSUPP, linx_hunt_from(linx, "two", &sig, two) == -1);
    CHECK(sig == LINX_NIL);
    CHECK(linx_hunt_from(linx, "two", NULL, linx_get_spid(linx)) == 0);
    CHECK(found(linx) == two);

    /* Sent in another's name. */
    sig = made(linx, ONE, 1);
    CHECK(linx_send_w_s(linx, &sig, two, linx_get_spid(linx)) == 0);
    sig = got(linx, ONE);
    CHECK(linx_sender(linx, &sig) == two);
    freed(linx, sig);

    attach = linx_attach(linx, NULL, two);
    CHECK(attach != LINX_ILLEGAL_ATTREF);
    copy = attach;
    CHECK(linx_detach(linx, &attach) == 0 && attach == LINX_ILLEGAL_ATTREF);
    FAILS(EINVAL, linx_detach(linx, &copy) == -1);
    FAILS(EINVAL, linx_detach(linx, NULL) == -1);
    sig = made(linx, THREE, 7);
    attach = linx_attach(linx, &sig, two);
    CHECK(attach != LINX_ILLEGAL_ATTREF && sig == LINX_NIL);
    CHECK(linx_close(other) == 0);
    sig = got(linx, THREE);
    CHECK(linx_sender(linx, &sig) == two && sig->numbered.value == 7);
    FAILS(EINVAL, linx_detach(linx, &attach) == -1);
    FAILS(ECONNRESET, linx_send(linx, &sig, two) == -1);
    /* That an endpoint is gone already is told at once. */
    CHECK(linx_attach(linx, NULL, two) != LINX_ILLEGAL_ATTREF);
    freed(linx, got(linx, LINX_OS_ATTACH_SIG));
    CHECK(linx_close(linx) == 0);
}

static void timeouts(void)
{
    LINX *linx = opened("one");
    union LINX_SIGNAL *sig = made(linx, ONE, 3);
    LINX_OSTMOREF late = linx_request_tmo(linx, 3600000, &sig), soon, copy;
    struct pollfd set = {-1, POLLIN, 0};
    CHECK(late != LINX_ILLEGAL_TMOREF && sig == LINX_NIL);
    soon = linx_request_tmo(linx, 1, NULL);
    sig = got(linx, LINX_OS_TMO_SIG);
    CHECK(linx_sender(linx, &sig) == linx_get_spid(linx));
    freed(linx, sig);
    FAILS(EINVAL, linx_cancel_tmo(linx, &soon) == -1);
    copy = late;
    CHECK(linx_cancel_tmo(linx, &late) == 0 && late == LINX_ILLEGAL_TMOREF);
    FAILS(EINVAL, linx_cancel_tmo(linx, &copy) == -1);

    set.fd = linx_get_descriptor(linx);
    CHECK(set.fd >= 0);
    CHECK(poll(&set, 1, 0) == 0);
    CHECK(linx_request_tmo(linx, 1, NULL) != LINX_ILLEGAL_TMOREF);
    CHECK(poll(&set, 1, SOON) == 1);
    CHECK(linx_receive_w_tmo(linx, &sig, 0, any) > 0);
    freed(linx, sig);
    CHECK(poll(&set, 1, 0) == 0);
    CHECK(linx_close(linx) == 0);
}

/* A child has none of its parent's handles, and its own are as good as any. */
static void forked(void)
{
    LINX *one = opened("one"), *own;
    union LINX_SIGNAL *sig = made(one, ONE, 5);
    LINX_SPID there;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        FAILS(EBADF, linx_send(one, &sig, linx_get_spid(one)) == -1);
        FAILS(EBADF, linx_alloc(one, 4, ONE) == LINX_NIL);
        FAILS(EBADF, linx_close(one) == -1);
        own = opened("own");
        there = hunted(own, "one");
        sig = made(own, TWO, 7);
        CHECK(linx_send(own, &sig, there) == 0);
        freed(own, got(own, THREE));
        CHECK(linx_close(own) == 0);
        _exit(0);
    }
    sig = got(one, TWO);
    there = linx_sender(one, &sig);
    freed(one, sig);
    sig = made(one, THREE, 0);
    CHECK(linx_send(one, &sig, there) == 0);
    CHECK(linx_attach(one, NULL, there) != LINX_ILLEGAL_ATTREF);
    freed(one, got(one, LINX_OS_ATTACH_SIG));
    finish(child);
    CHECK(linx_close(one) == 0);
}

int main(void)
{
    /* Each in a process of its own: what is left open does not outlive it. */
    finish(start(signals));
    finish(start(handles));
    finish(start(selection));
    finish(start(addresses));
    finish(start(timeouts));
    finish(start(forked));
    return 0;
}
