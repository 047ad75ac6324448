#include "config/load.h"

#include "base/rng.h"
#include "config/support/unit.h"
#include "support/temp_dir.h"

#include <stdlib.h>
#include <string.h>

static void defaults__built_in__the_documented_values(void **state)
{
    struct config *c = config_defaults();
    char text[ADDRESS_TEXT_MAX];
    assert_memory_equal(&c->policy, policy_defaults(), sizeof(c->policy));
    assert_string_equal(address_text(&c->serving.verbs, text), "127.0.0.1:9443");
    assert_string_equal(address_text(&c->serving.ops, text), "127.0.0.1:9442");
    assert_string_equal(address_text(&c->serving.health, text), "127.0.0.1:9441");
    assert_int_equal(c->serving.ops_authorization, OPS_AUTHORIZATION_REMOTE);
    assert_int_equal(c->election, ELECTION_NONE);
    assert_int_equal(c->policy.consistency, CONSISTENCY_DEFAULT);
    assert_int_equal(c->client.bind_deadline_ms, 5000);
    assert_int_equal(c->client.hold_off_ms, 6000);
    assert_int_equal(c->client.binds_in_flight_max, 1000);
    assert_int_equal(c->events.pod_waits_after_ms, 30000);
    assert_int_equal(c->audit.interval_ms, 300000);
    assert_int_equal(c->recorder.bytes, INT64_C(8) << 20);
    assert_int_equal(c->audit.settle_ms, 5000);
    assert_int_equal(c->logging.format, LOG_FORMAT_TEXT);
    assert_int_equal(c->limits.body_bytes, 16 << 20);
    assert_string_equal(c->hash, "built-in");
    assert_int_equal(c->generation, 1);
    config_free(c);
    config_free(NULL);
}

static void parse__every_key__stored(void **state)
{
    struct config *c =
        unit_config("resources:\n"
                    "  compute: [{name: nvidia.com/vgpu, unitsPerGPU: 1000},\n"
                    "            {name: cnvrg.io/metagpu, unitsPerGPU: 100}]\n"
                    "  memory: []\n"
                    "  count: [a.b/c, d.e/f]\n"
                    "  whole: [amd.com/gpu]\n"
                    "  plugins: [{name: amd.com/gpu, vendor: amd, shareable: true}]\n"
                    "sizes:\n"
                    "  small: {milli: 250, memory: 4Gi}\n"
                    "  pair: {count: 2}\n"
                    "  two: {milli: 2000}\n"
                    "nodeTemplates:\n"
                    "- {label: pool=a100, gpus: 8, memory: 80Gi, model: NVIDIA A100}\n"
                    "- {label: node.example.com/gpu=, gpus: 1, memory: 1024Mi}\n"
                    "devices:\n"
                    "  memoryReserve: 512Mi\n"
                    "  maxSharers: 4\n"
                    "  memoryOnly: free\n"
                    "  overcommit: {compute: 1.5, memory: \"2\"}\n"
                    "packing: {nodeStrategy: spread, deviceStrategy: binpack, candidates: 0, "
                    "hold: 2s30ms}\n"
                    "serving: {verbsAddress: '[::1]:1', opsAddress: localhost:2, "
                    "healthAddress: 0.0.0.0:3, opsAuthorization: always}\n"
                    "election: lease\n"
                    "consistency: strict\n"
                    "lease: {object: e/f, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}\n"
                    "clientConnection: {bindDeadline: 4500ms, holdOff: 1m30s, maxInFlightBinds: 7, wakeObject: a/b, "
                    "runObject: c/d, intentObjects: g/h}\n"
                    "events: {podWaitsAfter: 500ms}\n"
                    "audit: {interval: 0, settle: 300ms}\n"
                    "signing: {mode: off, privateKey: /k, publicKeys: [/a, /b], acceptUnsignedBefore: "
                    "1970-01-01T00:00:07Z}\n"
                    "logging: {format: json, verbosity: 4}\n"
                    "limits: {bodyBytes: 65536, bytesInFlight: 1Gi, connections: 100, connectionsPerAddress: 9}\n");
    const struct policy *p = &c->policy;
    char text[ADDRESS_TEXT_MAX];

    assert_int_equal(p->compute_resource_n, 2);
    expect_text(p->compute_resources[0].name, "nvidia.com/vgpu", NULL);
    assert_int_equal(p->compute_resources[0].units_per_gpu, 1000);
    expect_text(p->compute_resources[1].name, "cnvrg.io/metagpu", NULL);
    assert_int_equal(p->compute_resources[1].units_per_gpu, 100);
    assert_int_equal(p->memory_resource_n, 0);
    assert_int_equal(p->count_resource_n, 2);
    expect_text(p->count_resources[1], "d.e/f", NULL);
    assert_int_equal(p->whole_resource_n, 1);
    expect_text(p->whole_resources[0], "amd.com/gpu", NULL);
    assert_int_equal(p->plugin_n, 1);
    expect_text(p->plugins[0].name, "amd.com/gpu", NULL);
    assert_int_equal(p->plugins[0].vendor, VENDOR_AMD);
    assert_true(p->plugins[0].shareable);
    assert_int_equal(p->size_n, 3);
    expect_text(p->sizes[0].name, "small", NULL);
    assert_int_equal(p->sizes[0].milli, 250);
    assert_int_equal(p->sizes[0].mem_mib, 4096);
    assert_int_equal(p->sizes[0].count, 0);
    assert_int_equal(p->sizes[1].count, 2);
    assert_int_equal(p->sizes[2].milli, 2000);
    assert_int_equal(p->template_n, 2);
    expect_text(p->templates[0].label, "pool", NULL);
    expect_text(p->templates[0].value, "a100", NULL);
    assert_int_equal(p->templates[0].gpu_n, 8);
    assert_int_equal(p->templates[0].mem_mib, 81920);
    expect_text(p->templates[0].model, "NVIDIA A100", NULL);
    expect_text(p->templates[1].label, "node.example.com/gpu", NULL);
    expect_text(p->templates[1].value, "", NULL);
    expect_text(p->templates[1].model, "", NULL);
    assert_int_equal(p->mem_reserve_mib, 512);
    assert_int_equal(p->max_sharers, 4);
    assert_int_equal(p->memory_only, MEMORY_ONLY_FREE);
    assert_int_equal(p->overcommit_milli, 1500);
    assert_int_equal(p->overcommit_mem_milli, 2000);
    expect_text(p->node_strategy, "spread", NULL);
    expect_text(p->device_strategy, "binpack", NULL);
    assert_int_equal(p->candidates, 0);
    assert_int_equal(p->tentative_ms, 2030);
    assert_string_equal(address_text(&c->serving.verbs, text), "[::1]:1");
    assert_string_equal(address_text(&c->serving.ops, text), "127.0.0.1:2");
    assert_string_equal(address_text(&c->serving.health, text), "0.0.0.0:3");
    assert_int_equal(c->serving.ops_authorization, OPS_AUTHORIZATION_ALWAYS);
    assert_int_equal(c->client.bind_deadline_ms, 4500);
    assert_int_equal(c->election, ELECTION_LEASE);
    assert_int_equal(c->policy.consistency, CONSISTENCY_STRICT);
    expect_text(c->client.intent_objects, "g/h", NULL);
    expect_text(c->lease.object, "e/f", NULL);
    assert_int_equal(c->lease.duration_ms, 15000);
    assert_int_equal(c->lease.renew_deadline_ms, 10000);
    assert_int_equal(c->lease.retry_ms, 2000);
    assert_int_equal(c->client.hold_off_ms, 90000);
    assert_int_equal(c->client.binds_in_flight_max, 7);
    expect_text(c->client.wake_object, "a/b", NULL);
    expect_text(c->client.run_object, "c/d", NULL);
    assert_int_equal(c->events.pod_waits_after_ms, 500);
    assert_int_equal(c->audit.interval_ms, 0);
    assert_int_equal(c->audit.settle_ms, 300);
    assert_int_equal(c->signing.mode, SIGNING_OFF);
    expect_text(c->signing.private_key, "/k", NULL);
    assert_int_equal(c->signing.public_key_n, 2);
    expect_text(c->signing.public_keys[1], "/b", NULL);
    assert_int_equal(config_accept_unsigned_before_ms(&c->signing), 7000);
    assert_int_equal(c->logging.format, LOG_FORMAT_JSON);
    assert_int_equal(c->logging.verbosity, 4);
    assert_int_equal(c->limits.body_bytes, 65536);
    assert_int_equal(c->limits.bytes_in_flight, 1 << 30);
    assert_int_equal(c->limits.connections, 100);
    assert_int_equal(c->limits.connections_per_address, 9);
    config_free(c);
}

