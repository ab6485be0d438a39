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
    __typeof__(PQclear) *clear;
    __typeof__(PQcmdStatus) *cmdStatus;
    __typeof__(PQcmdTuples) *cmdTuples;
    __typeof__(PQconnectdb) *connectdb;
    __typeof__(PQconnectdbParams) *connectdbParams;
    __typeof__(PQconninfoFree) *conninfoFree;
    __typeof__(PQconninfoParse) *conninfoParse;
    __typeof__(PQconsumeInput) *consumeInput;
    __typeof__(PQdb) *db;
    __typeof__(PQenterPipelineMode) *enterPipelineMode;
    __typeof__(PQerrorMessage) *errorMessage;
    __typeof__(PQescapeIdentifier) *escapeIdentifier;
    __typeof__(PQexec) *exec;
    __typeof__(PQexitPipelineMode) *exitPipelineMode;
    __typeof__(PQfinish) *finish;
    __typeof__(PQflush) *flush;
    __typeof__(PQfreemem) *freemem;
    __typeof__(PQftype) *ftype;
    __typeof__(PQgetResult) *getResult;
    __typeof__(PQgetisnull) *getisnull;
    __typeof__(PQgetlength) *getlength;
    __typeof__(PQgetvalue) *getvalue;
    __typeof__(PQhost) *host;
    __typeof__(PQisBusy) *isBusy;
    __typeof__(PQnotifies) *notifies;
    __typeof__(PQntuples) *ntuples;
    __typeof__(PQpipelineStatus) *pipelineStatus;
    __typeof__(PQpipelineSync) *pipelineSync;
    __typeof__(PQport) *port;
    __typeof__(PQresultErrorField) *resultErrorField;
    __typeof__(PQresultErrorMessage) *resultErrorMessage;
    __typeof__(PQresultMemorySize) *resultMemorySize;
    __typeof__(PQresultStatus) *resultStatus;
    __typeof__(PQsendPrepare) *sendPrepare;
    __typeof__(PQsendQuery) *sendQuery;
    __typeof__(PQsendQueryPrepared) *sendQueryPrepared;
    __typeof__(PQserverVersion) *serverVersion;
    __typeof__(PQsetNoticeReceiver) *setNoticeReceiver;
    __typeof__(PQsetnonblocking) *setnonblocking;
    __typeof__(PQsocket) *socket;
    __typeof__(PQstatus) *status;
    __typeof__(PQtransactionStatus) *transactionStatus;
    __typeof__(PQuser) *user;
};

/* To be used after the first pq_lib_load that returned RC_OK. */
extern const struct pq_lib *const pq;

/* Loads libpq, once; any thread. */
MUST_USE enum rc pq_lib_load(struct err *err);
#endif
