/* What the programs of the native interface share: checks, nodes, and processes. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <narrows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Within which something comes that has to come, and after which nothing is taken to. */
#define SOON ((int64_t)60 * 1000 * 1000 * 1000)
#define BRIEFLY ((int64_t)20 * 1000 * 1000)

static inline void fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: not so: %s (%s)\n", file, line, what, narrows_last_error_text());
    fflush(stdout);
    _exit(1);
}

#define CHECK(what) ((what) ? (void)0 : fail(__FILE__, __LINE__, #what))
#define WORKS(what) CHECK((what) == NARROWS_OK)
/* A call that fails, and how; and the same with words that its sentence has. */
#define FAILS(error, what) CHECK((what) == (error))
#define SAYS(error, what, words) \
    (CHECK((what) == (error)), CHECK(strstr(narrows_last_error_text(), words) != NULL))

#include "../process.h"

static inline void finished(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static inline narrows_node *opened(const char *name)
{
    narrows_node *node = NULL;
    WORKS(narrows_open(name, NULL, &node));
    CHECK(node != NULL);
    return node;
}

static inline narrows_peer *hunted(narrows_node *node, const char *name)
{
    narrows_peer *peer = NULL;
    WORKS(narrows_hunt(node, name, SOON, &peer));
    CHECK(peer != NULL);
    return peer;
}

/* Doubles each byte; fails without any, and says that it made too much for an 'x'. */
static inline int doubles(void *user, const void *request, size_t length, void *response, size_t *room)
{
    const unsigned char *from = (const unsigned char *)request;
    unsigned char *to = (unsigned char *)response;
    size_t i;
    if (user != NULL)
        ++*(unsigned *)user;
    if (length == 0)
        return 1;
    if (from[0] == 'x') {
        *room += 1;
        return 0;
    }
    for (i = 0; i < length && i < *room; i++)
        to[i] = (unsigned char)(2 * from[i]);
    *room = i;
    return 0;
}

/* Serves doubles() as "doubles" under a name, until the last peer has gone. */
static inline void serves(const char *name)
{
    narrows_node *node = opened(name);
    unsigned count = 0;
    size_t peers;
    WORKS(narrows_offer(node, "doubles", doubles, &count));
    do {
        WORKS(narrows_serve(node, SOON, NULL));
        WORKS(narrows_peers(node, &peers));
    } while (peers > 0);
    WORKS(narrows_close(node));
}

#endif
