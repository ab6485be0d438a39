/*
 * pq_lib.h - libpq, loaded when the first PostgreSQL store is opened (see base/library.h).
 *
 * pq->exec() is PQexec() of <libpq-fe.h>: the members have the types of its declarations.
 */
#ifndef STORE_PQ_LIB_H
#define STORE_PQ_LIB_H
#include "base/rc.h"
#include <libpq-fe.h>

/* What is called: pq_lib.c has the same list. */
struct pq_lib {
#define FUNCTION(name) __typeof__(&PQ##name) name
    FUNCTION(clear);
    FUNCTION(cmdStatus);
    FUNCTION(cmdTuples);
    FUNCTION(connectdb);
    FUNCTION(connectdbParams);
    FUNCTION(conninfoFree);
    FUNCTION(conninfoParse);
    FUNCTION(consumeInput);
    FUNCTION(db);
    FUNCTION(enterPipelineMode);
    FUNCTION(errorMessage);
    FUNCTION(escapeIdentifier);
    FUNCTION(exec);
    FUNCTION(exitPipelineMode);
    FUNCTION(finish);
    FUNCTION(flush);
    FUNCTION(freemem);
    FUNCTION(ftype);
    FUNCTION(getResult);
    FUNCTION(getisnull);
    FUNCTION(getlength);
    FUNCTION(getvalue);
    FUNCTION(host);
    FUNCTION(isBusy);
    FUNCTION(notifies);
    FUNCTION(ntuples);
    FUNCTION(pipelineStatus);
    FUNCTION(pipelineSync);
    FUNCTION(port);
    FUNCTION(resultErrorField);
    FUNCTION(resultErrorMessage);
    FUNCTION(resultMemorySize);
    FUNCTION(resultStatus);
    FUNCTION(sendPrepare);
    FUNCTION(sendQuery);
    FUNCTION(sendQueryPrepared);
    FUNCTION(serverVersion);
    FUNCTION(setNoticeReceiver);
    FUNCTION(setnonblocking);
    FUNCTION(socket);
    FUNCTION(status);
    FUNCTION(transactionStatus);
    FUNCTION(user);
#undef FUNCTION
};

/* To be used after the first pq_lib_load that returned RC_OK. */
extern const struct pq_lib *const pq;

/* Loads libpq, once; any thread. */
MUST_USE enum rc pq_lib_load(struct err *err);
#endif
