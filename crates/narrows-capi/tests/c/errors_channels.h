/*
 * Rows of errors.c that packet and scalar channels have each: included with CHAN, the word in the
 * names of their functions, THIS and THAT, the fixtures of this type and of the other, and PENDING,
 * the word in the names of the ports whose open is pending.
 */
#define CALL_(chan, call) mcapi_##chan##_##call
#define CALL__(chan, call) CALL_(chan, call)
#define CALL(call) CALL__(CHAN, call)
#define NAME_(chan, name) chan##_##name
#define NAME__(chan, name) NAME_(chan, name)
#define NAME(name) NAME__(CHAN, name)
#define PORT_(type, name) type##_##name
#define PORT__(type, name) PORT_(type, name)
#define PORT(name) OWN(PORT__(PENDING, name))

REQUEST_ROW(after, NAME(connect_unknown_sender), MCAPI_ERR_ENDP_INVALID, CALL(connect_i)(UNKNOWN, far, &r, &s))
REQUEST_ROW(after, NAME(connect_unknown_receiver), MCAPI_ERR_ENDP_INVALID, CALL(connect_i)(OWN(IDLE), UNKNOWN, &r, &s))
REQUEST_ROW(after, NAME(connect_same), MCAPI_ERR_ENDP_INVALID, CALL(connect_i)(OWN(IDLE), OWN(IDLE), &r, &s))
ROW(after, NAME(connect_request_null), MCAPI_ERR_PARAMETER, CALL(connect_i)(OWN(IDLE), far, NULL, &s))
REQUEST_ROW(after, NAME(connect_connected_sender), MCAPI_ERR_CHAN_CONNECTED, CALL(connect_i)(OWN(CONNECTED), far, &r, &s))
REQUEST_ROW(after, NAME(connect_connected_receiver), MCAPI_ERR_CHAN_CONNECTED, CALL(connect_i)(OWN(IDLE), OWN(CONNECTED), &r, &s))
REQUEST_ROW(after, NAME(connect_incompatible), MCAPI_ERR_ATTR_INCOMPATIBLE, CALL(connect_i)(OWN(IDLE), OWN(SHORT), &r, &s))
REQUEST_ROW(after, NAME(connect_incompatible_far), MCAPI_ERR_ATTR_INCOMPATIBLE, CALL(connect_i)(OWN(SHORT), far, &r, &s))
REQUEST_ROW(after, NAME(connect_type_attribute), MCAPI_ERR_ATTR_INCOMPATIBLE, CALL(connect_i)(OWN(IDLE), OWN(THAT.typed), &r, &s))
REQUEST_ROW(after, NAME(connect_type_of_receiver), MCAPI_ERR_CHAN_TYPE, CALL(connect_i)(OWN(IDLE), OWN(THAT.recv_pending), &r, &s))
REQUEST_ROW(after, NAME(connect_type_of_sender), MCAPI_ERR_CHAN_TYPE, CALL(connect_i)(OWN(THAT.send_pending), OWN(IDLE), &r, &s))
REQUEST_ROW(after, NAME(connect_direction_of_receiver), MCAPI_ERR_CHAN_DIRECTION, CALL(connect_i)(OWN(IDLE), PORT(SEND_PENDING), &r, &s))
REQUEST_ROW(after, NAME(connect_direction_of_sender), MCAPI_ERR_CHAN_DIRECTION, CALL(connect_i)(PORT(RECV_PENDING), OWN(IDLE), &r, &s))

