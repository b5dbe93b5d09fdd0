/*
 * A program for the simulator: compiled with NARROWS_SIMULATED defined and made a shared object,
 * which `narrows mcapi` loads for a core of a simulated chip and whose main it calls there. mcapi.h
 * includes this then. Nothing is linked: the functions of MCAPI, and time, are found in a table
 * that the simulator hands over. docs/MCAPI.md says how.
 */
#ifndef MCAPI_SIMULATED_H
#define MCAPI_SIMULATED_H

#include <errno.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct narrows_simulated {
    __typeof__(mcapi_initialize) *initialize;
    __typeof__(mcapi_finalize) *finalize;
    __typeof__(mcapi_domain_id_get) *domain_id_get;
    __typeof__(mcapi_node_id_get) *node_id_get;
    __typeof__(mcapi_node_init_attributes) *node_init_attributes;
    __typeof__(mcapi_node_set_attribute) *node_set_attribute;
    __typeof__(mcapi_node_get_attribute) *node_get_attribute;
    __typeof__(mcapi_display_status) *display_status;
    __typeof__(mcapi_endpoint_create) *endpoint_create;
    __typeof__(mcapi_endpoint_get_i) *endpoint_get_i;
    __typeof__(mcapi_endpoint_get) *endpoint_get;
    __typeof__(mcapi_endpoint_release) *endpoint_release;
    __typeof__(mcapi_endpoint_delete) *endpoint_delete;
    __typeof__(mcapi_endpoint_get_attribute) *endpoint_get_attribute;
    __typeof__(mcapi_endpoint_set_attribute) *endpoint_set_attribute;
    __typeof__(mcapi_msg_send) *msg_send;
    __typeof__(mcapi_msg_send_i) *msg_send_i;
    __typeof__(mcapi_msg_recv) *msg_recv;
    __typeof__(mcapi_msg_recv_i) *msg_recv_i;
    __typeof__(mcapi_msg_available) *msg_available;
    __typeof__(mcapi_pktchan_connect_i) *pktchan_connect_i;
    __typeof__(mcapi_pktchan_recv_open_i) *pktchan_recv_open_i;
    __typeof__(mcapi_pktchan_send_open_i) *pktchan_send_open_i;
    __typeof__(mcapi_pktchan_send_i) *pktchan_send_i;
    __typeof__(mcapi_pktchan_send) *pktchan_send;
    __typeof__(mcapi_pktchan_recv_i) *pktchan_recv_i;
    __typeof__(mcapi_pktchan_recv) *pktchan_recv;
    __typeof__(mcapi_pktchan_available) *pktchan_available;
    __typeof__(mcapi_pktchan_release) *pktchan_release;
    __typeof__(mcapi_pktchan_release_test) *pktchan_release_test;
    __typeof__(mcapi_pktchan_recv_close_i) *pktchan_recv_close_i;
    __typeof__(mcapi_pktchan_send_close_i) *pktchan_send_close_i;
    __typeof__(mcapi_sclchan_connect_i) *sclchan_connect_i;
    __typeof__(mcapi_sclchan_recv_open_i) *sclchan_recv_open_i;
    __typeof__(mcapi_sclchan_send_open_i) *sclchan_send_open_i;
    __typeof__(mcapi_sclchan_available) *sclchan_available;
    __typeof__(mcapi_sclchan_recv_close_i) *sclchan_recv_close_i;
    __typeof__(mcapi_sclchan_send_close_i) *sclchan_send_close_i;
    __typeof__(mcapi_test) *test;
    __typeof__(mcapi_wait) *wait;
    __typeof__(mcapi_wait_any) *wait_any;
    __typeof__(mcapi_cancel) *cancel;
    __typeof__(mcapi_sclchan_send_uint64) *sclchan_send_uint64;
    __typeof__(mcapi_sclchan_recv_uint64) *sclchan_recv_uint64;
    __typeof__(mcapi_sclchan_send_uint32) *sclchan_send_uint32;
    __typeof__(mcapi_sclchan_recv_uint32) *sclchan_recv_uint32;
    __typeof__(mcapi_sclchan_send_uint16) *sclchan_send_uint16;
    __typeof__(mcapi_sclchan_recv_uint16) *sclchan_recv_uint16;
    __typeof__(mcapi_sclchan_send_uint8) *sclchan_send_uint8;
    __typeof__(mcapi_sclchan_recv_uint8) *sclchan_recv_uint8;
    /* Virtual time, in nanoseconds since the chip was started. */
    unsigned long long (*now)(void);
    /* Sleeps so many nanoseconds of it. */
    void (*sleep)(unsigned long long nanoseconds);
    /* A function of the program begins: it takes what --cost says, if that names it. */
    void (*enter)(void *function);
};

/* Set before main is called. */
extern __attribute__((weak)) const struct narrows_simulated *narrows_simulated;
__attribute__((weak)) const struct narrows_simulated *narrows_simulated;

/*
 * What -finstrument-functions has each function call where it begins and ends. Hidden, as the C
 * library's own, which do nothing, would be found first; C++ takes no attribute for that here.
 */
__asm__(".hidden __cyg_profile_func_enter, __cyg_profile_func_exit");
#define NARROWS_INSTRUMENT __attribute__((weak, no_instrument_function))
NARROWS_INSTRUMENT void __cyg_profile_func_enter(void *function, void *caller);
NARROWS_INSTRUMENT void __cyg_profile_func_exit(void *function, void *caller);
#undef NARROWS_INSTRUMENT

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    /* What C++ makes before main begins is not on the chip yet. */
    if (narrows_simulated)
        narrows_simulated->enter(function);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}

