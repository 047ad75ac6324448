/* Keyrings: which files make one, and what is refused. */
#include "base/bug.h"
#include "sign/keyring.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MAX_ 256

struct fixture {
    struct temp_dir directory;
    struct sign_key keys[3];
    char private_[3][PATH_MAX_ * 2];
    char public_[3][PATH_MAX_ * 2];
};

static int set_up(void **state)
{
    static const char *const NAMES[3][2] = {{"0.pem", "0.pem.pub"}, {"1.pem", "1.pem.pub"}, {"2.pem", "2.pem.pub"}};
    struct fixture *f = xcalloc(1, sizeof(*f));

    temp_dir_init(&f->directory);
    for (int i = 0; i < 3; i++) {
        temp_dir_path(&f->directory, NAMES[i][0], f->private_[i], sizeof(f->private_[i]));
        temp_dir_path(&f->directory, NAMES[i][1], f->public_[i], sizeof(f->public_[i]));
        if (sign_key_make(&f->keys[i], NULL) != 0 || sign_key_write(&f->keys[i], f->private_[i], NULL) != 0) {
            return 1;
        }
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    temp_dir_fini(&f->directory);
    free(f);
    return 0;
}

static void append(const char *to, const char *from)
{
    char text[4096];
    FILE *f = fopen(from, "re");
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, sizeof(text), f);
    fclose(f);
    f = fopen(to, "ae");
    assert_non_null(f);
    fputs("text between the blocks\n", f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

static struct sign_keyring *read_ring(const char *private_key, const char *public_key)
{
    const struct str path = str_of(public_key);
    const struct sign_files files = {private_key, &path, public_key != NULL};
    struct sign_keyring *k = NULL;
    struct err err = {0};

    if (sign_keyring_read(&files, &k, NULL, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    return k;
}

static void refused(const char *private_key, const char *public_key, const char *says)
{
    const struct str path = str_of(public_key);
    const struct sign_files files = {private_key, &path, public_key != NULL};
    struct sign_keyring *k = NULL;
    struct err err = {0};

    if (sign_keyring_read(&files, &k, NULL, &err) == 0 || k != NULL || strstr(err.msg, says) == NULL) {
        fail_msg("wanted \"%s\", got \"%s\"", says, err.msg);
    }
}

static size_t count(const struct sign_keyring *k)
{
    const struct sign_public *all;

    return sign_keyring_publics(k, &all);
}

static bool knows(const struct sign_keyring *k, const struct sign_key *key)
{
    const struct sign_public *found = sign_keyring_find(k, str_of(key->public_.id));

    return found != NULL && memcmp(found, &key->public_, sizeof(*found)) == 0;
}

static void keyring__private_key_alone__believes_itself(void **state)
{
    struct fixture *f = *state;
    struct sign_keyring *k = read_ring(f->private_[0], NULL);

    assert_int_equal(count(k), 1);
    assert_true(knows(k, &f->keys[0]));
    assert_false(knows(k, &f->keys[1]));
    assert_memory_equal(sign_keyring_private(k), &f->keys[0], sizeof(f->keys[0]));
    sign_keyring_put(k);
}

static void keyring__several_blocks_and_duplicates__each_key_once(void **state)
{
    struct fixture *f = *state;
    struct sign_keyring *k, *one;

    append(f->public_[1], f->public_[2]);
    append(f->public_[1], f->public_[1]);
    k = read_ring(f->private_[2], f->public_[1]);
    assert_int_equal(count(k), 2);
    assert_true(knows(k, &f->keys[1]) && knows(k, &f->keys[2]));
    one = sign_keyring_of(&f->keys[2]);
    assert_false(sign_keyring_equal(k, one));
    sign_keyring_put(one);
    one = read_ring(f->private_[2], f->public_[1]);
    assert_true(sign_keyring_equal(k, one));
    sign_keyring_put(one);
    sign_keyring_put(k);
}

static void keyring__public_keys_only__verifies_and_does_not_sign(void **state)
{
    struct fixture *f = *state;
    struct sign_keyring *k = read_ring(NULL, f->public_[0]);

    assert_null(sign_keyring_private(k));
    assert_true(knows(k, &f->keys[0]));
    sign_keyring_put(k);
}

static void keyring__directory__every_pub_file_of_it(void **state)
{
    struct fixture *f = *state;
    struct sign_keyring *k = read_ring(NULL, f->directory.path); /* private keys lie in it, too */
    char empty[PATH_MAX_ * 2];

    assert_int_equal(count(k), 3);
    sign_keyring_put(k);
    temp_dir_path(&f->directory, "empty", empty, sizeof(empty));
    assert_int_equal(mkdir(empty, 0700), 0);
    refused(NULL, empty, "ends in .pub");
}

/* Ed25519, and ECDSA: `openssl req -x509 -new -key KEY -subj /CN=fgpu -days 36500`. */
static const char ed25519_certificate[] = "-----BEGIN CERTIFICATE-----\n"
                                          "MIIBNDCB56ADAgECAhQky8g90gj3mRDez4svxxn79F3cQzAFBgMrZXAwDzENMAsG\n"
                                          "A1UEAwwEZmdwdTAgFw0yNjExMjMyMDM4MDVaGA8yMTI2MTAzMDIwMzgwNVowDzEN\n"
                                          "MAsGA1UEAwwEZmdwdTAqMAUGAytlcAMhADupNwxG27paUefAR30Pnq7UAOJLzfp8\n"
                                          "cHwAwnD1Raako1MwUTAdBgNVHQ4EFgQUD6aroK+Qyhh9MQp3IQC4gTg/whcwHwYD\n"
                                          "VR0jBBgwFoAUD6aroK+Qyhh9MQp3IQC4gTg/whcwDwYDVR0TAQH/BAUwAwEB/zAF\n"
                                          "BgMrZXADQQAQ1AL1K9l+KsQViGZzlXxJDFy9yV7Jv3Z6PJILeZWKpAMFw8F06X4G\n"
                                          "FZFHMvZwRd01OPFKmwZiVWG9nJxBW0kA\n"
                                          "-----END CERTIFICATE-----\n";
static const char ecdsa_certificate[] = "-----BEGIN CERTIFICATE-----\n"
                                        "MIIBdTCCARugAwIBAgIUAdGEwpDbJue0rROUUVfrKe8aHYowCgYIKoZIzj0EAwIw\n"
                                        "DzENMAsGA1UEAwwEZmdwdTAgFw0yNjExMjMyMDM4MDVaGA8yMTI2MTAzMDIwMzgw\n"
                                        "NVowDzENMAsGA1UEAwwEZmdwdTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHkY\n"
                                        "IV/pXwHAuXGnat7oDOYV6O4ORV0R0IEvFIuGyRIlIAioB46BpbPp9xXUsSw+KiEh\n"
                                        "AF+6GyMBcNGHR2tlSqOjUzBRMB0GA1UdDgQWBBTuTvHoHIhZkuEMy58bgBgyJ24k\n"
                                        "TjAfBgNVHSMEGDAWgBTuTvHoHIhZkuEMy58bgBgyJ24kTjAPBgNVHRMBAf8EBTAD\n"
                                        "AQH/MAoGCCqGSM49BAMCA0gAMEUCIEtqDLepW+YAs+2GXCw/Yh1YHW8a0ADBRpjP\n"
                                        "+gIYySKpAiEAtriGEjMPzXVMsiE220yL8StN9CZi0fojklKKi7GtgIU=\n"
                                        "-----END CERTIFICATE-----\n";

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* What certificate authorities and Helm make: the key of a certificate, whatever else it says. */
static void keyring__certificate__its_key(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX_ * 2];
    struct sign_keyring *k;

    temp_dir_path(&f->directory, "certificate.pub", path, sizeof(path));
    write_text(path, ed25519_certificate);
    k = read_ring(NULL, path);
    assert_int_equal(count(k), 1);
    /* openssl pkey -in KEY -pubout -outform DER | sha256sum | cut -c1-16 */
    assert_non_null(sign_keyring_find(k, STR("b14b51ee75a8eb5a")));
    sign_keyring_put(k);
    write_text(path, ecdsa_certificate);
    refused(NULL, path, "not Ed25519");
    write_text(path, "-----BEGIN CERTIFICATE-----\nhush\n-----END CERTIFICATE-----\n");
    refused(NULL, path, "cannot be read");
}

static void keyring__wrong_files__refused_with_a_remedy(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX_ * 2];
    FILE *out;

    refused(NULL, NULL, "fgpu signing-key");
    refused(NULL, f->private_[0], "holds a private key");
    refused(f->public_[0], NULL, "is not a private key");
    refused(f->private_[0], "/no/such/file", "no such file");
    temp_dir_path(&f->directory, "cut.pub", path, sizeof(path));
    out = fopen(path, "we");
    assert_non_null(out);
    fputs("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2Vw\n", out);
    fclose(out);
    refused(f->private_[0], path, "not a complete PUBLIC KEY or CERTIFICATE");
    out = fopen(path, "we");
    assert_non_null(out);
    fputs("-----BEGIN PUBLIC KEY-----\nhush\n-----END PUBLIC KEY-----\n", out);
    fclose(out);
    refused(f->private_[0], path, "cannot be read");
    out = fopen(path, "we");
    assert_non_null(out);
    fclose(out);
    refused(f->private_[0], path, "holds no public key");
}

#define WITH_KEYS(test_) cmocka_unit_test_setup_teardown(test_, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_KEYS(keyring__private_key_alone__believes_itself),
        WITH_KEYS(keyring__several_blocks_and_duplicates__each_key_once),
        WITH_KEYS(keyring__public_keys_only__verifies_and_does_not_sign),
        WITH_KEYS(keyring__directory__every_pub_file_of_it),
        WITH_KEYS(keyring__certificate__its_key),
        WITH_KEYS(keyring__wrong_files__refused_with_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
