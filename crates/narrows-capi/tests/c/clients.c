/* Many clients at one server, which ask at once, and then each again and again: what an answer
   takes, and what the server's memory is. */
#include "check.h"

#include "../clients.h"

enum { SERVER = 1, FIRST = 10 };

/* A client's number, and where its answer is to go. */
typedef struct {
    unsigned number;
    mcapi_endpoint_t from;
} question_t;

static mcapi_endpoint_t own;

static void *client(void *argument)
{
    question_t question;
    mcapi_status_t status;
    mcapi_endpoint_t there;
    unsigned round, back;
    size_t size;
    question.number = *(unsigned *)argument;
    initialize(FIRST + question.number);
    question.from = create(1);
    there = get(SERVER, 1);
    for (round = 0; round <= ROUNDS; round++) {
        mcapi_msg_send(question.from, there, &question, sizeof question, 0, &status);
        EXPECT(MCAPI_SUCCESS);
        mcapi_msg_recv(question.from, &back, sizeof back, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == sizeof back && back == question.number);
        if (round == 0)
            await_the_others();
    }
    finalize();
    return NULL;
}

static void all_clients(void)
{
    alarm(LIMIT);
    run_clients(client);
}

static void answer(unsigned count)
{
    question_t question;
    mcapi_status_t status;
    size_t size;
    while (count-- > 0) {
        mcapi_msg_recv(own, &question, sizeof question, &size, &status);
        EXPECT(MCAPI_SUCCESS);
        CHECK(size == sizeof question && question.number < clients);
        mcapi_msg_send(own, question.from, &question.number, sizeof question.number, 0, &status);
        EXPECT(MCAPI_SUCCESS);
    }
}

static void server(void)
{
    alarm(LIMIT);
    initialize(SERVER);
    own = create(1);
    serve_clients(answer);
    finalize();
}

int main(void)
{
    prepare();
    CHECK(clients <= MCAPI_MAX_LINKS && EACH <= MCAPI_MAX_LOCAL_NODES);
    TOGETHER(all_of_many_clients_are_answered, server, all_clients);
    return verdict(1);
}
