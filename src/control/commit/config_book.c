#include "control/commit/config_book.h"
#include "base/mem.h"
#include <assert.h>

static void known_free(struct known_config *known)
{
    assert(known->uses == 0);
    js_free(known->tree);
    arena_release(&known->arena);
    mem_free(known);
}

void config_book_release(struct config_book *book)
{
    while (book->first != NULL) {
        struct known_config *known = book->first;
        book->first = known->next;
        known_free(known);
    }
}

static void add(struct config_book *book, struct known_config *known)
{
    known->next = book->first;
    book->first = known;
}

static bool layers_same(const struct repo_layers *a, const struct repo_layers *b)
{
    return str_same(a->repository, b->repository) && str_same(a->task, b->task) &&
           str_same(a->platform, b->platform) && str_same(a->snapshot, b->snapshot);
}

/* Puts it first. */
static struct known_config *find(struct config_book *book, const struct repo_layers *layers)
{
    for (struct known_config **at = &book->first; *at != NULL; at = &(*at)->next) {
        struct known_config *known = *at;
        if (!layers_same(&known->layers, layers))
            continue;
        *at = known->next;
        add(book, known);
        return known;
    }
    return NULL;
}

static void trim(struct config_book *book)
{
    size_t count = 0, bytes = 0;
    for (struct known_config **at = &book->first; *at != NULL;) {
        struct known_config *known = *at;
        count++;
        bytes += known->arena.used_bytes;
        bool fits = count <= CONFIG_BOOK_ENTRIES_MAX && bytes <= CONFIG_BOOK_BYTES_MAX;
        if (fits || known->uses > 0) {
            at = &known->next;
        } else {
            *at = known->next;
            known_free(known);
        }
    }
}

static struct str keep(struct known_config *known, struct str text)
{
    return (struct str){str_dup(&known->arena, text), text.len};
}

static enum rc decode(struct known_config *known, const struct repo_layers *layers, struct err *err)
{
    known->layers = (struct repo_layers){
        .snapshot = keep(known, layers->snapshot),
        .platform = keep(known, layers->platform),
        .repository = keep(known, layers->repository),
        .task = keep(known, layers->task),
    };
    enum rc rc = repo_layers_merge(&known->layers, &known->arena, &known->document, err);
    if (rc == RC_OK)
        rc = js_parse(known->document.at, known->document.len, &known->tree, err);
    if (rc == RC_OK)
        rc = repo_config_decode(known->tree, NULL, &known->arena, &known->config, err);
    return rc;
}

enum rc config_book_take(struct config_book *book, const struct repo_layers *layers,
                         struct known_config **ret_known, struct err *err)
{
    struct known_config *known = find(book, layers);
    if (known == NULL) {
        known = mem_alloc(sizeof *known);
        enum rc rc = decode(known, layers, err);
        if (rc != RC_OK) {
            known_free(known);
            return rc;
        }
        trim(book);
        add(book, known);
    }
    known->uses++;
    *ret_known = known;
    return RC_OK;
}

void config_book_put(struct known_config *known)
{
    if (known == NULL)
        return;
    assert(known->uses > 0);
    known->uses--;
}

void config_book_putp(struct known_config **known)
{
    config_book_put(*known);
}
