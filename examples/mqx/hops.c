/*
 * A client sends to queues of its own processor, of the next and of one beyond it, by the same
 * call. The one in the middle has no part in it: its library passes messages on.
 *
 *     processor 1          processor 2          processor 3
 *       client ──────────────► echo
 *       client ───────────────(passes on)─────────► echo
 *       system queue,
 *       a function echoes
 *
 *     cc -I crates/narrows-capi/include examples/mqx/hops.c -lnarrows -o hops && ./hops
 *
 * Expected output:
 *
 *     queue 0x010a: hello
 *     queue 0x0208: hello
 *     queue 0x0308: hello
 *     broadcast: 1 from 0x0208, 1 from 0x0308
 *     here: … us there and back
 *     1 hop: … us there and back
 *     2 hops: … us there and back
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mqx.h>
#include <mqx_message.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ECHO = 8, ANSWERS = 9, HERE = 10, ROUNDS = 200, AGAIN = 20 };

typedef struct {
    MESSAGE_HEADER_STRUCT HEADER;
    char TEXT[24];
} TEXT_MESSAGE, *TEXT_MESSAGE_PTR;

/* Ends the program if a call failed. */
static void done(int fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "%s: task error 0x%x\n", what, (unsigned)_task_get_error());
    exit(1);
}

/* Sends a message back to where it comes from. Its source says which queue answers. */
static boolean back(TEXT_MESSAGE_PTR message, _queue_id own)
{
    message->HEADER.TARGET_QID = message->HEADER.SOURCE_QID;
    message->HEADER.SOURCE_QID = own;
    return _msgq_send(message);
}

static void echo(void)
{
    _queue_id own = _msgq_open(ECHO, 0);
    done(own != MSGQ_NULL_QUEUE_ID, "_msgq_open");
    for (;;) {
        TEXT_MESSAGE_PTR message = (TEXT_MESSAGE_PTR)_msgq_receive(own, 0);
        done(message != NULL, "_msgq_receive");
        back(message, own);
    }
}

/* Runs for each message that comes into the system queue. */
static void echo_here(void *queue)
{
    _queue_id own = *(_queue_id *)queue;
    TEXT_MESSAGE_PTR message = (TEXT_MESSAGE_PTR)_msgq_poll(own);
    if (message != NULL)
        back(message, own);
}

static TEXT_MESSAGE_PTR text(_queue_id to, const char *what)
{
    TEXT_MESSAGE_PTR message = (TEXT_MESSAGE_PTR)_msg_alloc_system(sizeof(TEXT_MESSAGE));
    done(message != NULL, "_msg_alloc_system");
    message->HEADER.TARGET_QID = to;
    message->HEADER.SOURCE_QID = _msgq_get_id(0, ANSWERS);
    snprintf(message->TEXT, sizeof message->TEXT, "%s", what);
    return message;
}

/* Asks until the other processor is linked with and listens. */
static void wait_for(_queue_id to)
{
    TEXT_MESSAGE_PTR answer = NULL;
    while (answer == NULL) {
        if (_msgq_send(text(to, "")))
            answer = (TEXT_MESSAGE_PTR)_msgq_receive(_msgq_get_id(0, ANSWERS), AGAIN);
        else
            usleep(AGAIN * 1000);
        _task_set_error(MQX_OK);
    }
    /* And what was asked more than once. */
    do
        _msg_free(answer);
    while ((answer = (TEXT_MESSAGE_PTR)_msgq_receive(_msgq_get_id(0, ANSWERS), AGAIN)) != NULL);
    _task_set_error(MQX_OK);
}

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double there_and_back(_queue_id to, _queue_id answers)
{
    double begin = microseconds();
    int round;
    for (round = 0; round < ROUNDS; round++) {
        void *answer;
        done(_msgq_send(text(to, "")), "_msgq_send");
        answer = _msgq_receive(answers, 0);
        done(answer != NULL, "_msgq_receive");
        _msg_free(answer);
    }
    return (microseconds() - begin) / ROUNDS;
}

static void client(void)
{
    static const char *names[] = {"here", "1 hop", "2 hops"};
    static _queue_id here;
    _queue_id all[4], answers = _msgq_open(ANSWERS, 0);
    int n, answered[2] = {0, 0};
    done(answers != MSGQ_NULL_QUEUE_ID, "_msgq_open");
    done(_msgpool_create_system(sizeof(TEXT_MESSAGE), 8, 8, 64), "_msgpool_create_system");
    here = _msgq_get_id(0, HERE);
    done(_msgq_open_system(HERE, 0, echo_here, &here) == here, "_msgq_open_system");
    all[0] = here;
    all[1] = _msgq_get_id(2, ECHO);
    all[2] = _msgq_get_id(3, ECHO);
    all[3] = MSGQ_NULL_QUEUE_ID;
    wait_for(all[1]);
    wait_for(all[2]);

    for (n = 0; n < 3; n++) {
        TEXT_MESSAGE_PTR message;
        done(_msgq_send(text(all[n], "hello")), "_msgq_send");
        message = (TEXT_MESSAGE_PTR)_msgq_receive(answers, 0);
        done(message != NULL, "_msgq_receive");
        printf("queue 0x%04x: %s\n", message->HEADER.SOURCE_QID, message->TEXT);
        _msg_free(message);
    }
    done(_msgq_send_broadcast(text(0, "to all"), &all[1], MSGPOOL_NULL_POOL_ID) == 2,
         "_msgq_send_broadcast");
    for (n = 1; n < 3; n++) {
        TEXT_MESSAGE_PTR message = (TEXT_MESSAGE_PTR)_msgq_receive(answers, 0);
        done(message != NULL, "_msgq_receive");
        /* Either may be the first. */
        answered[message->HEADER.SOURCE_QID == all[2]]++;
        _msg_free(message);
    }
    printf("broadcast: %d from 0x%04x, %d from 0x%04x\n", answered[0], all[1], answered[1], all[2]);
    for (n = 0; n < 3; n++)
        printf("%s: %.2f us there and back\n", names[n], there_and_back(all[n], answers));
}

int main(void)
{
    pid_t others[2];
    int n;
    char number[] = "1";
    alarm(60);
    setenv("NARROWS_MQX_LINKS", "1-2,2-3", 1);
    /* The other processes are made before there is a component that they would have a copy of. */
    for (n = 0; n < 2; n++) {
        pid_t parent = getpid();
        others[n] = fork();
        done(others[n] >= 0, "fork");
        if (others[n] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(1);
            number[0] = (char)('2' + n);
            setenv("NARROWS_MQX_PROCESSOR", number, 1);
            echo();
        }
    }
    setenv("NARROWS_MQX_PROCESSOR", number, 1);
    client();
    for (n = 0; n < 2; n++) {
        kill(others[n], SIGKILL);
        waitpid(others[n], NULL, 0);
    }
    return 0;
}
