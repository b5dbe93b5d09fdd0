/*
 * Narrows from C: nodes that find each other by name, messages between their ports, and calls of
 * functions on the other core, each flow of them by a strategy that is a line of text. docs/C.md
 * has the tables and an example; examples/native has programs.
 *
 * Every function that can fail returns a narrows_error, 0 if nothing went wrong, and
 * narrows_last_error_text() then says in a sentence what did. What a function gives back otherwise
 * is only written where this says so.
 *
 * Handles (nodes, peers, flows, publishers, subscribers) are never looked through: NULL, one that
 * was closed, or one that never was is NARROWS_CLOSED, and nothing else happens. Other pointers
 * have to be what they say: NULL is NARROWS_ARGUMENT where something is needed.
 *
 * Times are nanoseconds from now. 0, and less, does not wait: what has not happened is
 * NARROWS_AGAIN. NARROWS_FOREVER waits for as long as it takes. With a time between, what has not
 * happened by then is NARROWS_TIMEOUT.
 *
 * A node, with all that is of it, belongs to one thread at a time. A call meanwhile by another
 * thread, or by a function that the node is just serving, is NARROWS_BUSY and does nothing.
 * narrows_wake alone may be called by any thread at any time. After a fork the child has none of
 * its parent's nodes: it opens its own.
 */
#ifndef NARROWS_H
#define NARROWS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum narrows_error {
    NARROWS_OK = 0,
    NARROWS_AGAIN = 1,        /* Not yet, or no room now, and the call was not to wait. */
    NARROWS_TIMEOUT = 2,      /* Not in the time that was given. */
    NARROWS_PEER_GONE = 3,    /* The peer closed or died: hunt it again, open its flows again. */
    NARROWS_CLOSED = 4,       /* The handle is NULL, closed or none of this process. */
    NARROWS_BUSY = 5,         /* Another call with the same node has not ended. */
    NARROWS_ARGUMENT = 6,     /* An argument is NULL, or out of range, or not for this. */
    NARROWS_NAME = 7,         /* Not 1 to 31 letters, digits, '.', '_' or '-', the first no dot. */
    NARROWS_STRATEGY = 8,     /* No strategy, or one that this link cannot do. */
    NARROWS_TOO_LONG = 9,     /* Longer than a block, or than the caller said it takes. */
    NARROWS_SHORT = 10,       /* The buffer is too short: the length says what is needed. */
    NARROWS_NOT_FOUND = 11,   /* No function of that name, or the port is not open. */
    NARROWS_FAILED = 12,      /* The function on the other core said that it failed. */
    NARROWS_ORDER = 13,       /* An earlier call of the flow has to be finished first. */
    NARROWS_FINISHED = 14,    /* The call has been finished, or none is outstanding. */
    NARROWS_OUTSTANDING = 15, /* Calls, or memory that was handed out, have to be ended first. */
    NARROWS_TAKEN = 16,       /* The name, or the port, is in use. */
    NARROWS_FULL = 17,        /* A table has no place left. */
    NARROWS_REFUSED = 18,     /* The other side does not have it: a closed port, another user. */
    NARROWS_SYSTEM = 19,      /* The system refused something: the sentence says what. */
    NARROWS_TYPES = 20        /* The service has other types: the sentence has both. */
} narrows_error;

/* The sentence of an error's number; one that says so if it is none. Never NULL, never freed. */
const char *narrows_error_text(int error);

/* The sentence of the calling thread's last error, with names and lengths where there are any. It
   stays until that thread's next error. */
const char *narrows_last_error_text(void);

typedef struct narrows_node narrows_node; /* One core's end. */
typedef struct narrows_peer narrows_peer; /* A link to another node. */
typedef struct narrows_flow narrows_flow; /* A way to one function or port of a peer. */
typedef struct narrows_publisher narrows_publisher;   /* A topic that this node publishes. */
typedef struct narrows_subscriber narrows_subscriber; /* One that it subscribes to. */

