#include "kube/identity.h"

#include "support/temp_dir.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define S INT64_C(1000000000)
#define PEM(text) "-----BEGIN X-----\n" text "\n-----END X-----\n"

struct fixture {
    struct temp_dir dir;
    char token[128], ca[128], cert[128], key[128];
    char loaded_ca[64], loaded_cert[64], loaded_key[64];
    struct credentials creds;
    struct clock_manual clock;
    struct identity *id;
    const struct proof *proof;
    struct err err;
};

static struct fixture f;

static int setup(void **state)
{
    memset(&f, 0, sizeof(f));
    temp_dir_init(&f.dir);
    snprintf(f.token, sizeof(f.token), "%s/token", f.dir.path);
    snprintf(f.ca, sizeof(f.ca), "%s/ca", f.dir.path);
    snprintf(f.cert, sizeof(f.cert), "%s/cert", f.dir.path);
    snprintf(f.key, sizeof(f.key), "%s/key", f.dir.path);
    snprintf(f.loaded_ca, sizeof(f.loaded_ca), PEM("loaded ca"));
    snprintf(f.loaded_cert, sizeof(f.loaded_cert), PEM("loaded cert"));
    snprintf(f.loaded_key, sizeof(f.loaded_key), PEM("loaded key"));
    f.creds.token_file = f.token;
    clock_manual_init(&f.clock, 1000 * S, 0);
    return 0;
}

static int teardown(void **state)
{
    proof_unref(f.proof);
    identity_free(f.id);
    temp_dir_fini(&f.dir);
    return 0;
}

static void begin(void)
{
    const struct identity_options options = {.clock = &f.clock.clock};
    assert_int_equal(identity_new(&f.creds, &options, &f.id, NULL), 0);
}

static int get(void)
{
    proof_unref(f.proof);
    f.proof = NULL;
    return identity_get(f.id, &f.proof, &f.err);
}

static void expect_token(const char *token)
{
    char line[256];
    snprintf(line, sizeof(line), "Authorization: Bearer %s", token);
    if (get() != 0) {
        fail_msg("%s", f.err.msg);
    }
    assert_string_equal(f.proof->authorization, line);
}

/* The exchange began a nanosecond ago. */
static void answered(int status)
{
    int64_t begun_ns = f.clock.mono_ns;
    f.clock.mono_ns++;
    identity_answered(f.id, f.proof, begun_ns, status);
    f.clock.mono_ns++;
}

static void expect_file(const char *path, const char *text)
{
    char got[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(got, 1, sizeof(got) - 1, file);
    got[n] = '\0';
    fclose(file);
    assert_string_equal(got, text);
}

static const char *trouble(void)
{
    struct identity_stats stats;
    identity_stats(f.id, &stats);
    return stats.trouble;
}

/* ---- tokens ---- */

static void get__replaced_token_file__is_used_within_a_minute(void **state)
{
    temp_dir_write(&f.dir, "token", "one\n");
    begin();
    expect_token("one");
    temp_dir_write(&f.dir, "token", "two\n");
    f.clock.mono_ns += IDENTITY_AGE_MAX_S * S - 1;
    expect_token("one");
    f.clock.mono_ns += 1;
    expect_token("two");
    assert_true(IDENTITY_AGE_MAX_S < 60);
}

static void answered__401__the_file_is_read_again_at_once(void **state)
{
    temp_dir_write(&f.dir, "token", "one");
    begin();
    expect_token("one");
    uint64_t first = f.proof->generation;
    temp_dir_write(&f.dir, "token", "two");
    answered(401);
    assert_true(identity_has_more(f.id, f.proof));
    expect_token("two");
    assert_true(f.proof->generation > first);
    assert_null(trouble());
}

static void answered__401_to_a_replaced_proof__changes_nothing(void **state)
{
    temp_dir_write(&f.dir, "token", "one");
    begin();
    expect_token("one");
    const struct proof *old = f.proof;
    f.proof = NULL;
    temp_dir_write(&f.dir, "token", "two");
    f.clock.mono_ns += IDENTITY_AGE_MAX_S * S;
    expect_token("two");
    temp_dir_write(&f.dir, "token", "three");
    identity_answered(f.id, old, f.clock.mono_ns, 401);
    assert_true(identity_has_more(f.id, old));
    expect_token("two");
    proof_unref(old);
}

static void get__unreadable_token__keeps_the_old_one_unless_rejected(void **state)
{
    temp_dir_write(&f.dir, "token", "one");
    begin();
    expect_token("one");
    temp_dir_remove(&f.dir, "token");
    f.clock.mono_ns += 1000 * S;
    expect_token("one");
    answered(401);
    assert_int_equal(get(), -ERR_NOT_FOUND);
    assert_string_equal(trouble(), "the token of fgpu cannot be read");
    temp_dir_write(&f.dir, "token", "two");
    expect_token("two");
    assert_null(trouble());
}

static void get__what_is_no_token__is_refused(void **state)
{
    static const char *const texts[] = {"", " \n", "a\r\nX-Evil: 1", "a b", "caf\xc3\xa9"};
    begin();
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        temp_dir_write(&f.dir, "token", texts[i]);
        assert_int_equal(get(), -ERR_INVALID);
        assert_null(strstr(f.err.msg, "Evil"));
    }
}

