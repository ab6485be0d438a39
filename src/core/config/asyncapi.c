/*
 * asyncapi.c - AsyncAPI 3.0.
 *
 *   channels     agent.CONTEXT.events.v1, with the messages of the context
 *   operations   drover sends what is in a channel
 *   components   messages TYPE.vVERSION; schemas: "event", the envelope, and those of data by the
 *                name of the message
 *
 * Types that are never in the log are left out.
 */
#include "core/config/asyncapi.h"
#include "core/config/schema_text.h"
#include "core/event.h"
#include "core/event_types.h"

#define KAFKA_BINDING "0.5.0"

static const char *const key_texts[] = {
    [EVENT_KEY_RUN] = "runid; without it taskid, else the id of the repository, else subject",
    [EVENT_KEY_TASK] = "taskid, or runid if there is one",
    [EVENT_KEY_REPOSITORY] = "the id of the repository (correlationid)",
    [EVENT_KEY_SUBJECT] = "subject",
};

static bool is_sent(const struct event_type *entry)
{
    return entry->volume != VOLUME_UNLOGGED;
}

/* Of its types some leave the server: else it is no channel. */
static bool has_channel(enum event_context context)
{
    const struct event_type *entry;
    for (size_t i = 0; (entry = event_type_at(i)) != NULL; i++)
        if (entry->context == context && is_sent(entry))
            return true;
    return false;
}

static const char *message_name(const struct event_type *entry, struct arena *arena)
{
    return arena_printf(arena, "%s.v%d", entry->type, entry->version);
}

static const char *channel_name(enum event_context context, struct arena *arena)
{
    return arena_printf(arena, "agent.%s.events.v1", event_context_name(context));
}

static void write_ref(struct jw *jw, const char *where, const char *name, struct arena *arena)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "$ref", arena_printf(arena, "#/%s/%s", where, name));
    jw_end(jw, '}');
}

static void write_info(struct jw *jw, const char *version)
{
    jw_key(jw, "info");
    jw_begin(jw, '{');
    jw_kstr(jw, "title", "Events of drover");
    jw_kstr(jw, "version", version);
    jw_kstr(jw, "description",
            "Every event is a CloudEvent 1.0 in structured JSON. Delivery is at least once: an id "
            "that was seen before is the same event. The order of events with the same partition "
            "key is kept: the key is runid, else taskid, else the id of the repository, else "
            "subject. Members that a consumer does not know must be ignored.");
    jw_end(jw, '}');
}

static void write_channel(struct jw *jw, enum event_context context, struct arena *arena)
{
    const struct event_type *entry;
    const char *name = channel_name(context, arena);
    jw_key(jw, name);
    jw_begin(jw, '{');
    jw_kstr(jw, "address", name);
    jw_kstr(jw, "description", event_context_meaning(context));
    jw_key(jw, "messages");
    jw_begin(jw, '{');
    for (size_t i = 0; (entry = event_type_at(i)) != NULL; i++) {
        if (entry->context != context || !is_sent(entry))
            continue;
        jw_key(jw, message_name(entry, arena));
        write_ref(jw, "components/messages", message_name(entry, arena), arena);
    }
    jw_end(jw, '}');
    jw_key(jw, "bindings");
    jw_begin(jw, '{');
    jw_key(jw, "kafka");
    jw_begin(jw, '{');
    jw_kstr(jw, "topic", name);
    jw_kstr(jw, "bindingVersion", KAFKA_BINDING);
    jw_end(jw, '}');
    jw_end(jw, '}');
    jw_end(jw, '}');
}

static void write_operation(struct jw *jw, enum event_context context, struct arena *arena)
{
    jw_key(jw, arena_printf(arena, "send.%s", event_context_name(context)));
    jw_begin(jw, '{');
    jw_kstr(jw, "action", "send");
    jw_key(jw, "channel");
    write_ref(jw, "channels", channel_name(context, arena), arena);
    jw_kstr(jw, "summary", event_context_meaning(context));
    jw_end(jw, '}');
}

