/*
 * memory.c - see memory.h.
 *
 * Words are runs of letters, digits and _, of three bytes or more, in lower case; those of the
 * topic are gathered once and kept in order, so that each lookup costs little.
 */
#include "core/run/memory.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS_MAX = 256,
    WORD_BYTES = 40,
    WORD_MIN = 3,
    TEXT_LOOKED_AT = 4096,
    POINTS_SCOPE = 1000, /* A path in scope counts for more than all words together. */
    POINTS_PATH = 50,
    POINTS_WORD = 1,
    WORDS_COUNTED_MAX = 20,
};

struct words {
    char (*items)[WORD_BYTES];
    size_t count;
};

/* Too common to distinguish one task from another. */
static const char *const noise[] = {"add", "and",    "are", "change", "fix", "for",  "from", "into",
                                    "not", "should", "src", "that",   "the", "this", "with"};

static bool is_noise(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(noise); i++) {
        if (strcmp(noise[i], word) == 0)
            return true;
    }
    return false;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The next word at *at into `to`, of any kind; false at the end. */
static bool next_word(const char **at, char to[WORD_BYTES])
{
    for (const char *text = *at; *text;) {
        size_t len = 0, kept = 0;
        while (!in_word(*text) && *text)
            text++;
        for (; in_word(text[len]); len++) {
            if (kept + 1 < WORD_BYTES)
                to[kept++] = (char)tolower((unsigned char)text[len]);
        }
        to[kept] = '\0';
        text += len;
        if (kept >= WORD_MIN) {
            *at = text;
            return true;
        }
    }
    return false;
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(a, b);
}

static struct words words_of(const char *text, struct arena *arena)
{
    struct words words = {.items = arena_array(arena, WORDS_MAX, WORD_BYTES)};
    if (text == NULL)
        return words;
    const char *at = arena_strndup(arena, text, strnlen(text, TEXT_LOOKED_AT));
    while (words.count < WORDS_MAX && next_word(&at, words.items[words.count])) {
        if (!is_noise(words.items[words.count]))
            words.count++;
    }
    qsort(words.items, words.count, WORD_BYTES, compare_words);
    return words;
}

/* How many words of the text the topic has, up to a limit.  The topic has none that is noise. */
static int64_t common(const struct words *words, const char *text)
{
    int64_t found = 0;
    char word[WORD_BYTES];
    while (found < WORDS_COUNTED_MAX && next_word(&text, word)) {
        if (words->count > 0 &&
            bsearch(word, words->items, words->count, WORD_BYTES, compare_words) != NULL)
            found++;
    }
    return found;
}

static bool in_scope(const struct memory_topic *topic, const char *path)
{
    for (size_t i = 0; i < topic->scope_count; i++) {
        if (glob_match(topic->scope[i], path))
            return true;
    }
    return false;
}

static int64_t score_of(const struct memory_topic *topic, const struct words *words,
                        const struct memory_note *note)
{
    int64_t score = POINTS_WORD * common(words, note->summary);
    for (size_t i = 0; i < note->path_count && i < MEMORY_PATHS_MAX; i++) {
        if (in_scope(topic, note->paths[i]))
            score += POINTS_SCOPE;
        if (common(words, note->paths[i]) > 0)
            score += POINTS_PATH;
    }
    return score;
}

static int compare_notes(const void *a, const void *b)
{
    const struct memory_note *left = a, *right = b;
    if (left->score != right->score)
        return left->score > right->score ? -1 : 1;
    if (left->created_us != right->created_us)
        return left->created_us > right->created_us ? -1 : 1;
    return 0;
}

size_t memory_choose(const struct memory_topic *topic, struct memory_note *notes, size_t count,
                     struct arena *arena)
{
    if (count == 0)
        return 0;
    struct words words = words_of(topic->description, arena);
    for (size_t i = 0; i < count; i++)
        notes[i].score = score_of(topic, &words, &notes[i]);
    qsort(notes, count, sizeof *notes, compare_notes);
    size_t told = 0, bytes = 0;
    while (told < count && told < MEMORY_NOTES_MAX) {
        bytes += strlen(notes[told].summary);
        if (bytes > MEMORY_BYTES_MAX)
            break;
        told++;
    }
    return told;
}
