#include "core/config/batch_document.h"
#include "core/config/schema.h"
#include "core/config/schema_text.h"

enum rc batch_document_check(const struct js *document, struct arena *arena,
                             struct faults *ret_faults, struct err *err)
{
    CLEANUP(schema_release) struct schema schema = {0};
    const struct schema_options options = {.null_is_absent = true};
    struct faults faults = {0};
    enum rc rc = schema_open(&schema, schema_text_of("batch"), err);
    if (rc != RC_OK)
        return rc;
    (void)schema_check(&schema, document, &options, arena, &faults);
    *ret_faults = faults;
    return faults_err(&faults, "INVALID_FIELD", err);
}