#define NARROWS_FOREVER INT64_MAX

/* Nodes. */

#define NARROWS_NO_THREAD 1u   /* The library starts no thread: peers wait for the next call. */
#define NARROWS_MEASURE 2u     /* Times are taken: see narrows_spans. */
#define NARROWS_COPY_ENGINE 4u /* A thread that copies, for strategies of copy_engine. */

/* What a node is to be like; what is 0 or NULL is as usual. Begin with
   narrows_options options = NARROWS_OPTIONS; which also says how much of it there is. */
typedef struct narrows_options {
    size_t size;            /* sizeof(narrows_options). */
    const char *domain;     /* Nodes meet those of one domain; "default". */
    const char *directory;  /* Where they meet; NARROWS_DIR of the environment, or the user's
                               own. */
    size_t longest_message; /* Bytes of the longest message; 16 MiB - 1, 65536 on 32 bits. */
    uint32_t flags;         /* NARROWS_NO_THREAD, NARROWS_MEASURE, NARROWS_COPY_ENGINE. */
} narrows_options;

#define NARROWS_OPTIONS {sizeof(narrows_options), 0, 0, 0, 0}

/* Opens a node of this name; others find it from here on. options may be NULL.
   NARROWS_NAME, NARROWS_TAKEN, NARROWS_ARGUMENT, NARROWS_FULL, NARROWS_SYSTEM. */
narrows_error narrows_open(const char *name, const narrows_options *options, narrows_node **node);

/* Closes it, with its peers and flows; peers are told.
   NARROWS_OUTSTANDING while memory of narrows_reserve, narrows_receive_view, narrows_loan or
   narrows_take is out. */
narrows_error narrows_close(narrows_node *node);

/* Waits until something came for the node, narrows_wake was called or the time has passed, and
   takes in what came. It does not say which: look at what you wait for after it. It does not wait
   if something came since the last wait, or if a subscriber has a message. */
narrows_error narrows_wait(narrows_node *node, int64_t timeout);

/* Ends the wait that the node's thread is in, or else its next. For any thread at any time. */
narrows_error narrows_wake(narrows_node *node);

/* A descriptor for the program's own poll or epoll. Before each sleep on it narrows_arm: NARROWS_OK
   if nothing is there, NARROWS_AGAIN if there is, and the program looks first. After the sleep
   narrows_hear, then look. The descriptor stays the node's. NARROWS_ARGUMENT. */
narrows_error narrows_descriptor(narrows_node *node, int *descriptor);
narrows_error narrows_arm(narrows_node *node);
narrows_error narrows_hear(narrows_node *node);

/* Peers. */

/* Looks for a node of this name and links with it; a link that is up already is given at once. With
   a time of 0 the search goes on after NARROWS_AGAIN. Once a peer is gone, hunting it again gives a
   new handle when it is back; the old one, and its flows, stay gone and are to be closed.
   NARROWS_NAME, NARROWS_AGAIN, NARROWS_TIMEOUT, NARROWS_PEER_GONE (it left at once),
   NARROWS_REFUSED (another user's, another version), NARROWS_FULL, NARROWS_ARGUMENT,
   NARROWS_SYSTEM. */
narrows_error narrows_hunt(narrows_node *node, const char *name, int64_t timeout,
                           narrows_peer **peer);

/* Whether the link is up: NARROWS_OK or NARROWS_PEER_GONE. Takes in what came, and never waits. */
narrows_error narrows_check(narrows_peer *peer);

/* The peer's name, with its zero. NARROWS_PEER_GONE if its link is closed, NARROWS_ARGUMENT. */
#define NARROWS_NAME_ROOM 32
narrows_error narrows_peer_name(narrows_peer *peer, char name[NARROWS_NAME_ROOM]);

