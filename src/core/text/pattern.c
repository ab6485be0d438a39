/*
 * pattern.c - a pattern becomes a program.
 *
 *   alternatives := sequence ("|" sequence)*
 *   sequence     := (atom times?)*
 *   atom         := "(" alternatives ")" | "^" | "$" | \b | \B | set
 *
 * Ways are relative to their step, so that a part of the program can be moved and copied: x{2,3} is
 * x x x?.
 */
#include "core/text/pattern_parts.h"
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 3, DEPTH_MAX = 30 };

enum rc pattern_refuse(const struct pattern_reader *reader, const char *why)
{
    return err_set(reader->err, RC_INVALID, "INVALID_PATTERN", "%s at \"%.20s\"", why, reader->at);
}

enum rc pattern_add(struct pattern_reader *reader, struct pattern_step step)
{
    struct pattern *pattern = reader->pattern;
    if (pattern->step_count == PATTERN_STEPS_MAX)
        return pattern_refuse(reader, "the pattern is too long");
    pattern->work++;
    pattern->steps[pattern->step_count++] = step;
    return RC_OK;
}

/* Puts a step before those from place on. */
static enum rc insert(struct pattern_reader *reader, size_t place, struct pattern_step step)
{
    struct pattern *pattern = reader->pattern;
    size_t behind = pattern->step_count - place;
    enum rc rc = pattern_add(reader, step);
    if (rc != RC_OK)
        return rc;
    memmove(pattern->steps + place + 1, pattern->steps + place, behind * sizeof step);
    pattern->steps[place] = step;
    return RC_OK;
}

/* ---- times ---- */

struct times {
    size_t min, max;
    bool endless;
};

static bool read_count(struct pattern_reader *reader, size_t *ret_count)
{
    size_t digits = strspn(reader->at, "0123456789");
    if (digits == 0 || digits > DIGITS_MAX)
        return false;
    *ret_count = strtoul(reader->at, NULL, 10);
    reader->at += digits;
    return true;
}

static enum rc read_braces(struct pattern_reader *reader, struct times *times)
{
    reader->at++;
    bool good = read_count(reader, &times->min);
    times->max = times->min;
    if (good && *reader->at == ',') {
        reader->at++;
        times->endless = *reader->at == '}';
        good = times->endless || read_count(reader, &times->max);
    }
    if (!good || *reader->at != '}' || times->max < times->min)
        return pattern_refuse(reader, "{N}, {N,} or {N,M} of at most 3 digits is expected");
    reader->at++;
    return RC_OK;
}

static enum rc read_times(struct pattern_reader *reader, struct times *ret_times)
{
    *ret_times = (struct times){1, 1, false};
    enum rc rc = RC_OK;
    switch (*reader->at) {
    case '*':
        *ret_times = (struct times){0, 0, true};
        reader->at++;
        break;
    case '+':
        *ret_times = (struct times){1, 1, true};
        reader->at++;
        break;
    case '?':
        *ret_times = (struct times){0, 1, false};
        reader->at++;
        break;
    case '{':
        rc = read_braces(reader, ret_times);
        break;
    default:
        return RC_OK;
    }
    if (*reader->at == '?') /* As few as possible: the same texts match. */
        reader->at++;
    return rc;
}

static enum rc add_copy(struct pattern_reader *reader, const struct pattern_step *part, size_t len)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < len; i++)
        rc = pattern_add(reader, part[i]);
    return rc;
}

/* Puts the part from first to the end there as often as it may be repeated. */
static enum rc repeat(struct pattern_reader *reader, size_t first, const struct times *times)
{
    struct pattern_step part[PATTERN_STEPS_MAX];
    struct pattern *pattern = reader->pattern;
    size_t len = pattern->step_count - first;
    const int16_t behind = (int16_t)(len + 1);
    enum rc rc = RC_OK;
    memcpy(part, pattern->steps + first, len * sizeof *part);
    pattern->work += len;
    pattern->step_count = first;
    for (size_t i = 0; rc == RC_OK && i < times->max; i++) {
        if (i >= times->min)
            rc = pattern_add(reader, (struct pattern_step){.op = OP_SPLIT, .x = 1, .y = behind});
        if (rc == RC_OK)
            rc = add_copy(reader, part, len);
    }
    if (rc != RC_OK || !times->endless)
        return rc;
    rc = pattern_add(reader,
                     (struct pattern_step){.op = OP_SPLIT, .x = 1, .y = (int16_t)(behind + 1)});
    if (rc == RC_OK)
        rc = add_copy(reader, part, len);
    if (rc == RC_OK)
        rc = pattern_add(reader, (struct pattern_step){.op = OP_GO, .x = (int16_t)-behind});
    return rc;
}

