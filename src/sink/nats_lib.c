#include "sink/nats_lib.h"
#include "base/library.h"
#include <stdbool.h>

static struct nats_lib loaded;
const struct nats_lib *const nats = &loaded;

/* The two branches must be of one type: a member with another function's does not compile. */
#define FUNCTION(name)                                         \
    {                                                          \
#name, true ? &loaded.name : (__typeof__(name) **)NULL \
    }
static const struct library_function functions[] = {
    FUNCTION(jsCtx_Destroy),
    FUNCTION(jsOptions_Init),
    FUNCTION(jsStreamConfig_Init),
    FUNCTION(jsStreamInfo_Destroy),
    FUNCTION(js_AddStream),
    FUNCTION(js_GetStreamInfo),
    FUNCTION(natsConnection_Connect),
    FUNCTION(natsConnection_Destroy),
    FUNCTION(natsConnection_FlushTimeout),
    FUNCTION(natsConnection_IsClosed),
    FUNCTION(natsConnection_JetStream),
    FUNCTION(natsConnection_PublishMsg),
    FUNCTION(natsConnection_SubscribeSync),
    FUNCTION(natsInbox_Create),
    FUNCTION(natsInbox_Destroy),
    FUNCTION(natsMsgHeader_Set),
    FUNCTION(natsMsg_Create),
    FUNCTION(natsMsg_Destroy),
    FUNCTION(natsMsg_GetData),
    FUNCTION(natsMsg_GetDataLength),
    FUNCTION(natsMsg_GetSubject),
    FUNCTION(natsMsg_IsNoResponders),
    FUNCTION(natsOptions_Create),
    FUNCTION(natsOptions_Destroy),
    FUNCTION(natsOptions_LoadCATrustedCertificates),
    FUNCTION(natsOptions_SetAllowReconnect),
    FUNCTION(natsOptions_SetExpectedHostname),
    FUNCTION(natsOptions_SetName),
    FUNCTION(natsOptions_SetSecure),
    FUNCTION(natsOptions_SetServers),
    FUNCTION(natsOptions_SetTimeout),
    FUNCTION(natsOptions_SetToken),
    FUNCTION(natsOptions_SetUserCredentialsFromFiles),
    FUNCTION(natsOptions_SetUserInfo),
    FUNCTION(natsOptions_SetWriteDeadline),
    FUNCTION(natsStatus_GetText),
    FUNCTION(natsSubscription_Destroy),
    FUNCTION(natsSubscription_NextMsg),
    FUNCTION(nats_GetLastError),
    {NULL, NULL},
};
_Static_assert((COUNT_OF(functions) - 1) * sizeof(void *) == sizeof loaded,
               "every member is loaded");

/* Its name, and that of its package, has the version of the headers; there is no other name. */
#define TEXT_OF(number)          #number
#define VERSION_OF(major, minor) TEXT_OF(major) "." TEXT_OF(minor)
#define VERSION                  VERSION_OF(NATS_VERSION_MAJOR, NATS_VERSION_MINOR)

enum rc nats_lib_load(struct err *err)
{
    static const struct library library = {"libnats.so." VERSION, "libnats" VERSION, functions,
                                           NULL};
    static struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER};
    return library_load(&library, &once, err);
}