static void parse__signing_in_one_word__its_mode(void **state)
{
    static const struct {
        const char *text;
        enum signing_mode mode;
    } rows[] = {{"signing: off\n", SIGNING_OFF},         {"signing: 'off'\n", SIGNING_OFF},
                {"signing: false\n", SIGNING_OFF},       {"signing: on\n", SIGNING_ON},
                {"signing: true\n", SIGNING_ON},         {"signing:\n", SIGNING_ON},
                {"signing: {mode: off}\n", SIGNING_OFF}, {"", SIGNING_ON}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct config *c = unit_config(rows[i].text);

        assert_int_equal(c->signing.mode, rows[i].mode);
        assert_int_equal(config_accept_unsigned_before_ms(&c->signing), 0);
        config_free(c);
    }
}

static void parse__sections_without_keys__defaults(void **state)
{
    struct config *c = unit_config("resources:\n  compute:\nsizes:\nnodeTemplates:\ndevices:\npacking: ~\n"
                                   "serving: {}\nlimits: null\n");
    assert_memory_equal(&c->policy, policy_defaults(), sizeof(c->policy));
    assert_int_equal(c->serving.verbs.port, 9443);
    config_free(c);
}

static void parse__hash__follows_the_bytes(void **state)
{
    struct config *a = unit_config("election: none\n"), *b = unit_config("election: none\n"),
                  *c = unit_config("election: none \n");
    assert_int_equal(strlen(a->hash), CONFIG_HASH_LEN);
    assert_string_equal(a->hash, b->hash);
    assert_string_not_equal(a->hash, c->hash);
    config_free(a);
    config_free(b);
    config_free(c);
}

/* One finding each, with its caret. The text follows the two mandatory lines, so it starts on
 * line 3. */
