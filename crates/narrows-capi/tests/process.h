/*
 * Processes of a test: started, and killed. Used by both check.h, which have CHECK(what) before
 * they include this.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds after which a process of a test is stuck. */
#define PATIENCE 150

typedef void (*side_t)(void);

/* Starts a process that does one thing, and ends with its parent. */
static inline pid_t start(side_t side)
{
    pid_t parent = getpid(), pid;
    fflush(stdout);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        alarm(PATIENCE);
        side();
        fflush(stdout);
        _exit(0);
    }
    return pid;
}

/* Runs so many threads, each with a number of its own, the first with this one, until they end. */
static inline void in_threads(void *(*run)(void *), unsigned first, unsigned count)
{
    pthread_t threads[64];
    unsigned numbers[64], i;
    CHECK(count <= 64);
    for (i = 0; i < count; i++) {
        numbers[i] = first + i;
        CHECK(pthread_create(&threads[i], NULL, run, &numbers[i]) == 0);
    }
    for (i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Kills a process that has to be alive: one that has failed has not been killed. */
static inline void murder(pid_t pid)
{
    int state;
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(waitpid(pid, &state, 0) == pid);
    CHECK(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL);
}

#endif
