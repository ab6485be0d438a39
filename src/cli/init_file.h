/*
 * init_file.h - drover.yaml, as `drover init` writes it: what was found, each line with its reason.
 */
#ifndef CLI_INIT_FILE_H
#define CLI_INIT_FILE_H
#include "base/buf.h"
#include "cli/init_facts.h"

void init_file_write(const struct init_facts *facts, struct buf *to);
#endif