static void parse__one_mistake__exact_report(void **state)
{
    static const struct mistake rows[] = {
        {"unknown key with a near one", "packing:\n  candidtes: 100\n",
         "f.yaml:4:3: unknown key 'candidtes' in packing; did you mean 'candidates'?\n"
         "    candidtes: 100\n    ^\n"},
        {"unknown key at the top", "packin: {}\n",
         "f.yaml:3:1: unknown key 'packin'; did you mean 'packing'?\n  packin: {}\n  ^\n"},
        {"known key in the wrong place", "candidates: 5\n",
         "f.yaml:3:1: unknown key 'candidates'; it belongs in the section 'packing'\n  candidates: "
         "5\n  ^\n"},
        {"top key inside a section", "packing: {nodeTemplates: []}\n",
         "f.yaml:3:11: unknown key 'nodeTemplates' in packing; it belongs at the top level\n"
         "  packing: {nodeTemplates: []}\n            ^\n"},
        {"unknown key far from all", "logging: {zzz: 1}\n",
         "f.yaml:3:11: unknown key 'zzz' in logging; known here: format, verbosity\n"
         "  logging: {zzz: 1}\n            ^\n"},
        {"duplicate key", "election: none\nelection: none\n",
         "f.yaml:4:1: duplicate key 'election', first on line 3\n  election: none\n  ^\n"},
        {"section is text", "packing: yes\n",
         "f.yaml:3:10: packing: expected keys below it, found text\n  packing: yes\n           "
         "^\n"},
        {"section is a list", "packing: []\n",
         "f.yaml:3:10: packing: expected keys below it, found a list\n  packing: []\n           "
         "^\n"},
        {"value is a list", "packing: {candidates: [1]}\n",
         "f.yaml:3:23: packing.candidates: expected one value, found a list\n"
         "  packing: {candidates: [1]}\n                        ^\n"},
        {"no value", "packing:\n  candidates:\n",
         "f.yaml:4:14: packing.candidates: no value; give one or remove the key\n"
         "    candidates:\n               ^\n"},
        {"not a number", "packing: {candidates: many}\n",
         "f.yaml:3:23: packing.candidates: 'many' is not a whole number (number of nodes in a filter reply, 0 "
         "for all)\n"
         "  packing: {candidates: many}\n                        ^\n"},
        {"fraction", "packing: {candidates: 1.5}\n",
         "f.yaml:3:23: packing.candidates: '1.5' is not a whole number (number of nodes in a filter reply, 0 "
         "for all)\n"
         "  packing: {candidates: 1.5}\n                        ^\n"},
        {"quoted number", "packing: {candidates: '5'}\n",
         "f.yaml:3:23: packing.candidates: '5' is text here; write the number without quotes\n"
         "  packing: {candidates: '5'}\n                        ^\n"},
        {"leading zero", "packing: {candidates: 010}\n",
         "f.yaml:3:23: packing.candidates: 010 starts with a zero, which some read as octal; "
         "remove it\n"
         "  packing: {candidates: 010}\n                        ^\n"},
        {"too large", "packing: {candidates: 100001}\n",
         "f.yaml:3:23: packing.candidates: 100001 is out of range 0..100000 "
         "(number of nodes in a filter reply, 0 for all)\n"
         "  packing: {candidates: 100001}\n                        ^\n"},
        {"more than 64 bits", "packing: {candidates: 99999999999999999999}\n",
         "f.yaml:3:23: packing.candidates: 99999999999999999999 is out of range 0..100000 "
         "(number of nodes in a filter reply, 0 for all)\n"
         "  packing: {candidates: 99999999999999999999}\n                        ^\n"},
        {"negative", "devices: {maxSharers: -1}\n",
         "f.yaml:3:23: devices.maxSharers: -1 is out of range 1..1000 "
         "(number of containers that may share a GPU, if the GPU publishes no number itself)\n"
         "  devices: {maxSharers: -1}\n                        ^\n"},
        {"duration without unit", "packing: {hold: 3}\n",
         "f.yaml:3:17: packing.hold: 3 has no unit; write 3s, or 3ms for milliseconds\n"
         "  packing: {hold: 3}\n                  ^\n"},
        {"odd duration", "packing: {hold: 3 sec}\n",
         "f.yaml:3:17: packing.hold: '3 sec' is not a duration such as 500ms, 3s or 1m30s\n"
         "  packing: {hold: 3 sec}\n                  ^\n"},
        {"duration out of range", "clientConnection: {bindDeadline: 10s}\n",
         "f.yaml:3:34: clientConnection.bindDeadline: 10s is out of range 1s..9s (time for one bind, including "
         "retries)\n"
         "  clientConnection: {bindDeadline: 10s}\n                                   ^\n"},
        {"hold-off out of range", "clientConnection: {holdOff: 11m}\n",
         "f.yaml:3:29: clientConnection.holdOff: 11m is out of range 0s..10m (time after the start in which no "
         "GPU is promised, because writes of an earlier fgpu may still arrive)\n"
         "  clientConnection: {holdOff: 11m}\n                              ^\n"},
        {"duration past all bounds", "packing: {hold: 99999999999999999999h}\n",
         "f.yaml:3:17: packing.hold: 99999999999999999999h is out of range 0s..1m "
         "(time during which a node that was ranked first for one pod scores lower for the next pods)\n"
         "  packing: {hold: 99999999999999999999h}\n                  ^\n"},
        {"GB", "devices: {memoryReserve: 1GB}\n",
         "f.yaml:3:26: devices.memoryReserve: '1GB' is not a quantity such as 512Mi or 4Gi; "
         "did you mean '1Gi'?\n  devices: {memoryReserve: 1GB}\n                           ^\n"},
        {"lower-case unit", "devices: {memoryReserve: 512mi}\n",
         "f.yaml:3:26: devices.memoryReserve: '512mi' is not a quantity such as 512Mi or 4Gi; "
         "did you mean '512Mi'?\n  devices: {memoryReserve: 512mi}\n                           "
         "^\n"},
        {"not a quantity", "devices: {memoryReserve: lots}\n",
         "f.yaml:3:26: devices.memoryReserve: 'lots' is not a quantity such as 512Mi or 4Gi\n"
         "  devices: {memoryReserve: lots}\n                           ^\n"},
        {"no number before the exponent", "devices: {memoryReserve: e5}\n",
         "f.yaml:3:26: devices.memoryReserve: 'e5' is not a quantity such as 512Mi or 4Gi\n"
         "  devices: {memoryReserve: e5}\n                           ^\n"},
        {"bare number of MiB", "devices: {memoryReserve: 512}\n",
         "f.yaml:3:26: devices.memoryReserve: 512 is less than one MiB; did you mean '512Mi'?\n"
         "  devices: {memoryReserve: 512}\n                           ^\n"},
        {"decimal unit", "devices: {memoryReserve: 1G}\n",
         "f.yaml:3:26: devices.memoryReserve: 1G is not a multiple of 1Mi; the nearest below is "
         "953Mi\n"
         "  devices: {memoryReserve: 1G}\n                           ^\n"},
        {"negative quantity", "devices: {memoryReserve: -1Gi}\n",
         "f.yaml:3:26: devices.memoryReserve: -1Gi is out of range 0..1Ti "
         "(reserved memory of every GPU, which no pod gets)\n"
         "  devices: {memoryReserve: -1Gi}\n                           ^\n"},
        {"quantity past all bounds", "devices: {memoryReserve: 1e400}\n",
         "f.yaml:3:26: devices.memoryReserve: 1e400 is out of range 0..1Ti "
         "(reserved memory of every GPU, which no pod gets)\n"
         "  devices: {memoryReserve: 1e400}\n                           ^\n"},
        {"part of a byte", "limits: {bodyBytes: 500m}\n",
         "f.yaml:3:21: limits.bodyBytes: 500m is not a whole number of bytes\n"
         "  limits: {bodyBytes: 500m}\n                      ^\n"},
        {"factor below one", "devices: {overcommit: {memory: 0.5}}\n",
         "f.yaml:3:32: devices.overcommit.memory: 0.5 is out of range 1.0..10.0 "
         "(factor for the part of a GPU's memory that pods may get; 1.5 is 150 %)\n"
         "  devices: {overcommit: {memory: 0.5}}\n                                 ^\n"},
        {"factor too fine", "devices: {overcommit: {memory: 1.0005}}\n",
         "f.yaml:3:32: devices.overcommit.memory: 1.0005 has more than three decimals\n"
         "  devices: {overcommit: {memory: 1.0005}}\n                                 ^\n"},
        {"factor in percent", "devices: {overcommit: {memory: 150%}}\n",
         "f.yaml:3:32: devices.overcommit.memory: '150%' is not a factor such as 1.0 or 1.25\n"
         "  devices: {overcommit: {memory: 150%}}\n                                 ^\n"},
        {"unknown word with a near one", "logging: {format: jsn}\n",
         "f.yaml:3:19: logging.format: 'jsn' is not one of: text, json; did you mean 'json'?\n"
         "  logging: {format: jsn}\n                    ^\n"},
        {"unknown word of a dialect", "dialects: {kai: on}\n",
         "f.yaml:3:17: dialects.kai: 'on' is not one of: ignore, serve\n"
         "  dialects: {kai: on}\n                  ^\n"},
        {"unknown word", "devices: {memoryOnly: compute}\n",
         "f.yaml:3:23: devices.memoryOnly: 'compute' is not one of: share, free\n"
         "  devices: {memoryOnly: compute}\n                        ^\n"},
        {"election that follows no Lease of a scheduler", "election: follow-scheduler\n",
         "f.yaml:3:11: election: follow-scheduler needs lease.object, the Lease of the schedulers: "
         "leaderElection.resourceNamespace/resourceName of their configuration (kube-system/kube-scheduler if it has "
         "none)\n"
         "  election: follow-scheduler\n            ^\n"},
        {"lease of half a second more", "lease: {leaseDuration: 5500ms}\n",
         "f.yaml:3:24: lease: leaseDuration must be whole seconds, because a Lease says it so\n"
         "  lease: {leaseDuration: 5500ms}\n                         ^\n"},
        {"lease that ends before its renewal is given up", "lease: {renewDeadline: 5s}\n",
         "f.yaml:3:24: lease: renewDeadline must be less than leaseDuration\n"
         "  lease: {renewDeadline: 5s}\n                         ^\n"},
        {"lease that is renewed too rarely", "lease: {retryPeriod: 2500ms}\n",
         "f.yaml:3:22: lease: renewDeadline must be more than 1.2 times retryPeriod\n"
         "  lease: {retryPeriod: 2500ms}\n                       ^\n"},
        {"lease without a name", "lease: {object: ''}\n",
         "f.yaml:3:17: lease: object must name a Lease, as NAMESPACE/NAME\n"
         "  lease: {object: ''}\n                  ^\n"},
        {"no objects for intents", "clientConnection: {intentObjects: ''}\n",
         "f.yaml:3:35: clientConnection: intentObjects must be NAMESPACE/PREFIX, with a prefix of at most 63 "
         "characters\n"
         "  clientConnection: {intentObjects: ''}\n                                    ^\n"},
        {"strategy misspelt", "packing: {nodeStrategy: tightfit}\n",
         "f.yaml:3:25: packing.nodeStrategy: 'tightfit' is not one of: binpack, spread, tight-fit, rsp; "
         "did you mean 'tight-fit'?\n  packing: {nodeStrategy: tightfit}\n                          "
         "^\n"},
        {"verbs off loopback", "serving: {verbsAddress: '0.0.0.0:9443'}\n",
         "f.yaml:3:25: serving: verbsAddress: plain HTTP only on loopback; use a 127.0.0.1 address, "
         "or give serving.tls\n"
         "  serving: {verbsAddress: '0.0.0.0:9443'}\n                          ^\n"},
        {"ops on every address", "serving: {opsAddress: ':9442'}\n",
         "f.yaml:3:23: serving: opsAddress: plain HTTP only on loopback; use a 127.0.0.1 address, "
         "or give serving.tls\n"
         "  serving: {opsAddress: ':9442'}\n                        ^\n"},
        {"certificate without key", "serving: {tls: {certFile: /c}}\n",
         "f.yaml:3:16: serving: tls.keyFile: a certificate needs its key\n"
         "  serving: {tls: {certFile: /c}}\n                 ^\n"},
        {"key without certificate", "serving: {tls: {keyFile: /k}}\n",
         "f.yaml:3:16: serving: tls.certFile: TLS needs a certificate\n"
         "  serving: {tls: {keyFile: /k}}\n                 ^\n"},
        {"certificate without client CA", "serving: {tls: {certFile: /c, keyFile: /k}}\n",
         "f.yaml:3:16: serving: tls.clientCAFile: without it nobody's certificate could be verified\n"
         "  serving: {tls: {certFile: /c, keyFile: /k}}\n                 ^\n"},
        {"nobody allowed", "serving: {tls: {certFile: /c, keyFile: /k, clientCAFile: /a, allowedNames: []}}\n",
         "f.yaml:3:76: serving: tls.allowedNames: with an empty list nobody may call\n"
         "  serving: {tls: {certFile: /c, keyFile: /k, clientCAFile: /a, allowedNames: []}}\n"
         "                                                                             ^\n"},
        {"signing in another word", "signing: never\n",
         "f.yaml:3:10: signing.mode: 'never' is not one of: on, off\n"
         "  signing: never\n           ^\n"},
        {"a day that is none", "signing: {acceptUnsignedBefore: 2026-02-30T00:00:00Z}\n",
         "f.yaml:3:33: signing.acceptUnsignedBefore: '2026-02-30T00:00:00Z': write a time as "
         "2026-03-28T18:59:50Z, in UTC\n"
         "  signing: {acceptUnsignedBefore: 2026-02-30T00:00:00Z}\n                                  ^\n"},
        {"metrics on the port of another", "serving: {metricsAddress: ':9442'}\n",
         "f.yaml:3:27: serving: opsAddress and metricsAddress have the same port 9442\n"
         "  serving: {metricsAddress: ':9442'}\n                            ^\n"},
        {"metrics nowhere in another word", "serving: {metricsAddress: off}\n",
         "f.yaml:3:27: serving.metricsAddress: 'off' is not HOST:PORT, for example 127.0.0.1:9443; or none\n"
         "  serving: {metricsAddress: off}\n                            ^\n"},
        {"one port for two", "serving: {healthAddress: 0.0.0.0:9443}\n",
         "f.yaml:3:26: serving: verbsAddress and healthAddress have the same port 9443\n"
         "  serving: {healthAddress: 0.0.0.0:9443}\n                           ^\n"},
        {"body larger than the budget", "limits: {bodyBytes: 128Mi}\n",
         "f.yaml:3:9: limits: bytesInFlight must hold at least one body of bodyBytes\n"
         "  limits: {bodyBytes: 128Mi}\n          ^\n"},
        {"resource without domain", "resources: {count: [gpu]}\n",
         "f.yaml:3:21: resources.count[0]: 'gpu': a resource name needs a domain, as in "
         "example.com/gpu\n"
         "  resources: {count: [gpu]}\n                      ^\n"},
        {"object without namespace", "clientConnection: {wakeObject: fgpu-wake}\n",
         "f.yaml:3:32: clientConnection.wakeObject: 'fgpu-wake': an object is named NAMESPACE/NAME, in "
         "lower-case letters, digits and '-'\n"
         "  clientConnection: {wakeObject: fgpu-wake}\n                                 ^\n"},
        {"resource of kubernetes.io", "resources: {count: [node.kubernetes.io/gpu]}\n",
         "f.yaml:3:21: resources.count[0]: 'node.kubernetes.io/gpu': "
         "names of kubernetes.io are not extended resources\n"
         "  resources: {count: [node.kubernetes.io/gpu]}\n                      ^\n"},
        {"resource with upper-case domain", "resources: {count: [A.b/gpu]}\n",
         "f.yaml:3:21: resources.count[0]: 'A.b/gpu': the part before '/' is not a lower-case "
         "domain name\n"
         "  resources: {count: [A.b/gpu]}\n                      ^\n"},
        {"resource with two slashes", "resources: {count: [a.b/c/d]}\n",
         "f.yaml:3:21: resources.count[0]: 'a.b/c/d': the part after '/' must be 1 to 63 letters, "
         "digits, "
         "'-', '_', '.', with a letter or digit at both ends\n"
         "  resources: {count: [a.b/c/d]}\n                      ^\n"},
        {"resource for quotas", "resources: {count: [requests.a/b]}\n",
         "f.yaml:3:21: resources.count[0]: 'requests.a/b': "
         "an extended resource name must not start with 'requests.'\n"
         "  resources: {count: [requests.a/b]}\n                      ^\n"},
        {"resource in two lists", "resources: {count: [a.b/c], memory: [x.y/z, a.b/c]}\n",
         "f.yaml:3:45: resources: a.b/c is in two lists, memory and count\n"
         "  resources: {count: [a.b/c], memory: [x.y/z, a.b/c]}\n"
         "                                              ^\n"},
        {"resource in a default list", "resources: {count: [nvidia.com/gpu]}\n",
         "f.yaml:3:21: resources: nvidia.com/gpu is in two lists, count and whole (one of them by "
         "default)\n"
         "  resources: {count: [nvidia.com/gpu]}\n                      ^\n"},
        {"plugin of no list", "resources: {plugins: [{name: a.b/c, vendor: amd}]}\n",
         "f.yaml:3:30: resources: a.b/c is in neither whole nor compute, so nothing is counted by it\n"
         "  resources: {plugins: [{name: a.b/c, vendor: amd}]}\n                               ^\n"},
        {"plugin without vendor", "resources: {plugins: [{name: nvidia.com/gpu}]}\n",
         "f.yaml:3:23: resources.plugins[0]: 'vendor' is missing\n"
         "  resources: {plugins: [{name: nvidia.com/gpu}]}\n                        ^\n"},
        {"compute without units", "resources: {compute: [{name: a.b/c}]}\n",
         "f.yaml:3:23: resources.compute[0]: 'unitsPerGPU' is missing\n"
         "  resources: {compute: [{name: a.b/c}]}\n                        ^\n"},
        {"zero units", "resources: {compute: [{name: a.b/c, unitsPerGPU: 0}]}\n",
         "f.yaml:3:50: resources.compute[0].unitsPerGPU: 0 is out of range 1..1000000 "
         "(units that make one GPU)\n"
         "  resources: {compute: [{name: a.b/c, unitsPerGPU: 0}]}\n"
         "                                                   ^\n"},
        {"map instead of list", "resources: {count: {a: b}}\n",
         "f.yaml:3:20: resources.count: expected a list, found a mapping\n"
         "  resources: {count: {a: b}}\n                     ^\n"},
        {"empty list element", "resources:\n  count:\n  -\n",
         "f.yaml:5:4: resources.count[0]: no value; give one or remove the key\n    -\n     ^\n"},
        {"size of 1500 milli", "sizes: {odd: {milli: 1500}}\n",
         "f.yaml:3:22: sizes.odd.milli: 1500 milli is neither a share of one GPU (1..1000) "
         "nor a multiple of 1000\n  sizes: {odd: {milli: 1500}}\n                       ^\n"},
        {"whole GPUs with memory", "sizes: {odd: {milli: 2000, memory: 1Gi}}\n",
         "f.yaml:3:22: sizes.odd: more than 1000 milli means whole GPUs and goes with neither "
         "memory "
         "nor count\n  sizes: {odd: {milli: 2000, memory: 1Gi}}\n                       ^\n"},
        {"empty size", "sizes: {none: {}}\n",
         "f.yaml:3:15: sizes.none: an empty size; give milli, memory or count\n"
         "  sizes: {none: {}}\n                ^\n"},
        {"size without keys", "sizes:\n  none:\n",
         "f.yaml:4:8: sizes.none: expected keys below it, found nothing\n    none:\n         ^\n"},
        {"size badly named", "sizes: {Big: {count: 1}}\n",
         "f.yaml:3:9: sizes.Big: 'Big': a name has at most 63 lower-case letters, digits, "
         "'-' and "
         "'.', with a letter or digit at both ends\n  sizes: {Big: {count: 1}}\n          ^\n"},
        {"template label without value", "nodeTemplates: [{label: a100, gpus: 1, memory: 1Gi}]\n",
         "f.yaml:3:25: nodeTemplates[0].label: 'a100' is not of the form key=value\n"
         "  nodeTemplates: [{label: a100, gpus: 1, memory: 1Gi}]\n                          ^\n"},
        {"template label not a label", "nodeTemplates: [{label: 'a=b c', gpus: 1, memory: 1Gi}]\n",
         "f.yaml:3:25: nodeTemplates[0].label: 'a=b c': the label value is not valid\n"
         "  nodeTemplates: [{label: 'a=b c', gpus: 1, memory: 1Gi}]\n                          "
         "^\n"},
        {"template twice",
         "nodeTemplates:\n- {label: a=b, gpus: 1, memory: 1Gi}\n- {label: a=b, gpus: 2, memory: "
         "1Gi}\n",
         "f.yaml:5:3: nodeTemplates: element 1 has the same label as element 0\n"
         "  - {label: a=b, gpus: 2, memory: 1Gi}\n    ^\n"},
        {"template without a number of GPUs", "nodeTemplates: [{label: a=b, memory: 1Gi}]\n",
         "f.yaml:3:17: nodeTemplates[0]: how many GPUs? give gpus, or allocatable: whole-gpus\n"
         "  nodeTemplates: [{label: a=b, memory: 1Gi}]\n                  ^\n"},
        {"template that counts and believes",
         "nodeTemplates: [{label: a=b, gpus: 1, allocatable: whole-gpus, memory: 1Gi}]\n",
         "f.yaml:3:17: nodeTemplates[0]: both gpus and allocatable: whole-gpus; give one of them\n"
         "  nodeTemplates: [{label: a=b, gpus: 1, allocatable: whole-gpus, memory: 1Gi}]\n                  ^\n"},
        {"too many GPUs", "nodeTemplates: [{label: a=b, gpus: 65, memory: 1Gi}]\n",
         "f.yaml:3:36: nodeTemplates[0].gpus: 65 is out of range 1..64 (number of GPUs)\n"
         "  nodeTemplates: [{label: a=b, gpus: 65, memory: 1Gi}]\n"
         "                                     ^\n"},
        {"tag", "packing: {candidates: !!int 5}\n",
         "f.yaml:3:23: tags are not accepted; remove the '!...' before the value\n"
         "  packing: {candidates: !!int 5}\n                        ^\n"},
    };

    expect_reports(rows, ARRAY_LEN(rows));
}

