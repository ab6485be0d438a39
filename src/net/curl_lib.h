/*
 * curl_lib.h - libcurl, loaded when the first client is made (see base/library.h).
 *
 * curl->easy_init() is curl_easy_init() of <curl/curl.h>: the members have the types of its
 * declarations.
 */
#ifndef NET_CURL_LIB_H
#define NET_CURL_LIB_H
#include "base/rc.h"
#include <curl/curl.h>

/* What is called: curl_lib.c has the same list. */
struct curl_lib {
    __typeof__(curl_easy_cleanup) *easy_cleanup;
    __typeof__(curl_easy_getinfo) *easy_getinfo;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_perform) *easy_perform;
    __typeof__(curl_easy_reset) *easy_reset;
    __typeof__(curl_easy_setopt) *easy_setopt;
    __typeof__(curl_easy_strerror) *easy_strerror;
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_multi_add_handle) *multi_add_handle;
    __typeof__(curl_multi_cleanup) *multi_cleanup;
    __typeof__(curl_multi_info_read) *multi_info_read;
    __typeof__(curl_multi_init) *multi_init;
    __typeof__(curl_multi_perform) *multi_perform;
    __typeof__(curl_multi_poll) *multi_poll;
    __typeof__(curl_multi_remove_handle) *multi_remove_handle;
    __typeof__(curl_multi_setopt) *multi_setopt;
    __typeof__(curl_multi_strerror) *multi_strerror;
    __typeof__(curl_slist_append) *slist_append;
    __typeof__(curl_slist_free_all) *slist_free_all;
};

/* To be used after the first curl_lib_load that returned RC_OK. */
extern const struct curl_lib *const curl;

/* Loads libcurl and sets it up, once; any thread. */
MUST_USE enum rc curl_lib_load(struct err *err);
#endif