/* Has a port receive the peer's end, behind all that the peer had sent: narrows_receive then gives
   NARROWS_PEER_GONE once. NARROWS_PEER_GONE, NARROWS_FULL. */
narrows_error narrows_attach(narrows_peer *peer, uint16_t port);

/* Ends the link; what came over it and was not received is dropped. NARROWS_OUTSTANDING as for
   narrows_close. */
narrows_error narrows_part(narrows_peer *peer);

/* How many links of the node are up. NARROWS_ARGUMENT. */
narrows_error narrows_peers(narrows_node *node, size_t *count);

/* Messages. */

/* Opens a port, 0 to 63, to send from and receive at. NARROWS_TAKEN, NARROWS_ARGUMENT. */
narrows_error narrows_open_port(narrows_node *node, uint16_t port);

/* Closes it; what waits there is dropped. NARROWS_NOT_FOUND. */
narrows_error narrows_close_port(narrows_node *node, uint16_t port);

/* Where a message came from. */
typedef struct narrows_origin {
    narrows_peer *peer;
    uint16_t port;    /* The port that sent it, to answer to. */
    uint16_t tag;     /* The sender's mark. */
    uint8_t priority; /* 0 is the most urgent, 7 the least. */
} narrows_origin;

/* Sends a message from an own port to one of the peer's, with priority 4 and tag 0. It is copied
   before the call returns, and waits for room until the time has passed.
   NARROWS_AGAIN, NARROWS_TIMEOUT (not sent), NARROWS_PEER_GONE, NARROWS_TOO_LONG, NARROWS_NOT_FOUND
   (the own port is not open), NARROWS_ARGUMENT. */
narrows_error narrows_send(narrows_peer *peer, uint16_t from, uint16_t to, const void *message,
                           size_t length, int64_t timeout);

/* The same with a priority, 0 to 7, and a mark. */
narrows_error narrows_send_marked(narrows_peer *peer, uint16_t from, uint16_t to,
                                  const void *message, size_t length, uint8_t priority,
                                  uint16_t tag, int64_t timeout);

/* The same over a flow to a port, by its strategy. */
narrows_error narrows_send_over(narrows_flow *flow, uint16_t from, const void *message,
                                size_t length, int64_t timeout);

/* Receives the next message of a port, the most urgent first: *length is the room of the buffer
   before and the bytes of the message after. origin may be NULL.
   NARROWS_SHORT: *length is what the message needs, it stays, and the buffer is as it was.
   NARROWS_REFUSED: a message of this port's came to a closed one; origin says which.
   NARROWS_PEER_GONE: the end of origin->peer, after narrows_attach.
   NARROWS_AGAIN, NARROWS_TIMEOUT, NARROWS_NOT_FOUND (the port is not open), NARROWS_ARGUMENT. */
narrows_error narrows_receive(narrows_node *node, uint16_t port, void *buffer, size_t *length,
                              narrows_origin *origin, int64_t timeout);

/* Flows. */

/* Opens a flow of calls to a function that the peer serves, by a strategy such as "interrupt",
   "poll=5ms" or "single_copy/hybrid=50us/internal"; NULL or "" is the usual one. longest_response
   is the most bytes that a response may have. The peer answers while it serves.
   NARROWS_STRATEGY (the sentence names the nearest word), NARROWS_NOT_FOUND, NARROWS_NAME,
   NARROWS_AGAIN (with a time of 0: nothing stays open), NARROWS_TIMEOUT, NARROWS_PEER_GONE,
   NARROWS_FULL, NARROWS_ARGUMENT. */
narrows_error narrows_open_flow(narrows_peer *peer, const char *function, const char *strategy,
                                size_t longest_response, int64_t timeout, narrows_flow **flow);

/* The same for messages to a port, which is open there. */
narrows_error narrows_open_flow_to_port(narrows_peer *peer, uint16_t port, const char *strategy,
                                        int64_t timeout, narrows_flow **flow);

