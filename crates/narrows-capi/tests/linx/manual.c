/* What Linux LINX's manual pages say beside what calls.c has: each in a process of its own. */
#include "check.h"

/* Without a filter everything is received; a signal is sent by its maker; a signal grows. */
static void signals(void)
{
    LINX *linx = opened("one");
    LINX_SPID own = linx_get_spid(linx);
    union LINX_SIGNAL *sig = made(linx, ONE, 5);
    unsigned char *bytes;
    int at;
    CHECK(linx_sender(linx, &sig) == own);
    CHECK(linx_set_sigsize(linx, &sig, 5000) == 0 && linx_sigsize(linx, &sig) == 5000);
    CHECK(sig->number == ONE && sig->numbered.value == 5 && linx_sender(linx, &sig) == own);
    bytes = (unsigned char *)sig;
    for (at = 12; at < 5000; at++)
        bytes[at] = (unsigned char)at;
    CHECK(linx_set_sigsize(linx, &sig, 65536) == 0);
    bytes = (unsigned char *)sig;
    for (at = 12; at < 5000; at++)
        CHECK(bytes[at] == (unsigned char)at);
    FAILS(EMSGSIZE, linx_set_sigsize(linx, &sig, 65537) == -1);
    CHECK(linx_send(linx, &sig, own) == 0);
    CHECK(linx_receive(linx, &sig, NULL) == 65536 && sig->numbered.value == 5);
    freed(linx, sig);
    CHECK(linx_receive_w_tmo(linx, &sig, 0, NULL) == 0 && sig == LINX_NIL);
    CHECK(linx_receive_from(linx, &sig, 0, NULL, own) == 0);
    CHECK(linx_close(linx) == 0);
}

/* What no filter lets by, and no link brings out of band. */
static void options(void)
{
    LINX *linx = opened("one");
    LINX_SPID own = linx_get_spid(linx);
    int32_t none[] = {LINX_SIG_OPT_END}, usual[] = {LINX_SIG_OPT_OOB, 0, LINX_SIG_OPT_END};
    int32_t urgent[] = {LINX_SIG_OPT_OOB, 1, LINX_SIG_OPT_END}, wrong[] = {7, 0, LINX_SIG_OPT_END};
    int32_t *lists[3];
    union LINX_SIGNAL *sig;
    uint8_t value = 3;
    int at;
    lists[0] = NULL, lists[1] = none, lists[2] = usual;
    for (at = 0; at < 3; at++) {
        sig = made(linx, ONE, 1);
        CHECK(linx_send_w_opt(linx, &sig, own, own, lists[at]) == 0 && sig == LINX_NIL);
        sig = got(linx, ONE);
        value = 3;
        CHECK(linx_sigattr(linx, (const union LINX_SIGNAL **)&sig, LINX_SIG_ATTR_OOB,
                           (void **)&value) == 0);
        CHECK(value == (uint8_t)~0);
        FAILS(EINVAL, linx_sigattr(linx, (const union LINX_SIGNAL **)&sig, 2, (void **)&value) == -1);
        freed(linx, sig);
    }
    sig = made(linx, ONE, 1);
    FAILS(ENOSYS, linx_send_w_opt(linx, &sig, own, own, urgent) == -1);
    CHECK(sig == LINX_NIL);
    sig = made(linx, ONE, 1);
    FAILS(EINVAL, linx_send_w_opt(linx, &sig, own, own, wrong) == -1);
    CHECK(nothing(linx));
    CHECK(linx_close(linx) == 0);
}

