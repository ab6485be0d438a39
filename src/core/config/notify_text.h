/*
 * notify_text.h - a notification in words for people, as chat programs that take Slack's messages
 * show them.
 */
#ifndef CORE_CONFIG_NOTIFY_TEXT_H
#define CORE_CONFIG_NOTIFY_TEXT_H
#include "base/buf.h"
#include "base/js.h"
#include "core/config/notify.h"

enum { NOTIFY_TEXT_MAX = 4000 };

/*
 * data: of the event: {approvalId, expiresAt, notification: {repository, title, taskId, runId,
 * errorCode, errorMessage, pullRequest: {number, url}}}; what is missing is left out.  Texts are
 * escaped, so that nothing in them becomes a link or calls people.
 */
void notify_text(struct buf *to, enum notify_kind kind, const struct js *data);
#endif
