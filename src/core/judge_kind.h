/*
 * judge_kind.h - the kinds of judges, by name.
 */
#ifndef CORE_JUDGE_KIND_H
#define CORE_JUDGE_KIND_H

enum judge_kind { JUDGE_RULES, JUDGE_COMMAND, JUDGE_MODEL };
extern const char *const judge_kind_names[]; /* By kind; NULL at the end. */
#endif
