/*
 * overlap.c - see overlap.h.
 *
 * A glob is a small automaton: a row of tokens, each of which takes one character of a set, or any
 * number of them (a star).  Two globs share a path when both automata can be walked to their ends
 * by the same characters.  (i, j) is a pair of places; no move ever leads back, so that one pass
 * over the pairs in order finds all that can be reached:
 *
 *     both take a character that is in both sets; a star stays where it is
 *     one side passes over a star, or over tokens that may stand for nothing
 *
 * Characters beyond ASCII are one and the same here.  That, and the limits below, can make an
 * overlap out of none, never the other way round.
 */
#include "core/run/overlap.h"
#include "base/rc.h"
#include "base/str.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

enum {
    TOKENS_MAX = 512,
    PAIRS_MAX = 500 * 1000, /* Pairs of places that one call may check. */
    SPAN_MAX = 3,           /* The longest way over tokens that may stand for nothing. */
};

struct charset {
    uint64_t ascii[2];
    bool beyond; /* Everything that is not ASCII. */
};
struct token {
    struct charset set;
    bool star;   /* Any number of them, also none. */
    size_t skip; /* It and its neighbours, so many in all, may stand for nothing; 0: no. */
};
struct automaton {
    struct token tokens[TOKENS_MAX];
    size_t count;
};

/* ---- sets of characters ---- */

static void set_add(struct charset *set, unsigned char c)
{
    if (c < 128)
        set->ascii[c / 64] |= UINT64_C(1) << (c % 64);
    else
        set->beyond = true;
}

static struct charset set_of(unsigned char c)
{
    struct charset set = {0};
    set_add(&set, c);
    return set;
}

static struct charset set_all(void)
{
    return (struct charset){{UINT64_MAX, UINT64_MAX}, true};
}

static struct charset set_within(struct charset set) /* A component: no '/'. */
{
    set.ascii['/' / 64] &= ~(UINT64_C(1) << ('/' % 64));
    return set;
}

static bool sets_meet(const struct charset *a, const struct charset *b)
{
    return (a->ascii[0] & b->ascii[0]) != 0 || (a->ascii[1] & b->ascii[1]) != 0 ||
           (a->beyond && b->beyond);
}

/* ---- from pattern to automaton ---- */

/* Takes one character off the front; all beyond ASCII are 128. */
static unsigned char take(const char **at)
{
    size_t len = utf8_len(*at, strnlen(*at, 4));
    unsigned char first = (unsigned char)**at;
    *at += len > 0 ? len : 1;
    return first < 128 ? first : 128;
}

/* at stands behind '['.  NULL when no ']' ends the class, which makes the '[' a plain one. */
static const char *take_class(const char *at, struct charset *ret_set)
{
    struct charset set = {0};
    bool negated = *at == '!' || *at == '^';
    if (negated)
        at++;
    const char *first = at;
    while (*at != '\0' && (*at != ']' || at == first)) {
        unsigned char low = take(&at), high = low;
        if (*at == '-' && at[1] != ']' && at[1] != '\0') {
            at++;
            high = take(&at);
        }
        for (unsigned c = low; c <= high; c++)
            set_add(&set, (unsigned char)c);
    }
    if (*at != ']')
        return NULL;
    if (negated) /* Of the characters beyond ASCII it names some, never all. */
        set = (struct charset){{~set.ascii[0], ~set.ascii[1]}, true};
    *ret_set = set_within(set);
    return at + 1;
}

static bool add_token(struct automaton *automaton, struct token token)
{
    if (automaton->count == TOKENS_MAX)
        return false;
    automaton->tokens[automaton->count++] = token;
    return true;
}

/* "**", and with it the '/' behind it where it stands for whole components, or for nothing at
   all: that is decided in front of them, by a token that takes no character. */
static bool add_deep(struct automaton *automaton, const char **at, bool component)
{
    const struct token any = {.set = set_all(), .star = true};
    *at += strspn(*at, "*");
    if (!component || **at != '/')
        return add_token(automaton, any);
    ++*at;
    return add_token(automaton, (struct token){.star = true, .skip = 3}) &&
           add_token(automaton, any) && add_token(automaton, (struct token){.set = set_of('/')});
}

static bool add_one(struct automaton *automaton, const char **at)
{
    struct token token = {0};
    const char *behind = **at == '[' ? take_class(*at + 1, &token.set) : NULL;
    if (behind != NULL) {
        *at = behind;
    } else if (**at == '?') {
        ++*at;
        token.set = set_within(set_all());
    } else {
        if (**at == '\\' && (*at)[1] != '\0')
            ++*at;
        token.set = set_of(take(at));
    }
    return add_token(automaton, token);
}

/* A plain name is also the directory of that name with all that is in it. */
static bool add_inside(struct automaton *automaton, bool has_slash)
{
    return (has_slash || add_token(automaton, (struct token){.set = set_of('/'), .skip = 2})) &&
           add_token(automaton, (struct token){.set = set_all(), .star = true});
}