/* Endpoints of one name: a hunt finds one of those that are there. */
static void duplicates(void)
{
    LINX *first = opened("node1/one"), *second = opened("node1/one"), *hunter = opened("node1/h");
    LINX *third;
    LINX_SPID found = hunted(hunter, "one"), next;
    if (found == linx_get_spid(second)) {
        third = first;
        first = second;
        second = third;
    }
    CHECK(found == linx_get_spid(first) && found != linx_get_spid(second));
    CHECK(linx_close(first) == 0);
    next = hunted(hunter, "one");
    CHECK(next == linx_get_spid(second));
    third = opened("node1/one");
    found = hunted(hunter, "one");
    CHECK(found == next || found == linx_get_spid(third));
    CHECK(linx_close(second) == 0 && linx_close(third) == 0 && linx_close(hunter) == 0);
}

static struct gate gates[2];
static struct gate ready;

static void one_of_two(int which)
{
    LINX *linx = opened("twin");
    union LINX_SIGNAL *sig;
    open_gate(&ready);
    for (;;) {
        CHECK(linx_receive_w_tmo(linx, &sig, SOON, any) > 0);
        if (sig->number == LAST)
            break;
        sig->numbered.value = (uint32_t)which;
        CHECK(linx_send(linx, &sig, linx_sender(linx, &sig)) == 0);
    }
    CHECK(linx_close(linx) == 0);
}

static void left(void)
{
    pass(&gates[0]);
    one_of_two(0);
}

static void right(void)
{
    pass(&gates[1]);
    one_of_two(1);
}

static uint32_t asked(LINX *linx, LINX_SPID to)
{
    union LINX_SIGNAL *sig = made(linx, ONE, 7);
    uint32_t which;
    CHECK(linx_send(linx, &sig, to) == 0);
    sig = got(linx, ONE);
    CHECK(linx_sender(linx, &sig) == to);
    which = sig->numbered.value;
    freed(linx, sig);
    return which;
}

/* The same between processes: the one that is left is found when the first has been killed. */
static void twins(void)
{
    LINX *linx;
    LINX_SPID found;
    union LINX_SIGNAL *sig;
    pid_t pids[2];
    uint32_t which;
    gates[0] = closed_gate();
    gates[1] = closed_gate();
    ready = closed_gate();
    pids[0] = start(left);
    pids[1] = start(right);
    open_gate(&gates[0]);
    pass(&ready);
    open_gate(&gates[1]);
    pass(&ready);
    linx = opened("client");
    found = hunted(linx, "twin");
    which = asked(linx, found);
    CHECK(linx_attach(linx, NULL, found) != LINX_ILLEGAL_ATTREF);
    murder(pids[which]);
    freed(linx, got(linx, LINX_OS_ATTACH_SIG));
    found = hunted(linx, "twin");
    CHECK(asked(linx, found) == 1 - which);
    sig = made(linx, LAST, 0);
    CHECK(linx_send(linx, &sig, found) == 0);
    finish(pids[1 - which]);
    CHECK(linx_close(linx) == 0);
}

/* Names are of any length and of any characters but the slash. */
static void names(void)
{
    static const char *short_ones[] = {"two words", "-.00000001", "--", ".hidden", "\303\244"};
    char *text, long_one[2001];
    LINX *hunter = opened("node1/hunter"), *linx;
    char path[2100];
    int at;
    memset(long_one, 'x', 2000);
    long_one[2000] = 0;
    for (at = 0; at <= 5; at++) {
        const char *name = at < 5 ? short_ones[at] : long_one;
        snprintf(path, sizeof path, "node1/%s", name);
        linx = opened(path);
        CHECK(hunted(hunter, name) == linx_get_spid(linx));
        CHECK(hunted(hunter, path) == linx_get_spid(linx));
        CHECK(linx_get_name(hunter, linx_get_spid(linx), &text) == 0);
        CHECK(strcmp(text, name) == 0);
        CHECK(linx_free_name(hunter, &text) == 0 && text == NULL);
        CHECK(linx_close(linx) == 0);
    }
    CHECK(linx_close(hunter) == 0);
}

