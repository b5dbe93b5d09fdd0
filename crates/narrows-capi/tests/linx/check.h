/* What the LINX programs share: checks, and processes that are started together. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <linx.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Milliseconds within which something comes that has to come, and after which nothing is taken
   to. */
#ifndef SOON
#define SOON 30000u
#endif
#define BRIEFLY 30u

enum { ONE = 1, TWO = 2, THREE = 3, LAST = 99 };

struct numbered {
    LINX_SIGSELECT number;
    uint32_t value;
    unsigned char rest[1];
};

union LINX_SIGNAL {
    LINX_SIGSELECT number;
    struct numbered numbered;
};

static const LINX_SIGSELECT any[] = {0};

static inline void fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: not so: %s (%s)\n", file, line, what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

#define CHECK(what) ((what) ? (void)0 : fail(__FILE__, __LINE__, #what))
/* A call that fails, and how. */
#define FAILS(number, what) (errno = 0, CHECK(what), CHECK(errno == (number)))

#include "../process.h"

static inline LINX *opened(const char *name)
{
    LINX *linx = linx_open(name, 0, NULL);
    CHECK(linx != NULL);
    return linx;
}

static inline union LINX_SIGNAL *made(LINX *linx, LINX_SIGSELECT number, uint32_t value)
{
    union LINX_SIGNAL *sig = linx_alloc(linx, sizeof(struct numbered), number);
    CHECK(sig != LINX_NIL && sig->number == number);
    sig->numbered.value = value;
    return sig;
}

/* Receives a signal that has to be of this number. */
static inline union LINX_SIGNAL *got(LINX *linx, LINX_SIGSELECT number)
{
    union LINX_SIGNAL *sig;
    CHECK(linx_receive_w_tmo(linx, &sig, SOON, any) > 0);
    CHECK(sig->number == number);
    return sig;
}

static inline void freed(LINX *linx, union LINX_SIGNAL *sig)
{
    CHECK(linx_free_buf(linx, &sig) == 0);
    CHECK(sig == LINX_NIL);
}

/* Waits until what is hunted is there. */
static inline LINX_SPID found(LINX *linx)
{
    static const LINX_SIGSELECT hunts[] = {1, LINX_OS_HUNT_SIG};
    union LINX_SIGNAL *sig;
    LINX_SPID spid;
    CHECK(linx_receive_w_tmo(linx, &sig, SOON, hunts) > 0);
    spid = linx_sender(linx, &sig);
    freed(linx, sig);
    return spid;
}

static inline LINX_SPID hunted(LINX *linx, const char *name)
{
    CHECK(linx_hunt(linx, name, NULL) == 0);
    return found(linx);
}

static inline int nothing(LINX *linx)
{
    union LINX_SIGNAL *sig;
    return linx_receive_w_tmo(linx, &sig, BRIEFLY, any) == 0 && sig == LINX_NIL;
}

/* A gate that holds processes back which are made before others have handles, of which they would
   have copies. */
struct gate {
    int ends[2];
};

static inline struct gate closed_gate(void)
{
    struct gate gate;
    CHECK(pipe(gate.ends) == 0);
    return gate;
}

static inline void pass(struct gate *gate)
{
    char byte;
    CHECK(read(gate->ends[0], &byte, 1) == 1);
}

static inline void open_gate(struct gate *gate)
{
    CHECK(write(gate->ends[1], "", 1) == 1);
}

/* Has nodes that are opened from now on have their layers on the stack of this number. Not so
 * behind the last. */
static inline int on_stack(int at)
{
    static const char *stacks[] = {"flat", "layered"};
    if (at == sizeof stacks / sizeof *stacks)
        return 0;
    CHECK(setenv("NARROWS_LINX_STACK", stacks[at], 1) == 0);
    return 1;
}

static inline void finish(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status))
        fprintf(stderr, "a process was ended by signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
