#include "core/publish_parts.h"
#include "base/str.h"
#include "core/report_shape.h"
#include <assert.h>
#include <string.h>

const char *const publish_part_names[PART_COUNT + 1] = {
    [PART_BRANCH] = "branch",       [PART_PULL_REQUEST] = "pull_request", [PART_LABELS] = "labels",
    [PART_REVIEWERS] = "reviewers", [PART_CERTIFICATE] = "certificate",   [PART_READY] = "ready",
    [PART_APPROVAL] = "approval",   [PART_RECORDED] = "recorded",         [PART_COUNT] = NULL,
};
const char *const part_outcome_names[PART_OUTCOME_COUNT + 1] = {
    [PART_FAILED] = "failed",   [PART_DONE] = "done",        [PART_FOUND] = "found",
    [PART_REFUSED] = "refused", [PART_OUTCOME_COUNT] = NULL,
};

static const struct report_field part_fields[] = {
    {"part", KIND_CHOICE, REQUIRED, .choices = publish_part_names},
    {"outcome", KIND_CHOICE, REQUIRED, .choices = part_outcome_names},
    {"detail", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
};
const struct report_shape publish_parts_shape = REPORT_SHAPE(part_fields);

/* Those behind it have not been tried in this try. */
static struct publish_part_state *place_of(struct publish_parts *parts, enum publish_part part)
{
    size_t at = 0;
    assert((unsigned)part < PART_COUNT);
    while (at < parts->count && parts->items[at].part < part)
        at++;
    if (at == parts->count || parts->items[at].part != part)
        parts->items[at] = (struct publish_part_state){.part = part};
    parts->count = at + 1;
    return &parts->items[at];
}

void publish_part_begin(struct publish_parts *parts, enum publish_part part)
{
    if (parts != NULL)
        place_of(parts, part)->outcome = PART_FAILED;
}

void publish_part_end(struct publish_parts *parts, enum publish_part part,
                      enum part_outcome outcome, const char *detail)
{
    if (parts == NULL)
        return;
    struct publish_part_state *state = place_of(parts, part);
    state->outcome = outcome;
    state->detail = detail;
}

enum rc publish_part_try(struct publish_parts *parts, enum publish_part part, enum rc rc)
{
    publish_part_end(parts, part, rc == RC_OK ? PART_DONE : PART_FAILED, NULL);
    return rc;
}

void publish_parts_fail(struct publish_parts *parts, const char *detail)
{
    const struct publish_part_state *last = parts->count > 0 ? &parts->items[parts->count - 1]
                                                             : NULL;
    enum publish_part part = PART_BRANCH;
    if (last != NULL)
        part = last->outcome == PART_FAILED || last->part == PART_RECORDED
                   ? last->part
                   : (enum publish_part)(last->part + 1);
    publish_part_end(parts, part, PART_FAILED, detail);
}

bool publish_part_undone(enum publish_part part)
{
    return part == PART_BRANCH || part == PART_PULL_REQUEST;
}

void publish_parts_write(struct jw *jw, const struct publish_parts *parts)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < parts->count; i++) {
        const struct publish_part_state *state = &parts->items[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "part", publish_part_names[state->part]);
        jw_kstr(jw, "outcome", part_outcome_names[state->outcome]);
        if (!text_empty(state->detail))
            jw_kstr(jw, "detail", state->detail);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static size_t index_of(const char *const *names, const char *name)
{
    size_t at = 0;
    while (names[at] != NULL && !text_same(names[at], name))
        at++;
    return at;
}

void publish_parts_read(const struct js *array, struct publish_parts *ret_parts)
{
    *ret_parts = (struct publish_parts){.count = 0};
    for (size_t i = 0; i < js_count(array); i++) {
        const struct js *item = js_at(array, i);
        size_t part = index_of(publish_part_names, js_get_str(item, "part", ""));
        size_t outcome = index_of(part_outcome_names, js_get_str(item, "outcome", ""));
        bool in_order = ret_parts->count == 0 ||
                        ret_parts->items[ret_parts->count - 1].part < (enum publish_part)part;
        if (part < PART_COUNT && outcome < PART_OUTCOME_COUNT && in_order)
            publish_part_end(ret_parts, (enum publish_part)part, (enum part_outcome)outcome,
                             js_get_str(item, "detail", NULL));
    }
}

char *publish_parts_text(const struct publish_parts *parts, struct arena *arena)
{
    char *text = arena_strdup(arena, "");
    for (size_t i = 0; i < parts->count; i++) {
        const struct publish_part_state *state = &parts->items[i];
        bool tells = state->detail != NULL &&
                     (state->outcome == PART_FAILED || state->outcome == PART_REFUSED);
        const char *name = state->part == PART_PULL_REQUEST ? "pull request"
                                                            : publish_part_names[state->part];
        text = arena_printf(arena, "%s%s%s %s%s%s", text, i > 0 ? ", " : "", name,
                            part_outcome_names[state->outcome], tells ? ": " : "",
                            tells ? state->detail : "");
    }
    return text;
}
