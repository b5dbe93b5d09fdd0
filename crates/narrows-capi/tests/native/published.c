/* Topics: messages that are written once, and read where they are by whoever subscribes. */
#include "check.h"

#define POINT "Point{x@0:f32,y@4:f32}8"

struct point {
    float x, y;
};

/* To whom something is told. */
enum { CAMERA, VIEWER };
static int told[2][2];

static void tell(int whom)
{
    char byte = 't';
    CHECK(write(told[whom][1], &byte, 1) == 1);
}

static void heard(int who)
{
    char byte;
    CHECK(read(told[who][0], &byte, 1) == 1);
}

static void subscribed(narrows_node *node, narrows_publisher *publisher)
{
    size_t count;
    for (;;) {
        WORKS(narrows_subscribers(publisher, &count));
        if (count > 0)
            return;
        /* It lets in those of other topics, too. */
        WORKS(narrows_wait(node, BRIEFLY));
    }
}

/* Publishes two topics: points in place, of which none is lost, and texts with history. */
static void camera(void)
{
    narrows_topic how = NARROWS_TOPIC;
    narrows_node *node = opened("camera");
    narrows_publisher *points, *texts;
    size_t peers, length;
    void *memory, *other;
    char longer[65] = "";
    uint32_t i;
    how.slots = 8;
    how.history = 2;
    how.limit = 1;
    WORKS(narrows_open_publisher(node, "texts", "[u8]", 16, &how, &texts));
    WORKS(narrows_publish(texts, "one", 3, 0));
    WORKS(narrows_publish(texts, "two", 3, 0));
    WORKS(narrows_publish(texts, "", 0, 0));
    SAYS(NARROWS_TOO_LONG, narrows_publish(texts, longer, sizeof longer, SOON), "larger than its slots");
    how.history = 0;
    how.limit = 0;
    WORKS(narrows_open_publisher(node, "points", POINT, sizeof(struct point), &how, &points));
    tell(VIEWER);
    subscribed(node, points);
    for (i = 0; i < 200; i++) {
        struct point *point;
        WORKS(narrows_loan(points, sizeof *point, &memory, SOON));
        /* Meanwhile the publisher does nothing else, and the node nothing that would lose it. */
        FAILS(NARROWS_OUTSTANDING, narrows_loan(points, 1, &other, 0));
        FAILS(NARROWS_OUTSTANDING, narrows_publish(points, "", 0, 0));
        FAILS(NARROWS_OUTSTANDING, narrows_subscribers(points, &length));
        FAILS(NARROWS_OUTSTANDING, narrows_close_publisher(points));
        FAILS(NARROWS_OUTSTANDING, narrows_close(node));
        FAILS(NARROWS_ARGUMENT, narrows_publish_loan(texts, memory, 1));
        FAILS(NARROWS_ARGUMENT, narrows_publish_loan(points, memory, sizeof *point + 1));
        FAILS(NARROWS_ARGUMENT, narrows_return_loan(points, &memory));
        point = (struct point *)memory;
        point->x = (float)i;
        point->y = (float)(2 * i);
        if (i % 3 == 2)
            WORKS(narrows_return_loan(points, memory));
        else
            WORKS(narrows_publish_loan(points, memory, sizeof *point));
        FAILS(NARROWS_ARGUMENT, narrows_publish_loan(points, memory, 1));
    }
    /* The subscriber takes nothing more: its queue of four is full, and the publisher waits. */
    heard(CAMERA);
    for (i = 0; i < 4; i++)
        WORKS(narrows_publish(points, &how, sizeof(struct point), SOON));
    FAILS(NARROWS_AGAIN, narrows_publish(points, &how, sizeof(struct point), 0));
    SAYS(NARROWS_TIMEOUT, narrows_publish(points, &how, sizeof(struct point), BRIEFLY), "no slot");
    FAILS(NARROWS_AGAIN, narrows_loan(points, 8, &memory, 0));
    WORKS(narrows_close_publisher(points));
    FAILS(NARROWS_CLOSED, narrows_close_publisher(points));
    tell(VIEWER);
    do {
        /* Serves nothing, and lets subscribers in. */
        WORKS(narrows_serve(node, SOON, NULL));
        WORKS(narrows_peers(node, &peers));
    } while (peers > 0);
    WORKS(narrows_close(node));
}

