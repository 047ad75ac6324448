/* "incidents" of /state: what must not be, with since when and whom it concerns. */
#include "routes/state_internal.h"

#include "extender/incident_words.h"

#include <stdlib.h>

static bool is_of_namespace(const struct incident *in, struct str namespace_)
{
    bool found = namespace_.n == 0;

    for (size_t i = 0; i < in->pod_n && !found; i++) {
        found = str_eq(in->pods[i].namespace_, namespace_);
    }
    return found;
}

struct incident *state_incidents_of(struct incident *list, struct str node, struct str namespace_)
{
    struct incident **at = &list;

    while (*at != NULL) {
        struct incident *in = *at;

        if ((node.n == 0 || str_eq(in->node_name, node)) && is_of_namespace(in, namespace_)) {
            at = &in->next;
        } else {
            *at = in->next;
            free(in);
        }
    }
    return list;
}

static void write_pods(struct json_writer *w, const struct incident *in)
{
    json_write_kv_array_begin(w, "pods");
    for (size_t i = 0; i < in->pod_n; i++) {
        const struct incident_pod *p = &in->pods[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "namespace", p->namespace_);
        json_write_kv_str(w, "pod", p->name);
        json_write_kv_str(w, "uid", p->uid);
        json_write_kv_str(w, "decision", p->decision_id);
        json_write_kv_bool(w, "decidedHere", p->decided_here);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

void state_write_incident(struct json_writer *w, const struct incident *in)
{
    char sentence[INCIDENT_SENTENCE_MAX];

    json_write_object_begin(w);
    json_write_kv_cstr(w, "kind", incident_kind_name(in->kind));
    state_write_time(w, "since", in->since_ms);
    json_write_kv_str(w, "node", in->node_name);
    if (in->kind == INCIDENT_DOUBLE_BOOKING) {
        json_write_kv_str(w, "uuid", in->uuid);
        json_write_kv_i64(w, "index", in->index);
    }
    write_pods(w, in);
    state_write_text(w, "text", incident_sentence(in, sentence, sizeof(sentence)));
    state_write_text(w, "remedy", incident_remedy(in->kind));
    json_write_object_end(w);
}