/* What is known of endpoints, of this process and of another. */
static void told(LINX *linx, LINX_SPID spid, const char *name, pid_t owner)
{
    char *text = NULL;
    CHECK(linx_get_name(linx, spid, &text) == 0 && strcmp(text, name) == 0);
    CHECK(linx_free_name(linx, &text) == 0 && text == NULL);
    CHECK(linx_free_name(linx, &text) == 0);
    CHECK(linx_get_owner(linx, spid) == owner);
}

static void known(void)
{
    LINX *linx;
    struct linx_info_stat *stat = NULL;
    union LINX_SIGNAL *sig;
    struct pollfd set = {-1, POLLIN, 0};
    LINX_SPID own, twin;
    char *text;
    pid_t pid;
    gates[0] = closed_gate();
    ready = closed_gate();
    pid = start(left);
    open_gate(&gates[0]);
    pass(&ready);
    linx = opened("client");
    own = linx_get_spid(linx);
    twin = hunted(linx, "twin");
    told(linx, own, "client", getpid());
    told(linx, twin, "twin", pid);
    FAILS(EINVAL, linx_get_name(linx, 0x12345, &text) == -1);
    CHECK(text == NULL);
    FAILS(EINVAL, linx_get_name(linx, own, NULL) == -1);
    FAILS(EINVAL, linx_free_name(linx, NULL) == -1);
    FAILS(EINVAL, linx_get_owner(linx, 0x12345) == -1);

    sig = made(linx, ONE, 1);
    CHECK(linx_send(linx, &sig, own) == 0);
    freed(linx, got(linx, ONE));
    sig = made(linx, TWO, 1);
    CHECK(linx_send(linx, &sig, own) == 0);
    set.fd = linx_get_descriptor(linx);
    CHECK(poll(&set, 1, SOON) == 1);
    CHECK(linx_get_stat(linx, own, &stat) == 0);
    CHECK(stat->spid == own && stat->no_queued_signals == 1);
    CHECK(stat->no_sent_signals == 2 && stat->no_sent_local_signals == 2);
    CHECK(stat->no_sent_bytes == 2 * sizeof(struct numbered));
    /* The hunt's, and one of the two. */
    CHECK(stat->no_recv_signals == 2 && stat->no_recv_bytes == 4 + sizeof(struct numbered));
    CHECK(stat->no_queued_bytes == sizeof(struct numbered) && stat->no_sent_remote_signals == 0);
    CHECK(linx_free_stat(linx, &stat) == 0 && stat == NULL);
    FAILS(EINVAL, linx_free_stat(linx, NULL) == -1);
    FAILS(EINVAL, linx_get_stat(linx, 0x12345, &stat) == -1);
    FAILS(ENOSYS, linx_get_stat(linx, twin, &stat) == -1);
    CHECK(stat == NULL);
    freed(linx, got(linx, TWO));

    CHECK(linx_attach(linx, NULL, twin) != LINX_ILLEGAL_ATTREF);
    sig = made(linx, LAST, 0);
    CHECK(linx_send(linx, &sig, twin) == 0);
    freed(linx, got(linx, LINX_OS_ATTACH_SIG));
    finish(pid);
    FAILS(ECONNRESET, linx_get_name(linx, twin, &text) == -1);
    FAILS(ECONNRESET, linx_get_owner(linx, twin) == -1);
    CHECK(linx_close(linx) == 0);
}

