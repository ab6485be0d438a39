/*
 * webhooks.h - deliveries of forges' webhooks come in here: POST /v1/webhooks/{forge}.
 */
#ifndef API_WEBHOOKS_H
#define API_WEBHOOKS_H

/* What GitHub sends at most. */
enum { WEBHOOK_BODY_MAX = 25 * 1024 * 1024 };
#endif