/* ---- parts ---- */

static enum rc read_alternatives(struct pattern_reader *reader);

/* Behind "(?": names do not matter, since nothing refers to a group. */
static enum rc read_group_kind(struct pattern_reader *reader)
{
    if (*reader->at == ':') {
        reader->at++;
        return RC_OK;
    }
    size_t name = reader->at[0] == '<' ? strcspn(reader->at, ">") : 0;
    if (name < 2 || reader->at[1] == '=' || reader->at[1] == '!' || reader->at[name] != '>')
        return pattern_refuse(reader, "looking ahead or behind is not supported");
    reader->at += name + 1;
    return RC_OK;
}

static enum rc read_group(struct pattern_reader *reader)
{
    enum rc rc = RC_OK;
    if (++reader->depth > DEPTH_MAX)
        return pattern_refuse(reader, "groups are nested too deep");
    reader->at++;
    if (*reader->at == '?') {
        reader->at++;
        rc = read_group_kind(reader);
    }
    if (rc == RC_OK)
        rc = read_alternatives(reader);
    if (rc == RC_OK && *reader->at != ')')
        rc = pattern_refuse(reader, ") is expected");
    reader->at++;
    reader->depth--;
    return rc;
}

/* ^, $, \b and \B, which take no character; false: it is none of them. */
static bool read_assertion(struct pattern_reader *reader, enum pattern_op *ret_op)
{
    static const struct {
        const char *text;
        enum pattern_op op;
    } assertions[] = {{"^", OP_START}, {"$", OP_END}, {"\\b", OP_EDGE}, {"\\B", OP_NO_EDGE}};
    for (size_t i = 0; i < COUNT_OF(assertions); i++) {
        if (text_starts(reader->at, assertions[i].text)) {
            reader->at += strlen(assertions[i].text);
            *ret_op = assertions[i].op;
            return true;
        }
    }
    return false;
}

static enum rc read_part(struct pattern_reader *reader)
{
    size_t first = reader->pattern->step_count;
    struct times times;
    enum pattern_op op;
    if (read_assertion(reader, &op))
        return pattern_add(reader, (struct pattern_step){.op = (uint8_t)op});
    if (strchr("*+?{}", *reader->at) != NULL)
        return pattern_refuse(reader, "\\ is needed before this character");
    enum rc rc = *reader->at == '(' ? read_group(reader) : pattern_read_set(reader);
    if (rc == RC_OK)
        rc = read_times(reader, &times);
    if (rc != RC_OK || (times.min == 1 && times.max == 1 && !times.endless))
        return rc;
    return repeat(reader, first, &times);
}

/* The last step of every alternative but the last goes behind all of them; until that place is
   known, x of each is the distance to the one before it. */
static enum rc read_alternatives(struct pattern_reader *reader)
{
    struct pattern *pattern = reader->pattern;
    size_t first = pattern->step_count, last_go = SIZE_MAX;
    enum rc rc = RC_OK;
    while (rc == RC_OK && *reader->at != '\0' && *reader->at != ')') {
        if (*reader->at != '|') {
            rc = read_part(reader);
            continue;
        }
        reader->at++;
        int16_t behind = (int16_t)(pattern->step_count - first + 2);
        rc = insert(reader, first, (struct pattern_step){.op = OP_SPLIT, .x = 1, .y = behind});
        int16_t before = last_go == SIZE_MAX ? 0 : (int16_t)(pattern->step_count - last_go);
        last_go = pattern->step_count;
        if (rc == RC_OK)
            rc = pattern_add(reader, (struct pattern_step){.op = OP_GO, .x = before});
        first = pattern->step_count;
    }
    while (rc == RC_OK && last_go != SIZE_MAX) {
        size_t before = (size_t)pattern->steps[last_go].x;
        pattern->steps[last_go].x = (int16_t)(pattern->step_count - last_go);
        last_go = before == 0 ? SIZE_MAX : last_go - before;
    }
    return rc;
}

enum rc pattern_read(const char *text, struct pattern *ret_pattern, struct err *err)
{
    struct pattern_reader reader = {.at = text, .pattern = ret_pattern, .err = err};
    ret_pattern->step_count = ret_pattern->range_count = ret_pattern->work = 0;
    if (strlen(text) > PATTERN_TEXT_MAX)
        return pattern_refuse(&reader, "the pattern is too long");
    enum rc rc = read_alternatives(&reader);
    if (rc == RC_OK && *reader.at == ')')
        rc = pattern_refuse(&reader, "\\ is needed before this character");
    return rc == RC_OK ? pattern_add(&reader, (struct pattern_step){.op = OP_MATCH}) : rc;
}
