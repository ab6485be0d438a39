#include "core/config/event_contract.h"
#include "core/config/schema_text.h"
#include "core/event.h"

void event_contracts_release(struct event_contracts *contracts)
{
    schema_release(&contracts->envelope);
    for (size_t i = 0; i < COUNT_OF(contracts->data); i++)
        schema_release(&contracts->data[i]);
}

/* Adds a fault for each that it finds, with a path that begins at the event. */
static void check(struct schema *schema, const char *name, const struct js *value,
                  struct arena *arena, struct faults *faults)
{
    struct err err = {0};
    struct faults found = {0};
    const char *at = text_same(name, "event") ? "" : "data";
    if (schema->tree == NULL && schema_open(schema, schema_text_of(name), &err) != RC_OK) {
        faults_add(faults, arena, at, arena_printf(arena, "the schema %s: %s", name, err.text));
        return;
    }
    (void)schema_check(schema, value, &(struct schema_options){0}, arena, &found);
    for (size_t i = 0; i < found.count; i++) {
        const char *path = found.items[i].path;
        const char *dot = *at == '\0' || *path == '\0' || *path == '[' ? "" : ".";
        faults_add(faults, arena, arena_printf(arena, "%s%s%s", at, dot, path),
                   found.items[i].message);
    }
}

bool event_contracts_check_data(struct event_contracts *contracts, const struct event_type *entry,
                                const struct js *data, struct arena *arena, struct faults *faults)
{
    size_t before = faults->count + faults->left_out;
    struct schema *schema = &contracts->data[event_type_index(entry)];
    check(schema, schema->tree != NULL ? "" : event_dataschema(entry->type, entry->version, arena),
          data, arena, faults);
    return faults->count + faults->left_out == before;
}

bool event_contracts_check(struct event_contracts *contracts, const struct js *event,
                           struct arena *arena, struct faults *faults)
{
    size_t before = faults->count + faults->left_out;
    const struct event_type *entry = event_type_find(js_get_str(event, "type", NULL));
    check(&contracts->envelope, "event", event, arena, faults);
    if (entry == NULL)
        faults_add(faults, arena, "type", "is not in the table of events");
    else if (!text_same(event_dataschema(entry->type, entry->version, arena),
                        js_get_str(event, "dataschema", "")))
        faults_add(faults, arena, "dataschema", "is not that of its type");
    else
        (void)event_contracts_check_data(contracts, entry, js_get(event, "data"), arena, faults);
    return faults->count + faults->left_out == before;
}
