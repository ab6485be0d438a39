/*
 * test_store_artifacts.c - content-addressed bytes and their links to runs.
 */
#include "base/fd.h"
#include "store/artifacts.h"
#include "store/engine.h"
#include "tests/store/fixture.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* sha256 of "hello" */
#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

static const char *content_path(struct fixture *f, const char *sha256)
{
    return arena_printf(&f->arena, "%s/%.2s/%s", f->artifact_dir, sha256, sha256 + 2);
}

static int entries_in(const char *path)
{
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static int entries_left(struct fixture *f)
{
    return engine_has_files(f->engine)
               ? entries_in(arena_printf(&f->arena, "%s/tmp", f->artifact_dir))
               : 0;
}

START_TEST(content_comes_back_by_its_hash)
{
    FIXTURE(f);
    char sha256[SHA256_TEXT_BYTES];
    must(artifact_put(f.store, STR("hello"), sha256, &f.err));
    ck_assert_str_eq(sha256, HELLO);
    if (engine_has_files(_i)) {
        struct stat status;
        ck_assert_int_eq(stat(content_path(&f, HELLO), &status), 0);
        ck_assert_uint_eq(status.st_mode & 0777, 0600);
    }

    CLEANUP(buf_release) struct buf content;
    buf_init(&content, 100);
    buf_adds(&content, ">");
    must(artifact_get(f.store, HELLO, &content, &f.err));
    ck_assert_str_eq(buf_text(&content), ">hello");

    CLEANUP(fd_closep) int fd = -1;
    int64_t bytes;
    must(artifact_open(f.store, HELLO, &fd, &bytes, &f.err));
    ck_assert_int_eq(bytes, 5);
    char read_back[5];
    ck_assert_int_eq(read(fd, read_back, sizeof read_back), 5);
    ck_assert_mem_eq(read_back, "hello", 5);
}
END_TEST

START_TEST(the_same_content_is_stored_once)
{
    if (!engine_has_files(_i))
        return;
    FIXTURE(f);
    char sha256[SHA256_TEXT_BYTES];
    must(artifact_put(f.store, STR("hello"), sha256, &f.err));
    struct stat first, second;
    ck_assert_int_eq(stat(content_path(&f, HELLO), &first), 0);
    must(artifact_put(f.store, STR("hello"), sha256, &f.err));
    ck_assert_int_eq(stat(content_path(&f, HELLO), &second), 0);
    ck_assert_uint_eq(first.st_ino, second.st_ino);
    ck_assert_int_eq(entries_in(arena_printf(&f.arena, "%s/2c", f.artifact_dir)), 1);
    ck_assert_int_eq(entries_left(&f), 0);
}
END_TEST

START_TEST(nothing_is_content_too)
{
    FIXTURE(f);
    char sha256[SHA256_TEXT_BYTES];
    must(artifact_put(f.store, STR(""), sha256, &f.err));
    CLEANUP(buf_release) struct buf content;
    buf_init(&content, 10);
    must(artifact_get(f.store, sha256, &content, &f.err));
    ck_assert_uint_eq(content.len, 0);
}
END_TEST

START_TEST(a_file_is_taken_whole)
{
    FIXTURE(f);
    enum { BYTES = 300000 };
    char *bytes = arena_alloc(&f.arena, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (char)(i * 7 / 3);
    char *path = arena_printf(&f.arena, "%s/log", f.dir);
    must(file_write_durable(path, bytes, BYTES, 0600, &f.err));
    char sha256[SHA256_TEXT_BYTES], want[SHA256_TEXT_BYTES];
    int64_t len;
    must(artifact_put_file(f.store, path, sha256, &len, &f.err));
    sha256_hex(bytes, BYTES, want);
    ck_assert_str_eq(sha256, want);
    ck_assert_int_eq(len, BYTES);
    CLEANUP(buf_release) struct buf content;
    buf_init(&content, BYTES);
    must(artifact_get(f.store, sha256, &content, &f.err));
    ck_assert_mem_eq(content.data, bytes, BYTES);
    must(artifact_put_file(f.store, path, sha256, &len, &f.err));
    ck_assert_int_eq(entries_left(&f), 0);
}
END_TEST

START_TEST(only_regular_files_are_taken)
{
    FIXTURE(f);
    char *file = arena_printf(&f.arena, "%s/file", f.dir);
    char *link = arena_printf(&f.arena, "%s/link", f.dir);
    char *pipe = arena_printf(&f.arena, "%s/pipe", f.dir);
    must(file_write_durable(file, "x", 1, 0600, &f.err));
    ck_assert_int_eq(symlink(file, link), 0);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    const struct {
        const char *path;
        enum rc want;
    } cases[] = {
        {link, RC_IO}, {pipe, RC_INVALID}, {f.dir, RC_INVALID}, {"/no/file", RC_NOT_FOUND}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char sha256[SHA256_TEXT_BYTES] = "untouched";
        int64_t bytes = -1;
        must_be(cases[i].want, artifact_put_file(f.store, cases[i].path, sha256, &bytes, &f.err));
        ck_assert_str_eq(sha256, "untouched");
        ck_assert_int_eq(bytes, -1);
    }
}
END_TEST

START_TEST(content_has_a_limit)
{
    FIXTURE(f);
    char sha256[SHA256_TEXT_BYTES];
    struct str huge = {"", (size_t)ARTIFACT_BYTES_MAX + 1}; /* Refused before it is read. */
    must_be(RC_TOO_LARGE, artifact_put(f.store, huge, sha256, &f.err));
    char *path = arena_printf(&f.arena, "%s/huge", f.dir);
    CLEANUP(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(ftruncate(fd, (off_t)ARTIFACT_BYTES_MAX + 1), 0);
    int64_t bytes;
    must_be(RC_TOO_LARGE, artifact_put_file(f.store, path, sha256, &bytes, &f.err));
    ck_assert_int_eq(entries_left(&f), 0);

    must(artifact_put(f.store, STR("hello"), sha256, &f.err));
    CLEANUP(buf_release) struct buf small;
    buf_init(&small, 4);
    must_be(RC_TOO_LARGE, artifact_get(f.store, sha256, &small, &f.err));
}
END_TEST

START_TEST(a_name_that_is_no_hash_never_becomes_a_path)
{
    FIXTURE(f);
    static const char *const names[] = {
        "",
        "../../etc/passwd",
        "2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824",
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b982",
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b98244",
        "2c/24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    };
    CLEANUP(buf_release) struct buf content;
    buf_init(&content, 10);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        int fd = -1;
        int64_t bytes;
        must_be(RC_INVALID, artifact_get(f.store, names[i], &content, &f.err));
        must_be(RC_INVALID, artifact_open(f.store, names[i], &fd, &bytes, &f.err));
        ck_assert_int_eq(fd, -1);
    }
    int fd = -1;
    int64_t bytes;
    must_be(RC_NOT_FOUND, artifact_get(f.store, HELLO, &content, &f.err));
    must_be(RC_NOT_FOUND, artifact_open(f.store, HELLO, &fd, &bytes, &f.err));
}
END_TEST

START_TEST(damaged_content_is_not_handed_out)
{
    FIXTURE(f);
    char sha256[SHA256_TEXT_BYTES];
    must(artifact_put(f.store, STR("hello"), sha256, &f.err));
    if (engine_has_files(_i))
        must(file_write_durable(content_path(&f, sha256), "jello", 5, 0600, &f.err));
    else
        must(db_script(f.db, "damage", "UPDATE artifact_chunks SET data = 'jello'", &f.err));
    CLEANUP(buf_release) struct buf content;
    buf_init(&content, 10);
    must_be(RC_CORRUPT, artifact_get(f.store, sha256, &content, &f.err));
    ck_assert_uint_eq(content.len, 0);
}
END_TEST

START_TEST(what_was_left_half_written_is_removed_at_start)
{
    if (!engine_reopens(_i) || !engine_has_files(_i))
        return;
    FIXTURE(f);
    char *left = arena_printf(&f.arena, "%s/tmp/abcdef", f.artifact_dir);
    must(file_write_durable(left, "half", 4, 0600, &f.err));
    fixture_reopen(&f);
    ck_assert(!file_exists(left));
    char sha256[SHA256_TEXT_BYTES];
    must(artifact_put(f.store, STR("hello"), sha256, &f.err));
}
END_TEST

START_TEST(a_store_without_a_directory_refuses_content)
{
    struct store *store;
    struct err err;
    struct store_options options = {.url = "sqlite::memory:"};
    ck_assert_int_eq(store_open(&options, &store, &err), RC_OK);
    char sha256[SHA256_TEXT_BYTES];
    ck_assert_int_eq(artifact_put(store, STR("x"), sha256, &err), RC_INVALID);
    ck_assert_str_eq(err.code, "NO_ARTIFACT_DIR");
    store_close(store);
}
END_TEST

static void *put_many(void *arg)
{
    struct store *store = arg;
    for (int i = 0; i < 20; i++) {
        char text[32];
        snprintf(text, sizeof text, "content %d", i);
        char sha256[SHA256_TEXT_BYTES];
        struct err err;
        if (artifact_put(store, str_of(text), sha256, &err) != RC_OK)
            return arg;
    }
    return NULL;
}

START_TEST(threads_may_put_the_same_content)
{
    FIXTURE(f);
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, put_many, f.store), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    ck_assert_int_eq(entries_left(&f), 0);
}
END_TEST

START_TEST(a_link_is_replaced_by_kind_and_name)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct artifact_row link = {run.id, "diff", "attempt-1", "one", 10, 5};
    must(artifacts_link(f.db, &link, &f.err));
    link.sha256 = "two";
    link.bytes = 20;
    must(artifacts_link(f.db, &link, &f.err));
    link.name = "attempt-2";
    link.created_us = 4;
    must(artifacts_link(f.db, &link, &f.err));
    struct artifact_row *rows;
    size_t count;
    must(artifacts_of_run(f.db, &run.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "attempt-2");
    ck_assert_id_eq(rows[1].run_id, run.id);
    ck_assert_str_eq(rows[1].kind, "diff");
    ck_assert_str_eq(rows[1].name, "attempt-1");
    ck_assert_str_eq(rows[1].sha256, "two");
    ck_assert_int_eq(rows[1].bytes, 20);
    ck_assert_int_eq(rows[1].created_us, 5);
    struct artifact_row got;
    must(artifacts_by_sha256(f.db, "two", &f.arena, &got, &f.err));
    ck_assert_id_eq(got.run_id, run.id);
    must_be(RC_NOT_FOUND, artifacts_by_sha256(f.db, "one", &f.arena, &got, &f.err));
    link.run_id = fixture_id(&f);
    must_be(RC_IO, artifacts_link(f.db, &link, &f.err));
}
END_TEST

Suite *store_artifacts_suite(void)
{
    Suite *suite = suite_create("store_artifacts");
    TCase *tc = tcase_create("artifacts");
    case_add(tc, content_comes_back_by_its_hash);
    case_add(tc, the_same_content_is_stored_once);
    case_add(tc, nothing_is_content_too);
    case_add(tc, a_file_is_taken_whole);
    case_add(tc, only_regular_files_are_taken);
    case_add(tc, content_has_a_limit);
    case_add(tc, a_name_that_is_no_hash_never_becomes_a_path);
    case_add(tc, damaged_content_is_not_handed_out);
    case_add(tc, what_was_left_half_written_is_removed_at_start);
    tcase_add_test(tc, a_store_without_a_directory_refuses_content);
    case_add(tc, threads_may_put_the_same_content);
    case_add(tc, a_link_is_replaced_by_kind_and_name);
    suite_add_tcase(suite, tc);
    return suite;
}
