/*
 * schemas.c - the registry over HTTP: JSON Schemas of drover and of clients, documents against
 * them, and one version against the next.
 */
#include "control/run/schemas.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/fields.h"
#include "base/js_bytes.h"
#include "core/config/asyncapi.h"
#include "core/config/schema_text.h"
#include "store/schemas.h"

enum { ROWS_MAX = SCHEMAS_MAX + 1, NAME_TEXT_MAX = SCHEMA_NAME_MAX + 40 };

static enum rc unknown(const char *name, struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "NOT_FOUND",
                   "there is no schema %.100s; GET /v1/schemas lists them", name);
}

/* ---- reading ---- */

/* NAME, NAME:VERSION or urn:drover:schema:NAME:VERSION. */
static enum rc find_schema(struct db *db, const char *text, struct arena *arena,
                           struct str *ret_document, struct err *err)
{
    char name[SCHEMA_NAME_MAX + 1];
    int64_t version;
    struct schema_row row;
    struct str own = schema_text_of(text);
    if (own.len > 0) {
        *ret_document = own;
        return RC_OK;
    }
    if (!schema_name_parse(text, name, &version))
        return unknown(text, err);
    enum rc rc = schemas_get(db, name, version, arena, &row, err);
    if (rc == RC_NOT_FOUND)
        return unknown(text, err);
    if (rc == RC_OK)
        *ret_document = row.document;
    return rc;
}

static void write_own(struct listing *list, const struct schema_text *text)
{
    jw_begin(&list->jw, '{');
    jw_kstr(&list->jw, "name", text->name);
    jw_kstr(&list->jw, "origin", "drover");
    jw_kstr(&list->jw, "url", arena_printf(list->arena, "/v1/schemas/%s", text->name));
    jw_end(&list->jw, '}');
}

static void write_registered(struct listing *list, const struct schema_row *row)
{
    jw_begin(&list->jw, '{');
    jw_kstr(&list->jw, "name", row->name);
    jw_kstr(&list->jw, "origin", "client");
    jw_kint(&list->jw, "version", row->version);
    jw_kstr(&list->jw, "dataschema",
            arena_printf(list->arena, SCHEMA_URN "%s:%lld", row->name, (long long)row->version));
    jw_kstr(&list->jw, "url",
            arena_printf(list->arena, "/v1/schemas/%s:%lld", row->name, (long long)row->version));
    jw_kstr(&list->jw, "createdBy", row->created_by);
    jw_ktime(&list->jw, "createdAt", row->created_us);
    jw_end(&list->jw, '}');
}

enum rc api_schema_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct schema_row *rows = NULL;
    listing_open(&list, call, CURSOR_NONE, err);
    enum rc rc = listing_begin(&list);
    for (const struct schema_text *each = schema_texts; rc == RC_OK && each->name != NULL; each++)
        write_own(&list, each);
    if (rc == RC_OK)
        rc = schemas_list(db, NULL, ROWS_MAX, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && i < list.count; i++)
        write_registered(&list, &rows[i]);
    return listing_end(&list, rc);
}

enum rc api_schema_versions(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct schema_row *rows = NULL;
    listing_open(&list, call, CURSOR_NONE, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = schemas_versions(db, call->vars[0], SCHEMA_VERSIONS_MAX, list.arena, &rows,
                              &list.count, err);
    if (rc == RC_OK && list.count == 0)
        rc = unknown(call->vars[0], err);
    for (size_t i = 0; rc == RC_OK && i < list.count; i++)
        write_registered(&list, &rows[i]);
    return listing_end(&list, rc);
}

enum rc api_schema_get(struct call *call, struct db *db, struct err *err)
{
    struct str text = {0};
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = find_schema(db, call->vars[0], &call->http.arena, &text, err);
    if (rc != RC_OK)
        return rc;
    call->http.answer.status = 200;
    call->http.answer.content_type = "application/schema+json";
    buf_add(&call->http.answer.body, text.at, text.len);
    return RC_OK;
}

/* ---- validate ---- */

/* A schema, or the name of one. */
static enum rc open_given(struct call *call, struct db *db, const char *field,
                          const struct js *value, struct schema *schema, struct err *err)
{
    struct str text = {0};
    const char *name = js_str(value, NULL);
    enum rc rc = RC_OK;
    if (name != NULL)
        rc = find_schema(db, name, &call->http.arena, &text, err);
    else
        text = str_of(js_text(value, &call->http.arena));
    if (rc == RC_OK)
        rc = schema_open(schema, text, err);
    if (rc == RC_OK)
        return RC_OK;
    text_copy(err->field, sizeof err->field, field);
    return rc == RC_NOT_FOUND || rc == RC_MALFORMED ? RC_INVALID : rc;
}

static enum rc read_body(struct call *call, struct js **ret_tree, struct err *err)
{
    struct str body = http_body(&call->http);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK && body.len == 0)
        rc = err_set(err, RC_MALFORMED, "INVALID_JSON", "the request needs a JSON body");
    return rc == RC_OK ? js_parse_bytes(body.at, body.len, ret_tree, err) : rc;
}

