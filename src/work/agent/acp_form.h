/*
 * acp_form.h - a form of the Agent Client Protocol (elicitation/create, mode "form") as one
 * question.  https://agentclientprotocol.com/protocol/v1/elicitation
 *
 *     requestedSchema                                    question            content
 *     {"count": {"type": "integer", "minimum": 1}}   ->  any text       ->  {"count": 3}
 *     {"how": {"type": "string", "enum": [...]}}     ->  options        ->  {"how": "fast"}
 *
 * It is asked if it wants one value of a person: its only field, or the only one that is required,
 * which is a string, one of several strings, a boolean, an integer or a number.  An answer that
 * does not fit is asked for again, a few times; /decline declines.  Schemas are the agent's:
 * fields, values and their lengths have limits, and more is refused.
 */
#ifndef WORK_AGENT_ACP_FORM_H
#define WORK_AGENT_ACP_FORM_H
#include "base/js.h"
#include "base/jw.h"
#include "core/run/question_spec.h"

enum { ACP_CHOICES_MAX = 100, ACP_FIELDS_MAX = 100, ACP_VALUE_BYTES_MAX = 1000 };
#define ACP_DECLINE "/decline"

enum acp_value { ACP_TEXT, ACP_CHOICE, ACP_BOOL, ACP_INT, ACP_NUMBER };

struct acp_form {
    const char *property; /* The name of the field. */
    enum acp_value kind;
    const char *choices[ACP_CHOICES_MAX]; /* ACP_CHOICE: values, and what they are called. */
    const char *titles[ACP_CHOICES_MAX];
    size_t choice_count;
    double least, most;        /* Of a number. */
    int64_t shortest, longest; /* Of a text, in characters. */
    const char *text;          /* The question, without what was wrong with the last answer. */
    int tries;
};

/* Fills in the zeroed form and its question; texts are put into the arena.  NULL: done; else why it
   cannot be asked. */
const char *acp_form_read(struct acp_form *form, const struct js *params, struct arena *arena,
                          struct question_spec *spec);
/* The answer of a person, or NULL: there is none.  Writes the result: accept with the value,
   decline, or cancel.  False: nothing is written, and the question is to be asked again. */
bool acp_form_answer(struct acp_form *form, const char *answer, struct arena *arena,
                     struct question_spec *spec, struct jw *jw);
/* The result of a form that was not filled in. */
void acp_form_cancel(struct jw *jw);
#endif
