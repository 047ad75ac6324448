/* Whose certificate is taken, and certificates that change while the server runs. */
#include "base/clock.h"
#include "httpd/support/certs.h"
#include "httpd/support/fixture.h"
#include "httpd/tls.h"
#include "support/temp_dir.h"

#include <gnutls/crypto.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TLS12 "NORMAL:-VERS-ALL:+VERS-TLS1.2"
#define TLS13 "NORMAL:-VERS-ALL:+VERS-TLS1.3"
enum { DAY_S = 86400 };

static atomic_int handled;
static char seen_client[256]; /* the last one's; read after its answer */

static enum httpd_action handler(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    const struct str name = httpd_request_client(req);
    snprintf(seen_client, sizeof(seen_client), "%.*s", STR_ARG(name));
    atomic_fetch_add(&handled, 1);
    httpd_response_text(resp, 200, "ok");
    return HTTPD_REPLY;
}

static const struct httpd_route ROUTES[] = {{.method = "GET", .path = "/ok", .handle = handler}};

static const struct str names[] = {
    {"system:kube-scheduler", 21}, {"spiffe://cluster/scheduler", 26}, {"scheduler.example.com", 21}};

/* A directory with ca.pem, cert.pem, key.pem, and who signed them. */
struct tls_server {
    struct temp_dir dir;
    struct cert ca, server;
    struct httpd_tls *tls;
    struct fixture f;
};

static void path_in(const struct tls_server *w, const char *name, char ret[128])
{
    temp_dir_path(&w->dir, name, ret, 128);
}

static void write_files(const struct tls_server *w, const char *dir, const struct cert *cert, const struct cert *key,
                        const struct cert *ca)
{
    char name[128], path[128];
    snprintf(name, sizeof(name), "%s/cert.pem", dir);
    path_in(w, name, path);
    cert_write(cert, NULL, path);
    snprintf(name, sizeof(name), "%s/key.pem", dir);
    path_in(w, name, path);
    cert_write_key(key, path);
    snprintf(name, sizeof(name), "%s/ca.pem", dir);
    path_in(w, name, path);
    cert_write(ca, NULL, path);
}

/* As a mounted Secret changes: a new directory, then one rename of the link to it. */
static void publish(const struct tls_server *w, const char *version)
{
    char next[128], data[128];
    path_in(w, "..next", next);
    path_in(w, "..data", data);
    assert_int_equal(symlink(version, next), 0);
    assert_int_equal(rename(next, data), 0);
}

static void new_version(const struct tls_server *w, const char *version, const struct cert *cert,
                        const struct cert *key, const struct cert *ca)
{
    char path[128];
    path_in(w, version, path);
    assert_int_equal(mkdir(path, 0700), 0);
    write_files(w, version, cert, key, ca);
    publish(w, version);
}

