#include "store/pq_lib.h"
#include "base/library.h"
#include <stdbool.h>

static struct pq_lib loaded;
const struct pq_lib *const pq = &loaded;

/* The two branches must be of one type: a member with another function's does not compile. */
#define FUNCTION(name)                                                  \
    {                                                                   \
        "PQ" #name, true ? &loaded.name : (__typeof__(PQ##name) **)NULL \
    }
static const struct library_function functions[] = {
    FUNCTION(clear),
    FUNCTION(cmdStatus),
    FUNCTION(cmdTuples),
    FUNCTION(connectdb),
    FUNCTION(connectdbParams),
    FUNCTION(conninfoFree),
    FUNCTION(conninfoParse),
    FUNCTION(consumeInput),
    FUNCTION(db),
    FUNCTION(enterPipelineMode),
    FUNCTION(errorMessage),
    FUNCTION(escapeIdentifier),
    FUNCTION(exec),
    FUNCTION(exitPipelineMode),
    FUNCTION(finish),
    FUNCTION(flush),
    FUNCTION(freemem),
    FUNCTION(ftype),
    FUNCTION(getResult),
    FUNCTION(getisnull),
    FUNCTION(getlength),
    FUNCTION(getvalue),
    FUNCTION(host),
    FUNCTION(isBusy),
    FUNCTION(notifies),
    FUNCTION(ntuples),
    FUNCTION(pipelineStatus),
    FUNCTION(pipelineSync),
    FUNCTION(port),
    FUNCTION(resultErrorField),
    FUNCTION(resultErrorMessage),
    FUNCTION(resultMemorySize),
    FUNCTION(resultStatus),
    FUNCTION(sendPrepare),
    FUNCTION(sendQuery),
    FUNCTION(sendQueryPrepared),
    FUNCTION(serverVersion),
    FUNCTION(setNoticeReceiver),
    FUNCTION(setnonblocking),
    FUNCTION(socket),
    FUNCTION(status),
    FUNCTION(transactionStatus),
    FUNCTION(user),
    {NULL, NULL},
};
_Static_assert((COUNT_OF(functions) - 1) * sizeof(void *) == sizeof loaded,
               "every member is loaded");

enum rc pq_lib_load(struct err *err)
{
    static const struct library library = {"libpq.so.5", "libpq5", functions, NULL};
    static struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER};
    return library_load(&library, &once, err);
}