/* The member of these names that is there; all but one are missing. */
static enum rc read_validate(const struct js *tree, const struct js **ret_schema,
                             const struct js **ret_instance, struct err *err)
{
    struct fields fields;
    const char *name = NULL;
    const struct js *schema = NULL;
    fields_open(&fields, tree, "", err);
    fields_any(&fields, "schema", FIELD_OPTIONAL, &schema);
    fields_string(&fields, "name", FIELD_OPTIONAL, &(struct field_text){.max = NAME_TEXT_MAX},
                  &name);
    if ((schema != NULL) == (name != NULL))
        fields_fail(&fields, "schema", "give a schema, or the name of one");
    fields_any(&fields, "instance", FIELD_OPTIONAL, ret_instance);
    if (js_type(tree) == JS_OBJECT && js_get(tree, "instance") == NULL)
        fields_fail(&fields, "instance", "is required: the document to check");
    *ret_schema = schema != NULL ? schema : js_get(tree, "name");
    return fields_close(&fields);
}

static void write_verdict(struct jw *jw, const struct faults *faults)
{
    jw_begin(jw, '{');
    jw_kbool(jw, "valid", faults->count == 0);
    jw_key(jw, "errors");
    faults_write(faults, jw);
    jw_kint(jw, "leftOut", (int64_t)faults->left_out);
    jw_end(jw, '}');
}

enum rc api_schema_validate(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(schema_release) struct schema schema = {0};
    const struct js *given = NULL, *instance = NULL;
    struct faults faults = {0};
    enum rc rc = read_body(call, &tree, err);
    if (rc == RC_OK)
        rc = read_validate(tree, &given, &instance, err);
    if (rc == RC_OK)
        rc = open_given(call, db, js_get(tree, "name") != NULL ? "name" : "schema", given, &schema,
                        err);
    if (rc != RC_OK)
        return rc;
    (void)schema_check(&schema, instance, &(struct schema_options){0}, &call->http.arena, &faults);
    struct jw jw = call_answer(call, 200);
    write_verdict(&jw, &faults);
    return RC_OK;
}

/* ---- check ---- */

static enum rc read_check(const struct js *tree, const struct js **ret_old,
                          const struct js **ret_new, bool *ret_same_meaning, struct err *err)
{
    struct fields fields;
    fields_open(&fields, tree, "", err);
    fields_any(&fields, "old", FIELD_OPTIONAL, ret_old);
    fields_any(&fields, "new", FIELD_OPTIONAL, ret_new);
    fields_bool(&fields, "sameMeaning", FIELD_OPTIONAL, ret_same_meaning);
    if (*ret_old == NULL && *ret_new == NULL)
        fields_fail(&fields, "new",
                    "is required: a schema, or the name of one; null when it is removed");
    return fields_close(&fields);
}

/* null: there is none, before or after. */
static enum rc compare_given(struct call *call, struct db *db, const struct js *tree,
                             struct schema_changes *changes, struct err *err)
{
    CLEANUP(schema_release) struct schema before = {0};
    CLEANUP(schema_release) struct schema after = {0};
    const struct js *old = NULL, *new = NULL;
    struct schema_compare_options options = {0};
    enum rc rc = read_check(tree, &old, &new, &options.same_meaning, err);
    if (rc == RC_OK && old != NULL)
        rc = open_given(call, db, "old", old, &before, err);
    if (rc == RC_OK && new != NULL)
        rc = open_given(call, db, "new", new, &after, err);
    if (rc != RC_OK)
        return rc;
    if (old == NULL)
        schema_changes_add(changes, RULE_SCHEMA_ADDED, "", "is new");
    else if (new == NULL)
        schema_changes_add(changes, RULE_SCHEMA_REMOVED, "", "is gone: consumers may rely on it");
    else
        (void)schema_compare(&before, &after, &options, &call->http.arena, changes);
    return RC_OK;
}

