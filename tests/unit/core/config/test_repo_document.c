/*
 * test_repo_document.c - schema and decoder of a repository's configuration say the same, and its
 * layers come out with their origins.
 */
#include "base/merge_patch.h"
#include "core/config/repo_config.h"
#include "core/config/repo_document.h"
#include "core/config/schema.h"
#include "core/config/schema_text.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

static const char minimal[] = "{\"url\":\"/srv/x.git\",\"agent\":{\"command\":[\"true\"]}}";

static struct arena arena;

static void reset(void)
{
    arena_release(&arena);
}

/* Tables are easier to read with ' for ". */
static struct str quoted(const char *text)
{
    char *json = arena_strdup(&arena, text);
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    return str_of(json);
}

static struct js *parse(struct str text)
{
    struct js *tree = NULL;
    struct err err = {0};
    ck_assert_msg(js_parse(text.at, text.len, &tree, &err) == RC_OK, "%s: %s", text.at, err.text);
    return tree;
}

static enum rc decode(const struct js *document, struct repo_config *ret_config)
{
    struct err err = {0};
    return repo_config_decode(document, NULL, &arena, ret_config, &err);
}

static bool schema_fits(const struct js *document)
{
    CLEANUP(schema_release) struct schema schema = {0};
    struct err err = {0};
    struct faults faults = {0};
    ck_assert_int_eq(schema_open(&schema, schema_text_of("repository"), &err), RC_OK);
    return schema_check(&schema, document, &(struct schema_options){.null_is_absent = true}, &arena,
                        &faults);
}

START_TEST(every_schema_opens)
{
    size_t count = 0;
    for (const struct schema_text *each = schema_texts; each->name != NULL; each++, count++) {
        CLEANUP(schema_release) struct schema schema = {0};
        struct err err = {0};
        ck_assert_msg(schema_open(&schema, each->json, &err) == RC_OK, "%s: %s", each->name,
                      err.text);
        ck_assert_str_ne(js_get_str(schema.tree, "title", ""), "");
    }
    ck_assert_uint_ge(count, 2);
    ck_assert_uint_eq(schema_text_of("nothing").len, 0);
}
END_TEST

START_TEST(examples_of_the_schema_decode)
{
    CLEANUP(js_freep) struct js *schema = parse(schema_text_of("repository"));
    const struct js *examples = js_get(schema, "examples");
    ck_assert_uint_ge(js_count(examples), 4);
    for (size_t i = 0; i < js_count(examples); i++) {
        struct faults faults = {0};
        struct err err = {0};
        ck_assert_msg(repo_document_check(js_at(examples, i), &arena, &faults, &err) == RC_OK,
                      "example %zu: %s", i, err.text);
    }
}
END_TEST

/* Every field is in an example, so that the test above has seen it. */
static void look_for(const struct js *schema, const char *examples)
{
    size_t at = 0;
    const char *key;
    const struct js *below;
    const struct js *properties = js_get(schema, "properties");
    while (properties != NULL && js_next(properties, &at, &key, &below)) {
        const char *wanted = arena_printf(&arena, "\"%s\":", key);
        ck_assert_msg(strstr(examples, wanted) != NULL, "no example has %s", key);
        look_for(below, examples);
        look_for(js_get(below, "items"), examples);
    }
}

START_TEST(examples_have_every_field)
{
    CLEANUP(js_freep) struct js *schema = parse(schema_text_of("repository"));
    const char *examples = js_text(js_get(schema, "examples"), &arena);
    size_t at = 0;
    const char *name;
    const struct js *below;
    look_for(schema, examples);
    const struct js *definitions = js_get(schema, "$defs");
    while (js_next(definitions, &at, &name, &below))
        look_for(below, examples);
}
END_TEST

/* ---- ranges ---- */

static const struct js *resolve(const struct js *root, const struct js *schema)
{
    const char *ref = js_get_str(schema, "$ref", NULL);
    return ref != NULL ? js_get(js_get(root, "$defs"), ref + strlen("#/$defs/")) : schema;
}

