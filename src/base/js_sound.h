/*
 * js_sound.h - is a text one JSON value?  In one pass and without a tree: for bytes that were
 * written as JSON once and are passed on as they are.
 */
#ifndef BASE_JS_SOUND_H
#define BASE_JS_SOUND_H
#include "base/str.h"

/* Names that stand twice, numbers that are too large and bytes that are not UTF-8 are let through.
   At most JS_DEPTH_MAX levels deep. */
bool js_sound(struct str text);
#endif
