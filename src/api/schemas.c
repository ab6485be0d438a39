/*
 * schemas.c - the JSON Schemas of what drover is given: for editors, and for people.
 */
#include "api/listing.h"
#include "api/routes.h"
#include "core/config/repo_document.h"
#include "core/config/schema_text.h"

void api_schema_list(struct call *call)
{
    struct listing list;
    struct err err = {0};
    listing_open(&list, call, CURSOR_NONE, &err);
    enum rc rc = listing_begin(&list);
    for (const struct schema_text *each = schema_texts; rc == RC_OK && each->name != NULL; each++) {
        jw_begin(&list.jw, '{');
        jw_kstr(&list.jw, "name", each->name);
        jw_kstr(&list.jw, "url", arena_printf(list.arena, "/v1/schemas/%s", each->name));
        jw_end(&list.jw, '}');
    }
    rc = listing_end(&list, rc);
    if (rc != RC_OK)
        call_fail(call, rc, &err);
}

void api_schema_get(struct call *call)
{
    struct err err = {0};
    struct str text = schema_text_of(call->vars[0]);
    enum rc rc = call_no_params(call, &err);
    if (rc == RC_OK && text.len == 0)
        rc = err_set(&err, RC_NOT_FOUND, "NOT_FOUND",
                     "there is no schema %.60s; GET /v1/schemas lists them", call->vars[0]);
    if (rc != RC_OK) {
        call_fail(call, rc, &err);
        return;
    }
    call->http.answer.status = 200;
    call->http.answer.content_type = "application/schema+json";
    buf_add(&call->http.answer.body, text.at, text.len);
}