/* The base document with one value at a path of objects. */
static struct js *with_value(const char *base, const char *path, const char *value)
{
    struct buf patch;
    struct str text;
    struct err err = {0};
    size_t depth = 1;
    buf_init(&patch, 4096);
    buf_adds(&patch, "{\"");
    for (const char *at = path; *at != '\0'; at++) {
        if (*at == '.') {
            buf_adds(&patch, "\":{\"");
            depth++;
        } else {
            buf_addc(&patch, *at);
        }
    }
    buf_addf(&patch, "\":%s", value);
    for (; depth > 0; depth--)
        buf_addc(&patch, '}');
    CLEANUP(js_freep) struct js *tree = parse(buf_str(&patch));
    ck_assert_int_eq(merge_patch(str_of(base), tree, &arena, &text, &err), RC_OK);
    buf_release(&patch);
    return parse(text);
}

static void expect_both(const char *base, const char *path, const char *value, bool good)
{
    struct repo_config *config = arena_alloc(&arena, sizeof *config);
    CLEANUP(js_freep) struct js *document = with_value(base, path, value);
    ck_assert_msg(schema_fits(document) == good, "schema: %s = %s", path, value);
    ck_assert_msg((decode(document, config) == RC_OK) == good, "decoder: %s = %s", path, value);
}

static void try_range(const char *base, const struct js *schema, const char *path)
{
    int64_t low = js_get_int(schema, "minimum", 0), high = js_get_int(schema, "maximum", 0);
    const int64_t values[] = {low - 1, low, high, high + 1};
    for (size_t i = 0; i < COUNT_OF(values); i++)
        expect_both(base, path, arena_printf(&arena, "%lld", (long long)values[i]),
                    i == 1 || i == 2);
}

/* Every integer, choice and flag that stands in nested objects. */
static size_t try_fields(const struct js *root, const struct js *schema, const char *path)
{
    static const char remote[] =
        "{\"url\":\"/x\",\"agent\":{\"compute\":\"remote\",\"remote\":{\"url\":\"http://h/\"}}}";
    static const char hosted[] =
        "{\"url\":\"https://h/a/b\",\"forge\":\"github\",\"agent\":{\"command\":[\"a\"]},"
        "\"credentials\":{\"app\":{\"id\":1,\"keyFile\":\"/k\"},"
        "\"reviewerApp\":{\"id\":1,\"keyFile\":\"/k\"}}}";
    size_t at = 0, tried = 0;
    const char *key;
    const struct js *below;
    const struct js *properties = js_get(schema, "properties");
    while (properties != NULL && js_next(properties, &at, &key, &below)) {
        const char *here = arena_printf(&arena, "%s%s%s", path, *path ? "." : "", key);
        const struct js *field = resolve(root, below);
        const char *base = minimal;
        if (strstr(path, "remote") != NULL)
            base = remote;
        if (text_same(here, "forge"))
            base = "{\"url\":\"https://h/a/b\",\"agent\":{\"command\":[\"a\"]}}";
        if (text_starts(here, "credentials"))
            base = hosted;
        const char *type = js_str(js_get(field, "type"), "");
        const struct js *choices = js_get(field, "enum");
        tried += try_fields(root, field, here);
        if (text_same(type, "integer"))
            try_range(base, field, here);
        if (text_same(type, "boolean"))
            expect_both(base, here, "\"yes\"", false);
        for (size_t i = 0; !text_same(key, "compute") && i < js_count(choices); i++)
            expect_both(base, here, js_text(js_at(choices, i), &arena), true);
        if (choices != NULL)
            expect_both(base, here, "\"surprise\"", false);
        if (text_same(type, "object"))
            expect_both(base, arena_printf(&arena, "%s.surprise", here), "1", false);
        tried++;
    }
    return tried;
}

START_TEST(schema_and_decoder_take_the_same_ranges_and_choices)
{
    CLEANUP(js_freep) struct js *schema = parse(schema_text_of("repository"));
    ck_assert_uint_gt(try_fields(schema, schema, ""), 60);
}
END_TEST

/* ---- bad documents ---- */