/* Changes the strategy of a flow that runs; nothing is lost, doubled or overtaken. Unless the peer
   is gone, a flow that fails to goes on as it was. Errors as for narrows_open_flow. */
narrows_error narrows_switch(narrows_flow *flow, const char *strategy, int64_t timeout);

/* Closes it. NARROWS_OUTSTANDING: finish its calls, and give its memory back, first. */
narrows_error narrows_close_flow(narrows_flow *flow);

/* Calls. */

/* Calls the function and waits for the response: *length is the room of the buffer before and the
   bytes of the response after.
   NARROWS_SHORT: *length is what the response needs, the buffer is as it was, and the call is
   outstanding: narrows_finish_next.
   NARROWS_TIMEOUT and NARROWS_AGAIN: the function may still run; its response is dropped.
   NARROWS_OUTSTANDING: finish what was started on this flow first.
   NARROWS_PEER_GONE, NARROWS_FAILED, NARROWS_TOO_LONG (the request, or the response the function
   made), NARROWS_ARGUMENT. */
narrows_error narrows_call(narrows_flow *flow, const void *request, size_t request_length,
                           void *response, size_t *length, int64_t timeout);

/* A call under way. Its members are the library's; copy it as you like. */
typedef struct narrows_started {
    narrows_flow *flow;
    uint64_t number;
} narrows_started;

/* Starts a call, and never waits: the request is copied before it returns. started may be NULL.
   NARROWS_AGAIN: there is no room for the request now; nothing was started.
   NARROWS_PEER_GONE, NARROWS_TOO_LONG, NARROWS_ARGUMENT. */
narrows_error narrows_start(narrows_flow *flow, const void *request, size_t request_length,
                            narrows_started *started);

/* Finishes a call: as narrows_call for the response and *length. Calls of a flow are finished in
   the order they were started.
   NARROWS_AGAIN, NARROWS_TIMEOUT: it is still outstanding. NARROWS_SHORT: the same.
   NARROWS_ORDER: one that was started earlier is first. NARROWS_FINISHED: it has been finished.
   NARROWS_FAILED, NARROWS_TOO_LONG: the function gave no response; the call is finished.
   NARROWS_PEER_GONE: no response will come; the flow can only be closed. NARROWS_ARGUMENT. */
narrows_error narrows_finish(narrows_started started, void *response, size_t *length,
                             int64_t timeout);

/* The same for the oldest call of a flow that is outstanding; NARROWS_FINISHED if none is. */
narrows_error narrows_finish_next(narrows_flow *flow, void *response, size_t *length,
                                  int64_t timeout);

/* How many calls of a flow are started and not finished. NARROWS_ARGUMENT. */
narrows_error narrows_outstanding(narrows_flow *flow, size_t *count);

/* Serving. */

/* A function that others call. *response_length is the room for the response, all zeroes, before;
   the function sets it to the bytes that it made. It returns 0, or else the caller gets
   NARROWS_FAILED; more bytes than there was room give NARROWS_TOO_LONG there, and none are sent.
   It must not throw, nor jump out. Calls with the node that serves it are NARROWS_BUSY. */
typedef int (*narrows_function)(void *user, const void *request, size_t request_length,
                                void *response, size_t *response_length);

/* Offers a function by a name. NARROWS_NAME, NARROWS_TAKEN, NARROWS_ARGUMENT. */
narrows_error narrows_offer(narrows_node *node, const char *name, narrows_function function,
                            void *user);

/* Serves calls of what is offered until it has served some, a link came up or ended, or the time
   has passed. *served, which may be NULL, is how many messages of calls; 0 if there is news of a
   link, or, in a node that publishes, if anything else came.
   NARROWS_AGAIN, NARROWS_TIMEOUT. */
narrows_error narrows_serve(narrows_node *node, int64_t timeout, size_t *served);

/* Services. */

