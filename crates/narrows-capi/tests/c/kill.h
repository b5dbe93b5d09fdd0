/* How a test kills a process that another waits for, and what the two are called. */
#ifndef KILL_H
#define KILL_H

#include "check.h"

#include <fcntl.h>

/* Where they say how far they are. */
enum { READY, BLOCKING, KILLED_AT, AGAIN, DONE, ROUND, ENDED, PREPARED };

/* The survivor is node 1, the peer that is killed node 2. */
#define OWN(port) ((mcapi_endpoint_t)DOMAIN << 24 | 1u << 12 | (mcapi_endpoint_t)(port))
#define FAR(port) ((mcapi_endpoint_t)DOMAIN << 24 | 2u << 12 | (mcapi_endpoint_t)(port))

static inline unsigned microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned)now.tv_sec * 1000000u + (unsigned)(now.tv_nsec / 1000);
}

/* Whether a process waits in the system, as far as that can be seen from outside. */
static inline int sleeps(pid_t pid)
{
    char path[64], text[512];
    const char *end;
    ssize_t length;
    int file;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = open(path, O_RDONLY);
    CHECK(file >= 0);
    length = read(file, text, sizeof text - 1);
    close(file);
    CHECK(length > 0);
    text[length] = 0;
    end = strrchr(text, ')');
    CHECK(end != NULL);
    /* Z and X: it failed, and says itself why. */
    return end[2] == 'S' || end[2] == 'Z' || end[2] == 'X';
}

static inline int gone(pid_t pid)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0);
    return info.si_pid == pid;
}

/* Kills the peer once the survivor has been waiting for a while. */
static inline void kill_when_blocked(pid_t survivor_pid, pid_t peer_pid)
{
    int seen = 0;
    while (!look(BLOCKING) && !gone(survivor_pid))
        sched_yield();
    while (seen < 20) {
        seen = sleeps(survivor_pid) ? seen + 1 : 0;
        sched_yield();
    }
    put(KILLED_AT, microseconds());
    murder(peer_pid);
}

#endif