static const struct {
    const char *path, *value, *fault; /* Of the schema; the decoder refuses it too. */
} bad[] = {
    {"url", "7", "url: must be a string, not an integer"},
    {"url", "''", "url: must not be empty"},
    {"surprise", "1", "surprise: is not known here; allowed: "},
    {"verfy", "[]", "verfy: is not known here; did you mean verify? allowed: "},
    {"agent", "[]", "agent: must be an object, not an array"},
    {"agent.adapter", "'cluade'",
     "agent.adapter: \"cluade\" is not known; allowed: none, ndjson, claude, codex, gemini, "
     "copilot, "
     "cursor, opencode, goose, amp, text, acp (did you mean claude?)"},
    {"agent.command", "[]", "agent.command: must not be empty"},
    {"agent.command", "'true'", "agent.command: must be an array, not a string"},
    {"agent.command", "['a',1]", "agent.command[1]: must be a string, not an integer"},
    {"agent.compute", "'remote'", "agent.remote: is required"},
    {"agent.env", "['A-B']", "agent.env[0]: \"A-B\" does not fit ^[A-Za-z_][A-Za-z0-9_]*$"},
    {"agent.mounts", "[{'path':'x'}]", "agent.mounts[0].path: \"x\" does not fit ^/."},
    {"agent.mounts", "[{}]", "agent.mounts[0].path: is required"},
    {"agent.home", "'home'", "agent.home: \"home\" does not fit ^/."},
    {"agent.account", "'A b'", "agent.account: \"A b\" does not fit ^[a-z0-9_-]+$"},
    {"credentials.forge", "'a b'",
     "credentials.forge: \"a b\" does not fit ^[A-Za-z_][A-Za-z0-9_]*$"},
    {"credentials.git", "'X'", "credentials.git: is not known here; allowed: forge"},
    {"verify", "[{'name':'unit'}]", "verify[0].command: is required"},
    {"verify", "[{'name':'Unit','command':'x'}]",
     "verify[0].name: \"Unit\" does not fit ^[a-z0-9_-]+$"},
    {"verify", "[{'name':'a','command':'x','timoutMs':5}]",
     "verify[0].timoutMs: is not known here; did you mean timeoutMs? allowed: name, command, "
     "timeoutSeconds, timeoutMs, parallel, optional, outputs"},
    {"verify", "[{'name':'a','command':'x','timeoutMs':0}]",
     "verify[0].timeoutMs: must be between 1 and 2592000000, not 0"},
    {"verify", "[{'name':'a','command':'x','timeoutMs':5,'timeoutSeconds':5}]",
     "verify[0]: takes timeoutMs or timeoutSeconds, not both"},
    {"verify", "[1]", "verify[0]: must be an object, not an integer"},
    {"judge", "[{}]", "judge[0]: needs one of rules, command, model"},
    {"judge", "[{'rules':{},'command':'x'}]", "judge[0]: may have only one of rules, command, "},
    {"judge", "[{'rules':{},'minScore':1}]", "judge[0].minScore: is not allowed here"},
    {"judge", "[{'command':'x'}]", "judge[0].name: is required"},
    {"judge", "[{'name':'a','command':'x','minScore':2}]",
     "judge[0].minScore: must be between 0 and 1, not 2"},
    {"judge", "[{'name':'a','model':{'url':'http://h/','model':'m'}}]",
     "judge[0].model.api: is required"},
    {"judge", "[{'rules':{'forbiddenPaths':['']}}]",
     "judge[0].rules.forbiddenPaths[0]: must not be empty"},
    {"limits.maxBudgetUsd", "0", "limits.maxBudgetUsd: must be between 0.01 and 100, not 0"},
    {"steps", "[{'name':'a'}]", "steps[0]: needs one of command, url"},
    {"steps", "[{'name':'a','command':'x','url':'http://h/'}]",
     "steps[0]: may have only one of command, url"},
    {"steps", "[{'name':'a','command':'x','config':1}]",
     "steps[0].config: must be an object, not an integer"},
    {"sequence", "[]", "sequence: must not be empty"},
    {"sequence", "[1]", "sequence[0]: must be a string, not an integer"},
    {"plan.command", "[]", "plan.command: must not be empty"},
    {"prompt.rules", "['']", "prompt.rules[0]: must not be empty"},
};

