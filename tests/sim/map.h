/*
 * map.h - ids to facts: open addressing, grows, never shrinks.
 *
 * A fact is a struct that starts with its struct id.  Facts move when the map grows: a pointer to
 * one is good until the next map_at.
 */
#ifndef TESTS_SIM_MAP_H
#define TESTS_SIM_MAP_H
#include "base/id.h"
#include <stddef.h>

struct map {
    unsigned char *facts;
    size_t each, count, room;
};

void map_release(struct map *map);
/* The fact of this id, zeroed but for the id when it is new. */
void *map_at(struct map *map, const struct id *id);
void *map_find(const struct map *map, const struct id *id); /* or NULL */
/* For all facts: *position from 0 on; NULL at the end. */
void *map_next(const struct map *map, size_t *position);
#endif
