/*
 * pattern_match.c - the program of a pattern, run over a text.
 *
 * Before each character the list holds every step that waits for one.  Each step is on a list once,
 * so that a character costs at most as many moves as there are steps.
 */
#include "core/text/pattern_parts.h"

/* Steps that wait for a character. */
struct list {
    uint16_t steps[PATTERN_STEPS_MAX];
    size_t count;
};

struct runner {
    const struct pattern *pattern;
    struct str text;
    int64_t *moves;
    size_t round;
    size_t marks[PATTERN_STEPS_MAX]; /* The round in which a step was reached last. */
    uint16_t open[PATTERN_STEPS_MAX + 1];
    uint32_t before; /* The character before this place, */
    size_t at;       /* and the place. */
    bool matched;
};

/* ---- sets ---- */

static bool table_has(const struct pattern_table *table, uint32_t c)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c > table->ranges[middle].last)
            low = middle + 1;
        else if (c < table->ranges[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

static bool range_has(const struct pattern_range *range, uint32_t c)
{
    if (range->first <= UNICODE_MAX)
        return c >= range->first && c <= range->last;
    bool letter = (range->first & ~(uint32_t)PATTERN_INVERTED) == PATTERN_LETTER;
    return table_has(letter ? &pattern_letters : &pattern_numbers, c) !=
           ((range->first & PATTERN_INVERTED) != 0);
}

static bool set_has(const struct pattern *pattern, const struct pattern_step *step, uint32_t c)
{
    for (int i = 0; i < step->y; i++) {
        if (range_has(&pattern->ranges[step->x + i], c))
            return !step->inverted;
    }
    return step->inverted;
}

/* ---- the run ---- */

static bool is_edge(const struct runner *runner)
{
    size_t at = runner->at;
    bool before = at > 0 && pattern_is_word(runner->before);
    bool after = at < runner->text.len && pattern_is_word(pattern_char(runner->text, &at));
    return before != after;
}

static bool holds(const struct runner *runner, enum pattern_op op)
{
    switch (op) {
    case OP_START:
        return runner->at == 0;
    case OP_END:
        return runner->at == runner->text.len;
    default:
        return is_edge(runner) == (op == OP_EDGE);
    }
}

/* Adds the step, and what is reached from it without a character.  Every step is marked when it is
   put on the stack, so the stack has room for all. */
static void reach(struct runner *runner, size_t first, struct list *list)
{
    size_t open = 0;
    if (runner->marks[first] != runner->round) {
        runner->marks[first] = runner->round;
        runner->open[open++] = (uint16_t)first;
    }
    while (open > 0) {
        size_t place = runner->open[--open];
        const struct pattern_step *step = &runner->pattern->steps[place];
        int ways[2] = {step->x, step->y};
        int count = step->op == OP_SPLIT ? 2 : 1;
        --*runner->moves;
        if (step->op == OP_SET) {
            list->steps[list->count++] = (uint16_t)place;
            continue;
        }
        if (step->op == OP_MATCH) {
            runner->matched = true;
            continue;
        }
        if (step->op != OP_SPLIT && step->op != OP_GO) {
            ways[0] = 1;
            count = holds(runner, step->op) ? 1 : 0;
        }
        for (int i = 0; i < count; i++) {
            size_t next = place + (size_t)ways[i]; /* Back for a negative one. */
            if (runner->marks[next] == runner->round)
                continue;
            runner->marks[next] = runner->round;
            runner->open[open++] = (uint16_t)next;
        }
    }
}

bool pattern_matches(const struct pattern *pattern, struct str text, int64_t *moves)
{
    struct runner runner = {.pattern = pattern, .text = text, .moves = moves, .round = 1};
    struct list lists[2];
    struct list *now = &lists[0], *next = &lists[1];
    now->count = 0;
    reach(&runner, 0, now);
    while (!runner.matched && runner.at < text.len && *moves >= 0) {
        uint32_t c = pattern_char(text, &runner.at);
        runner.before = c;
        runner.round++;
        next->count = 0;
        for (size_t i = 0; i < now->count; i++) {
            const struct pattern_step *step = &pattern->steps[now->steps[i]];
            *moves -= step->y;
            if (set_has(pattern, step, c))
                reach(&runner, (size_t)now->steps[i] + 1, next);
        }
        reach(&runner, 0, next); /* It may begin anywhere. */
        struct list *list = now;
        now = next;
        next = list;
    }
    return runner.matched && *moves >= 0;
}