/* A timeout that is put off, one that waits already, and one that was received. */
static void timeouts(void)
{
    LINX *linx = opened("one");
    LINX_OSTMOREF tmo = linx_request_tmo(linx, 3600000, NULL);
    union LINX_SIGNAL *sig;
    struct pollfd set = {-1, POLLIN, 0};
    CHECK(linx_modify_tmo(linx, &tmo, 1) == 0 && tmo != LINX_ILLEGAL_TMOREF);
    set.fd = linx_get_descriptor(linx);
    CHECK(poll(&set, 1, SOON) == 1);
    CHECK(linx_modify_tmo(linx, &tmo, 3600000) == 0);
    CHECK(nothing(linx));
    CHECK(linx_modify_tmo(linx, &tmo, 0) == 0);
    sig = got(linx, LINX_OS_TMO_SIG);
    CHECK(linx_sender(linx, &sig) == linx_get_spid(linx));
    freed(linx, sig);
    FAILS(EINVAL, linx_modify_tmo(linx, &tmo, 1) == -1);
    CHECK(tmo == LINX_ILLEGAL_TMOREF);
    FAILS(EINVAL, linx_modify_tmo(linx, NULL, 1) == -1);
    CHECK(linx_close(linx) == 0);
}

/* What there is not, and the version. */
static void absent(void)
{
    LINX *linx = opened("one");
    LINX_NLREF link = 1;
    char version[14], text[14];
    int number = linx_get_version(version);
    FAILS(ENOSYS, linx_request_new_link(linx, 0) == LINX_ILLEGAL_NLREF);
    FAILS(ENOSYS, linx_cancel_new_link(linx, &link) == -1);
    snprintf(text, sizeof text, "%d.%d.%d", number >> 24 & 255, number >> 8 & 65535, number & 255);
    CHECK(number > 0 && strcmp(version, text) == 0);
    CHECK(linx_get_version(NULL) == number);
    CHECK(linx_close(linx) == 0);
}

/* As many hunts and attaches as docs/LINX.md says, and an error behind them. */
static void many(void)
{
    LINX *linx = opened("node1/one"), *two = opened("node1/two");
    LINX_SPID spid = linx_get_spid(two);
    int at;
    for (at = 0; at < 2048; at++)
        CHECK(linx_attach(linx, NULL, spid) != LINX_ILLEGAL_ATTREF);
    FAILS(ENOBUFS, linx_attach(linx, NULL, spid) == LINX_ILLEGAL_ATTREF);
    for (at = 0; at < 512; at++)
        CHECK(linx_hunt(linx, "three", NULL) == 0);
    FAILS(ENOBUFS, linx_hunt(linx, "three", NULL) == -1);
    CHECK(linx_close(two) == 0);
    for (at = 0; at < 2048; at++)
        freed(linx, got(linx, LINX_OS_ATTACH_SIG));
    two = opened("node1/three");
    for (at = 0; at < 512; at++)
        CHECK(found(linx) == linx_get_spid(two));
    CHECK(nothing(linx));
    CHECK(linx_close(linx) == 0 && linx_close(two) == 0);
}

static void *waits(void *linx)
{
    union LINX_SIGNAL *sig = (union LINX_SIGNAL *)&ready;
    open_gate(&ready);
    FAILS(EBADF, linx_receive((LINX *)linx, &sig, any) == -1);
    CHECK(sig == LINX_NIL);
    return NULL;
}

/* A thread closes what others wait with. */
static void closed(void)
{
    int at, round;
    for (round = 0; round < 20; round++) {
        LINX *linx = opened("one");
        pthread_t threads[3];
        ready = closed_gate();
        for (at = 0; at < 3; at++)
            CHECK(pthread_create(&threads[at], NULL, waits, linx) == 0);
        for (at = 0; at < 3; at++)
            pass(&ready);
        usleep((useconds_t)(round * 100));
        CHECK(linx_close(linx) == 0);
        for (at = 0; at < 3; at++)
            CHECK(pthread_join(threads[at], NULL) == 0);
        /* As a thread that is late. */
        open_gate(&ready);
        waits(linx);
    }
}

int main(void)
{
    int at;
    finish(start(signals));
    finish(start(options));
    finish(start(timeouts));
    finish(start(absent));
    finish(start(many));
    for (at = 0; on_stack(at); at++) {
        finish(start(duplicates));
        finish(start(twins));
        finish(start(names));
        finish(start(known));
        finish(start(closed));
    }
    return 0;
}