static void parse__head__mandatory_and_exclusive(void **state)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"empty", "",
         "f.yaml:1:1: the file is empty; it needs at least 'apiVersion: fgpu.io/v1alpha1' and "
         "'kind: FgpuConfiguration'\n"},
        {"comments only", "# x\n",
         "f.yaml:1:1: the file is empty; it needs at least 'apiVersion: fgpu.io/v1alpha1' and "
         "'kind: FgpuConfiguration'\n  # x\n  ^\n"},
        {"both missing", "election: none\n",
         "f.yaml:1:1: 'apiVersion' is missing\n  election: none\n  ^\n"
         "f.yaml:1:1: 'kind' is missing\n  election: none\n  ^\n"},
        {"another kind: nothing else is judged",
         "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: "
         "[]\n",
         "f.yaml:1:13: apiVersion is 'kubescheduler.config.k8s.io/v1'; this program reads "
         "'fgpu.io/v1alpha1'\n"
         "  apiVersion: kubescheduler.config.k8s.io/v1\n              ^\n"
         "f.yaml:2:7: kind is 'KubeSchedulerConfiguration'; this program reads "
         "'FgpuConfiguration'\n"
         "  kind: KubeSchedulerConfiguration\n        ^\n"},
        {"not a mapping", "- a\n", "f.yaml:1:1: expected keys below it, found a list\n  - a\n  ^\n"},
        {"two documents", UNIT_HEAD "---\n" UNIT_HEAD,
         "f.yaml:3:1: a second document starts here; the file must hold only one\n  ---\n  ^\n"},
    };
    struct strbuf report;

    strbuf_init(&report, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct config *c = NULL;
        strbuf_reset(&report);
        int rc = config_parse(STR("f.yaml"), str_of(rows[i].text), &unit_names, &c, &report, NULL);
        expect_text(strbuf_view(&report), rows[i].want, rows[i].name);
        assert_int_equal(rc, -ERR_INVALID);
    }
    strbuf_fini(&report);
}