START_TEST(bad_documents_are_refused_by_both)
{
    struct repo_config *config = arena_alloc(&arena, sizeof *config);
    struct faults faults = {0};
    struct err err = {0};
    CLEANUP(js_freep)
    struct js *document = with_value(minimal, bad[_i].path, quoted(bad[_i].value).at);
    ck_assert_msg(decode(document, config) == RC_INVALID, "the decoder takes %s", bad[_i].value);
    ck_assert_int_eq(repo_document_check(document, &arena, &faults, &err), RC_INVALID);
    ck_assert_str_eq(err.code, "INVALID_CONFIGURATION");
    ck_assert_uint_ge(faults.count, 1);
    const char *told = arena_printf(&arena, "%s: %s", faults.items[0].path,
                                    faults.items[0].message);
    ck_assert_msg(text_starts(told, bad[_i].fault), "%s, not %s", told, bad[_i].fault);
}
END_TEST

/* What only the decoder knows. */
static const struct {
    const char *path, *value, *field, *code;
} meaningless[] = {
    {"url", "'ftp://x'", "url", "INVALID_CONFIGURATION"},
    {"defaultBranch", "'a..b'", "defaultBranch", "INVALID_CONFIGURATION"},
    {"verify", "[{'name':'a','command':'x'},{'name':'a','command':'y'}]", "verify[1].name",
     "INVALID_CONFIGURATION"},
    {"agent.queue", "'agents'", "agent.queue", "INVALID_CONFIGURATION"},
    {"sequence", "['verify','agent']", "sequence", "INVALID_STEP_SEQUENCE"},
};

START_TEST(documents_without_meaning_are_refused_with_the_place)
{
    struct faults faults = {0};
    struct err err = {0};
    CLEANUP(js_freep)
    struct js *document = with_value(minimal, meaningless[_i].path,
                                     quoted(meaningless[_i].value).at);
    ck_assert(schema_fits(document));
    ck_assert_int_eq(repo_document_check(document, &arena, &faults, &err), RC_INVALID);
    ck_assert_str_eq(err.code, meaningless[_i].code);
    ck_assert_uint_eq(faults.count, 1);
    ck_assert_str_eq(faults.items[0].path, meaningless[_i].field);
}
END_TEST

/* ---- defaults ---- */

static void same_texts(const char *const *a, const char *const *b)
{
    for (; *a != NULL && *b != NULL; a++, b++)
        ck_assert_str_eq(*a, *b);
    ck_assert(*a == NULL && *b == NULL);
}

START_TEST(defaults_of_the_schema_are_those_of_the_decoder)
{
    struct repo_config *plain = arena_alloc(&arena, sizeof *plain);
    struct repo_config *filled = arena_alloc(&arena, sizeof *filled);
    struct err err = {0};
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *document = parse(str_of(minimal));
    buf_init(&text, 1 << 16);
    struct jw jw = jw_to(&text);
    ck_assert_int_eq(repo_document_fill(document, &jw, &err), RC_OK);
    CLEANUP(js_freep) struct js *whole = parse(buf_str(&text));
    ck_assert_int_eq(decode(document, plain), RC_OK);
    ck_assert_int_eq(decode(whole, filled), RC_OK);
    ck_assert_int_eq(memcmp(&plain->timeouts, &filled->timeouts, sizeof plain->timeouts), 0);
    ck_assert_int_eq(memcmp(&plain->limits, &filled->limits, sizeof plain->limits), 0);
    ck_assert_int_eq(memcmp(&plain->budget, &filled->budget, sizeof plain->budget), 0);
    ck_assert_int_eq(memcmp(&plain->policy, &filled->policy, sizeof plain->policy), 0);
    ck_assert_int_eq(
        memcmp(&plain->agent.resources, &filled->agent.resources, sizeof plain->agent.resources),
        0);
    ck_assert_int_eq(plain->agent.compute, filled->agent.compute);
    ck_assert_int_eq(plain->agent.adapter, filled->agent.adapter);
    ck_assert_int_eq(plain->agent.prompt, filled->agent.prompt);
    ck_assert_int_eq(plain->agent.network, filled->agent.network);
    ck_assert_int_eq(plain->approval, filled->approval);
    ck_assert_int_eq(plain->plan.enabled, filled->plan.enabled);
    ck_assert_int_eq(plain->prompt.token_budget, filled->prompt.token_budget);
    ck_assert_int_eq(plain->prompt.memory, filled->prompt.memory);
    ck_assert_str_eq(plain->default_branch, filled->default_branch);
    ck_assert_str_eq(plain->forge, filled->forge);
    same_texts(plain->prompt.rules, filled->prompt.rules);
    ck_assert_int_eq(js_get_int(js_get(whole, "timeouts"), "agentMs", 0), 3600000);
}
END_TEST