static void get__literal_token__until_the_file_was_read(void **state)
{
    char text[] = "literal";
    f.creds.token = text;
    begin();
    expect_token("literal");
    temp_dir_write(&f.dir, "token", "one");
    f.clock.mono_ns += IDENTITY_AGE_MAX_S * S;
    expect_token("one");
    temp_dir_remove(&f.dir, "token");
    f.clock.mono_ns += IDENTITY_AGE_MAX_S * S;
    expect_token("one");
}

static void get__no_credentials__an_empty_proof(void **state)
{
    f.creds.token_file = NULL;
    begin();
    assert_int_equal(get(), 0);
    assert_null(f.proof->authorization);
    assert_null(f.proof->ca_path);
    assert_null(f.proof->cert_path);
}

/* ---- rejected again and again ---- */

static void answered__401_in_a_row__pauses_that_double(void **state)
{
    static const int64_t pauses_s[] = {1, 2, 4, 8, 16, 30, 30};
    temp_dir_write(&f.dir, "token", "one");
    begin();
    expect_token("one");
    answered(401);
    assert_false(identity_has_more(f.id, f.proof)); /* the file says the same */
    assert_null(trouble());
    for (size_t i = 0; i < ARRAY_LEN(pauses_s); i++) {
        expect_token("one");
        answered(401);
        assert_string_equal(trouble(), "the API server rejects the credentials of fgpu (401)");
        f.clock.mono_ns += pauses_s[i] * S - 10;
        assert_int_equal(get(), -ERR_DENIED);
        assert_non_null(strstr(f.err.msg, "next try in"));
        f.clock.mono_ns += 10;
    }
    expect_token("one");                  /* one may try */
    assert_int_equal(get(), -ERR_DENIED); /* but not two */
    f.clock.mono_ns += S;
    expect_token("one"); /* nothing came of the first */
    answered(200);
    assert_null(trouble());
    expect_token("one");
    expect_token("one");
}

static void answered__many_401_side_by_side__count_once(void **state)
{
    temp_dir_write(&f.dir, "token", "one");
    begin();
    expect_token("one");
    int64_t begun_ns = f.clock.mono_ns;
    f.clock.mono_ns += S;
    for (size_t i = 0; i < 64; i++) {
        identity_answered(f.id, f.proof, begun_ns, 401);
        f.clock.mono_ns += 1000;
    }
    expect_token("one");
    assert_null(trouble());
}

static void answered__401_then_a_new_file__no_pause(void **state)
{
    temp_dir_write(&f.dir, "token", "one");
    begin();
    for (size_t i = 0; i < 2; i++) {
        expect_token("one");
        answered(401);
    }
    assert_int_equal(get(), -ERR_DENIED);
    temp_dir_write(&f.dir, "token", "two");
    f.clock.mono_ns += S;
    expect_token("two");
    assert_null(trouble());
}

/* ---- certificates ---- */

static void write_certificates(const char *n)
{
    char text[64];
    snprintf(text, sizeof(text), PEM("ca %s"), n);
    temp_dir_write(&f.dir, "ca", text);
    snprintf(text, sizeof(text), PEM("cert %s"), n);
    temp_dir_write(&f.dir, "cert", text);
    snprintf(text, sizeof(text), PEM("key %s"), n);
    temp_dir_write(&f.dir, "key", text);
}

static void use_certificates(void)
{
    f.creds.token_file = NULL;
    f.creds.ca_file = f.ca;
    f.creds.ca_pem = f.loaded_ca;
    f.creds.client_cert_file = f.cert;
    f.creds.client_cert_pem = f.loaded_cert;
    f.creds.client_key_file = f.key;
    f.creds.client_key_pem = f.loaded_key;
}

static void get__replaced_certificates__new_paths_with_new_content(void **state)
{
    char ca_path[256], cert_path[256];
    use_certificates();
    write_certificates("1");
    begin();
    assert_int_equal(get(), 0);
    expect_file(f.proof->ca_path, PEM("ca 1"));
    expect_file(f.proof->cert_path, PEM("cert 1"));
    expect_file(f.proof->key_path, PEM("key 1"));
    snprintf(ca_path, sizeof(ca_path), "%s", f.proof->ca_path);
    snprintf(cert_path, sizeof(cert_path), "%s", f.proof->cert_path);
    f.clock.mono_ns += IDENTITY_AGE_MAX_S * S;
    assert_int_equal(get(), 0); /* nothing changed: connections stay usable */
    assert_string_equal(f.proof->cert_path, cert_path);
    write_certificates("2");
    temp_dir_write(&f.dir, "ca", PEM("ca 1"));
    f.clock.mono_ns += IDENTITY_AGE_MAX_S * S;
    assert_int_equal(get(), 0);
    assert_string_equal(f.proof->ca_path, ca_path);
    assert_string_not_equal(f.proof->cert_path, cert_path);
    expect_file(f.proof->ca_path, PEM("ca 1"));
    expect_file(f.proof->cert_path, PEM("cert 2"));
    expect_file(f.proof->key_path, PEM("key 2"));
}

