/*
 * step_table.h - all steps, in the order in which a run passes through them.
 */
#ifndef CORE_STEP_TABLE_H
#define CORE_STEP_TABLE_H
#include "core/step_kind.h"

const struct step_row *step_table(size_t *ret_count);
#endif