START_TEST(defaults_inside_of_remote_and_lists_are_those_of_the_decoder)
{
    struct repo_config *config = arena_alloc(&arena, sizeof *config);
    CLEANUP(js_freep) struct js *schema = parse(schema_text_of("repository"));
    const struct js *definitions = js_get(schema, "$defs");
    CLEANUP(js_freep)
    struct js *document = parse(
        quoted("{'url':'/x','agent':{'compute':'remote','remote':{'url':'http://h/'}},"
               "'judge':[{'name':'m','model':{'api':'openai','url':'http://h/','model':'m'}}],"
               "'steps':[{'name':'s','command':'x'}],'plan':{'command':['x']}}"));
    ck_assert_int_eq(decode(document, config), RC_OK);
    const struct js *remote = js_path(definitions, "agent.properties.remote.properties");
    ck_assert_int_eq(config->agent.remote.poll_ms, js_int(js_path(remote, "pollMs.default"), 0));
    ck_assert_int_eq(config->agent.remote.call_ms, js_int(js_path(remote, "callMs.default"), 0));
    ck_assert_int_eq(config->agent.remote.lost_polls,
                     js_int(js_path(remote, "lostPolls.default"), 0));
    const struct js *model = js_path(definitions, "judge.properties.model.properties");
    ck_assert_int_eq(config->judges[0].model.max_tokens,
                     js_int(js_path(model, "maxTokens.default"), 0));
    const struct js *step = js_path(definitions, "step.properties");
    ck_assert_int_eq(config->blueprint.customs[0].retries,
                     js_int(js_path(step, "retries.default"), 0));
    ck_assert_int_eq(config->blueprint.customs[0].phase, PHASE_PRE_AGENT);
    ck_assert_str_eq(js_str(js_path(step, "phase.default"), ""), "pre-agent");
}
END_TEST

/* ---- layers ---- */

