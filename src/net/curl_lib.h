/*
 * curl_lib.h - libcurl, loaded when somebody first wants a client (see base/library.h).
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
#define FUNCTION(name) __typeof__(&curl_##name) name
    FUNCTION(easy_cleanup);
    FUNCTION(easy_getinfo);
    FUNCTION(easy_init);
    FUNCTION(easy_perform);
    FUNCTION(easy_reset);
    FUNCTION(easy_setopt);
    FUNCTION(easy_strerror);
    FUNCTION(global_init);
    FUNCTION(multi_add_handle);
    FUNCTION(multi_cleanup);
    FUNCTION(multi_info_read);
    FUNCTION(multi_init);
    FUNCTION(multi_perform);
    FUNCTION(multi_poll);
    FUNCTION(multi_remove_handle);
    FUNCTION(multi_strerror);
    FUNCTION(slist_append);
    FUNCTION(slist_free_all);
#undef FUNCTION
};

/* To be used after the first curl_lib_load that returned RC_OK. */
extern const struct curl_lib *const curl;

/* Loads libcurl and sets it up, once; any thread. */
MUST_USE enum rc curl_lib_load(struct err *err);
#endif