/* A service is a function that others find without knowing its node, and that has types. A type is
   described by a text without a space, as Rust's narrows-services and narrows.hpp make it: u32,
   f64, [u8;16] for an array, [u8] for as many as there are, () for nothing, and
   Point{x@0:f32,y@4:f32}8 for a struct with its name, its fields with their places and types, and
   its size. A service's name has at most 22 characters. */

/* Offers a function as a service of this node, by the types of its request and response. A caller
   with other types does not get to it; lengths are still the function's to check.
   NARROWS_NAME, NARROWS_TAKEN, NARROWS_ARGUMENT (a description that is none), NARROWS_TOO_LONG (a
   response is longer than a message of this node may be), NARROWS_SYSTEM. */
narrows_error narrows_offer_service(narrows_node *node, const char *service, const char *request,
                                    const char *response, narrows_function function, void *user);

/* Looks for a service until the time has passed, links with its node, and opens a flow of calls to
   it. strategy and longest_response are as for narrows_open_flow.
   NARROWS_TYPES, NARROWS_AGAIN, NARROWS_TIMEOUT (nobody offers it), NARROWS_TOO_LONG (a request or
   a response is longer than a message may be of the node that sends it), and those of narrows_hunt
   and narrows_open_flow. */
narrows_error narrows_open_service(narrows_node *node, const char *service, const char *request,
                                   const char *response, const char *strategy,
                                   size_t longest_response, int64_t timeout, narrows_flow **flow);

/* What is told of a service: its node, its name, and what it is, such as "call u32 u64" for a
   function and "publish [u8] 63" for a topic. The texts are there until it returns. */
typedef void (*narrows_seen)(void *user, const char *node, const char *service, const char *what);

/* Calls the function for each service that nodes of this user offer, in the order of their names.
   NARROWS_ARGUMENT. */
narrows_error narrows_services(narrows_node *node, narrows_seen seen, void *user);

/* Topics. */

/* A topic is messages of one type for whoever subscribes: each is written once, to a slot of the
   publisher's memory, and read there by all. Types are described as for services. Programs in Rust
   and C++ publish and subscribe to the same topics. */

/* What becomes of a message for which a subscriber's queue has no room. */
typedef enum narrows_overflow {
    NARROWS_OVERFLOW_DROP_OLDEST = 0, /* It takes the place of the oldest, which is lost. */
    NARROWS_OVERFLOW_DROP_NEWEST = 1, /* It is lost. */
    NARROWS_OVERFLOW_WAIT = 2         /* The publisher waits. */
} narrows_overflow;

/* How a topic is published; what is 0 is as usual. Begin with narrows_topic how = NARROWS_TOPIC; */
typedef struct narrows_topic {
    size_t size;          /* sizeof(narrows_topic). */
    uint32_t slots;       /* Messages for which there is memory at first: one that is written, those
                             of the history, and of each subscriber its holds, and its depth unless
                             its oldest may be lost; 32. */
    uint32_t subscribers; /* How many there may be at a time; 16. */
    uint32_t history;     /* Of the latest messages so many are kept for later subscribers; 0. */
    uint32_t limit;       /* Bytes that the messages may take in all, when they get longer or more
                             of them are in memory; 1 if that is to stay as it is at first; 256
                             MiB. */
} narrows_topic;

#define NARROWS_TOPIC {sizeof(narrows_topic), 0, 0, 0, 0}

/* How one subscribes; what is 0 is as usual. Begin with
   narrows_subscription how = NARROWS_SUBSCRIPTION; */
typedef struct narrows_subscription {
    size_t size;         /* sizeof(narrows_subscription). */
    uint32_t depth;      /* Messages that may wait to be taken, up to a power of two; 8. */
    uint32_t holds;      /* Messages that may be kept after they were taken, 1 to 15; 2. */
    uint32_t history;    /* So many of the latest messages that were published before; 0. */
    uint32_t overflow;   /* A narrows_overflow. */
    uint32_t publishers; /* Publishers heard at a time, 1 to 64; all else is for each of them;
                            16. */
} narrows_subscription;

