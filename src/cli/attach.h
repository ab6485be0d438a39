/*
 * attach.h - files that go with a task: uploaded first, then named by their content.
 */
#ifndef CLI_ATTACH_H
#define CLI_ATTACH_H
#include "base/jw.h"
#include "cli/command.h"

/* Uploads what --attach names and writes "attachments": [{name, sha256}]; nothing without any. */
MUST_USE enum rc cli_attach(struct cli *cli, struct jw *jw, struct err *err);
#endif
