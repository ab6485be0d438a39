#include "work/job/slots.h"
#include "base/str.h"
#include <assert.h>
#include <string.h>

enum { NUMBER_BYTES = 8 };

static const struct {
    const char *name;
    int at_least;
} classes[STEP_CLASS_COUNT] = {
    [CLASS_AGENT] = {"agent", 1},
    [CLASS_CHECK] = {"check", 1},
    [CLASS_SHORT] = {"short", 2},
};

const char *class_name(enum step_class class)
{
    assert((unsigned)class < STEP_CLASS_COUNT);
    return classes[class].name;
}

static bool read_count(struct str text, int *ret_count)
{
    char number[NUMBER_BYTES];
    int64_t count = 0;
    if (text.len == 0 || text.len >= sizeof number)
        return false;
    memcpy(number, text.at, text.len);
    number[text.len] = '\0';
    if (!text_to_i64(number, &count) || count < 1 || count > CLASS_SLOTS_MAX)
        return false;
    *ret_count = (int)count;
    return true;
}

/* "check=4" */
static bool read_class(struct str text, struct slots *slots)
{
    for (int i = 0; i < STEP_CLASS_COUNT; i++) {
        size_t len = strlen(classes[i].name);
        if (text.len > len && memcmp(text.at, classes[i].name, len) == 0 && text.at[len] == '=')
            return slots->of[i] == 0 &&
                   read_count((struct str){text.at + len + 1, text.len - len - 1}, &slots->of[i]);
    }
    return false;
}

enum rc slots_parse(const char *text, int *ret_plain, struct slots *ret_slots, struct err *err)
{
    struct slots slots = {0};
    int plain = 0;
    bool good = true;
    if (strchr(text, '=') == NULL)
        good = read_count(str_of(text), &plain);
    for (const char *at = strchr(text, '=') != NULL ? text : NULL; at != NULL && good;) {
        const char *comma = strchr(at, ',');
        good = read_class((struct str){at, comma != NULL ? (size_t)(comma - at) : strlen(at)},
                          &slots);
        at = comma != NULL ? comma + 1 : NULL;
    }
    if (!good)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "slots",
                         "slots must be a number from 1 to %d, or such numbers by class: "
                         "agent=8,check=4,short=2; not %.100s",
                         CLASS_SLOTS_MAX, text);
    *ret_plain = plain;
    *ret_slots = slots;
    return RC_OK;
}

static bool serves(const char *const *queues, enum step_class class)
{
    for (; *queues != NULL; queues++)
        if (step_class_of(*queues) == class)
            return true;
    return false;
}

void slots_fill(struct slots *slots, int plain, const char *const *queues)
{
    bool first = true;
    int half = 0;
    for (int i = 0; i < STEP_CLASS_COUNT; i++) {
        int *count = &slots->of[i];
        if (!serves(queues, (enum step_class)i)) {
            *count = 0;
            continue;
        }
        if (*count == 0 && first)
            *count = plain;
        if (*count == 0)
            *count = half > classes[i].at_least ? half : classes[i].at_least;
        if (first)
            half = *count / 2;
        first = false;
    }
}

enum step_class slots_main(const struct slots *slots)
{
    int found = 0;
    while (found < STEP_CLASS_COUNT - 1 && slots->of[found] == 0)
        found++;
    return (enum step_class)found;
}
