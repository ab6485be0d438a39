#include "sink/kafka_lib.h"
#include "base/library.h"
#include <stdbool.h>

static struct kafka_lib loaded;
const struct kafka_lib *const kafka = &loaded;

/* The two branches must be of one type: a member with another function's does not compile. */
#define FUNCTION(name)                                         \
    {                                                          \
#name, true ? &loaded.name : (__typeof__(name) **)NULL \
    }
static const struct library_function functions[] = {
    FUNCTION(rd_kafka_conf_destroy),
    FUNCTION(rd_kafka_conf_new),
    FUNCTION(rd_kafka_conf_set),
    FUNCTION(rd_kafka_conf_set_dr_msg_cb),
    FUNCTION(rd_kafka_conf_set_error_cb),
    FUNCTION(rd_kafka_conf_set_log_cb),
    FUNCTION(rd_kafka_conf_set_opaque),
    FUNCTION(rd_kafka_destroy),
    FUNCTION(rd_kafka_err2str),
    FUNCTION(rd_kafka_error_code),
    FUNCTION(rd_kafka_error_destroy),
    FUNCTION(rd_kafka_error_string),
    FUNCTION(rd_kafka_fatal_error),
    FUNCTION(rd_kafka_new),
    FUNCTION(rd_kafka_outq_len),
    FUNCTION(rd_kafka_poll),
    FUNCTION(rd_kafka_produceva),
    FUNCTION(rd_kafka_purge),
    {NULL, NULL},
};
_Static_assert((COUNT_OF(functions) - 1) * sizeof(void *) == sizeof loaded,
               "every member is loaded");

enum rc kafka_lib_load(struct err *err)
{
    static const struct library library = {"librdkafka.so.1", "librdkafka1", functions, NULL};
    static struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER};
    return library_load(&library, &once, err);
}
