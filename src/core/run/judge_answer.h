/*
 * judge_answer.h - the answer of a judge that is a program or a model, parsed as untrusted input.
 *
 *     {"verdict": "pass|fail|needs_human_review|inconclusive", "score": 0.86, "category": "...",
 *      "findings": [{"rule": "...", "path": "...", "text": "...", "category": "..."}]}
 *
 * Models put such an answer into code fences and prose.  The last object of the text that has a
 * verdict is the answer: what it may have quoted before comes from the patch.
 */
#ifndef CORE_RUN_JUDGE_ANSWER_H
#define CORE_RUN_JUDGE_ANSWER_H
#include "core/run/judge.h"

enum { JUDGE_ANSWER_MAX = 256 * 1024 };

/* Fills verdict, score and findings.  RC_NOT_FOUND: there is no answer in it; RC_INVALID: there is
   one with an unknown verdict.  The texts are put into the arena. */
MUST_USE enum rc judge_answer_read(struct str text, struct arena *arena,
                                   struct judgement *judgement, struct err *err);
#endif
