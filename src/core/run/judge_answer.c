#include "core/run/judge_answer.h"
#include "base/js.h"
#include "core/text/prose.h"
#include <ctype.h>
#include <string.h>

enum { OBJECTS_TRIED_MAX = 200, RULE_MAX = 80, CATEGORY_MAX = 40, PATH_MAX_BYTES = 400 };

/* ---- finding it ---- */

/* Bytes of the object that begins here, by its brackets; 0: it does not end. */
static size_t object_bytes(struct str text)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && c == '{')
            depth++;
        else if (!in_string && c == '}' && --depth == 0)
            return i + 1;
    }
    return 0;
}

static struct js *parse_answer(struct str text)
{
    struct js *tree = NULL;
    if (js_parse(text.at, text.len, &tree, NULL) != RC_OK)
        return NULL;
    if (js_type(js_get(tree, "verdict")) == JS_STRING)
        return tree;
    js_free(tree);
    return NULL;
}

/* From the so many last brackets on: what is further back is not read. */
static struct str last_objects(struct str text)
{
    size_t from = text.len;
    for (int i = 0; i < OBJECTS_TRIED_MAX; i++) {
        const char *open = from > 0 ? memrchr(text.at, '{', from) : NULL;
        if (open == NULL)
            break;
        from = (size_t)(open - text.at);
    }
    return (struct str){text.at + from, text.len - from};
}

/* The last object with a verdict, the outer one of two; NULL: there is none. */
static struct js *find_answer(struct str text)
{
    struct js *found = parse_answer(text);
    if (found != NULL)
        return found;
    text = last_objects(text);
    while (text.len > 0) {
        size_t bytes = text.at[0] == '{' ? object_bytes(text) : 0;
        struct js *answer = bytes > 0 ? parse_answer((struct str){text.at, bytes}) : NULL;
        size_t step = answer != NULL ? bytes : 1;
        if (answer != NULL) {
            js_free(found);
            found = answer;
        }
        text = (struct str){text.at + step, text.len - step};
    }
    return found;
}

/* ---- reading it ---- */

static const char *line_of(const struct js *object, const char *key, size_t max,
                           struct arena *arena)
{
    const char *text = js_get_str(object, key, NULL);
    return text_empty(text) ? NULL : prose_line(arena, text, max);
}

/* A word for machines: what it cannot be is left out. */
static const char *category_of(const struct js *object, struct arena *arena)
{
    const char *text = js_get_str(object, "category", NULL);
    if (text_empty(text) || strlen(text) > CATEGORY_MAX)
        return NULL;
    char *word = arena_strdup(arena, text);
    for (char *at = word; *at != '\0'; at++) {
        if (*at == ' ' || *at == '-')
            *at = '_';
        if (!isalnum((unsigned char)*at) && *at != '_')
            return NULL;
        *at = (char)tolower((unsigned char)*at);
    }
    return word;
}

static void read_finding(const struct js *value, const char *category, struct arena *arena,
                         struct judgement *judgement)
{
    bool bare = js_type(value) == JS_STRING;
    const char *text = bare ? prose_line(arena, js_str(value, ""), JUDGE_TEXT_MAX)
                            : line_of(value, "text", JUDGE_TEXT_MAX, arena);
    if (text_empty(text))
        return;
    const char *rule = line_of(value, "rule", RULE_MAX, arena);
    const char *own = category_of(value, arena);
    judgement_add(judgement, (struct judge_finding){
                                 .rule = rule != NULL ? rule : "judge",
                                 .category = own != NULL ? own : category,
                                 .path = line_of(value, "path", PATH_MAX_BYTES, arena),
                                 .text = text,
                             });
}

enum rc judge_answer_read(struct str text, struct arena *arena, struct judgement *judgement,
                          struct err *err)
{
    CLEANUP(js_freep) struct js *answer = find_answer(text);
    if (answer == NULL)
        return err_set(err, RC_NOT_FOUND, "NO_ANSWER", "There is no verdict in its answer.");
    const char *verdict = js_get_str(answer, "verdict", "");
    if (!verdict_parse(verdict, &judgement->verdict))
        return err_set(err, RC_INVALID, "UNKNOWN_VERDICT", "Its verdict is not one of ours: %.40s",
                       prose_line(arena, verdict, CATEGORY_MAX));
    double score = js_num(js_get(answer, "score"), -1);
    judgement->scored = score >= 0 && score <= 1;
    judgement->score = judgement->scored ? score : 0;
    const char *category = category_of(answer, arena);
    const struct js *findings = js_get(answer, "findings");
    size_t count = js_type(findings) == JS_ARRAY ? js_count(findings) : 0;
    for (size_t i = 0; i < count && judgement->finding_count < JUDGE_FINDINGS_MAX; i++)
        read_finding(js_at(findings, i), category, arena, judgement);
    return RC_OK;
}
