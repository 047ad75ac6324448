/* config/load.h - the configuration: one YAML file in, one immutable struct out.
 *
 * The file is `apiVersion: fgpu.io/v1alpha1`, `kind: FgpuConfiguration`; both are mandatory, every
 * other key has a default. config/fgpu.yaml shows each key with its default, unit and range.
 * Reading is strict: unknown and duplicate keys, values out of range and contradictions are errors,
 * all reported at once with file, line and column (config/diagnostics.h). A list in the file
 * replaces the default list.
 *
 * A configuration never changes once it is shared. Reloading builds another one (config/slot.h);
 * `generation` tells them apart, references keep the old one alive for who still works by it.
 */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "base/address.h"
#include "model/policy.h"
#include "model/timetable.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CONFIG_API_VERSION "fgpu.io/v1alpha1"
#define CONFIG_KIND "FgpuConfiguration"
#define CONFIG_BYTES_MAX (256 * 1024)
#define CONFIG_HASH_LEN 16

enum election_mode {
    ELECTION_NONE,             /* a single replica */
    ELECTION_LEASE,            /* by a Lease of our own (extender/elector.h) */
    ELECTION_FOLLOW_SCHEDULER, /* whose kube-scheduler holds its Lease (extender/follow_machine.h) */
};

/* Who has to show a token on the ops listener; loopback addresses stay open in the first mode. */
enum ops_authorization { OPS_AUTHORIZATION_REMOTE, OPS_AUTHORIZATION_ALWAYS };

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

enum tls_on_loopback { TLS_ON_LOOPBACK_OFF, TLS_ON_LOOPBACK_ON };

/* Texts are NUL-terminated. All three files, or none of them ("" each). */
struct config_tls {
    struct str cert_file, key_file, client_ca_file;
    const struct str *allowed_names; /* of client certificates */
    size_t allowed_name_n;
    enum tls_on_loopback on_loopback;
};

/* Plain HTTP on loopback, TLS elsewhere, with verified client certificates for the verbs and tokens
 * for ops and metrics; health answers anonymous probes in plain HTTP anywhere. */
struct config_serving {
    struct address verbs;   /* filter, prioritize, bind, preempt */
    struct address ops;     /* metrics, state, configz, version */
    struct address health;  /* livez, readyz, healthz */
    struct address metrics; /* metrics alone, for where ops stays on loopback; may be none */
    enum ops_authorization ops_authorization;
    const struct str *ops_hosts; /* httpd_listener_config.hosts of ops; copied at the start */
    size_t ops_host_n;
    bool binds_all_pods; /* extender/binder.h */
    struct config_tls tls;
};

struct config_client {
    int32_t bind_deadline_ms;    /* one bind, retries included; then the outcome is unknown */
    int32_t hold_off_ms;         /* from the start to the first answer: a predecessor's writes land meanwhile */
    int32_t binds_in_flight_max; /* more wait */
    int32_t stale_after_ms;      /* without contact (kube/reflector.h) for longer: not ready */
    struct str run_object;       /* NAMESPACE/NAME of the object of extender/run_keeper.h; empty: none */
    struct str intent_objects;   /* NAMESPACE/PREFIX of those of kube/intent_object.h */
    struct str wake_object;      /* NAMESPACE/NAME of the object of extender/requeue_trigger.h; empty: none */
};

#define CONFIG_OWN_LEASE "fgpu-system/fgpu-leader" /* the default of `object`: no scheduler's */

/* Of an election. Of ELECTION_FOLLOW_SCHEDULER they are what the file of the scheduler says. */
struct config_lease {
    struct str object;                                /* NAMESPACE/NAME */
    struct str scheduler_host;                        /* empty: of this machine */
    int32_t duration_ms, renew_deadline_ms, retry_ms; /* of struct lease_options */
};

struct config_events {
    int32_t pod_waits_after_ms; /* refused everywhere for this long, a pod is told why it waits; 0: never */
};

struct config_recorder {
    int64_t bytes; /* of the flight recorder (extender/recorder.h); 0: nothing is recorded */
};

struct config_audit {
    int32_t interval_ms; /* between audits of the ledger; 0: only when asked */
    int32_t settle_ms;   /* a difference that lasts so long is drift */
};

enum signing_mode { SIGNING_ON, SIGNING_OFF };

/* Texts are NUL-terminated. Where the keys are, not what is in them: sign/keyring.h reads them. */
struct config_signing {
    enum signing_mode mode;
    struct str private_key;        /* a file; empty: none is given */
    const struct str *public_keys; /* files and directories; that of the private key need not be among them */
    size_t public_key_n;
    struct str accept_unsigned_before; /* RFC 3339 in UTC; empty: none */
};

struct config_logging {
    enum log_format format;
    int32_t verbosity;
};

struct config_limits {
    int64_t body_bytes;              /* one request body */
    int64_t bytes_in_flight;         /* all request bodies held at one moment */
    int32_t connections;             /* of the verbs */
    int32_t connections_per_address; /* of these; 0: all. Loopback is not counted */
};

struct config_overlay; /* keys with values and places in the file (src/config/overlay.c) */