static void texts(narrows_node *node)
{
    narrows_subscription how = NARROWS_SUBSCRIPTION;
    narrows_subscriber *late;
    const void *sample, *empty, *third;
    char from[NARROWS_NAME_ROOM];
    size_t length;
    how.history = 8;
    how.holds = 2;
    WORKS(narrows_open_subscriber(node, "texts", "[u8]", &how, SOON, &late));
    WORKS(narrows_take(late, &sample, &length, 0));
    CHECK(length == 3 && memcmp(sample, "two", 3) == 0);
    WORKS(narrows_take(late, &empty, &length, SOON));
    CHECK(length == 0 && empty != NULL && empty != sample);
    SAYS(NARROWS_OUTSTANDING, narrows_take(late, &third, &length, SOON), "are held as may be");
    FAILS(NARROWS_OUTSTANDING, narrows_close_subscriber(late));
    FAILS(NARROWS_OUTSTANDING, narrows_close(node));
    WORKS(narrows_return_sample(late, sample));
    FAILS(NARROWS_ARGUMENT, narrows_return_sample(late, sample));
    FAILS(NARROWS_ARGUMENT, narrows_sample_publisher(late, sample, from));
    FAILS(NARROWS_ARGUMENT, narrows_sample_publisher(late, empty, NULL));
    SAYS(NARROWS_TIMEOUT, narrows_take(late, &third, &length, BRIEFLY), "nothing was published");
    WORKS(narrows_return_sample(late, empty));
    WORKS(narrows_close_subscriber(late));
    FAILS(NARROWS_CLOSED, narrows_take(late, &sample, &length, 0));
}

static void points(narrows_node *node)
{
    narrows_subscription how = NARROWS_SUBSCRIPTION;
    narrows_subscriber *subscriber;
    const void *kept, *sample;
    struct point point;
    uint32_t i, lost = 1;
    char from[NARROWS_NAME_ROOM];
    size_t length;
    how.depth = 4;
    how.holds = 2;
    how.overflow = NARROWS_OVERFLOW_WAIT;
    SAYS(NARROWS_TYPES, narrows_open_subscriber(node, "points", "f32", &how, SOON, &subscriber),
         POINT);
    CHECK(strstr(narrows_last_error_text(), "this program has f32") != NULL);
    /* It is found by the calls with it. */
    WORKS(narrows_open_subscriber(node, "points", POINT, &how, 0, &subscriber));
    kept = NULL;
    for (i = 0; i < 200; i++) {
        narrows_error error;
        if (i % 3 == 2)
            continue;
        /* As a program with a loop of its own. */
        while ((error = narrows_take(subscriber, &sample, &length, 0)) == NARROWS_AGAIN)
            WORKS(narrows_wait(node, SOON));
        CHECK(error == NARROWS_OK && length == sizeof point);
        WORKS(narrows_sample_publisher(subscriber, sample, from));
        CHECK(strcmp(from, "camera") == 0);
        memcpy(&point, sample, sizeof point);
        CHECK(point.x == (float)i && point.y == (float)(2 * i));
        if (i == 3)
            kept = sample;
        else
            WORKS(narrows_return_sample(subscriber, sample));
    }
    memcpy(&point, kept, sizeof point);
    CHECK(point.x == 3 && point.y == 6);
    WORKS(narrows_lost(subscriber, &lost));
    CHECK(lost == 0);
    tell(CAMERA);
    /* It has waited in vain for this to take something, and is gone. */
    heard(VIEWER);
    for (i = 0; i < 4; i++) {
        WORKS(narrows_take(subscriber, &sample, &length, SOON));
        WORKS(narrows_return_sample(subscriber, sample));
    }
    SAYS(NARROWS_PEER_GONE, narrows_take(subscriber, &sample, &length, SOON), "publishers of points have gone");
    FAILS(NARROWS_TIMEOUT, narrows_take(subscriber, &sample, &length, BRIEFLY));
    /* What was taken stays as it is. */
    memcpy(&point, kept, sizeof point);
    CHECK(point.x == 3 && point.y == 6);
    WORKS(narrows_return_sample(subscriber, kept));
    WORKS(narrows_close_subscriber(subscriber));
}

static int nothing(void *user, const void *request, size_t length, void *response, size_t *room)
{
    (void)user, (void)request, (void)length, (void)response;
    *room = 0;
    return 0;
}

