/* Keys that change under everybody: which files count, from when on, and what stays. */
#include "base/bug.h"
#include "extender/signing.h"
#include "extender/support/await.h"
#include "extender/support/tested_store.h"
#include "extender/verifier.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MAX_ 256

/* A Secret as kubelet mounts it: the files are links into ..data, which is a link to the version of the moment. */
struct fixture {
    struct temp_dir directory;
    struct str private_, public_;
    struct sign_key keys[2];
    struct log log;
    unsigned errors, warnings;
    struct signing *signing;
};

static void count_errors(void *ctx, const struct log_record *rec)
{
    struct fixture *f = ctx;

    f->errors += rec->level == LOG_LEVEL_ERROR;
    f->warnings += rec->level == LOG_LEVEL_WARNING;
}

static void write_version(struct fixture *f, const char *name, const struct sign_key *private_,
                          const struct sign_key *further)
{
    char path[PATH_MAX_ * 2];

    temp_dir_path(&f->directory, name, path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s/key.pem", f->directory.path, name);
    assert_int_equal(sign_key_write(private_, path, NULL), 0);
    if (further != NULL) {
        snprintf(path, sizeof(path), "%s/%s/further", f->directory.path, name);
        assert_int_equal(sign_key_write(further, path, NULL), 0);
        assert_int_equal(unlink(path), 0); /* the public half stays */
    }
}

/* As kubelet does it: one rename changes everything at once. */
static void swap_to(struct fixture *f, const char *version)
{
    char from[PATH_MAX_ * 2], to[PATH_MAX_ * 2];

    temp_dir_path(&f->directory, "..data_tmp", from, sizeof(from));
    temp_dir_path(&f->directory, "..data", to, sizeof(to));
    assert_int_equal(symlink(version, from), 0);
    assert_int_equal(rename(from, to), 0);
}

static void set_up_links(struct fixture *f)
{
    static char private_[PATH_MAX_ * 2], public_[PATH_MAX_ * 2];

    write_version(f, "v1", &f->keys[0], NULL);
    swap_to(f, "v1");
    temp_dir_path(&f->directory, "key.pem", private_, sizeof(private_));
    assert_int_equal(symlink("..data/key.pem", private_), 0);
    f->private_ = str_of(private_);
    temp_dir_path(&f->directory, "..data", public_, sizeof(public_));
    f->public_ = str_of(public_);
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct signing_options o;

    temp_dir_init(&f->directory);
    assert_int_equal(sign_key_make(&f->keys[0], NULL), 0);
    assert_int_equal(sign_key_make(&f->keys[1], NULL), 0);
    set_up_links(f);
    f->log = (struct log){.write = count_errors, .ctx = f};
    o = (struct signing_options){.files = {f->private_.p, &f->public_, 1}, .log = &f->log};
    *state = f;
    return signing_new(&o, &f->signing, NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(f->warnings, 0); /* there is nothing wrong with the files that are taken */
    signing_free(f->signing);
    temp_dir_fini(&f->directory);
    free(f);
    return 0;
}

static bool knows(struct fixture *f, const struct sign_key *key)
{
    const struct sign_keyring *k = signing_take(f->signing);
    const bool known = sign_keyring_find(k, str_of(key->public_.id)) != NULL;

    sign_keyring_put(k);
    return known;
}

static bool signs_with(struct fixture *f, const struct sign_key *key)
{
    const struct sign_keyring *k = signing_take(f->signing);
    const bool same = memcmp(sign_keyring_private(k), key, sizeof(*key)) == 0;

    sign_keyring_put(k);
    return same;
}

static void look__nothing_changed__nothing_happens(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        assert_false(signing_look(f->signing, i == 2));
    }
    assert_true(signs_with(f, &f->keys[0]));
}

/* The rotation of config/README.md, step by step, each as one swap of a Secret. */
static void look__rotation_by_swaps_of_a_secret__each_step_counts_from_the_second_look(void **state)
{
    struct fixture *f = *state;

    write_version(f, "v2", &f->keys[0], &f->keys[1]);
    swap_to(f, "v2");
    assert_false(signing_look(f->signing, false));
    assert_false(knows(f, &f->keys[1]));
    assert_true(signing_look(f->signing, false)); /* other public keys */
    assert_true(knows(f, &f->keys[1]) && signs_with(f, &f->keys[0]));

    write_version(f, "v3", &f->keys[1], &f->keys[0]);
    swap_to(f, "v3");
    assert_false(signing_look(f->signing, false));
    assert_false(signing_look(f->signing, false)); /* the same public keys, another private one */
    assert_true(signs_with(f, &f->keys[1]) && knows(f, &f->keys[0]));

    write_version(f, "v4", &f->keys[1], NULL);
    swap_to(f, "v4");
    assert_true(signing_look(f->signing, true)); /* asked for: at once */
    assert_false(knows(f, &f->keys[0]));
}

static void look__wrong_new_keys__old_ones_stay_and_one_error(void **state)
{
    struct fixture *f = *state;
    struct signing_stats stats;
    FILE *out;
    char path[PATH_MAX_ * 2];

    temp_dir_path(&f->directory, "v1/key.pem", path, sizeof(path));
    out = fopen(path, "we");
    assert_non_null(out);
    fputs("half a key", out);
    fclose(out);
    for (int i = 0; i < 5; i++) {
        assert_false(signing_look(f->signing, i == 4));
    }
    assert_true(signs_with(f, &f->keys[0]));
    assert_int_equal(f->errors, 1);
    signing_stats(f->signing, &stats);
    assert_int_equal(stats.reload_failed_n, 1);
    assert_int_equal(stats.reload_n, 0);

    write_version(f, "v2", &f->keys[1], NULL);
    swap_to(f, "v2");
    assert_true(signing_look(f->signing, true));
    assert_true(signs_with(f, &f->keys[1]));
}

/* A file that is written in two halves, looked at in between: the half never counts. */
static void look__key_gone_for_one_look__still_known(void **state)
{
    struct fixture *f = *state;

    write_version(f, "v2", &f->keys[0], &f->keys[1]);
    swap_to(f, "v2");
    assert_true(signing_look(f->signing, true));
    swap_to(f, "v1");
    assert_false(signing_look(f->signing, false));
    swap_to(f, "v2");
    assert_false(signing_look(f->signing, false));
    swap_to(f, "v1");
    assert_false(signing_look(f->signing, false));
    assert_true(knows(f, &f->keys[1]));
}

/* ---- what was signed here, and what became of records ---- */

static struct str proof_of(unsigned number)
{
    static char text[32];

    return (struct str){text, (size_t)snprintf(text, sizeof(text), "proof-%u", number)};
}

static void remembered__as_many_as_there_is_room_for__each_recognized_once(void **state)
{
    struct fixture *f = *state;
    struct signing_stats stats;

    for (unsigned i = 0; i < SIGNING_REMEMBERED; i++) {
        signing_remember(f->signing, proof_of(i));
    }
    assert_false(signing_recognizes(f->signing, proof_of(SIGNING_REMEMBERED)));
    for (unsigned i = 0; i < SIGNING_REMEMBERED; i++) { /* in no order, past those that are gone */
        const unsigned number = (i * 7 + 3) % SIGNING_REMEMBERED;

        assert_true(signing_recognizes(f->signing, proof_of(number)));
        assert_false(signing_recognizes(f->signing, proof_of(number)));
    }
    signing_stats(f->signing, &stats);
    assert_int_equal(stats.recognized_n, SIGNING_REMEMBERED);
    for (unsigned i = 0; i <= SIGNING_REMEMBERED; i++) { /* one too many */
        signing_remember(f->signing, proof_of(i));
    }
    assert_false(signing_recognizes(f->signing, proof_of(0)));
    for (unsigned i = 1; i <= SIGNING_REMEMBERED; i++) {
        assert_true(signing_recognizes(f->signing, proof_of(i)));
    }
}

static void remembered__of_any_length__up_to_a_limit(void **state)
{
    static char text[SIGNING_REMEMBERED_BYTES + 1];
    struct fixture *f = *state;
    const struct str longest = {text, SIGNING_REMEMBERED_BYTES}, lengthy = {text, SIGNING_REMEMBERED_BYTES + 1};

    memset(text, 'x', sizeof(text));
    signing_remember(f->signing, lengthy);
    signing_remember(f->signing, STR_NULL);
    assert_false(signing_recognizes(f->signing, lengthy));
    assert_false(signing_recognizes(f->signing, STR_NULL));
    signing_remember(f->signing, longest);
    assert_false(signing_recognizes(f->signing, lengthy));
    assert_true(signing_recognizes(f->signing, longest));
}

static void count__each_outcome_by_itself(void **state)
{
    struct fixture *f = *state;
    struct signing_stats stats;

    signing_count(f->signing, SIGNING_VERIFIED);
    for (int i = 0; i < 2; i++) {
        signing_count(f->signing, SIGNING_REFUTED);
    }
    for (int i = 0; i < 3; i++) {
        signing_count(f->signing, SIGNING_IGNORED);
    }
    signing_stats(f->signing, &stats);
    assert_true(stats.verified_n == 1 && stats.refuted_n == 2 && stats.ignored_n == 3 && stats.recognized_n == 0);
}

static void wait__woken_before__at_once_and_once(void **state)
{
    struct fixture *f = *state;

    signing_wake(f->signing);
    signing_wake(f->signing);
    assert_true(signing_wait(f->signing, 3600 * 1000));
    assert_false(signing_wait(f->signing, 0));
}

#define WITH_A_SECRET(test_) cmocka_unit_test_setup_teardown(test_, set_up, tear_down)

/* Who signs nothing and only verifies follows its one file, too; of no file at all there is nothing to look at. */
static void look__no_private_key__public_ones_are_followed(void **state)
{
    struct fixture *f = *state;
    const struct signing_options o = {.files = {NULL, &f->public_, 1}, .log = &f->log};
    struct signing *alone, *ephemeral;

    assert_int_equal(signing_new(&o, &alone, NULL), 0);
    write_version(f, "v2", &f->keys[1], NULL);
    swap_to(f, "v2");
    assert_true(signing_look(alone, true));
    assert_false(signing_look(alone, true));
    signing_free(alone);
    assert_int_equal(signing_new_ephemeral(&f->log, &ephemeral, NULL), 0);
    assert_false(signing_look(ephemeral, true));
    signing_free(ephemeral);
    assert_int_equal(f->errors, 0);
}

static atomic_uint changed_n;

static void keys_changed(void *ctx)
{
    assert_ptr_equal(ctx, &changed_n);
    changed_n++;
}

static bool is_changed(const void *nothing)
{
    return changed_n > 0;
}

static void verifier__asked_to_look__tells_that_other_keys_count(void **state)
{
    struct fixture *f = *state;
    struct policy_set *policies;
    struct verifier *v;

    changed_n = 0;
    store_open(clock_system());
    policies = policy_set_new(rules_of(policy_defaults(), 1));
    assert_int_equal(
        verifier_start(&(struct verifier_options){policies, f->signing, keys_changed, &changed_n}, &v, NULL), 0);
    verifier_look(v);
    assert_int_equal(changed_n, 0);
    write_version(f, "v2", &f->keys[1], NULL);
    swap_to(f, "v2");
    verifier_look(v);
    await(is_changed, NULL, "news of other keys"); /* told by this thread, or by its own, which looks now and then */
    assert_true(signs_with(f, &f->keys[1]));
    verifier_look(v);
    verifier_stop(v);
    assert_int_equal(changed_n, 1);
    policy_set_free(policies);
    store_check_and_free();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_SECRET(look__nothing_changed__nothing_happens),
        WITH_A_SECRET(look__rotation_by_swaps_of_a_secret__each_step_counts_from_the_second_look),
        WITH_A_SECRET(look__wrong_new_keys__old_ones_stay_and_one_error),
        WITH_A_SECRET(look__key_gone_for_one_look__still_known),
        WITH_A_SECRET(look__no_private_key__public_ones_are_followed),
        WITH_A_SECRET(remembered__as_many_as_there_is_room_for__each_recognized_once),
        WITH_A_SECRET(remembered__of_any_length__up_to_a_limit),
        WITH_A_SECRET(count__each_outcome_by_itself),
        WITH_A_SECRET(wait__woken_before__at_once_and_once),
        WITH_A_SECRET(verifier__asked_to_look__tells_that_other_keys_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
