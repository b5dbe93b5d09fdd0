/* Many clients at one server, which hunt it at once, and then each ask again and again: what an
   answer takes, and what the server's memory is. */
/* A thousand that begin at once keep two cores busy for longer than others wait. */
#define SOON 120000u
#include "check.h"

#include "../clients.h"

static LINX *linx;

static void *client(void *argument)
{
    unsigned number = *(unsigned *)argument, round;
    char name[32];
    LINX *own;
    LINX_SPID server;
    snprintf(name, sizeof name, "client-%u", number);
    own = opened(name);
    server = hunted(own, "server");
    for (round = 0; round <= ROUNDS; round++) {
        union LINX_SIGNAL *sig = made(own, ONE, number);
        CHECK(linx_send(own, &sig, server) == 0);
        sig = got(own, ONE);
        CHECK(sig->numbered.value == number);
        freed(own, sig);
        if (round == 0)
            await_the_others();
    }
    CHECK(linx_close(own) == 0);
    return NULL;
}

static void all_clients(void)
{
    alarm(LIMIT);
    run_clients(client);
}

static void answer(unsigned count)
{
    while (count-- > 0) {
        union LINX_SIGNAL *sig = got(linx, ONE);
        CHECK(linx_send(linx, &sig, linx_sender(linx, &sig)) == 0);
    }
}

int main(void)
{
    pid_t pid;
    prepare();
    pid = start(all_clients);
    alarm(LIMIT);
    linx = opened("server");
    serve_clients(answer);
    CHECK(linx_close(linx) == 0);
    finish(pid);
    return 0;
}