static void parse__many_mistakes__all_at_once_in_file_order(void **state)
{
    struct config *c = NULL;
    struct strbuf report;
    struct err err = {0};

    strbuf_init(&report, 1 << 20);
    int rc = config_parse(STR("f.yaml"),
                          STR(UNIT_HEAD "sizes:\n"
                                        "  small: {milli: 0, memory: 4GB}\n"
                                        "packing:\n"
                                        "  candidates: x\n"
                                        "  candidates: 5\n"
                                        "  colour: red\n"
                                        "logging: &log\n"
                                        "  format: *log\n"
                                        "  verbosity: 11\n"),
                          &unit_names, &c, &report, &err);
    assert_int_equal(rc, -ERR_INVALID);
    expect_text(strbuf_view(&report),
                "f.yaml:4:18: sizes.small.milli: 0 is out of range 1..64000 (thousandths of a GPU's "
                "compute)\n"
                "    small: {milli: 0, memory: 4GB}\n"
                "                   ^\n"
                "f.yaml:4:29: sizes.small.memory: '4GB' is not a quantity such as 512Mi or 4Gi; "
                "did you mean '4Gi'?\n"
                "    small: {milli: 0, memory: 4GB}\n"
                "                              ^\n"
                "f.yaml:6:15: packing.candidates: 'x' is not a whole number "
                "(number of nodes in a filter reply, 0 for all)\n"
                "    candidates: x\n"
                "                ^\n"
                "f.yaml:7:3: duplicate key 'candidates', first on line 6\n"
                "    candidates: 5\n"
                "    ^\n"
                "f.yaml:8:3: unknown key 'colour' in packing; known here: nodeStrategy, deviceStrategy, rules, "
                "candidates, hold, candidate\n"
                "    colour: red\n"
                "    ^\n"
                "f.yaml:9:10: anchors are not accepted; remove the '&log'\n"
                "  logging: &log\n"
                "           ^\n"
                "f.yaml:10:11: aliases are not accepted; write the value out instead of '*log'\n"
                "    format: *log\n"
                "            ^\n"
                "f.yaml:11:14: logging.verbosity: 11 is out of range 0..10 "
                "(0 events, 2 steady state, 4 decisions, 6 wire)\n"
                "    verbosity: 11\n"
                "               ^\n",
                NULL);
    assert_string_equal(err.msg, "f.yaml:4:18: sizes.small.milli: 0 is out of range 1..64000 "
                                 "(thousandths of a GPU's compute) (and 7 more)");
    strbuf_fini(&report);
}

