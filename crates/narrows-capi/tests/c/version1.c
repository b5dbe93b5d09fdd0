/* A program that is written to version 1: every function of it is called by its old name. */
#include <mcapi_v1.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODE_A = 1, NODE_B = 2, MESSAGES = 1, PACKETS = 2, SCALARS = 3 };

static void check(int line, mcapi_status_t status, mcapi_status_t expected)
{
    if (status == expected)
        return;
    fprintf(stderr, "version1.c:%d: %s\n", line, mcapi_display_status(status));
    _exit(1);
}

#define EXPECT(expected) check(__LINE__, status, (expected))
#define CHECK(what) check(__LINE__, (what) ? MCAPI_SUCCESS : MCAPI_EPARAM, MCAPI_SUCCESS)

static void end(mcapi_request_t *request)
{
    mcapi_status_t status;
    size_t size;
    CHECK(mcapi_wait(request, &size, &status, MCAPI_INFINITE));
    EXPECT(MCAPI_SUCCESS);
}

static void sender(void)
{
    mcapi_endpoint_t messages, packets, scalars, there;
    mcapi_pktchan_send_hndl_t packets_out;
    mcapi_sclchan_send_hndl_t scalars_out;
    mcapi_request_t request, *all[1];
    mcapi_version_t version;
    mcapi_status_t status;
    size_t size;
    char text[8];

    mcapi_initialize(NODE_A, &version, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(version == MCAPI_VERSION);
    mcapi_initialize(NODE_A, &version, &status);
    EXPECT(MCAPI_INITIALIZED);
    CHECK(mcapi_get_node_id(&status) == NODE_A);
    messages = mcapi_create_endpoint(MESSAGES, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_create_endpoint(MESSAGES, &status);
    EXPECT(MCAPI_EENDP_ISCREATED);
    packets = mcapi_create_endpoint(MCAPI_PORT_ANY, &status);
    scalars = mcapi_create_endpoint(MCAPI_PORT_ANY, &status);
    there = mcapi_get_endpoint(NODE_B, MESSAGES, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_send(messages, there, "hello", 6, 0, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_recv_i(messages, text, sizeof text, &request, &status);
    all[0] = &request;
    CHECK(mcapi_wait_any(1, all, &size, &status, MCAPI_INFINITE) == 0);
    CHECK(size == 6 && strcmp(text, "hello") == 0);

    mcapi_get_endpoint_i(NODE_B, PACKETS, &there, &request, &status);
    end(&request);
    mcapi_connect_pktchan_i(packets, there, &request, &status);
    end(&request);
    mcapi_open_pktchan_send_i(&packets_out, packets, &request, &status);
    end(&request);
    mcapi_pktchan_send(packets_out, "packet", 7, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_send_close_i(packets_out, &request, &status);
    end(&request);
    mcapi_delete_endpoint(packets, &status);
    EXPECT(MCAPI_SUCCESS);

    there = mcapi_get_endpoint(NODE_B, SCALARS, &status);
    mcapi_connect_sclchan_i(scalars, there, &request, &status);
    end(&request);
    mcapi_open_sclchan_send_i(&scalars_out, scalars, &request, &status);
    end(&request);
    mcapi_sclchan_send_uint16(scalars_out, 0x1234, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_sclchan_send_close_i(scalars_out, &request, &status);
    end(&request);
    mcapi_finalize(&status);
    EXPECT(MCAPI_SUCCESS);
}

static void receiver(void)
{
    mcapi_endpoint_t messages, packets, scalars;
    mcapi_pktchan_recv_hndl_t packets_in;
    mcapi_sclchan_recv_hndl_t scalars_in;
    mcapi_uint_t attribute = 0;
    mcapi_request_t request;
    mcapi_version_t version;
    mcapi_status_t status;
    void *packet;
    size_t size;
    char text[8];

    mcapi_initialize(NODE_B, &version, &status);
    EXPECT(MCAPI_SUCCESS);
    packets = mcapi_create_endpoint(PACKETS, &status);
    scalars = mcapi_create_endpoint(SCALARS, &status);
    messages = mcapi_create_endpoint(MESSAGES, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_get_endpoint_attribute(messages, MCAPI_ENDP_ATTR_PRIORITY, &attribute, sizeof attribute,
                                 &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_set_endpoint_attribute(messages, MCAPI_ENDP_ATTR_STATUS, &attribute, sizeof attribute,
                                 &status);
    EXPECT(MCAPI_EREAD_ONLY);
    mcapi_msg_recv(messages, text, sizeof text, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_msg_send(messages, mcapi_get_endpoint(NODE_A, MESSAGES, &status), text, size, 0,
                   &status);
    EXPECT(MCAPI_SUCCESS);

    mcapi_open_pktchan_recv_i(&packets_in, packets, &request, &status);
    end(&request);
    mcapi_pktchan_recv(packets_in, &packet, &size, &status);
    EXPECT(MCAPI_SUCCESS);
    CHECK(size == 7 && strcmp((const char *)packet, "packet") == 0);
    mcapi_pktchan_free(packet, &status);
    EXPECT(MCAPI_SUCCESS);
    mcapi_pktchan_free(packet, &status);
    EXPECT(MCAPI_ENOT_VALID_BUF);
    mcapi_pktchan_recv_close_i(packets_in, &request, &status);
    end(&request);

    mcapi_open_sclchan_recv_i(&scalars_in, scalars, &request, &status);
    end(&request);
    mcapi_sclchan_recv_uint8(scalars_in, &status);
    EXPECT(MCAPI_ESCL_SIZE);
    CHECK(mcapi_sclchan_recv_uint16(scalars_in, &status) == 0x1234);
    EXPECT(MCAPI_SUCCESS);
    mcapi_sclchan_recv_close_i(scalars_in, &request, &status);
    end(&request);
    mcapi_finalize(&status);
    EXPECT(MCAPI_SUCCESS);
}

int main(void)
{
    int state = 0;
    pid_t other;
    CHECK(strcmp(mcapi_display_status(MCAPI_EDIR), "MCAPI_ERR_CHAN_DIRECTION") == 0);
    other = fork();
    if (other == 0) {
        alarm(60);
        receiver();
        _exit(0);
    }
    alarm(60);
    sender();
    CHECK(waitpid(other, &state, 0) == other && state == 0);
    return 0;
}
