/*
 * session_key.h - how the connections of one server are found in PostgreSQL.
 *
 * Every writing connection of a server that has claimed its name (leases.h) holds an advisory lock
 * in shared mode, whose key is made of the session of the claim.  Shared locks do not
 * exclude each other: the lock is a mark.  A server has no connection left exactly when the lock
 * can be taken exclusively.
 */
#ifndef STORE_SESSION_KEY_H
#define STORE_SESSION_KEY_H

/* session: an SQL expression. */
#define SESSION_KEY(session) \
    "hashtextextended('drover.session.' || current_schema() || '.' || " session ", 0)"
#endif
