/* A kubeconfig. What is accepted could be used for connecting; what is refused is refused with a
 * place, in one line of text, and without a word of the file that follows a key which holds a
 * secret. */
#define _GNU_SOURCE /* memmem */
#include "fuzz.h"

#include "config/kubeconfig.h"

#include <string.h>

/* A folder that does not exist: files named in the input cannot be found beside it. An absolute
 * path could, and to read /dev/zero tells nothing, so such inputs are passed over. */
#define PATH "/nonexistent/fuzz/config"

static bool names_a_file(struct str text)
{
    return text.n > 0 && (memchr(text.p, '/', text.n) != NULL || memchr(text.p, '\\', text.n) != NULL) &&
           (memmem(text.p, text.n, "certificate", 11) != NULL || memmem(text.p, text.n, "client-", 7) != NULL);
}

static void check_accepted(const struct credentials *c)
{
    struct str server = str_of(c->server);

    FUZZ_CHECK(str_starts(server, STR("https://")) || str_starts(server, STR("http://")));
    FUZZ_CHECK(!str_ends(server, STR("/")) && memchr(server.p, '\n', server.n) == NULL);
    FUZZ_CHECK((c->client_cert_pem == NULL) == (c->client_key_pem == NULL));
    FUZZ_CHECK(c->password == NULL || c->username != NULL);
    FUZZ_CHECK(c->token == NULL || strpbrk(c->token, "\r\n") == NULL);
}

/* Keys, names of entries and paths of files are no secrets. */
static bool is_a_name(const char *msg)
{
    const char *file = strstr(msg, "/nonexistent/fuzz/");

    return strstr(msg, "is named '") != NULL || strstr(msg, "name a context") != NULL ||
           strstr(msg, "duplicate key '") != NULL || strstr(file + 1, "/nonexistent/fuzz/") != NULL;
}

static void check_refused(const struct err *err, int rc)
{
    FUZZ_CHECK(rc == -(int)err->code && err->msg[0] != '\0');
    FUZZ_CHECK(strstr(err->msg, PATH) == err->msg || strstr(err->msg, "/nonexistent/fuzz/") != NULL);
    FUZZ_CHECK(strchr(err->msg, '\n') == NULL);
    FUZZ_CHECK(strstr(err->msg, "S3CRET") == NULL || is_a_name(err->msg));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct credentials c, untouched;
    struct err err = {.code = ERR_OK};
    int rc;

    memset(&c, 0, sizeof(c));
    memset(&untouched, 0, sizeof(untouched));
    if (names_a_file(text)) {
        return 0;
    }
    rc = kubeconfig_parse(PATH, text, NULL, &c, &err);
    if (rc == 0) {
        check_accepted(&c);
    } else {
        check_refused(&err, rc);
        FUZZ_CHECK(memcmp(&c, &untouched, sizeof(c)) == 0);
    }
    credentials_fini(&c);
    return 0;
}