/* As the file tells it; `struct config.timetable` has the times of all of them, in the same order. */
struct config_window {
    struct str name;
    const uint32_t *days; /* sets of days, bit 0 is Monday; none given: every day */
    size_t day_n;
    int32_t from_min, to_min; /* of struct time_window */
    const struct time_zone *zone;
    const struct config_overlay *holds; /* what is different while it is open; NULL: nothing */
};

/* Where a value comes from. A key without an entry has its default. No environment variable sets a
 * key. */
struct config_origin {
    struct str key;        /* "packing.candidates" */
    uint32_t line, column; /* in the file; 0: not from there */
    const char *flag;      /* static, "--verbs-address"; NULL: not from the command line */
};

struct config {
    struct arena arena; /* owns all text and arrays behind the policy */
    atomic_uint ref_n;
    struct str file; /* as the user named it; empty: none was read */
    struct config_origin *origins;
    size_t origin_n;
    struct policy policy;
    struct config_serving serving;
    enum election_mode election;
    struct config_lease lease;
    struct config_client client;
    struct config_events events;
    struct config_audit audit;
    struct config_recorder recorder;
    struct config_signing signing;
    struct config_logging logging;
    struct config_limits limits;
    const struct config_window *windows;
    size_t window_n;
    bool has_agents;          /* a handOff, of any node at any time, is agent: records have to be signed */
    int32_t window_notice_ms; /* before a change it is announced */
    struct timetable timetable;
    uint32_t open;                    /* windows whose values these are, a bit each; config_at() */
    const struct config *file_values; /* of those: as the file is with every window closed; NULL: this is it */
    /* Of the file's bytes, hexadecimal, or "built-in": tells versions apart, proves nothing. */
    char hash[CONFIG_HASH_LEN + 1];
    uint64_t generation; /* 1; config/slot.h counts up */
};

/* Names that the file may mention but that layers above define. */
struct config_names {
    const struct str *strategies; /* core/fit/strategy.h */
    size_t strategy_n;
};

/* The built-in configuration: what a file with only apiVersion and kind gives. Never NULL. */
struct config *config_defaults(void);
/* One more owner; returns c. Thread-safe, as is config_free. */
const struct config *config_ref(const struct config *c);
/* One owner less; the last one frees. NULL is fine. */
void config_free(const struct config *c);

/* The configuration that holds while these windows are open: the values of `c`, or of what it was made
 * from, with those of the windows put over them in the order of the file. A single value and a list are
 * replaced, maps by name, nodePools are appended. Same hash, generation and places. A new owner's. */
struct config *config_at(const struct config *c, uint32_t open);

/* Says that a flag (static text) has set the value of `key`. Before the configuration is shared. */
void config_set_by_flag(struct config *c, const char *key, const char *flag);
/* Appends "default", "FILE:LINE:COLUMN" or "flag --NAME". */
void config_origin_text(const struct config *c, struct str key, struct strbuf *out);

/* NULL, or why this election cannot work: text that is static. Part of reading a file; who changes something afterwards
 * asks again. */
const char *config_election_problem(const struct config *c);

/* Is `a`, one of verbs, ops and metrics, served with TLS? */
bool config_serving_is_tls(const struct config_serving *s, const struct address *a);
/* Is that with a certificate that fgpu makes for itself? Only metrics are: who reads them shows a token. */
bool config_serving_is_self_signed(const struct config_serving *s, const struct address *a);
/* Must callers of `a`, one of ops and metrics, show a token? Then TLS does not insist on a certificate of theirs there.
 */
bool config_serving_needs_token(const struct config_serving *s, const struct address *a);
/* NULL, or why this cannot be served, and the key it is about: "tls.keyFile". Part of reading a file;
 * who changes something afterwards asks again. */
const char *config_serving_problem(const struct config_serving *s, const char **ret_key);

/* Records of pods that were created before this wall time are judged as before records were signed, unless a known key
 * signed them; 0: none are. */
int64_t config_accept_unsigned_before_ms(const struct config_signing *s);

/* Reads the file at `path`. On failure *ret is untouched, the rendered findings are appended to
 * `report` (may be NULL) and reterr holds the first one.
 *   ERR_NOT_FOUND, ERR_DENIED, ERR_INTERNAL  the file cannot be read
 *   ERR_LIMIT    the file is larger than CONFIG_BYTES_MAX
 *   ERR_INVALID  anything wrong in the file */
WARN_UNUSED int config_load(const char *path, const struct config_names *names, struct config **ret,
                            struct strbuf *report, struct err *reterr);

/* The same for text in memory; `file` is the name shown in messages. */
WARN_UNUSED int config_parse(struct str file, struct str text, const struct config_names *names, struct config **ret,
                             struct strbuf *report, struct err *reterr);

/* The hash of a file with this text. */
void config_hash_text(struct str text, char ret[CONFIG_HASH_LEN + 1]);

/* Reads the file without looking at what is in it. Begins `ret`, which the caller ends with strbuf_fini, also after an
 * error. Errors as config_load. */
WARN_UNUSED int config_read(const char *path, struct strbuf *ret, struct err *reterr);

#endif