/* The envelope, with the type and the data of this message. */
static void write_payload(struct jw *jw, const struct event_type *entry, struct arena *arena)
{
    jw_key(jw, "payload");
    jw_begin(jw, '{');
    jw_key(jw, "allOf");
    jw_begin(jw, '[');
    write_ref(jw, "components/schemas", "event", arena);
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "object");
    jw_key(jw, "properties");
    jw_begin(jw, '{');
    jw_kraw(jw, "type", str_of(arena_printf(arena, "{\"const\":\"%s\"}", entry->type)));
    jw_kraw(jw, "eventversion", str_of(arena_printf(arena, "{\"const\":%d}", entry->version)));
    jw_key(jw, "data");
    write_ref(jw, "components/schemas", message_name(entry, arena), arena);
    jw_end(jw, '}');
    jw_end(jw, '}');
    jw_end(jw, ']');
    jw_end(jw, '}');
}

static void write_message(struct jw *jw, const struct event_type *entry, struct arena *arena)
{
    jw_key(jw, message_name(entry, arena));
    jw_begin(jw, '{');
    jw_kstr(jw, "name", entry->type);
    jw_kstr(jw, "summary", entry->meaning);
    jw_kstr(jw, "contentType", "application/cloudevents+json");
    write_payload(jw, entry, arena);
    jw_key(jw, "correlationId");
    write_ref(jw, "components/correlationIds", "correlation", arena);
    jw_key(jw, "tags");
    jw_begin(jw, '[');
    jw_begin(jw, '{');
    jw_kstr(jw, "name", severity_name(entry->severity));
    jw_end(jw, '}');
    if (entry->volume == VOLUME_DIAGNOSTIC)
        jw_raw(jw, STR("{\"name\":\"diagnostic\"}"));
    jw_end(jw, ']');
    jw_key(jw, "bindings");
    jw_begin(jw, '{');
    jw_key(jw, "kafka");
    jw_begin(jw, '{');
    jw_key(jw, "key");
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "string");
    jw_kstr(jw, "description", key_texts[entry->key]);
    jw_end(jw, '}');
    jw_kstr(jw, "bindingVersion", KAFKA_BINDING);
    jw_end(jw, '}');
    jw_end(jw, '}');
    jw_end(jw, '}');
}

static void write_components(struct jw *jw, struct arena *arena)
{
    const struct event_type *entry;
    jw_key(jw, "components");
    jw_begin(jw, '{');
    jw_key(jw, "messages");
    jw_begin(jw, '{');
    for (size_t i = 0; (entry = event_type_at(i)) != NULL; i++)
        if (is_sent(entry))
            write_message(jw, entry, arena);
    jw_end(jw, '}');
    jw_key(jw, "schemas");
    jw_begin(jw, '{');
    jw_kraw(jw, "event", schema_text_of("event"));
    for (size_t i = 0; (entry = event_type_at(i)) != NULL; i++)
        if (is_sent(entry))
            jw_kraw(jw, message_name(entry, arena), schema_text_of(message_name(entry, arena)));
    jw_end(jw, '}');
    jw_kraw(jw, "correlationIds",
            STR("{\"correlation\":{\"description\":\"The task, or what else the event is about.\","
                "\"location\":\"$message.payload#/correlationid\"}}"));
    jw_end(jw, '}');
}

void asyncapi_write(struct jw *jw, const char *version, struct arena *arena)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "asyncapi", "3.0.0");
    jw_kstr(jw, "id", "urn:drover:events");
    write_info(jw, version);
    jw_kstr(jw, "defaultContentType", "application/cloudevents+json");
    jw_key(jw, "channels");
    jw_begin(jw, '{');
    for (int i = 0; i < CONTEXT_COUNT; i++)
        if (has_channel((enum event_context)i))
            write_channel(jw, (enum event_context)i, arena);
    jw_end(jw, '}');
    jw_key(jw, "operations");
    jw_begin(jw, '{');
    for (int i = 0; i < CONTEXT_COUNT; i++)
        if (has_channel((enum event_context)i))
            write_operation(jw, (enum event_context)i, arena);
    jw_end(jw, '}');
    write_components(jw, arena);
    jw_end(jw, '}');
}