static void start_server(struct tls_server *w, bool optional)
{
    const struct httpd_listener_config listener = {.name = "test",
                                                   .address = "127.0.0.1:0",
                                                   .routes = ROUTES,
                                                   .route_n = ARRAY_LEN(ROUTES),
                                                   .thread_n = 2,
                                                   .tls = w->tls,
                                                   .client_cert_optional = optional};
    const struct httpd_config config = {.listeners = &listener, .listener_n = 1};
    struct err err = {.code = ERR_OK};
    if (httpd_server_new(&config, &w->f.server, &err) != 0 || httpd_server_start(w->f.server, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    w->f.port = httpd_server_port(w->f.server, 0);
}

static int new_tls(struct tls_server *w, struct httpd_tls **ret, struct err *reterr)
{
    char cert[128], key[128], ca[128];
    path_in(w, "cert.pem", cert);
    path_in(w, "key.pem", key);
    path_in(w, "ca.pem", ca);
    const struct httpd_tls_config config = {.cert_file = cert,
                                            .key_file = key,
                                            .client_ca_file = ca,
                                            .client_names = names,
                                            .client_name_n = ARRAY_LEN(names),
                                            .poll_ms = 5};
    return httpd_tls_new(&config, ret, reterr);
}

static void tls_server_begin(struct tls_server *w, bool optional)
{
    static const char *const files[] = {"cert.pem", "key.pem", "ca.pem"};
    temp_dir_init(&w->dir);
    cert_make(&w->ca, &(struct cert_options){.cn = "ca", .ca = true});
    cert_make(
        &w->server,
        &(struct cert_options){
            .cn = "fgpu", .dns = "localhost", .issuer = &w->ca, .purpose = GNUTLS_KP_TLS_WWW_SERVER, .serial = 10});
    new_version(w, "..1", &w->server, &w->server, &w->ca);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char target[128], link[128];
        snprintf(target, sizeof(target), "..data/%s", files[i]);
        path_in(w, files[i], link);
        assert_int_equal(symlink(target, link), 0);
    }
    struct err err = {.code = ERR_OK};
    if (new_tls(w, &w->tls, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    start_server(w, optional);
    atomic_store(&handled, 0);
}

static void tls_server_end(struct tls_server *w)
{
    fixture_stop(&w->f);
    httpd_tls_free(w->tls);
    cert_free(&w->ca);
    cert_free(&w->server);
    temp_dir_fini(&w->dir);
}

static int ask(const struct tls_server *w, const struct cert *cert, const struct cert *intermediate,
               const char *priorities, gnutls_alert_description_t *ret_alert)
{
    struct tls_client c;
    const struct tls_options options = {.cert = cert, .intermediate = intermediate, .priorities = priorities};
    int status = 0;
    if (tls_client_open(&c, w->f.port, &options)) {
        status = tls_client_get(&c, "/ok", ret_alert);
    } else {
        *ret_alert = gnutls_alert_get(c.session);
    }
    tls_client_close(&c);
    return status;
}

static void client__each_certificate__taken_or_told_why_not(void **state)
{
    struct tls_server w;
    struct cert other_ca, intermediate;
    tls_server_begin(&w, false);
    cert_make(&other_ca, &(struct cert_options){.cn = "ca", .ca = true});
    cert_make(&intermediate, &(struct cert_options){.cn = "intermediate", .ca = true, .issuer = &w.ca});
    const struct {
        const char *name;
        struct cert_options options; /* .serial 0: no certificate */
        bool taken;
        gnutls_alert_description_t alert;
        enum httpd_drop drop;
    } rows[] = {
        {"none", {.serial = 0}, false, GNUTLS_A_CERTIFICATE_REQUIRED, HTTPD_DROP_TLS_NO_CERTIFICATE},
        {"self-signed", {.cn = names[0].p, .serial = 1}, false, GNUTLS_A_UNKNOWN_CA, HTTPD_DROP_TLS_BAD_CERTIFICATE},
        {"other CA of the same name",
         {.cn = names[0].p, .issuer = &other_ca, .serial = 1},
         false,
         GNUTLS_A_UNKNOWN_CA,
         HTTPD_DROP_TLS_BAD_CERTIFICATE},
        {"expired",
         {.cn = names[0].p, .issuer = &w.ca, .begins_s = -2 * DAY_S, .ends_s = -DAY_S, .serial = 1},
         false,
         GNUTLS_A_CERTIFICATE_EXPIRED,
         HTTPD_DROP_TLS_BAD_CERTIFICATE},
        {"not valid yet",
         {.cn = names[0].p, .issuer = &w.ca, .begins_s = DAY_S, .ends_s = 2 * DAY_S, .serial = 1},
         false,
         GNUTLS_A_CERTIFICATE_EXPIRED,
         HTTPD_DROP_TLS_BAD_CERTIFICATE},
        {"for servers only",
         {.cn = names[0].p, .issuer = &w.ca, .purpose = GNUTLS_KP_TLS_WWW_SERVER, .serial = 1},
         false,
         GNUTLS_A_BAD_CERTIFICATE,
         HTTPD_DROP_TLS_BAD_CERTIFICATE},
        {"signed by one that is no CA",
         {.cn = names[0].p, .issuer = &w.server, .serial = 1},
         false,
         GNUTLS_A_UNKNOWN_CA,
         HTTPD_DROP_TLS_BAD_CERTIFICATE},
        {"name not allowed",
         {.cn = "kubelet", .dns = "kubelet.example.com", .issuer = &w.ca, .serial = 1},
         false,
         GNUTLS_A_ACCESS_DENIED,
         HTTPD_DROP_TLS_NAME},
        {"name in other letters",
         {.cn = "System:kube-scheduler", .issuer = &w.ca, .serial = 1},
         false,
         GNUTLS_A_ACCESS_DENIED,
         HTTPD_DROP_TLS_NAME},
        {"allowed name, NUL, more",
         {.cn = "system:kube-scheduler\0.evil", .cn_n = 27, .issuer = &w.ca, .serial = 1},
         false,
         GNUTLS_A_ACCESS_DENIED,
         HTTPD_DROP_TLS_NAME},
        {"longer than any name",
         {.dns = "system:kube-scheduler.example.com", .issuer = &w.ca, .serial = 1},
         false,
         GNUTLS_A_ACCESS_DENIED,
         HTTPD_DROP_TLS_NAME},
        {"no name at all", {.issuer = &w.ca, .serial = 1}, false, GNUTLS_A_ACCESS_DENIED, HTTPD_DROP_TLS_NAME},
        {"right, by common name",
         {.cn = names[0].p,
          .issuer = &w.ca,
          .purpose = GNUTLS_KP_TLS_WWW_CLIENT,
          .usage = GNUTLS_KEY_DIGITAL_SIGNATURE,
          .serial = 1},
         true,
         0,
         0},
        {"right, by URI", {.cn = "x", .uri = names[1].p, .issuer = &w.ca, .serial = 1}, true, 0, 0},
        {"right, by DNS name", {.dns = names[2].p, .issuer = &w.ca, .serial = 1}, true, 0, 0},
        {"right, by an intermediate", {.cn = names[0].p, .issuer = &intermediate, .serial = 1}, true, 0, 0},
    };
    static const char *const versions[] = {TLS12, TLS13};
    for (size_t i = 0; i < ARRAY_LEN(rows) * 2; i++) {
        const char *version = versions[i % 2];
        const size_t row = i / 2;
        struct cert cert = {.crt = NULL};
        if (rows[row].options.serial != 0) {
            cert_make(&cert, &rows[row].options);
        }
        const uint64_t before = httpd_server_drops(w.f.server, 0, rows[row].drop);
        const int handled_before = atomic_load(&handled);
        gnutls_alert_description_t alert = 0;
        gnutls_alert_description_t want = rows[row].alert;
        if (want == GNUTLS_A_CERTIFICATE_REQUIRED && strcmp(version, TLS12) == 0) {
            want = GNUTLS_A_HANDSHAKE_FAILURE; /* the other one is new in TLS 1.3 */
        }
        const int status = ask(&w, cert.crt != NULL ? &cert : NULL,
                               rows[row].options.issuer == &intermediate ? &intermediate : NULL, version, &alert);
        const int times = atomic_load(&handled) - handled_before;
        if (rows[row].taken && (status != 200 || times != 1)) {
            fail_msg("%s, %s: refused with alert %s", rows[row].name, version, gnutls_alert_get_name(alert));
        }
        if (!rows[row].taken && (status != 0 || times != 0 || alert != want ||
                                 httpd_server_drops(w.f.server, 0, rows[row].drop) != before + 1)) {
            fail_msg("%s, %s: status %d, handled %d times, alert %s", rows[row].name, version, status, times,
                     gnutls_alert_get_name(alert));
        }
        if (cert.crt != NULL) {
            cert_free(&cert);
        }
    }
    assert_string_equal(seen_client, names[0].p);
    cert_free(&other_ca);
    cert_free(&intermediate);
    tls_server_end(&w);
}

/* Its certificate is no secret: who shows it has to have the key, each time. */
static void client__known_certificate_without_its_key__refused(void **state)
{
    static const char *const versions[] = {TLS12, TLS13};
    struct tls_server w;
    struct cert client, thief;
    gnutls_alert_description_t alert;
    tls_server_begin(&w, false);
    cert_make(&client, &(struct cert_options){.cn = names[0].p, .issuer = &w.ca});
    cert_make(&thief, &(struct cert_options){.cn = "thief"});
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct tls_client c;
        assert_int_equal(ask(&w, &client, NULL, versions[i], &alert), 200);
        assert_int_equal(ask(&w, &client, NULL, versions[i], &alert), 200);
        const int before = atomic_load(&handled);
        const struct tls_options stolen = {.cert = &client, .key_of = &thief, .priorities = versions[i]};
        if (tls_client_open(&c, w.f.port, &stolen)) {
            assert_int_equal(tls_client_get(&c, "/ok", &alert), 0);
        }
        tls_client_close(&c);
        assert_int_equal(atomic_load(&handled), before);
    }
    cert_free(&client);
    cert_free(&thief);
    tls_server_end(&w);
}

static void client__old_protocol_or_none__no_handshake(void **state)
{
    struct tls_server w;
    tls_server_begin(&w, false);
    static const char *const priorities[] = {
        "NORMAL:-VERS-ALL:+VERS-TLS1.1:+VERS-TLS1.0:%COMPAT",
        TLS12 ":-KX-ALL:+RSA",
        TLS12 ":-CIPHER-ALL:+AES-128-CBC",
    };
    for (size_t i = 0; i < ARRAY_LEN(priorities); i++) {
        gnutls_alert_description_t alert;
        assert_int_equal(ask(&w, NULL, NULL, priorities[i], &alert), 0);
    }
    struct client plain;
    client_open(&plain, w.f.port);
    client_text(&plain, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
    client_drain(&plain);
    client_close(&plain);
    while (httpd_server_drops(w.f.server, 0, HTTPD_DROP_TLS_HANDSHAKE) != ARRAY_LEN(priorities) + 1) {
        usleep(1000);
    }
    assert_int_equal(atomic_load(&handled), 0);
    tls_server_end(&w);
}

static void optional__without_or_unknown__served_namelessly_but_wrong_is_refused(void **state)
{
    struct tls_server w;
    struct cert known, unknown, wrong;
    gnutls_alert_description_t alert;
    tls_server_begin(&w, true);
    cert_make(&known, &(struct cert_options){.cn = names[0].p, .issuer = &w.ca});
    cert_make(&unknown, &(struct cert_options){.cn = "prometheus", .issuer = &w.ca});
    cert_make(&wrong, &(struct cert_options){.cn = names[0].p});
    assert_int_equal(ask(&w, &known, NULL, NULL, &alert), 200);
    assert_string_equal(seen_client, names[0].p);
    assert_int_equal(ask(&w, &unknown, NULL, NULL, &alert), 200);
    assert_string_equal(seen_client, "");
    assert_int_equal(ask(&w, NULL, NULL, NULL, &alert), 200);
    assert_string_equal(seen_client, "");
    assert_int_equal(ask(&w, &wrong, NULL, NULL, &alert), 0);
    assert_int_equal(alert, GNUTLS_A_UNKNOWN_CA);
    cert_free(&known);
    cert_free(&unknown);
    cert_free(&wrong);
    tls_server_end(&w);
}

static unsigned char serial_now(const struct tls_server *w, const struct cert *client)
{
    struct tls_client c;
    gnutls_alert_description_t alert;
    assert_true(tls_client_open(&c, w->f.port, &(struct tls_options){.cert = client}));
    const unsigned char serial = tls_client_serial(&c);
    assert_int_equal(tls_client_get(&c, "/ok", &alert), 200);
    tls_client_close(&c);
    return serial;
}

static void stats(const struct tls_server *w, struct httpd_tls_stats *ret)
{
    httpd_tls_stats(w->tls, ret);
}

static void reload__new_files__open_connections_stay_and_new_ones_see_them(void **state)
{
    struct tls_server w;
    struct cert client, second;
    struct tls_client open;
    struct httpd_tls_stats s;
    gnutls_alert_description_t alert;
    tls_server_begin(&w, false);
    cert_make(&client, &(struct cert_options){.cn = names[0].p, .issuer = &w.ca});
    cert_make(&second,
              &(struct cert_options){.cn = "fgpu", .issuer = &w.ca, .serial = 20, .begins_s = -1, .ends_s = 9 * DAY_S});
    assert_true(tls_client_open(&open, w.f.port, &(struct tls_options){.cert = &client}));
    assert_int_equal(tls_client_get(&open, "/ok", &alert), 200);
    assert_int_equal(serial_now(&w, &client), 10);
    stats(&w, &s);
    const int64_t ends_s = s.not_after_s;

    new_version(&w, "..2", &second, &second, &w.ca);
    while (serial_now(&w, &client) != 20) { /* each of them is served, whichever it meets */
        usleep(1000);
    }
    stats(&w, &s);
    assert_int_equal(s.reload_n, 1);
    assert_int_equal(s.reload_failed_n, 0);
    assert_true(s.not_after_s > ends_s);
    assert_int_equal(tls_client_serial(&open), 10);
    assert_int_equal(tls_client_get(&open, "/ok", &alert), 200);
    tls_client_close(&open);
    cert_free(&client);
    cert_free(&second);
    tls_server_end(&w);
}

static void reload__new_ca__decides_about_new_connections_only(void **state)
{
    struct tls_server w;
    struct cert old_client, new_client, new_ca;
    struct tls_client open;
    gnutls_alert_description_t alert;
    tls_server_begin(&w, false);
    cert_make(&new_ca, &(struct cert_options){.cn = "new", .ca = true});
    cert_make(&old_client, &(struct cert_options){.cn = names[0].p, .issuer = &w.ca});
    cert_make(&new_client, &(struct cert_options){.cn = names[0].p, .issuer = &new_ca});
    assert_true(tls_client_open(&open, w.f.port, &(struct tls_options){.cert = &old_client}));
    assert_int_equal(tls_client_get(&open, "/ok", &alert), 200);
    assert_int_equal(ask(&w, &new_client, NULL, NULL, &alert), 0);
    assert_int_equal(ask(&w, &old_client, NULL, NULL, &alert), 200); /* remembered by now */
    new_version(&w, "..2", &w.server, &w.server, &new_ca);
    assert_int_equal(httpd_tls_reload(w.tls, NULL), 0); /* as on SIGHUP: no waiting */
    assert_int_equal(ask(&w, &new_client, NULL, NULL, &alert), 200);
    assert_int_equal(ask(&w, &old_client, NULL, NULL, &alert), 0);
    assert_int_equal(alert, GNUTLS_A_UNKNOWN_CA);
    assert_int_equal(tls_client_get(&open, "/ok", &alert), 200);
    tls_client_close(&open);
    cert_free(&old_client);
    cert_free(&new_client);
    cert_free(&new_ca);
    tls_server_end(&w);
}

static void reload__wrong_files__old_ones_stay_and_it_is_counted_once(void **state)
{
    struct tls_server w;
    struct cert client, second;
    struct httpd_tls_stats s;
    struct err err;
    char path[128];
    tls_server_begin(&w, false);
    cert_make(&client, &(struct cert_options){.cn = names[0].p, .issuer = &w.ca});
    cert_make(&second, &(struct cert_options){.cn = "fgpu", .issuer = &w.ca, .serial = 20});

    /* the certificate has come, its key has not yet */
    new_version(&w, "..2", &second, &w.server, &w.ca);
    do {
        usleep(1000);
        stats(&w, &s);
    } while (s.reload_failed_n == 0);
    assert_int_equal(httpd_tls_reload(w.tls, &err), -ERR_INVALID);
    assert_non_null(strstr(err.msg, "is not the key of"));
    for (int i = 0; i < 20; i++) { /* many polls, one change */
        assert_int_equal(serial_now(&w, &client), 10);
        usleep(2000);
    }
    stats(&w, &s);
    assert_int_equal(s.reload_failed_n, 1);
    assert_int_equal(s.reload_n, 0);

    path_in(&w, "..2/key.pem", path);
    cert_write_key(&second, path);
    while (serial_now(&w, &client) != 20) {
        usleep(1000);
    }

    path_in(&w, "..data", path);
    assert_int_equal(unlink(path), 0);
    do {
        usleep(1000);
        stats(&w, &s);
    } while (s.reload_failed_n < 2);
    assert_int_equal(serial_now(&w, &client), 20);
    publish(&w, "..1");
    while (serial_now(&w, &client) != 10) {
        usleep(1000);
    }
    cert_free(&client);
    cert_free(&second);
    tls_server_end(&w);
}

static void files__wrong_at_start__error_names_the_file(void **state)
{
    struct tls_server w;
    struct cert other;
    struct httpd_tls *tls = NULL;
    tls_server_begin(&w, false);
    cert_make(&other, &(struct cert_options){.cn = "other"});
    static const struct {
        const char *file, *text; /* NULL: the file is missing */
        const char *want;
    } rows[] = {
        {"cert.pem", NULL, "cert.pem: No such file"},
        {"cert.pem", "nonsense", "cert.pem: "},
        {"key.pem", "", "key.pem: "},
        {"key.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "key.pem: "},
        {"ca.pem", NULL, "ca.pem: No such file"},
        {"ca.pem", "no certificate in here\n", "ca.pem: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char version[16], path[128], name[128];
        snprintf(version, sizeof(version), "..x%zu", i);
        new_version(&w, version, &w.server, &w.server, &w.ca);
        snprintf(name, sizeof(name), "%s/%s", version, rows[i].file);
        path_in(&w, name, path);
        assert_int_equal(unlink(path), 0);
        if (rows[i].text != NULL) {
            FILE *f = fopen(path, "w");
            assert_non_null(f);
            fputs(rows[i].text, f);
            assert_int_equal(fclose(f), 0);
        }
        struct err err = {.code = ERR_OK};
        assert_int_equal(new_tls(&w, &tls, &err), rows[i].text == NULL ? -ERR_NOT_FOUND : -ERR_INVALID);
        if (strstr(err.msg, rows[i].want) == NULL) {
            fail_msg("%zu: %s", i, err.msg);
        }
        assert_null(tls);
    }
    cert_free(&other);
    tls_server_end(&w);
}

/* Who listens on the way sees nothing; whoever calls is served, and asked for no certificate. */
static void self_signed__made_at_each_start__serves_without_asking_for_a_certificate(void **state)
{
    struct tls_server w = {.tls = NULL};
    struct cert stranger;
    struct httpd_tls_stats stats;
    gnutls_alert_description_t alert;
    unsigned char digests[2][32];
    const int64_t now_ms = clock_wall_ms(clock_system());
    cert_make(&stranger, &(struct cert_options){.cn = "stranger"});
    for (size_t i = 0; i < ARRAY_LEN(digests); i++) {
        struct tls_client c;
        assert_int_equal(httpd_tls_self_signed(now_ms, &w.tls, NULL), 0);
        start_server(&w, true);
        assert_int_equal(ask(&w, NULL, NULL, TLS12, &alert), 200);
        assert_int_equal(ask(&w, NULL, NULL, TLS13, &alert), 200);
        assert_int_equal(ask(&w, &stranger, NULL, NULL, &alert), 200);
        assert_string_equal(seen_client, "");
        assert_true(tls_client_open(&c, w.f.port, &(struct tls_options){.cert = NULL}));
        unsigned n = 0;
        const gnutls_datum_t *chain = gnutls_certificate_get_peers(c.session, &n);
        assert_int_equal(n, 1);
        assert_int_equal(gnutls_hash_fast(GNUTLS_DIG_SHA256, chain[0].data, chain[0].size, digests[i]), 0);
        tls_client_close(&c);
        httpd_tls_stats(w.tls, &stats);
        assert_true(stats.not_after_s > now_ms / 1000 + 3000 * (int64_t)DAY_S && stats.reload_n == 0);
        fixture_stop(&w.f);
        httpd_tls_free(w.tls);
    }
    assert_memory_not_equal(digests[0], digests[1], sizeof(digests[0]));
    cert_free(&stranger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client__each_certificate__taken_or_told_why_not),
        cmocka_unit_test(client__known_certificate_without_its_key__refused),
        cmocka_unit_test(client__old_protocol_or_none__no_handshake),
        cmocka_unit_test(optional__without_or_unknown__served_namelessly_but_wrong_is_refused),
        cmocka_unit_test(reload__new_files__open_connections_stay_and_new_ones_see_them),
        cmocka_unit_test(reload__new_ca__decides_about_new_connections_only),
        cmocka_unit_test(reload__wrong_files__old_ones_stay_and_it_is_counted_once),
        cmocka_unit_test(files__wrong_at_start__error_names_the_file),
        cmocka_unit_test(self_signed__made_at_each_start__serves_without_asking_for_a_certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
