#include "store/engine_postgres_args.h"
#include <assert.h>
#include <endian.h>
#include <string.h>

unsigned pg_type_oid(char type)
{
    static const struct {
        char type;
        unsigned oid;
    } types[] = {{'t', 25}, {'i', 20}, {'r', 701}, {'j', 114}, {'b', 17}};
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].type == type)
            return types[i].oid;
    assert(false);
    return 0;
}

static uint64_t number_bits(const struct param *param)
{
    uint64_t bits = (uint64_t)param->number;
    if (param->type == 'r')
        memcpy(&bits, &param->real, sizeof bits);
    return htobe64(bits);
}

static enum rc text_check(const struct sql *sql, size_t at, const struct param *param, size_t len,
                          struct err *err)
{
    if (len > PG_PARAM_BYTES_MAX)
        return err_set(err, RC_TOO_LARGE, "STORE_TOO_LARGE", "%s: parameter %zu is too large",
                       sql->name, at + 1);
    if (param->type != 'b' && !text_utf8_valid(param->text, len))
        return err_set(err, RC_INVALID, "INVALID_TEXT",
                       "%s: parameter %zu is not text in UTF-8 without NUL", sql->name, at + 1);
    return RC_OK;
}

enum rc pg_args_fill(const struct sql *sql, const struct param *params, struct pg_args *to,
                     struct err *err)
{
    size_t count = strlen(sql->types);
    assert(count <= PG_PARAMS_MAX);
    to->count = (int)count;
    to->bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const struct param *param = &params[i];
        bool number = param->type == 'i' || param->type == 'r';
        size_t len = param->len;
        if (number) {
            to->numbers[i] = number_bits(param);
            len = sizeof to->numbers[i];
        } else if (param->text == NULL) {
            len = 0;
        } else {
            if (param->type == 't')
                len = strlen(param->text);
            enum rc rc = text_check(sql, i, param, len, err);
            if (rc != RC_OK)
                return rc;
        }
        to->values[i] = number ? (const char *)&to->numbers[i] : param->text;
        to->lengths[i] = (int)len;
        to->formats[i] = 1;
        to->bytes += len;
    }
    return RC_OK;
}