#define NARROWS_SUBSCRIPTION {sizeof(narrows_subscription), 0, 0, 0, 0, 0}

/* Publishes a topic of a type that is described so, with messages of so many bytes. Longer ones get
   memory when they come, as far as options say. Other nodes may publish it too. options may be
   NULL. Subscribers are let in by narrows_publish, narrows_loan, narrows_subscribers,
   narrows_serve, narrows_wait and narrows_hear: call one of them now and then.
   NARROWS_NAME, NARROWS_TAKEN, NARROWS_TYPES (another node publishes it with other types),
   NARROWS_ARGUMENT (a description that is none, more history than slots), NARROWS_TOO_LONG (more
   than 1 GiB of slots), NARROWS_FULL, NARROWS_SYSTEM. */
narrows_error narrows_open_publisher(narrows_node *node, const char *topic, const char *type,
                                     size_t longest, const narrows_topic *options,
                                     narrows_publisher **publisher);

/* Publishes it no more. Subscribers are told when they have taken what there is.
   NARROWS_OUTSTANDING while memory of narrows_loan is out. */
narrows_error narrows_close_publisher(narrows_publisher *publisher);

/* Publishes a message, which is copied. It waits for a slot, and for room with subscribers for
   which it is to wait, until the time has passed; nothing was published then.
   NARROWS_AGAIN, NARROWS_TIMEOUT, NARROWS_TOO_LONG, NARROWS_OUTSTANDING, NARROWS_ARGUMENT. */
narrows_error narrows_publish(narrows_publisher *publisher, const void *message, size_t length,
                              int64_t timeout);

/* Memory of so many bytes to make a message in, which has what was there before. Until it is
   published or returned, every other call with this publisher is NARROWS_OUTSTANDING.
   Errors as for narrows_publish. */
narrows_error narrows_loan(narrows_publisher *publisher, size_t length, void **memory,
                           int64_t timeout);

/* Publishes so many of its bytes, from the first on. NARROWS_ARGUMENT: it is not, or no longer,
   memory of this publisher's, or has fewer. */
narrows_error narrows_publish_loan(narrows_publisher *publisher, void *memory, size_t length);

/* Gives the memory back; nothing is published. NARROWS_ARGUMENT. */
narrows_error narrows_return_loan(narrows_publisher *publisher, void *memory);

/* Lets subscribers in, lets those go that are gone, and says how many there are.
   NARROWS_OUTSTANDING, NARROWS_ARGUMENT. */
narrows_error narrows_subscribers(narrows_publisher *publisher, size_t *count);

/* Subscribes to a topic of a type that is described so, and waits until it is published and one of
   its publishers has let this subscriber in. Others, and those that come later, are heard as well,
   each in its own order. With a time of 0 it does not wait, and calls with the subscriber look for
   the topic. options may be NULL.
   NARROWS_TYPES (the sentence has both), NARROWS_TIMEOUT, NARROWS_REFUSED (the publisher has too
   few slots or places), NARROWS_NAME, NARROWS_ARGUMENT, NARROWS_FULL, NARROWS_SYSTEM. */
narrows_error narrows_open_subscriber(narrows_node *node, const char *topic, const char *type,
                                      const narrows_subscription *options, int64_t timeout,
                                      narrows_subscriber **subscriber);

/* Subscribes no more. NARROWS_OUTSTANDING while messages of narrows_take are out. */
narrows_error narrows_close_subscriber(narrows_subscriber *subscriber);

/* Takes the next message where it is; *sample stays readable until narrows_return_sample, whatever
   becomes of the publisher. One that breaks the rules can change the bytes meanwhile: check a copy
   of what must not change. *length is what the publisher said: see that it fits the type.
   NARROWS_PEER_GONE, once: all publishers have gone, and all that they published is taken; calls
   from here on look for others.
   NARROWS_AGAIN, NARROWS_TIMEOUT, NARROWS_OUTSTANDING (as many are out as may be),
   NARROWS_ARGUMENT, and those of narrows_open_subscriber. */
