/*
 * raw_text.h - what the bare loops send: the statements of drover's commands, without drover.
 *
 * A command is two words.  Each letter of `writes` is a statement that the real command writes
 * with:
 *
 *   T task  R run  E event of the task  e event of the run  t save task  r save run  h touch run
 *   j job  c claim  s save job  m set timer  M clear timer
 *   p patch  P save patch  v verification  q pull request
 *
 * and each letter of `loads` one that it reads (and, on PostgreSQL, locks) a row with before it
 * decides: j job, r run, t task, o repository.
 */
#ifndef BENCH_RAW_TEXT_H
#define BENCH_RAW_TEXT_H
#include <stdbool.h>

enum { RAW_LETTERS = 128, RAW_COMMANDS = 15 };

/* By the letter of a write.
   ?1 own id  ?2 run  ?3 task  ?4 now  ?5 number  ?6 payload  ?7 seq of a job */
extern const char *const raw_texts[RAW_LETTERS];
/* The repository that tasks refer to. */
extern const char raw_repository[];

/* The commands of one run, in order: submit with its admission, then a lease and a completion for
   each of prepare, hydrate, agent, verify, judge, publish and clean. */
struct raw_command {
    const char *loads, *writes;
    bool moves; /* Completes a step and enqueues the next one. */
};
extern const struct raw_command raw_commands[RAW_COMMANDS];
#endif
