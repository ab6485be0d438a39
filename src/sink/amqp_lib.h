/*
 * amqp_lib.h - librabbitmq, loaded when the first sink of type rabbitmq is opened (see
 * base/library.h).
 *
 * amqp->amqp_login() is amqp_login() of <amqp.h>: the members have the names and types of its
 * declarations.
 */
#ifndef SINK_AMQP_LIB_H
#define SINK_AMQP_LIB_H
#include "base/rc.h"
#include <amqp.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>

/* What is called: amqp_lib.c has the same list. */
struct amqp_lib {
    __typeof__(amqp_basic_publish) *amqp_basic_publish;
    __typeof__(amqp_channel_open) *amqp_channel_open;
    __typeof__(amqp_confirm_select) *amqp_confirm_select;
    __typeof__(amqp_connection_close) *amqp_connection_close;
    __typeof__(amqp_destroy_connection) *amqp_destroy_connection;
    __typeof__(amqp_error_string2) *amqp_error_string2;
    __typeof__(amqp_exchange_declare) *amqp_exchange_declare;
    __typeof__(amqp_get_rpc_reply) *amqp_get_rpc_reply;
    __typeof__(amqp_get_sockfd) *amqp_get_sockfd;
    __typeof__(amqp_login) *amqp_login;
    __typeof__(amqp_maybe_release_buffers) *amqp_maybe_release_buffers;
    __typeof__(amqp_new_connection) *amqp_new_connection;
    __typeof__(amqp_set_handshake_timeout) *amqp_set_handshake_timeout;
    __typeof__(amqp_set_rpc_timeout) *amqp_set_rpc_timeout;
    __typeof__(amqp_simple_wait_frame_noblock) *amqp_simple_wait_frame_noblock;
    __typeof__(amqp_socket_open_noblock) *amqp_socket_open_noblock;
    __typeof__(amqp_ssl_socket_new) *amqp_ssl_socket_new;
    __typeof__(amqp_ssl_socket_set_cacert) *amqp_ssl_socket_set_cacert;
    __typeof__(amqp_ssl_socket_set_verify_hostname) *amqp_ssl_socket_set_verify_hostname;
    __typeof__(amqp_ssl_socket_set_verify_peer) *amqp_ssl_socket_set_verify_peer;
    __typeof__(amqp_tcp_socket_new) *amqp_tcp_socket_new;
};

/* To be used after the first amqp_lib_load that returned RC_OK. */
extern const struct amqp_lib *const amqp;

/* Loads librabbitmq, once; any thread. */
MUST_USE enum rc amqp_lib_load(struct err *err);
#endif