/* False: longer than the limit. */
static bool automaton_make(const char *pattern, struct automaton *automaton)
{
    const char *at = pattern;
    automaton->count = 0;
    bool fits = true;
    while (fits && *at != '\0') {
        if (at[0] == '*' && at[1] == '*') {
            fits = add_deep(automaton, &at, at == pattern || at[-1] == '/');
        } else if (*at == '*') {
            at++;
            fits = add_token(automaton, (struct token){.set = set_within(set_all()), .star = true});
        } else {
            fits = add_one(automaton, &at);
        }
    }
    return fits && (!glob_is_plain(pattern) || add_inside(automaton, text_ends(pattern, "/")));
}

/* ---- the walk ---- */

/* Places of `b` that can be reached while `a` stands at place i; a ring, for i to i + SPAN_MAX. */
struct front {
    bool at[SPAN_MAX + 1][TOKENS_MAX + 1];
};

static bool *row_of(struct front *front, size_t i)
{
    return front->at[i % (SPAN_MAX + 1)];
}

static void walk_from(const struct automaton *a, const struct automaton *b, struct front *front,
                      size_t i, size_t j)
{
    const struct token *one = i < a->count ? &a->tokens[i] : NULL;
    const struct token *other = j < b->count ? &b->tokens[j] : NULL;
    if (one != NULL && one->star)
        row_of(front, i + 1)[j] = true;
    if (one != NULL && one->skip > 0)
        row_of(front, i + one->skip)[j] = true;
    if (other != NULL && other->star)
        row_of(front, i)[j + 1] = true;
    if (other != NULL && other->skip > 0)
        row_of(front, i)[j + other->skip] = true;
    if (one != NULL && other != NULL && sets_meet(&one->set, &other->set))
        row_of(front, one->star ? i : i + 1)[other->star ? j : j + 1] = true;
}

/* Takes what it costs off *left; an answer that would cost more is yes. */
static bool automata_meet(const struct automaton *a, const struct automaton *b, int64_t *left)
{
    struct front front;
    memset(&front, 0, sizeof front);
    front.at[0][0] = true;
    for (size_t i = 0; i <= a->count; i++) {
        bool *row = row_of(&front, i);
        for (size_t j = 0; j <= b->count; j++) {
            if (!row[j])
                continue;
            if (--*left < 0 || (i == a->count && j == b->count))
                return true;
            walk_from(a, b, &front, i, j);
        }
        memset(row, 0, sizeof front.at[0]); /* It becomes the row of i + SPAN_MAX + 1. */
    }
    return false;
}

static bool may_meet(const char *one, const char *other, int64_t *left)
{
    struct automaton a, b;
    *left -= TOKENS_MAX; /* Reading them costs as well. */
    if (*left < 0 || !automaton_make(one, &a) || !automaton_make(other, &b))
        return true;
    return automata_meet(&a, &b, left);
}

/* ---- sets of files ---- */

static bool is_anything(const struct file_set *set)
{
    return set->glob_count == 0 && set->path_count == 0;
}

static const char *first_of(const struct file_set *set)
{
    if (set->glob_count > 0)
        return set->globs[0];
    return set->path_count > 0 ? set->paths[0] : NULL;
}

static bool set_covers(const struct file_set *set, const char *path, const char **ret_by)
{
    for (size_t i = 0; i < set->glob_count; i++) {
        if (glob_covers(set->globs[i], path)) {
            *ret_by = set->globs[i];
            return true;
        }
    }
    for (size_t i = 0; i < set->path_count; i++) {
        if (strcmp(set->paths[i], path) == 0) {
            *ret_by = set->paths[i];
            return true;
        }
    }
    return false;
}

static bool globs_meet(const struct file_set *wanted, const struct file_set *held,
                       struct overlap *ret_overlap)
{
    int64_t left = PAIRS_MAX;
    for (size_t i = 0; i < wanted->glob_count; i++) {
        for (size_t j = 0; j < held->glob_count; j++) {
            if (may_meet(wanted->globs[i], held->globs[j], &left)) {
                *ret_overlap = (struct overlap){wanted->globs[i], held->globs[j]};
                return true;
            }
        }
    }
    return false;
}

bool file_sets_overlap(const struct file_set *wanted, const struct file_set *held,
                       struct overlap *ret_overlap)
{
    const char *by;
    if (is_anything(wanted) || is_anything(held)) {
        *ret_overlap = (struct overlap){first_of(wanted), first_of(held)};
        return true;
    }
    for (size_t i = 0; i < held->path_count; i++) {
        if (set_covers(wanted, held->paths[i], &by)) {
            *ret_overlap = (struct overlap){by, held->paths[i]};
            return true;
        }
    }
    for (size_t i = 0; i < wanted->path_count; i++) {
        if (set_covers(held, wanted->paths[i], &by)) {
            *ret_overlap = (struct overlap){wanted->paths[i], by};
            return true;
        }
    }
    return globs_meet(wanted, held, ret_overlap);
}