narrows_error narrows_take(narrows_subscriber *subscriber, const void **sample, size_t *length,
                           int64_t timeout);

/* Gives a message back. NARROWS_ARGUMENT: not, or no longer, one of this subscriber's. */
narrows_error narrows_return_sample(narrows_subscriber *subscriber, const void *sample);

/* The name of the node that published a message of narrows_take, with its zero.
   NARROWS_ARGUMENT. */
narrows_error narrows_sample_publisher(narrows_subscriber *subscriber, const void *sample,
                                       char name[NARROWS_NAME_ROOM]);

/* How many messages were lost, because they were not taken in time. NARROWS_ARGUMENT. */
narrows_error narrows_lost(narrows_subscriber *subscriber, uint32_t *count);

/* Without copies. */

/* Memory to make a message or request in, of the flow's own blocks. It is the program's until it is
   committed, started with or cancelled, whatever becomes of the peer.
   NARROWS_AGAIN, NARROWS_TIMEOUT (no block is free), NARROWS_TOO_LONG, NARROWS_PEER_GONE,
   NARROWS_ARGUMENT. */
narrows_error narrows_reserve(narrows_flow *flow, size_t length, void **memory, int64_t timeout);

/* Sends the memory as a message over its flow to a port. On an error it stays reserved.
   Errors as for narrows_send; NARROWS_ARGUMENT: not, or no longer, memory of this flow's. */
narrows_error narrows_commit(narrows_flow *flow, void *memory, uint16_t from, int64_t timeout);

/* Starts a call with the memory as its request. On an error it stays reserved.
   Errors as for narrows_start and narrows_commit. */
narrows_error narrows_start_with(narrows_flow *flow, void *memory, narrows_started *started);

/* Gives the memory back. NARROWS_ARGUMENT. */
narrows_error narrows_cancel(narrows_flow *flow, void *memory);

/* Receives the next message of a port where it is; *view stays readable until narrows_release,
   whatever becomes of the peer, which has no use of that block until then. A peer that breaks the
   rules can change the bytes meanwhile: check a copy of what must not change. A message without
   bytes has a *view too. Errors as for narrows_receive. */
narrows_error narrows_receive_view(narrows_node *node, uint16_t port, const void **view,
                                   size_t *length, narrows_origin *origin, int64_t timeout);

/* Gives a view back. NARROWS_ARGUMENT: not, or no longer, one of this node's. */
narrows_error narrows_release(narrows_node *node, const void *view);

/* Times. */

/* How long something took, in nanoseconds: how many there were, and of the last 4096 the least, the
   median, the 99th percentile and the most. All 0 if there were none. */
typedef struct narrows_span {
    uint64_t count;
    int64_t minimum;
    int64_t median;
    int64_t p99;
    int64_t maximum;
} narrows_span;

/* The phases of a flow's finished calls. */
typedef struct narrows_phases {
    narrows_span a;    /* The request is brought into shared memory. */
    narrows_span b;    /* It is published, and the peer rung if it sleeps. */
    narrows_span away; /* From there until the response was taken: the peer's C, and D. */
    narrows_span e;    /* The response is brought out of shared memory. */
} narrows_phases;

/* What was measured of a flow since it was opened, if its node has NARROWS_MEASURE. Of more than
   about 3000 calls between two looks the latest are kept. NARROWS_ARGUMENT. */
narrows_error narrows_spans(narrows_flow *flow, narrows_phases *phases);

/* Phase C as the serving node measures it: from taking a request to publishing its response, of all
   calls that it served. Errors as for narrows_spans. */
narrows_error narrows_served(narrows_node *node, narrows_span *span);

#ifdef __cplusplus
}
#endif

#endif
