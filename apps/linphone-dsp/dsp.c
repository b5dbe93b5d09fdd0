/*
 * The DSP of linphone-dsp: a process that codes frames of sound for others.
 *
 *   dsp [--name NAME] [--core N] [--work MICROSECONDS]
 *
 * It serves the functions of g711.h under NAME ("dsp") until SIGTERM or SIGINT, or until its
 * standard input is closed if that is a pipe; then it prints how many calls of each it has served.
 * It says "ready" once others can find it. It is woken by interrupts however those who call it
 * wait, as the DSP of the published phone was.
 *
 * --work has each call take that long. The time is slept and not worked: a DSP has a processor of
 * its own, and takes none of this machine's.
 */
#include "g711.h"

#include <errno.h>
#include <fcntl.h>
#include <narrows.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t served[G711_ALL];
static struct timespec work;
static volatile sig_atomic_t stopped;
static int stop_pipe[2];

static void stop(int number)
{
    (void)number;
    stopped = 1;
    if (write(stop_pipe[1], "", 1) < 0)
        return;
}

static void fail(const char *what)
{
    fprintf(stderr, "dsp: %s: %s\n", what, narrows_last_error_text());
    exit(1);
}

/* Serves a call. user is the number of the function. */
static int serve(void *user, const void *request, size_t length, void *response, size_t *room)
{
    size_t number = (size_t)((const char *)user - (const char *)served) / sizeof *served;
    struct timespec until;
    size_t written;
    clock_gettime(CLOCK_MONOTONIC, &until);
    written = g711_functions[number].run(request, length, response, *room);
    if (written > *room)
        return 1;
    *room = written;
    served[number]++;
    if (work.tv_sec > 0 || work.tv_nsec > 0) {
        until.tv_sec += work.tv_sec;
        until.tv_nsec += work.tv_nsec;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000L;
        }
        while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
    }
    return 0;
}

/* A number of an option. */
static long number(const char *option, const char *text, long most)
{
    char *end;
    long value = text == NULL ? -1 : strtol(text, &end, 10);
    if (value < 0 || value > most || *end != '\0') {
        fprintf(stderr, "dsp: %s wants a number from 0 to %ld\n", option, most);
        exit(2);
    }
    return value;
}

static void pin(long core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        fprintf(stderr, "dsp: cannot run on core %ld: %s: name one of this machine\n", core,
                strerror(errno));
        exit(2);
    }
}

static const char *options(int count, char **words)
{
    const char *name = "dsp";
    int i;
    for (i = 1; i < count; i += 2) {
        const char *value = i + 1 < count ? words[i + 1] : NULL;
        if (strcmp(words[i], "--name") == 0 && value != NULL)
            name = value;
        else if (strcmp(words[i], "--core") == 0)
            pin(number("--core", value, CPU_SETSIZE - 1));
        else if (strcmp(words[i], "--work") == 0) {
            long micros = number("--work", value, 1000000);
            work.tv_sec = micros / 1000000;
            work.tv_nsec = micros % 1000000 * 1000;
        } else {
            fprintf(stderr, "usage: dsp [--name NAME] [--core N] [--work MICROSECONDS]\n");
            exit(2);
        }
    }
    return name;
}

int main(int count, char **words)
{
    const char *name = options(count, words);
    struct sigaction action;
    struct stat input;
    narrows_node *node;
    struct pollfd set[3] = {{-1, POLLIN, 0}, {-1, POLLIN, 0}, {-1, 0, 0}};
    size_t i;

    if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        perror("dsp: pipe");
        return 1;
    }
    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    set[1].fd = stop_pipe[0];
    /* Whoever holds the other end has ended without a signal when it closes. */
    if (fstat(STDIN_FILENO, &input) == 0 && S_ISFIFO(input.st_mode))
        set[2].fd = STDIN_FILENO;

    if (narrows_open(name, NULL, &node) != NARROWS_OK)
        fail("its node cannot be opened");
    for (i = 0; i < G711_ALL; i++)
        if (narrows_offer(node, g711_functions[i].name, serve, &served[i]) != NARROWS_OK)
            fail("a function cannot be offered");
    if (narrows_descriptor(node, &set[0].fd) != NARROWS_OK)
        fail("there is no descriptor to wait on");
    puts("ready");
    fflush(stdout);

    while (!stopped && !(set[2].revents & POLLHUP)) {
        narrows_error error = narrows_serve(node, 0, NULL);
        if (error == NARROWS_OK)
            continue;
        if (error != NARROWS_AGAIN && error != NARROWS_TIMEOUT)
            fail("it cannot serve");
        if (narrows_arm(node) == NARROWS_OK)
            poll(set, 3, -1);
        narrows_hear(node);
    }
    for (i = 0; i < G711_ALL; i++)
        printf("%s %llu\n", g711_functions[i].name, (unsigned long long)served[i]);
    fflush(stdout);
    if (narrows_close(node) != NARROWS_OK)
        fail("its node cannot be closed");
    return 0;
}