static void get__failed_connection__files_are_read_again_at_once(void **state)
{
    use_certificates();
    write_certificates("1");
    begin();
    assert_int_equal(get(), 0);
    write_certificates("2");
    answered(0);
    assert_int_equal(get(), 0);
    expect_file(f.proof->ca_path, PEM("ca 2"));
}

static void get__bad_certificate_files__what_was_read_before_stays(void **state)
{
    struct identity_stats stats;
    use_certificates();
    begin();
    assert_int_equal(get(), 0); /* files are gone since the start */
    expect_file(f.proof->ca_path, PEM("loaded ca"));
    expect_file(f.proof->cert_path, PEM("loaded cert"));
    write_certificates("1");
    temp_dir_write(&f.dir, "key", "not a key");
    f.clock.mono_ns += IDENTITY_AGE_MAX_S * S;
    assert_int_equal(get(), 0);
    expect_file(f.proof->ca_path, PEM("ca 1"));
    expect_file(f.proof->cert_path, PEM("loaded cert")); /* no pair of two moments */
    expect_file(f.proof->key_path, PEM("loaded key"));
    identity_stats(f.id, &stats);
    assert_int_equal(stats.unreadable_n, 3);
    assert_null(stats.trouble);
}

static void get__paths__never_the_same_for_other_content(void **state)
{
    enum { N = 40 };
    static char seen[N][256];
    use_certificates();
    write_certificates("0");
    begin();
    for (size_t i = 0; i < N; i++) {
        char n[8];
        snprintf(n, sizeof(n), "%zu", i);
        write_certificates(n);
        f.clock.mono_ns += IDENTITY_AGE_MAX_S * S;
        assert_int_equal(get(), 0);
        snprintf(seen[i], sizeof(seen[i]), "%s", f.proof->cert_path);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(seen[i], seen[j]);
        }
    }
}

/* ---- the way ConfigMaps and Secrets change ---- */

static void path_in(char ret[256], const char *name)
{
    int n = snprintf(ret, 256, "%s/%s", f.dir.path, name);
    assert_true(n > 0 && n < 256);
}

static void make_version(const char *version, const char *token)
{
    char path[256];
    path_in(path, version);
    assert_int_equal(mkdir(path, 0700), 0);
    char name[64];
    snprintf(name, sizeof(name), "%s/token", version);
    path_in(path, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(token, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_version(const char *version)
{
    char path[256], name[64];
    snprintf(name, sizeof(name), "%s/token", version);
    path_in(path, name);
    assert_int_equal(unlink(path), 0);
    path_in(path, version);
    assert_int_equal(rmdir(path), 0);
}

static void swap_data_link(const char *version)
{
    char fresh[256], data[256];
    path_in(fresh, "..fresh");
    path_in(data, "..data");
    assert_int_equal(symlink(version, fresh), 0);
    assert_int_equal(rename(fresh, data), 0);
}

static void get__swapped_symbolic_link__is_seen(void **state)
{
    char link[256], data[256];
    make_version("..1", "one");
    swap_data_link("..1");
    path_in(link, "token");
    assert_int_equal(symlink("..data/token", link), 0);
    begin();
    expect_token("one");
    make_version("..2", "two");
    swap_data_link("..2");
    remove_version("..1");
    f.clock.mono_ns += IDENTITY_AGE_MAX_S * S;
    expect_token("two");
    path_in(data, "..data");
    assert_int_equal(unlink(data), 0);
    remove_version("..2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(get__replaced_token_file__is_used_within_a_minute),
        TEST(answered__401__the_file_is_read_again_at_once),
        TEST(answered__401_to_a_replaced_proof__changes_nothing),
        TEST(get__unreadable_token__keeps_the_old_one_unless_rejected),
        TEST(get__what_is_no_token__is_refused),
        TEST(get__literal_token__until_the_file_was_read),
        TEST(get__no_credentials__an_empty_proof),
        TEST(answered__401_in_a_row__pauses_that_double),
        TEST(answered__many_401_side_by_side__count_once),
        TEST(answered__401_then_a_new_file__no_pause),
        TEST(get__replaced_certificates__new_paths_with_new_content),
        TEST(get__failed_connection__files_are_read_again_at_once),
        TEST(get__bad_certificate_files__what_was_read_before_stays),
        TEST(get__paths__never_the_same_for_other_content),
        TEST(get__swapped_symbolic_link__is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
