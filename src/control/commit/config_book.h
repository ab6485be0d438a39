/*
 * config_book.h - the configurations that a lane has decoded lately.
 *
 * Every step of a run reads its task's snapshot, and every round of admission the limits of the
 * repositories: mostly the same few documents.  An entry is found by the bytes that it was decoded
 * from, and the same bytes always decode to the same configuration, so that no entry grows stale.
 *
 * The book owns its entries.  They are in order of last use, and those beyond its limits are freed
 * with the next new one.  One round of admission may use more documents than the book holds, hence
 * the count of uses: an entry that is taken stays until it is put back.
 */
#ifndef CONTROL_COMMIT_CONFIG_BOOK_H
#define CONTROL_COMMIT_CONFIG_BOOK_H
#include "base/arena.h"
#include "core/config/repo_document.h"

enum { CONFIG_BOOK_ENTRIES_MAX = 64, CONFIG_BOOK_BYTES_MAX = 4 * 1024 * 1024 };

struct known_config {
    struct repo_config config;
    struct str document; /* What was decoded: the layers, put together. */
    struct repo_layers layers;
    struct js *tree;
    struct arena arena;
    size_t uses;
    struct known_config *next;
};

struct config_book {
    struct known_config *first; /* The one used last. */
};

void config_book_release(struct config_book *book);

/* The merged document of the layers, decoded.  Fails as repo_layers_decode does. */
MUST_USE enum rc config_book_take(struct config_book *book, const struct repo_layers *layers,
                                  struct known_config **ret_known, struct err *err);
void config_book_put(struct known_config *known);   /* NULL is fine. */
void config_book_putp(struct known_config **known); /* For CLEANUP. */
#endif