#ifdef CLOCK_MONOTONIC
static inline int narrows_simulated_clock_gettime(clockid_t clock, struct timespec *at)
{
    unsigned long long now = narrows_simulated->now();
    (void)clock;
    at->tv_sec = (time_t)(now / 1000000000u);
    at->tv_nsec = (long)(now % 1000000000u);
    return 0;
}

#define clock_gettime narrows_simulated_clock_gettime
#endif

static inline int narrows_simulated_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    if (time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec > 999999999) {
        errno = EINVAL;
        return -1;
    }
    narrows_simulated->sleep((unsigned long long)time->tv_sec * 1000000000u
                             + (unsigned long long)time->tv_nsec);
    return 0;
}

static inline int narrows_simulated_usleep(unsigned microseconds)
{
    narrows_simulated->sleep(microseconds * 1000ull);
    return 0;
}

#ifdef __cplusplus
}
#endif

#define nanosleep narrows_simulated_nanosleep
#define usleep narrows_simulated_usleep

#define mcapi_initialize (narrows_simulated->initialize)
#define mcapi_finalize (narrows_simulated->finalize)
#define mcapi_domain_id_get (narrows_simulated->domain_id_get)
#define mcapi_node_id_get (narrows_simulated->node_id_get)
#define mcapi_node_init_attributes (narrows_simulated->node_init_attributes)
#define mcapi_node_set_attribute (narrows_simulated->node_set_attribute)
#define mcapi_node_get_attribute (narrows_simulated->node_get_attribute)
#define mcapi_display_status (narrows_simulated->display_status)
#define mcapi_endpoint_create (narrows_simulated->endpoint_create)
#define mcapi_endpoint_get_i (narrows_simulated->endpoint_get_i)
#define mcapi_endpoint_get (narrows_simulated->endpoint_get)
#define mcapi_endpoint_release (narrows_simulated->endpoint_release)
#define mcapi_endpoint_delete (narrows_simulated->endpoint_delete)
#define mcapi_endpoint_get_attribute (narrows_simulated->endpoint_get_attribute)
#define mcapi_endpoint_set_attribute (narrows_simulated->endpoint_set_attribute)
#define mcapi_msg_send (narrows_simulated->msg_send)
#define mcapi_msg_send_i (narrows_simulated->msg_send_i)
#define mcapi_msg_recv (narrows_simulated->msg_recv)
#define mcapi_msg_recv_i (narrows_simulated->msg_recv_i)
#define mcapi_msg_available (narrows_simulated->msg_available)
#define mcapi_pktchan_connect_i (narrows_simulated->pktchan_connect_i)
#define mcapi_pktchan_recv_open_i (narrows_simulated->pktchan_recv_open_i)
#define mcapi_pktchan_send_open_i (narrows_simulated->pktchan_send_open_i)
#define mcapi_pktchan_send_i (narrows_simulated->pktchan_send_i)
#define mcapi_pktchan_send (narrows_simulated->pktchan_send)
#define mcapi_pktchan_recv_i (narrows_simulated->pktchan_recv_i)
#define mcapi_pktchan_recv (narrows_simulated->pktchan_recv)
#define mcapi_pktchan_available (narrows_simulated->pktchan_available)
#define mcapi_pktchan_release (narrows_simulated->pktchan_release)
#define mcapi_pktchan_release_test (narrows_simulated->pktchan_release_test)
#define mcapi_pktchan_recv_close_i (narrows_simulated->pktchan_recv_close_i)
#define mcapi_pktchan_send_close_i (narrows_simulated->pktchan_send_close_i)
#define mcapi_sclchan_connect_i (narrows_simulated->sclchan_connect_i)
#define mcapi_sclchan_recv_open_i (narrows_simulated->sclchan_recv_open_i)
#define mcapi_sclchan_send_open_i (narrows_simulated->sclchan_send_open_i)
#define mcapi_sclchan_available (narrows_simulated->sclchan_available)
#define mcapi_sclchan_recv_close_i (narrows_simulated->sclchan_recv_close_i)
#define mcapi_sclchan_send_close_i (narrows_simulated->sclchan_send_close_i)
#define mcapi_test (narrows_simulated->test)
#define mcapi_wait (narrows_simulated->wait)
#define mcapi_wait_any (narrows_simulated->wait_any)
#define mcapi_cancel (narrows_simulated->cancel)
#define mcapi_sclchan_send_uint64 (narrows_simulated->sclchan_send_uint64)
#define mcapi_sclchan_recv_uint64 (narrows_simulated->sclchan_recv_uint64)
#define mcapi_sclchan_send_uint32 (narrows_simulated->sclchan_send_uint32)
#define mcapi_sclchan_recv_uint32 (narrows_simulated->sclchan_recv_uint32)
#define mcapi_sclchan_send_uint16 (narrows_simulated->sclchan_send_uint16)
#define mcapi_sclchan_recv_uint16 (narrows_simulated->sclchan_recv_uint16)
#define mcapi_sclchan_send_uint8 (narrows_simulated->sclchan_send_uint8)
#define mcapi_sclchan_recv_uint8 (narrows_simulated->sclchan_recv_uint8)

#endif