static void refused(narrows_node *node)
{
    narrows_topic topic = NARROWS_TOPIC;
    narrows_subscription subscription = NARROWS_SUBSCRIPTION;
    narrows_publisher *publisher = (narrows_publisher *)node, *other;
    narrows_subscriber *subscriber = (narrows_subscriber *)node;
    const void *sample;
    void *memory;
    size_t length = 3;
    uint32_t count;
    FAILS(NARROWS_ARGUMENT, narrows_open_publisher(node, NULL, "u8", 1, NULL, &publisher));
    FAILS(NARROWS_ARGUMENT, narrows_open_publisher(node, "t", NULL, 1, NULL, &publisher));
    FAILS(NARROWS_ARGUMENT, narrows_open_publisher(node, "t", "u8", 1, NULL, NULL));
    FAILS(NARROWS_NAME, narrows_open_publisher(node, ".t", "u8", 1, NULL, &publisher));
    SAYS(NARROWS_ARGUMENT, narrows_open_publisher(node, "t", "u8 u8", 1, NULL, &publisher),
         "describes no type");
    topic.history = 32;
    SAYS(NARROWS_ARGUMENT, narrows_open_publisher(node, "t", "u8", 1, &topic, &publisher),
         "cannot have 32 slots");
    topic.size = 3;
    SAYS(NARROWS_ARGUMENT, narrows_open_publisher(node, "t", "u8", 1, &topic, &publisher),
         "NARROWS_TOPIC");
    FAILS(NARROWS_TOO_LONG, narrows_open_publisher(node, "t", "[u8]", SIZE_MAX, NULL, &publisher));
    FAILS(NARROWS_ARGUMENT, narrows_open_subscriber(node, "t", NULL, NULL, 0, &subscriber));
    FAILS(NARROWS_ARGUMENT, narrows_open_subscriber(node, "t", "u8", NULL, 0, NULL));
    FAILS(NARROWS_ARGUMENT, narrows_open_subscriber(node, "t", "", NULL, 0, &subscriber));
    SAYS(NARROWS_TIMEOUT, narrows_open_subscriber(node, "t", "u8", NULL, BRIEFLY, &subscriber),
         "nobody offers t");
    subscription.holds = 16;
    SAYS(NARROWS_ARGUMENT,
         narrows_open_subscriber(node, "t", "u8", &subscription, 0, &subscriber), "1 to 15");
    subscription.holds = 0;
    subscription.publishers = 65;
    FAILS(NARROWS_ARGUMENT,
          narrows_open_subscriber(node, "t", "u8", &subscription, 0, &subscriber));
    subscription.publishers = 0;
    subscription.overflow = 3;
    SAYS(NARROWS_ARGUMENT,
         narrows_open_subscriber(node, "t", "u8", &subscription, 0, &subscriber),
         "no narrows_overflow");
    CHECK((void *)publisher == (void *)node && (void *)subscriber == (void *)node);

    FAILS(NARROWS_CLOSED, narrows_publish((narrows_publisher *)node, "", 0, 0));
    FAILS(NARROWS_CLOSED, narrows_loan(NULL, 1, &memory, 0));
    FAILS(NARROWS_CLOSED, narrows_publish_loan(NULL, &length, 1));
    FAILS(NARROWS_CLOSED, narrows_return_loan(NULL, &length));
    FAILS(NARROWS_CLOSED, narrows_subscribers(NULL, &length));
    FAILS(NARROWS_CLOSED, narrows_close_publisher(NULL));
    FAILS(NARROWS_CLOSED, narrows_take((narrows_subscriber *)node, &sample, &length, 0));
    FAILS(NARROWS_CLOSED, narrows_return_sample(NULL, &length));
    FAILS(NARROWS_CLOSED, narrows_lost(NULL, &count));
    FAILS(NARROWS_CLOSED, narrows_close_subscriber(NULL));
    CHECK(length == 3);

    /* Another node's are of other types. */
    SAYS(NARROWS_TYPES, narrows_open_publisher(node, "points", "u8", 1, NULL, &publisher), POINT);
    /* A name is one topic's, or one service's. */
    WORKS(narrows_open_publisher(node, "t", "u8", 1, NULL, &publisher));
    FAILS(NARROWS_TAKEN, narrows_open_publisher(node, "t", "u8", 1, NULL, &other));
    FAILS(NARROWS_TAKEN, narrows_offer_service(node, "t", "()", "()", nothing, NULL));
    WORKS(narrows_offer_service(node, "s", "()", "()", nothing, NULL));
    FAILS(NARROWS_TAKEN, narrows_open_publisher(node, "s", "u8", 1, NULL, &other));
    FAILS(NARROWS_CLOSED, narrows_take((narrows_subscriber *)publisher, &sample, &length, 0));
    FAILS(NARROWS_ARGUMENT, narrows_loan(publisher, 1, NULL, 0));
    FAILS(NARROWS_ARGUMENT, narrows_publish(publisher, NULL, 1, 0));
    FAILS(NARROWS_ARGUMENT, narrows_subscribers(publisher, NULL));
    WORKS(narrows_close_publisher(publisher));
    WORKS(narrows_open_publisher(node, "t", "u8", 1, NULL, &publisher));
    WORKS(narrows_open_subscriber(node, "other", "u8", NULL, 0, &subscriber));
    FAILS(NARROWS_ARGUMENT, narrows_take(subscriber, NULL, &length, 0));
    FAILS(NARROWS_ARGUMENT, narrows_take(subscriber, &sample, NULL, 0));
    FAILS(NARROWS_ARGUMENT, narrows_lost(subscriber, NULL));
    FAILS(NARROWS_AGAIN, narrows_take(subscriber, &sample, &length, 0));
    WORKS(narrows_close_subscriber(subscriber));
}

int main(void)
{
    narrows_node *node;
    pid_t pid;

    CHECK(pipe(told[CAMERA]) == 0 && pipe(told[VIEWER]) == 0);
    alarm(PATIENCE);
    pid = start(camera);
    heard(VIEWER);
    node = opened("viewer");
    refused(node);
    texts(node);
    points(node);
    WORKS(narrows_close(node));
    finished(pid);
    return 0;
}