enum rc api_schema_check(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct schema_changes changes = {0};
    enum rc rc = read_body(call, &tree, err);
    if (rc == RC_OK)
        rc = compare_given(call, db, tree, &changes, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    schema_changes_write(&changes, &jw);
    return RC_OK;
}

/* ---- registering ---- */

static enum rc check_name(const char *text, struct err *err)
{
    char name[SCHEMA_NAME_MAX + 1];
    int64_t version;
    if (!schema_name_parse(text, name, &version) || version != 0 || !text_same(name, text))
        return err_set(err, RC_MALFORMED, "INVALID_NAME",
                       "a schema's name has letters, digits and . _ - / ~ +, at most %d bytes: the "
                       "type of an event, such as com.example.build.finished",
                       SCHEMA_NAME_MAX);
    if (cloud_event_is_reserved(name) || schema_text_of(name).len > 0)
        return err_set(err, RC_DENIED, "SCHEMA_RESERVED",
                       "%.100s is a name of the server's own; begin yours with a name of yours, "
                       "such as com.example.",
                       name);
    return RC_OK;
}

static bool is_true(const char *text)
{
    return text_same(text, "true");
}

static enum rc read_put(struct call *call, struct cmd_schema_put *cmd, struct err *err)
{
    static const char *const bools[] = {"true", "false", NULL};
    struct params params;
    const char *force = "false", *same_meaning = "false";
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_choice(&params, "force", bools, &force);
    params_choice(&params, "sameMeaning", bools, &same_meaning);
    cmd->force = is_true(force);
    cmd->same_meaning = is_true(same_meaning);
    return params_end(&params);
}

enum rc api_schema_put(struct call *call, struct err *err)
{
    CLEANUP(schema_release) struct schema schema = {0};
    struct cmd_schema_put *cmd = cmd_schema_put_new();
    call_own(call, &cmd->base);
    struct str body = http_body(&call->http);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = read_put(call, cmd, err);
    if (rc == RC_OK)
        rc = check_name(cmd->name, err);
    if (rc == RC_OK && body.len > SCHEMA_DOCUMENT_MAX)
        rc = err_set(err, RC_TOO_LARGE, "BODY_TOO_LARGE", "a schema may have %d bytes",
                     SCHEMA_DOCUMENT_MAX);
    if (rc == RC_OK) /* What the database could not hold is refused too. */
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = schema_open(&schema, body, err);
    cmd->document = (struct str){str_dup(&cmd->base.arena, body), body.len};
    return rc;
}

void api_schema_put_answer(struct call *call, struct command *command)
{
    const struct cmd_schema_put *cmd = (const struct cmd_schema_put *)command;
    static const struct schema_changes none = {0};
    struct jw jw = call_answer(call, cmd->is_new ? 201 : 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "name", cmd->name);
    jw_kint(&jw, "version", cmd->version);
    jw_kstr(
        &jw, "dataschema",
        arena_printf(&call->http.arena, SCHEMA_URN "%s:%lld", cmd->name, (long long)cmd->version));
    jw_key(&jw, "changes");
    schema_changes_write(cmd->changes != NULL ? cmd->changes : &none, &jw);
    jw_end(&jw, '}');
}

enum rc api_schema_remove(struct call *call, struct err *err)
{
    struct cmd_schema_remove *cmd = cmd_schema_remove_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? check_name(cmd->name, err) : rc;
}

/* ---- all events ---- */

/* No token: it says no more than the source of the program. */
enum rc api_asyncapi(struct call *call, struct db *db, struct err *err)
{
    (void)db;
    enum rc rc = call_no_params(call, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    asyncapi_write(&jw, DROVER_VERSION, &call->http.arena);
    return RC_OK;
}