/* What is behind an alias is not known: the elements are refused, and no check of their list looks at them. */
static void parse__refused_elements__told_and_not_looked_at(void **state)
{
    static const char text[] = "apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n"
                               "tenants: [*a, *b]\n"
                               "timeWindows: [*c, *d]\n"
                               "nodeTemplates: [*e, *f]\n"
                               "packing: {rules: [*g, *h]}\n"
                               "devices: {overrides: [*i, *j]}\n"
                               "sizes: {small: {milli: 100, variants: [*k, *l]}}\n";
    struct config *c = NULL;
    struct strbuf report;
    struct err err;
    size_t findings = 0, aliases = 0;

    strbuf_init(&report, 1 << 20);
    assert_int_equal(config_parse(STR("f.yaml"), STR(text), &unit_names, &c, &report, &err), -ERR_INVALID);
    for (const char *p = report.p; (p = strstr(p, "f.yaml:")) != NULL; p++) {
        findings++;
    }
    for (const char *p = report.p; (p = strstr(p, "aliases are not accepted")) != NULL; p++) {
        aliases++;
    }
    assert_int_equal(findings, 12);
    assert_int_equal(aliases, 12);
    strbuf_fini(&report);
}

static void parse__more_than_the_cap__counted(void **state)
{
    struct config *c = NULL;
    struct strbuf text, report;

    strbuf_init(&text, 1 << 20);
    strbuf_init(&report, 1 << 20);
    strbuf_add_cstr(&text, UNIT_HEAD);
    for (int i = 0; i < 60; i++) {
        strbuf_addf(&text, "key%d: 1\n", i);
    }
    assert_int_equal(config_parse(STR("f.yaml"), strbuf_view(&text), &unit_names, &c, &report, NULL), -ERR_INVALID);
    assert_true(str_ends(strbuf_view(&report), STR("  key19: 1\n  ^\nand 40 more; correct these first\n")));
    strbuf_fini(&text);
    strbuf_fini(&report);
}

