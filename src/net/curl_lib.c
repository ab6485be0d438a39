#include "net/curl_lib.h"
#include "base/library.h"
#include <stdbool.h>

static struct curl_lib loaded;
const struct curl_lib *const curl = &loaded;

/* The two branches must be of one type: a member with another function's does not compile. */
#define FUNCTION(name)                                                        \
    {                                                                         \
        "curl_" #name, true ? &loaded.name : (__typeof__(curl_##name) **)NULL \
    }
static const struct library_function functions[] = {
    FUNCTION(easy_cleanup),        FUNCTION(easy_getinfo),
    FUNCTION(easy_init),           FUNCTION(easy_perform),
    FUNCTION(easy_reset),          FUNCTION(easy_setopt),
    FUNCTION(easy_strerror),       FUNCTION(global_init),
    FUNCTION(multi_add_handle),    FUNCTION(multi_cleanup),
    FUNCTION(multi_info_read),     FUNCTION(multi_init),
    FUNCTION(multi_perform),       FUNCTION(multi_poll),
    FUNCTION(multi_remove_handle), FUNCTION(multi_setopt),
    FUNCTION(multi_strerror),      FUNCTION(slist_append),
    FUNCTION(slist_free_all),      {NULL, NULL},
};
_Static_assert((COUNT_OF(functions) - 1) * sizeof(void *) == sizeof loaded,
               "every member is loaded");

static enum rc start(struct err *err)
{
    if (loaded.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return RC_OK;
    return err_set(err, RC_IO, "HTTP_CLIENT", "libcurl cannot start");
}

enum rc curl_lib_load(struct err *err)
{
    static const struct library library = {"libcurl.so.4", "libcurl4", functions, start};
    static struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER};
    return library_load(&library, &once, err);
}
