/*
 * kafka_lib.h - librdkafka, loaded when the first sink of type kafka is opened (see
 * base/library.h).
 *
 * kafka->rd_kafka_new() is rd_kafka_new() of <librdkafka/rdkafka.h>: the members have the names and
 * types of its declarations.
 */
#ifndef SINK_KAFKA_LIB_H
#define SINK_KAFKA_LIB_H
#include "base/rc.h"
#include <librdkafka/rdkafka.h>

/* What is called: kafka_lib.c has the same list. */
struct kafka_lib {
    __typeof__(rd_kafka_conf_destroy) *rd_kafka_conf_destroy;
    __typeof__(rd_kafka_conf_new) *rd_kafka_conf_new;
    __typeof__(rd_kafka_conf_set) *rd_kafka_conf_set;
    __typeof__(rd_kafka_conf_set_dr_msg_cb) *rd_kafka_conf_set_dr_msg_cb;
    __typeof__(rd_kafka_conf_set_error_cb) *rd_kafka_conf_set_error_cb;
    __typeof__(rd_kafka_conf_set_log_cb) *rd_kafka_conf_set_log_cb;
    __typeof__(rd_kafka_conf_set_opaque) *rd_kafka_conf_set_opaque;
    __typeof__(rd_kafka_destroy) *rd_kafka_destroy;
    __typeof__(rd_kafka_err2str) *rd_kafka_err2str;
    __typeof__(rd_kafka_error_code) *rd_kafka_error_code;
    __typeof__(rd_kafka_error_destroy) *rd_kafka_error_destroy;
    __typeof__(rd_kafka_error_string) *rd_kafka_error_string;
    __typeof__(rd_kafka_fatal_error) *rd_kafka_fatal_error;
    __typeof__(rd_kafka_new) *rd_kafka_new;
    __typeof__(rd_kafka_outq_len) *rd_kafka_outq_len;
    __typeof__(rd_kafka_poll) *rd_kafka_poll;
    __typeof__(rd_kafka_produceva) *rd_kafka_produceva;
    __typeof__(rd_kafka_purge) *rd_kafka_purge;
};

/* To be used after the first kafka_lib_load that returned RC_OK. */
extern const struct kafka_lib *const kafka;

/* Loads librdkafka, once; any thread. */
MUST_USE enum rc kafka_lib_load(struct err *err);
#endif