static void parse__too_large__refused(void **state)
{
    struct config *c = NULL;
    struct strbuf report;
    char *text = calloc(1, CONFIG_BYTES_MAX + 1);

    assert_non_null(text);
    memset(text, '#', CONFIG_BYTES_MAX + 1);
    strbuf_init(&report, 1 << 20);
    assert_int_equal(
        config_parse(STR("f.yaml"), (struct str){text, CONFIG_BYTES_MAX + 1}, &unit_names, &c, &report, NULL),
        -ERR_INVALID);
    expect_text(strbuf_view(&report), "f.yaml: larger than 256 KiB\n", NULL);
    strbuf_fini(&report);
    free(text);
}

/* The largest lists that fit are stored; one element more is an error. */
static void parse__list_lengths__up_to_the_cap(void **state)
{
    struct config *c = NULL;
    struct strbuf text, report;

    strbuf_init(&text, 1 << 20);
    strbuf_init(&report, 1 << 20);
    for (int i = 0; i < 1000; i++) {
        strbuf_addf(&text, "%s- {label: pool=p%d, gpus: 8, memory: 80Gi, model: A%d}\n",
                    i == 0 ? "nodeTemplates:\n" : "", i, i);
    }
    c = unit_config(text.p);
    assert_int_equal(c->policy.template_n, 1000);
    expect_text(c->policy.templates[999].model, "A999", NULL);
    config_free(c);
    c = NULL;

    strbuf_reset(&text);
    strbuf_add_cstr(&text, UNIT_HEAD "resources:\n  count:\n");
    for (int i = 0; i < 33; i++) {
        strbuf_addf(&text, "  - a.b/c%d\n", i);
    }
    assert_int_equal(config_parse(STR("f.yaml"), strbuf_view(&text), &unit_names, &c, &report, NULL), -ERR_INVALID);
    expect_text(strbuf_view(&report),
                "f.yaml:5:3: resources.count: 33 elements, at most 32 are accepted\n"
                "    - a.b/c0\n    ^\n",
                NULL);
    strbuf_fini(&text);
    strbuf_fini(&report);
}

