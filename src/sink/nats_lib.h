/*
 * nats_lib.h - libnats, loaded when the first sink of type nats is opened (see base/library.h).
 *
 * nats->js_AddStream() is js_AddStream() of <nats/nats.h>: the members have the names and types of
 * its declarations.
 */
#ifndef SINK_NATS_LIB_H
#define SINK_NATS_LIB_H
#include "base/rc.h"
#include <nats/nats.h>

/* What is called: nats_lib.c has the same list. */
struct nats_lib {
    __typeof__(jsCtx_Destroy) *jsCtx_Destroy;
    __typeof__(jsOptions_Init) *jsOptions_Init;
    __typeof__(jsStreamConfig_Init) *jsStreamConfig_Init;
    __typeof__(jsStreamInfo_Destroy) *jsStreamInfo_Destroy;
    __typeof__(js_AddStream) *js_AddStream;
    __typeof__(js_GetStreamInfo) *js_GetStreamInfo;
    __typeof__(natsConnection_Connect) *natsConnection_Connect;
    __typeof__(natsConnection_Destroy) *natsConnection_Destroy;
    __typeof__(natsConnection_FlushTimeout) *natsConnection_FlushTimeout;
    __typeof__(natsConnection_IsClosed) *natsConnection_IsClosed;
    __typeof__(natsConnection_JetStream) *natsConnection_JetStream;
    __typeof__(natsConnection_PublishMsg) *natsConnection_PublishMsg;
    __typeof__(natsConnection_SubscribeSync) *natsConnection_SubscribeSync;
    __typeof__(natsInbox_Create) *natsInbox_Create;
    __typeof__(natsInbox_Destroy) *natsInbox_Destroy;
    __typeof__(natsMsgHeader_Set) *natsMsgHeader_Set;
    __typeof__(natsMsg_Create) *natsMsg_Create;
    __typeof__(natsMsg_Destroy) *natsMsg_Destroy;
    __typeof__(natsMsg_GetData) *natsMsg_GetData;
    __typeof__(natsMsg_GetDataLength) *natsMsg_GetDataLength;
    __typeof__(natsMsg_GetSubject) *natsMsg_GetSubject;
    __typeof__(natsMsg_IsNoResponders) *natsMsg_IsNoResponders;
    __typeof__(natsOptions_Create) *natsOptions_Create;
    __typeof__(natsOptions_Destroy) *natsOptions_Destroy;
    __typeof__(natsOptions_LoadCATrustedCertificates) *natsOptions_LoadCATrustedCertificates;
    __typeof__(natsOptions_SetAllowReconnect) *natsOptions_SetAllowReconnect;
    __typeof__(natsOptions_SetExpectedHostname) *natsOptions_SetExpectedHostname;
    __typeof__(natsOptions_SetName) *natsOptions_SetName;
    __typeof__(natsOptions_SetSecure) *natsOptions_SetSecure;
    __typeof__(natsOptions_SetServers) *natsOptions_SetServers;
    __typeof__(natsOptions_SetTimeout) *natsOptions_SetTimeout;
    __typeof__(natsOptions_SetToken) *natsOptions_SetToken;
    __typeof__(natsOptions_SetUserCredentialsFromFiles) *natsOptions_SetUserCredentialsFromFiles;
    __typeof__(natsOptions_SetUserInfo) *natsOptions_SetUserInfo;
    __typeof__(natsOptions_SetWriteDeadline) *natsOptions_SetWriteDeadline;
    __typeof__(natsStatus_GetText) *natsStatus_GetText;
    __typeof__(natsSubscription_Destroy) *natsSubscription_Destroy;
    __typeof__(natsSubscription_NextMsg) *natsSubscription_NextMsg;
    __typeof__(nats_GetLastError) *nats_GetLastError;
};

/* To be used after the first nats_lib_load that returned RC_OK. */
extern const struct nats_lib *const nats;

/* Loads libnats, once; any thread. */
MUST_USE enum rc nats_lib_load(struct err *err);
#endif
