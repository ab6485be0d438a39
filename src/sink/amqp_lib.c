#include "sink/amqp_lib.h"
#include "base/library.h"
#include <stdbool.h>

static struct amqp_lib loaded;
const struct amqp_lib *const amqp = &loaded;

/* The two branches must be of one type: a member with another function's does not compile. */
#define FUNCTION(name)                                         \
    {                                                          \
#name, true ? &loaded.name : (__typeof__(name) **)NULL \
    }
static const struct library_function functions[] = {
    FUNCTION(amqp_basic_publish),
    FUNCTION(amqp_channel_open),
    FUNCTION(amqp_confirm_select),
    FUNCTION(amqp_connection_close),
    FUNCTION(amqp_destroy_connection),
    FUNCTION(amqp_error_string2),
    FUNCTION(amqp_exchange_declare),
    FUNCTION(amqp_get_rpc_reply),
    FUNCTION(amqp_get_sockfd),
    FUNCTION(amqp_login),
    FUNCTION(amqp_maybe_release_buffers),
    FUNCTION(amqp_new_connection),
    FUNCTION(amqp_set_handshake_timeout),
    FUNCTION(amqp_set_rpc_timeout),
    FUNCTION(amqp_simple_wait_frame_noblock),
    FUNCTION(amqp_socket_open_noblock),
    FUNCTION(amqp_ssl_socket_new),
    FUNCTION(amqp_ssl_socket_set_cacert),
    FUNCTION(amqp_ssl_socket_set_verify_hostname),
    FUNCTION(amqp_ssl_socket_set_verify_peer),
    FUNCTION(amqp_tcp_socket_new),
    {NULL, NULL},
};
_Static_assert((COUNT_OF(functions) - 1) * sizeof(void *) == sizeof loaded,
               "every member is loaded");

enum rc amqp_lib_load(struct err *err)
{
    static const struct library library = {"librabbitmq.so.4", "librabbitmq4", functions, NULL};
    static struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER};
    return library_load(&library, &once, err);
}
