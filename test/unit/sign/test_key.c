/* One key pair: the test vectors of RFC 8032 section 7.1, files of keys, and what is refused. */
#include "base/base64.h"
#include "base/bug.h"
#include "sign/key.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MAX_ 256

static int make_directory(void **state)
{
    temp_dir_init(*state = xcalloc(1, sizeof(struct temp_dir)));
    return 0;
}

static int remove_directory(void **state)
{
    temp_dir_fini(*state);
    free(*state);
    return 0;
}

static const char *in(void **state, const char *name, char path[PATH_MAX_ * 2])
{
    temp_dir_path(*state, name, path, PATH_MAX_ * 2);
    return path;
}

static void put(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static size_t from_hex(const char *hex, uint8_t *ret)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        ret[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return n;
}

/* The file that another program would write for this secret: RFC 8410 section 7. */
static void put_secret(const char *path, const char *secret_hex)
{
    uint8_t der[48];
    struct strbuf text;
    size_t n = from_hex("302e020100300506032b657004220420", der);

    n += from_hex(secret_hex, der + n);
    assert_int_equal(n, sizeof(der));
    strbuf_init(&text, 1024);
    strbuf_add_cstr(&text, "-----BEGIN PRIVATE KEY-----\n");
    base64_encode((struct str){(const char *)der, n}, &text);
    strbuf_add_cstr(&text, "\n-----END PRIVATE KEY-----\n");
    put(path, text.p, 0600);
    strbuf_fini(&text);
}

static void sign__vectors_of_rfc_8032__same_signatures(void **state)
{
    static const struct {
        const char *secret, *public_, *message, *signature;
    } rows[] = {
        {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
         "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
         "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
         "d25bf5f0595bbe24655141438e7a100b"},
        {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
         "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
         "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
         "387b2eaeb4302aeeb00d291612bb0c00"},
        {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
         "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
         "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
         "4a7c15e9716ed28dc027beceea1ec40a"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t message[4], expected[64], got[SIGN_SIGNATURE_BYTES], public_[32];
        struct str bytes = {(const char *)message, from_hex(rows[i].message, message)};
        char path[PATH_MAX_ * 2];
        struct sign_key key;

        put_secret(in(state, "key.pem", path), rows[i].secret);
        assert_int_equal(sign_key_read(path, &key, NULL, NULL), 0);
        from_hex(rows[i].public_, public_);
        assert_memory_equal(key.public_.bytes, public_, 32);
        assert_int_equal(sign_bytes(&key, bytes, got, NULL), 0);
        assert_int_equal(from_hex(rows[i].signature, expected), 64);
        assert_memory_equal(got, expected, 64);
        assert_true(sign_verify(&key.public_, bytes, got));
    }
}

static void sign_verify__any_bit_changed__refused(void **state)
{
    uint8_t signature[SIGN_SIGNATURE_BYTES], bytes[5] = "hello";
    struct sign_key key, other;
    const struct str text = {(const char *)bytes, 5};

    assert_int_equal(sign_key_make(&key, NULL), 0);
    assert_int_equal(sign_key_make(&other, NULL), 0);
    assert_int_equal(sign_bytes(&key, text, signature, NULL), 0);
    assert_true(sign_verify(&key.public_, text, signature));
    assert_false(sign_verify(&other.public_, text, signature));
    assert_false(sign_verify(&key.public_, (struct str){text.p, 4}, signature));
    for (size_t i = 0; i < 8 * sizeof(signature); i++) {
        signature[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_false(sign_verify(&key.public_, text, signature));
        signature[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    for (size_t i = 0; i < 8 * sizeof(bytes); i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_false(sign_verify(&key.public_, text, signature));
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
}

static void sign_key_write__read_back__same_key_owner_only_never_over(void **state)
{
    char path[PATH_MAX_ * 2], beside[PATH_MAX_ * 2];
    struct sign_key key, again;
    const char *warning = "none yet";
    struct stat st;
    struct err err;

    assert_int_equal(sign_key_make(&key, NULL), 0);
    assert_int_equal(sign_key_write(&key, in(state, "new.pem", path), &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(in(state, "new.pem.pub", beside), &st), 0);
    assert_int_equal(st.st_mode & 0400, 0400);
    assert_int_equal(sign_key_read(path, &again, &warning, &err), 0);
    assert_memory_equal(&key, &again, sizeof(key));
    assert_null(warning);
    assert_int_equal(strlen(key.public_.id), SIGN_KEY_ID_LEN);

    assert_int_equal(sign_key_write(&again, path, &err), -ERR_CONFLICT);
    assert_non_null(strstr(err.msg, "never overwritten"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sign_key_write(&again, path, &err), -ERR_CONFLICT); /* the public one is still there */
    assert_non_null(strstr(err.msg, "new.pem.pub"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sign_key_write(&again, in(state, "no/such/place", path), &err), -ERR_NOT_FOUND);
}

/* The id of RFC 8410's own example key, computed with openssl and sha256sum as the header says. */
static void sign_key_read__id__digest_of_the_public_key(void **state)
{
    char path[PATH_MAX_ * 2];
    struct sign_key key;

    put_secret(in(state, "rfc8410.pem", path), "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842");
    assert_int_equal(sign_key_read(path, &key, NULL, NULL), 0);
    assert_string_equal(key.public_.id, "a1e9156054e04fac");
}

static void sign_key_read__readable_by_others__warned_unless_mounted_by_kubelet(void **state)
{
    char data[PATH_MAX_ * 2], path[PATH_MAX_ * 2], link[PATH_MAX_ * 2];
    struct sign_key key;
    const char *warning = NULL;

    assert_int_equal(mkdir(in(state, "..data", data), 0700), 0);
    put_secret(in(state, "..data/open.pem", path), "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842");
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(sign_key_read(path, &key, &warning, NULL), 0);
    assert_non_null(warning);
    assert_non_null(strstr(warning, "chmod 600"));
    assert_int_equal(setenv("CREDENTIALS_DIRECTORY", in(state, "..data", data), 1), 0);
    assert_int_equal(sign_key_read(path, &key, &warning, NULL), 0);
    assert_non_null(warning); /* everybody may read it: not as systemd makes it */
    assert_int_equal(chmod(path, 0440), 0);
    assert_int_equal(sign_key_read(path, &key, &warning, NULL), 0);
    assert_null(warning);
    assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/elsewhere", 1), 0);
    assert_int_equal(sign_key_read(path, &key, &warning, NULL), 0);
    assert_non_null(warning);
    assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
    assert_int_equal(symlink("..data/open.pem", in(state, "open.pem", link)), 0);
    assert_int_equal(sign_key_read(link, &key, &warning, NULL), 0);
    assert_null(warning);
}

static void sign_key_read__wrong_files__named_with_a_remedy(void **state)
{
    static const struct {
        const char *name, *text, *says;
    } rows[] = {
        {"empty", "", "is not a private key in PKCS#8 PEM"},
        {"text", "hush\n", "is not a private key in PKCS#8 PEM"},
        {"cut", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIE\n", "is not a private key in PKCS#8 PEM"},
        {"public",
         "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
         "-----END PUBLIC KEY-----\n",
         "is not a private key in PKCS#8 PEM"},
        {"x25519",
         "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VuBCIEIHcHbQpzGKV9PBbBclGyZkXfTC+H68CZKrF3+6UduSwq\n"
         "-----END PRIVATE KEY-----\n",
         "not Ed25519"},
    };
    char path[PATH_MAX_ * 2];
    struct sign_key key;
    struct err err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put(in(state, rows[i].name, path), rows[i].text, 0600);
        assert_int_equal(sign_key_read(path, &key, NULL, &err), -ERR_INVALID);
        if (strstr(err.msg, rows[i].says) == NULL || strstr(err.msg, path) == NULL ||
            strstr(err.msg, "fgpu signing-key") == NULL) {
            fail_msg("%s: %s", rows[i].name, err.msg);
        }
    }
    assert_int_equal(sign_key_read(in(state, "absent", path), &key, NULL, &err), -ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "fgpu signing-key"));
    assert_int_equal(sign_key_read(((struct temp_dir *)*state)->path, &key, NULL, &err), -ERR_INVALID);
    assert_int_equal(mkfifo(in(state, "fifo", path), 0600), 0);
    assert_int_equal(sign_key_read(path, &key, NULL, &err), -ERR_INVALID);
}

#define IN_A_DIRECTORY(test_) cmocka_unit_test_setup_teardown(test_, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_DIRECTORY(sign__vectors_of_rfc_8032__same_signatures),
        cmocka_unit_test(sign_verify__any_bit_changed__refused),
        IN_A_DIRECTORY(sign_key_write__read_back__same_key_owner_only_never_over),
        IN_A_DIRECTORY(sign_key_read__id__digest_of_the_public_key),
        IN_A_DIRECTORY(sign_key_read__readable_by_others__warned_unless_mounted_by_kubelet),
        IN_A_DIRECTORY(sign_key_read__wrong_files__named_with_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
