#include "tests/sim/map.h"
#include "base/mem.h"
#include <stdint.h>
#include <string.h>

enum { ROOM_MIN = 1 << 12 };

static struct id *key_at(const struct map *map, size_t i)
{
    return (struct id *)(void *)(map->facts + i * map->each);
}

static struct id *map_slot(const struct map *map, const struct id *id)
{
    uint64_t hash = 1469598103934665603u;
    for (const char *c = id->text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    for (size_t i = hash & (map->room - 1);; i = (i + 1) & (map->room - 1)) {
        struct id *key = key_at(map, i);
        if (id_is_none(key) || id_same(key, id))
            return key;
    }
}

static void map_grow(struct map *map)
{
    struct map larger = {.each = map->each, .count = map->count};
    larger.room = map->room ? 2 * map->room : ROOM_MIN;
    larger.facts = mem_array(larger.room, map->each);
    for (size_t i = 0; i < map->room; i++)
        if (!id_is_none(key_at(map, i)))
            memcpy(map_slot(&larger, key_at(map, i)), key_at(map, i), map->each);
    mem_free(map->facts);
    *map = larger;
}

void *map_at(struct map *map, const struct id *id)
{
    if (2 * map->count >= map->room)
        map_grow(map);
    struct id *slot = map_slot(map, id);
    if (id_is_none(slot)) {
        *slot = *id;
        map->count++;
    }
    return slot;
}

void *map_find(const struct map *map, const struct id *id)
{
    struct id *slot = map->room > 0 ? map_slot(map, id) : NULL;
    return slot == NULL || id_is_none(slot) ? NULL : slot;
}

void *map_next(const struct map *map, size_t *position)
{
    while (*position < map->room) {
        struct id *key = key_at(map, (*position)++);
        if (!id_is_none(key))
            return key;
    }
    return NULL;
}

void map_release(struct map *map)
{
    mem_free(map->facts);
    map->facts = NULL;
    map->count = map->room = 0;
}
