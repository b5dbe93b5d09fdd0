/*
 * Three sensors send their readings as scalars, and one collector takes whatever comes first.
 *
 * MCAPI has no scalar receive that does not wait, so nothing of a scalar channel can be given to
 * mcapi_wait_any. What can is a message: each sensor sends its readings over its scalar channel and
 * then a message of no bytes to an endpoint of its own, where the collector has a receive pending.
 * wait_any says whose that was, and mcapi_sclchan_available how much is there. The scalars are the
 * data, one word in one descriptor each; the message is the bell.
 *
 *     node 1 sensor  --- scalars, a message --->  ports 1, 11
 *     node 2 sensor  --- scalars, a message --->  ports 2, 12   node 9 collector
 *     node 3 sensor  --- scalars, a message --->  ports 3, 13
 *
 *     cc -I crates/narrows-capi/include examples/mcapi/sensors.c -lnarrows -o sensors && ./sensors
 *
 * On a simulated chip nothing forks, and each core has the part that its argument names:
 *
 *     cc -shared -fPIC -DNARROWS_SIMULATED -I crates/narrows-capi/include \
 *         examples/mcapi/sensors.c -o sensors.so
 *     narrows mcapi --on nios2-quad 0=./sensors.so,9 1=./sensors.so,1 2=./sensors.so,2 \
 *         3=./sensors.so,3
 *
 * Expected output:
 *
 *     sensor 1: 300 readings, 100 to 399
 *     sensor 2: 300 readings, 200 to 499
 *     sensor 3: 300 readings, 300 to 599
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mcapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DOMAIN = 0, SENSORS = 3, COLLECTOR = 9, BELL = 10, READINGS = 300, AT_ONCE = 10 };

static mcapi_status_t status;

static void done(const char *what)
{
    char name[MCAPI_MAX_STATUS_SIZE];
    if (status == MCAPI_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, mcapi_display_status(status, name, sizeof name));
    exit(1);
}

static void finished(mcapi_request_t *request, const char *what)
{
    size_t size;
    mcapi_wait(request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    done(what);
}

static void begin(mcapi_node_t node)
{
    mcapi_info_t info;
    mcapi_initialize(DOMAIN, node, NULL, NULL, &info, &status);
    done("initialize");
}

static void sensor(mcapi_node_t number)
{
    mcapi_endpoint_t own, bell, other;
    mcapi_sclchan_send_hndl_t out;
    mcapi_request_t request;
    mcapi_uint16_t i;

    begin(number);
    own = mcapi_endpoint_create(0, &status);
    done("create an endpoint");
    other = mcapi_endpoint_get(DOMAIN, COLLECTOR, number, MCAPI_TIMEOUT_INFINITE, &status);
    done("get the collector");
    bell = mcapi_endpoint_get(DOMAIN, COLLECTOR, BELL + number, MCAPI_TIMEOUT_INFINITE, &status);
    done("get the collector's bell");
    mcapi_sclchan_connect_i(own, other, &request, &status);
    finished(&request, "connect");
    mcapi_sclchan_send_open_i(&out, own, &request, &status);
    finished(&request, "open");
    for (i = 0; i < READINGS; i++) {
        mcapi_sclchan_send_uint16(out, (mcapi_uint16_t)(100 * number + i), &status);
        done("send a reading");
        if (i % AT_ONCE == AT_ONCE - 1) {
            mcapi_msg_send(own, bell, NULL, 0, 0, &status);
            done("ring");
        }
    }
    mcapi_finalize(&status);
    done("finalize");
}

/* Has the collector told when a sensor rings next. */
static void listen_for(mcapi_endpoint_t bell, mcapi_request_t *request)
{
    mcapi_msg_recv_i(bell, NULL, 0, request, &status);
    if (status != MCAPI_PENDING)
        done("listen");
}

static void collector(void)
{
    mcapi_endpoint_t bells[SENSORS];
    mcapi_sclchan_recv_hndl_t in[SENSORS];
    mcapi_request_t opening[SENSORS], rung[SENSORS];
    mcapi_request_t *all[SENSORS];
    unsigned count[SENSORS] = {0, 0, 0}, least[SENSORS], most[SENSORS];
    unsigned i, total = 0;
    size_t size;

    begin(COLLECTOR);
    for (i = 0; i < SENSORS; i++) {
        mcapi_endpoint_t own = mcapi_endpoint_create(1 + i, &status);
        done("create an endpoint");
        bells[i] = mcapi_endpoint_create(BELL + 1 + i, &status);
        done("create a bell");
        mcapi_sclchan_recv_open_i(&in[i], own, &opening[i], &status);
    }
    for (i = 0; i < SENSORS; i++) {
        finished(&opening[i], "open");
        listen_for(bells[i], &rung[i]);
        all[i] = &rung[i];
        least[i] = ~0u;
        most[i] = 0;
    }
    while (total < SENSORS * READINGS) {
        unsigned who = mcapi_wait_any(SENSORS, all, &size, MCAPI_TIMEOUT_INFINITE, &status);
        done("wait for any");
        /* Only this request has ended; a new one takes its place, the others are as they were. */
        listen_for(bells[who], &rung[who]);
        while (mcapi_sclchan_available(in[who], &status) > 0) {
            unsigned reading = mcapi_sclchan_recv_uint16(in[who], &status);
            done("receive a reading");
            least[who] = reading < least[who] ? reading : least[who];
            most[who] = reading > most[who] ? reading : most[who];
            count[who]++;
            total++;
        }
    }
    for (i = 0; i < SENSORS; i++)
        printf("sensor %u: %u readings, %u to %u\n", i + 1, count[i], least[i], most[i]);
    mcapi_finalize(&status);
    done("finalize");
}

int main(int argc, char **argv)
{
    pid_t children[SENSORS];
    int i, ended, well = 1;
    if (argc > 1) {
        i = atoi(argv[1]);
        if (i == COLLECTOR)
            collector();
        else
            sensor((mcapi_node_t)i);
        return 0;
    }
    for (i = 0; i < SENSORS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            sensor((mcapi_node_t)i + 1);
            return 0;
        }
    }
    collector();
    for (i = 0; i < SENSORS; i++) {
        waitpid(children[i], &ended, 0);
        well &= ended == 0;
    }
    return !well;
}