/* Whatever happens to the text, the answer is a configuration or a report, never both or none. */
static void parse__random_changes__configuration_or_report(void **state)
{
    static const char bytes[] = "{}[]:,-#&*!%@`'\"\n\t \\?|>~<x0\xff\xc3\x01";
    struct strbuf original, text, report;
    struct rng rng;
    size_t refused = 0, accepted = 0;

    rng_init(&rng, 7);
    strbuf_init(&original, 1 << 20);
    strbuf_init(&text, 1 << 20);
    strbuf_init(&report, 1 << 20);
    unit_read(FGPU_SOURCE_DIR "/config/fgpu.yaml", &original);
    for (int round = 0; round < 1000; round++) {
        struct config *c = NULL;
        strbuf_reset(&text);
        strbuf_reset(&report);
        strbuf_add_str(&text, strbuf_view(&original));
        for (uint64_t changes = 1 + rng_below(&rng, 4); changes > 0; changes--) {
            text.p[rng_below(&rng, text.n)] = bytes[rng_below(&rng, sizeof(bytes) - 1)];
        }
        int rc = config_parse(STR("f.yaml"), strbuf_view(&text), &unit_names, &c, &report, NULL);
        assert_int_equal(rc == 0, c != NULL);
        assert_int_equal(rc == 0, report.n == 0);
        refused += rc != 0;
        accepted += rc == 0;
        config_free(c);
    }
    assert_true(refused > 50 && accepted > 50);
    strbuf_fini(&original);
    strbuf_fini(&text);
    strbuf_fini(&report);
}

static void load__unreadable__code_and_text(void **state)
{
    struct config *c = NULL;
    struct strbuf report;
    struct err err = {0};

    strbuf_init(&report, 1 << 20);
    assert_int_equal(config_load("/nonexistent/f.yaml", &unit_names, &c, &report, &err), -ERR_NOT_FOUND);
    assert_string_equal(err.msg, "/nonexistent/f.yaml: No such file or directory");
    expect_text(strbuf_view(&report), "/nonexistent/f.yaml: No such file or directory\n", NULL);
    assert_int_equal(config_load("/", &unit_names, &c, NULL, &err), -ERR_INTERNAL);
    assert_string_equal(err.msg, "/: Is a directory");
    assert_int_equal(config_load("/dev/zero", &unit_names, &c, NULL, &err), -ERR_LIMIT);
    assert_string_equal(err.msg, "/dev/zero: larger than 256 KiB");
    assert_null(c);
    strbuf_fini(&report);
}

/* A comment fills the file up: if the end were cut off nobody would see it, but for the last key. */
static void load__at_the_limit__whole_and_one_byte_more_is_an_error(void **state)
{
    static const char head[] = UNIT_HEAD "#", last[] = "\npacking: {nodeStrategy: spread}\n";
    const size_t fill = CONFIG_BYTES_MAX - strlen(head) - strlen(last);
    char *text = malloc(CONFIG_BYTES_MAX + 2), path[128];
    struct config *c = NULL;
    struct temp_dir dir;
    struct err err = {0};

    assert_non_null(text);
    memset(text, 'x', CONFIG_BYTES_MAX + 2);
    memcpy(text, head, strlen(head));
    strcpy(text + strlen(head) + fill, last);
    temp_dir_init(&dir);
    temp_dir_path(&dir, "f.yaml", path, sizeof(path));
    temp_dir_write(&dir, "f.yaml", text);
    assert_int_equal(config_load(path, &unit_names, &c, NULL, &err), 0);
    expect_text(c->policy.node_strategy, "spread", NULL);
    config_free(c);
    c = NULL;
    strcpy(text + CONFIG_BYTES_MAX, "\n");
    temp_dir_write(&dir, "f.yaml", text);
    assert_int_equal(config_load(path, &unit_names, &c, NULL, &err), -ERR_LIMIT);
    assert_non_null(strstr(err.msg, "larger than 256 KiB"));
    assert_null(c);
    temp_dir_fini(&dir);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults__built_in__the_documented_values),
        cmocka_unit_test(parse__every_key__stored),
        cmocka_unit_test(parse__signing_in_one_word__its_mode),
        cmocka_unit_test(parse__sections_without_keys__defaults),
        cmocka_unit_test(parse__hash__follows_the_bytes),
        cmocka_unit_test(parse__one_mistake__exact_report),
        cmocka_unit_test(parse__head__mandatory_and_exclusive),
        cmocka_unit_test(parse__many_mistakes__all_at_once_in_file_order),
        cmocka_unit_test(parse__refused_elements__told_and_not_looked_at),
        cmocka_unit_test(parse__more_than_the_cap__counted),
        cmocka_unit_test(parse__too_large__refused),
        cmocka_unit_test(parse__list_lengths__up_to_the_cap),
        cmocka_unit_test(parse__random_changes__configuration_or_report),
        cmocka_unit_test(load__unreadable__code_and_text),
        cmocka_unit_test(load__at_the_limit__whole_and_one_byte_more_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