#define OPENING(which, here, there)                                                                                   \
    ROW(after, NAME(which##_open_request_null), MCAPI_ERR_PARAMETER, CALL(which##_open_i)(&word, OWN(IDLE), NULL, &s)) \
    REQUEST_ROW(after, NAME(which##_open_handle_null), MCAPI_ERR_PARAMETER, CALL(which##_open_i)(NULL, OWN(IDLE), &r, &s)) \
    REQUEST_ROW(after, NAME(which##_open_unknown), MCAPI_ERR_ENDP_INVALID, CALL(which##_open_i)(&word, UNKNOWN, &r, &s)) \
    REQUEST_ROW(after, NAME(which##_open_remote), MCAPI_ERR_ENDP_REMOTE, CALL(which##_open_i)(&word, far, &r, &s))    \
    REQUEST_ROW(after, NAME(which##_open_type_pending), MCAPI_ERR_CHAN_TYPE, CALL(which##_open_i)(&word, OWN(THAT.here##_pending), &r, &s)) \
    REQUEST_ROW(after, NAME(which##_open_type_open), MCAPI_ERR_CHAN_TYPE, CALL(which##_open_i)(&word, OWN(THAT.here##_port), &r, &s)) \
    REQUEST_ROW(after, NAME(which##_open_direction_pending), MCAPI_ERR_CHAN_DIRECTION, CALL(which##_open_i)(&word, OWN(THIS.there##_pending), &r, &s)) \
    REQUEST_ROW(after, NAME(which##_open_direction_open), MCAPI_ERR_CHAN_DIRECTION, CALL(which##_open_i)(&word, OWN(THIS.there##_port), &r, &s)) \
    REQUEST_ROW(after, NAME(which##_open_pending), MCAPI_ERR_CHAN_OPENPENDING, CALL(which##_open_i)(&word, OWN(THIS.here##_pending), &r, &s)) \
    REQUEST_ROW(after, NAME(which##_open_open), MCAPI_ERR_CHAN_OPEN, CALL(which##_open_i)(&word, OWN(THIS.here##_port), &r, &s))
OPENING(recv, recv, send)
OPENING(send, send, recv)
#undef OPENING

ROW(after, NAME(recv_close_request_null), MCAPI_ERR_PARAMETER, CALL(recv_close_i)(THIS.receive, NULL, &s))
REQUEST_ROW(after, NAME(recv_close_none), MCAPI_ERR_CHAN_INVALID, CALL(recv_close_i)(NONE, &r, &s))
REQUEST_ROW(after, NAME(recv_close_sender), MCAPI_ERR_CHAN_INVALID, CALL(recv_close_i)(THIS.send, &r, &s))
REQUEST_ROW(after, NAME(recv_close_type), MCAPI_ERR_CHAN_INVALID, CALL(recv_close_i)(THAT.receive, &r, &s))
REQUEST_ROW(after, NAME(recv_close_disconnected), MCAPI_ERR_CHAN_INVALID, CALL(recv_close_i)(THIS.gone_recv, &r, &s))
REQUEST_ROW(after, NAME(recv_close_closed), MCAPI_ERR_CHAN_NOTOPEN, CALL(recv_close_i)(THIS.closed_recv, &r, &s))
ROW(after, NAME(send_close_request_null), MCAPI_ERR_PARAMETER, CALL(send_close_i)(THIS.send, NULL, &s))
REQUEST_ROW(after, NAME(send_close_none), MCAPI_ERR_CHAN_INVALID, CALL(send_close_i)(NONE, &r, &s))
REQUEST_ROW(after, NAME(send_close_receiver), MCAPI_ERR_CHAN_INVALID, CALL(send_close_i)(THIS.receive, &r, &s))
REQUEST_ROW(after, NAME(send_close_type), MCAPI_ERR_CHAN_INVALID, CALL(send_close_i)(THAT.send, &r, &s))
REQUEST_ROW(after, NAME(send_close_disconnected), MCAPI_ERR_CHAN_INVALID, CALL(send_close_i)(THIS.gone_send, &r, &s))
REQUEST_ROW(after, NAME(send_close_closed), MCAPI_ERR_CHAN_NOTOPEN, CALL(send_close_i)(THIS.closed_send, &r, &s))
ROW(after, NAME(available_none), MCAPI_ERR_CHAN_INVALID, WANT(CALL(available)(NONE, &s) == 0))
ROW(after, NAME(available_sender), MCAPI_ERR_CHAN_INVALID, WANT(CALL(available)(THIS.send, &s) == 0))
ROW(after, NAME(available_type), MCAPI_ERR_CHAN_INVALID, WANT(CALL(available)(THAT.receive, &s) == 0))
ROW(after, NAME(available_disconnected), MCAPI_ERR_CHAN_INVALID, WANT(CALL(available)(THIS.gone_recv, &s) == 0))
ROW(after, NAME(available_closed), MCAPI_ERR_CHAN_INVALID, WANT(CALL(available)(THIS.closed_recv, &s) == 0))

ROW(full, NAME(connect_limit), MCAPI_ERR_REQUEST_LIMIT, CALL(connect_i)(OWN(IDLE), far, &r, &s))
ROW(full, NAME(recv_open_limit), MCAPI_ERR_REQUEST_LIMIT, CALL(recv_open_i)(&word, OWN(IDLE), &r, &s))
ROW(full, NAME(send_open_limit), MCAPI_ERR_REQUEST_LIMIT, CALL(send_open_i)(&word, OWN(IDLE), &r, &s))

#undef CALL_
#undef CALL__
#undef CALL
#undef NAME_
#undef NAME__
#undef NAME
#undef PORT_
#undef PORT__
#undef PORT
