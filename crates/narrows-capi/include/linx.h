/*
 * LINX over Narrows: endpoints that send each other signals. Names, values and types are those of
 * Linux LINX's interface for programs, so that what is written for it compiles; a program declares
 * its own union LINX_SIGNAL, whose members begin with a LINX_SIGSELECT. What each function does,
 * and what is different, is in docs/LINX.md.
 */
#ifndef LINX_H
#define LINX_H

#include <stdint.h>
#include <sys/types.h>

#include "linx_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Endpoints. */
LINX *linx_open(const char *name, uint32_t options, void *arg);
int linx_close(LINX *linx);
LINX_SPID linx_get_spid(LINX *linx);
int linx_get_descriptor(LINX *linx);

/* Signals. */
union LINX_SIGNAL *linx_alloc(LINX *linx, LINX_OSBUFSIZE size, LINX_SIGSELECT sig_no);
union LINX_SIGNAL *linx_s_alloc(LINX *linx, LINX_OSBUFSIZE size, LINX_SIGSELECT sig_no,
                                uint32_t flags);
int linx_free_buf(LINX *linx, union LINX_SIGNAL **sig);
LINX_SPID linx_sender(LINX *linx, union LINX_SIGNAL **sig);
LINX_OSBUFSIZE linx_sigsize(LINX *linx, union LINX_SIGNAL **sig);
int linx_set_sigsize(LINX *linx, union LINX_SIGNAL **sig, LINX_OSBUFSIZE sigsize);

/* No signal was sent out of band: *(uint8_t *)value is ~0. */
int linx_sigattr(const LINX *linx, const union LINX_SIGNAL **sig, uint32_t attr, void **value);

/* Sending and receiving. */
int linx_send(LINX *linx, union LINX_SIGNAL **sig, LINX_SPID to);
int linx_send_w_s(LINX *linx, union LINX_SIGNAL **sig, LINX_SPID from, LINX_SPID to);
int linx_send_w_opt(LINX *linx, union LINX_SIGNAL **sig, LINX_SPID from, LINX_SPID to,
                    int32_t *taglist);
int linx_receive(LINX *linx, union LINX_SIGNAL **sig, const LINX_SIGSELECT *sig_sel);
int linx_receive_w_tmo(LINX *linx, union LINX_SIGNAL **sig, LINX_OSTIME tmo,
                       const LINX_SIGSELECT *sig_sel);
int linx_receive_from(LINX *linx, union LINX_SIGNAL **sig, LINX_OSTIME tmo,
                      const LINX_SIGSELECT *sig_sel, LINX_SPID from);

/* Finding and supervising. */
int linx_hunt(LINX *linx, const char *name, union LINX_SIGNAL **hunt_sig);
int linx_hunt_from(LINX *linx, const char *name, union LINX_SIGNAL **hunt_sig, LINX_SPID from);
LINX_OSATTREF linx_attach(LINX *linx, union LINX_SIGNAL **sig, LINX_SPID spid);
int linx_detach(LINX *linx, LINX_OSATTREF *attref);

/* Timeouts. */
LINX_OSTMOREF linx_request_tmo(LINX *linx, LINX_OSTIME tmo, union LINX_SIGNAL **sig);
int linx_cancel_tmo(LINX *linx, LINX_OSTMOREF *tmoref);
int linx_modify_tmo(LINX *linx, LINX_OSTMOREF *tmoref, LINX_OSTIME tmo);

/* What is known of endpoints. The freeing calls take what the call before each has given. */
int linx_get_name(LINX *linx, LINX_SPID spid, char **name);
int linx_free_name(LINX *linx, char **name);
pid_t linx_get_owner(LINX *linx, LINX_SPID spid);
int linx_get_stat(LINX *linx, LINX_SPID spid, struct linx_info_stat **stat);
int linx_free_stat(LINX *linx, struct linx_info_stat **stat);

/* Links that others make: there are none, so these fail with ENOSYS. */
LINX_NLREF linx_request_new_link(LINX *linx, LINX_NLTOKEN token);
int linx_cancel_new_link(LINX *linx, LINX_NLREF *nlref);

/* The library's version, MAJOR << 24 | MINOR << 8 | PATCH. buf is NULL or has room for 14 bytes. */
int linx_get_version(char *buf);

#ifdef __cplusplus
}
#endif

#endif