START_TEST(the_later_layer_wins)
{
    static const struct {
        const char *platform, *repository, *task, *want;
    } rows[] = {
        {"", "{'url':'/x'}", "", "{'url':'/x'}"},
        {"{'limits':{'maxTurns':9}}", "{'url':'/x'}", "", "{'limits':{'maxTurns':9},'url':'/x'}"},
        {"{'limits':{'maxTurns':9,'maxActiveRuns':1}}", "{'url':'/x','limits':{'maxTurns':5}}",
         "{'limits':{'maxTurns':3}}", "{'limits':{'maxTurns':3,'maxActiveRuns':1},'url':'/x'}"},
        {"{'verify':[{'name':'a'}]}", "{'verify':[]}", "", "{'verify':[]}"},
        {"{'plan':{'approval':'always'},'forge':'local'}", "{'plan':null}", "",
         "{'forge':'local'}"},
        {"", "{'url':'/x','plan':null}", "", "{'url':'/x'}"},
        {"", "{'url':'/null'}", "", "{'url':'/null'}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = {0};
        struct str document = {0};
        const struct repo_layers layers = {.platform = quoted(rows[i].platform),
                                           .repository = quoted(rows[i].repository),
                                           .task = quoted(rows[i].task)};
        ck_assert_int_eq(repo_layers_merge(&layers, &arena, &document, &err), RC_OK);
        ck_assert_str_eq(document.at, quoted(rows[i].want).at);
    }
}
END_TEST

START_TEST(every_value_has_an_origin)
{
    CLEANUP(buf_release) struct buf text;
    struct err err = {0};
    const struct repo_layers layers = {
        .platform = quoted("{'agent':{'adapter':'ndjson','env':['A'],'model':'small'},"
                           "'limits':{'maxTurns':9,'maxActiveRuns':3},'plan':{},"
                           "'prompt':{'system':'x'}}"),
        .repository = quoted("{'url':'/x','agent':{'command':['true'],'env':[]},"
                             "'limits':{'maxTurns':5},'plan':null,'prompt':{'system':null}}"),
        .task = quoted("{'agent':{'model':'large'}}"),
    };
    static const struct {
        const char *path, *origin;
    } rows[] = {
        {"url", "repository"},
        {"forge", "default"},
        {"agent.adapter", "platform"},
        {"agent.command", "repository"},
        {"agent.env", "repository"},
        {"agent.model", "task"},
        {"agent.network", "default"},
        {"agent.resources.processes", "default"},
        {"limits.maxTurns", "repository"},
        {"limits.maxActiveRuns", "platform"},
        {"timeouts.runMs", "default"},
        {"plan", NULL},
        {"plan.approval", NULL},
        {"prompt.system", NULL},
        {"prompt.memory", "default"},
    };
    buf_init(&text, 1 << 16);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    ck_assert_int_eq(repo_layers_write(&layers, &arena, &jw, &err), RC_OK);
    jw_end(&jw, '}');
    CLEANUP(js_freep) struct js *answer = parse(buf_str(&text));
    const struct js *origins = js_get(answer, "origins");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_pstr_eq(js_get_str(origins, rows[i].path, NULL), rows[i].origin);
    ck_assert_int_eq(js_int(js_path(answer, "effective.limits.maxTurns"), 0), 5);
    ck_assert_int_eq(js_int(js_path(answer, "effective.timeouts.agentMs"), 0), 3600000);
    ck_assert_str_eq(js_str(js_path(answer, "effective.agent.model"), ""), "large");
}
END_TEST

START_TEST(layers_need_nothing_but_know_their_fields)
{
    static const struct {
        const char *layer, *fault;
    } rows[] = {
        {"{}", NULL},
        {"{'agent':{'compute':'remote'}}", NULL},
        {"{'agent':{'remote':{'pollMs':5}}}", NULL},
        {"{'agent':{'adapter':'x'}}", "agent.adapter"},
        {"{'verify':[{'name':'a'}]}", "verify[0].command"},
        {"{'limit':{}}", "limit"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct faults faults = {0};
        struct err err = {0};
        CLEANUP(js_freep) struct js *layer = parse(quoted(rows[i].layer));
        enum rc rc = repo_layer_check(layer, &arena, &faults, &err);
        ck_assert_int_eq(rc, rows[i].fault == NULL ? RC_OK : RC_INVALID);
        if (rows[i].fault != NULL)
            ck_assert_str_eq(faults.items[0].path, rows[i].fault);
    }
}
END_TEST

/* What a task may override: only fields of the repository's schema, with the same rules. */
static void same_rules(const struct js *own_root, const struct js *own, const struct js *root,
                       const struct js *other)
{
    static const char *const keywords[] = {"type",      "minimum",   "maximum",
                                           "minLength", "maxLength", "enum"};
    size_t at = 0;
    const char *key;
    const struct js *below;
    own = resolve(own_root, own);
    other = resolve(root, other);
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        const char *name = keywords[i];
        ck_assert_str_eq(js_text(js_get(own, name), &arena), js_text(js_get(other, name), &arena));
    }
    const struct js *properties = js_get(own, "properties");
    while (properties != NULL && js_next(properties, &at, &key, &below)) {
        const struct js *twin = js_get(js_get(other, "properties"), key);
        ck_assert_msg(twin != NULL, "%s is no field of a repository", key);
        same_rules(own_root, below, root, twin);
    }
}

START_TEST(overrides_have_the_rules_of_the_repository_and_run_nothing)
{
    static const char *const forbidden[] = {
        "{'agent':{'command':['sh']}}",
        "{'agent':{'network':true}}",
        "{'agent':{'egress':[]}}",
        "{'agent':{'mounts':[]}}",
        "{'verify':[]}",
        "{'judge':[]}",
        "{'policy':{}}",
        "{'steps':[]}",
        "{'sequence':[]}",
        "{'plan':{}}",
        "{'url':'/x'}",
        "{'credentials':{}}",
        "{'limits':{'maxActiveRuns':1}}",
    };
    CLEANUP(js_freep) struct js *overrides = parse(schema_text_of("overrides"));
    CLEANUP(js_freep) struct js *repository = parse(schema_text_of("repository"));
    same_rules(overrides, overrides, repository, repository);
    struct faults faults = {0};
    struct err err = {0};
    const struct js *example = js_at(js_get(overrides, "examples"), 0);
    ck_assert_int_eq(repo_overrides_check(example, &arena, &faults, &err), RC_OK);
    for (size_t i = 0; i < COUNT_OF(forbidden); i++) {
        CLEANUP(js_freep) struct js *tree = parse(quoted(forbidden[i]));
        ck_assert_msg(repo_overrides_check(tree, &arena, &faults, &err) == RC_INVALID, "%s",
                      forbidden[i]);
    }
}
END_TEST

START_TEST(huge_documents_end_with_a_bounded_list)
{
    CLEANUP(buf_release) struct buf text;
    struct faults faults = {0};
    struct err err = {0};
    buf_init(&text, 4 << 20);
    buf_adds(&text, "{\"url\":\"/x\",\"agent\":{\"command\":[\"x\"]},\"verify\":[");
    for (int i = 0; i < 20000; i++)
        buf_addf(&text, "%s{\"a%d\":%d}", i == 0 ? "" : ",", i, i);
    buf_adds(&text, "]");
    for (int i = 0; i < 20000; i++)
        buf_addf(&text, ",\"b%d\":[]", i);
    buf_adds(&text, "}");
    CLEANUP(js_freep) struct js *document = parse(buf_str(&text));
    ck_assert_int_eq(repo_document_check(document, &arena, &faults, &err), RC_INVALID);
    ck_assert_uint_eq(faults.count, FAULTS_MAX);
    ck_assert_uint_ge(faults.left_out, 20000);
}
END_TEST

Suite *repo_document_suite(void)
{
    Suite *suite = suite_create("repo_document");
    TCase *tcase = tcase_create("repo_document");
    tcase_add_checked_fixture(tcase, NULL, reset);
    tcase_add_test(tcase, every_schema_opens);
    tcase_add_test(tcase, examples_of_the_schema_decode);
    tcase_add_test(tcase, examples_have_every_field);
    tcase_add_test(tcase, schema_and_decoder_take_the_same_ranges_and_choices);
    tcase_add_loop_test(tcase, bad_documents_are_refused_by_both, 0, COUNT_OF(bad));
    tcase_add_loop_test(tcase, documents_without_meaning_are_refused_with_the_place, 0,
                        COUNT_OF(meaningless));
    tcase_add_test(tcase, defaults_of_the_schema_are_those_of_the_decoder);
    tcase_add_test(tcase, defaults_inside_of_remote_and_lists_are_those_of_the_decoder);
    tcase_add_test(tcase, the_later_layer_wins);
    tcase_add_test(tcase, every_value_has_an_origin);
    tcase_add_test(tcase, layers_need_nothing_but_know_their_fields);
    tcase_add_test(tcase, overrides_have_the_rules_of_the_repository_and_run_nothing);
    tcase_add_test(tcase, huge_documents_end_with_a_bounded_list);
    suite_add_tcase(suite, tcase);
    return suite;
}
