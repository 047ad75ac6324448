"""Known defects, to be put back by scripts/bug-bank. Each has the defect's row (src/spec/defects.md; P: of peers), what is
wrong, and changes: file, function or table, its text, and what that becomes. ELSEWHERE: those that it does not see."""

BINDING, MACHINE = "src/kube/binding.c", "src/extender/bind_machine.c"
STEPS, EXCHANGE = "src/extender/bind_steps.c", "src/extender/binder_exchange.c"

BUGS = [
    {"name": "unbound-at-deadline", "of": "H1", "what": "a GET that shows the pod unbound at the deadline releases",
     "changes": [(MACHINE, "seen_unbound", "if (m->unknown && !proves_all_dead(m, s)) {",
                  "if (m->unknown && now_ns < m->deadline_ns && !proves_all_dead(m, s)) {")]},
    {"name": "conflict-refuses", "of": "H1", "what": "a 409 counts as a refusal",
     "changes": [(BINDING, "status_rows", "{409, {BIND_CONFLICT, true,", "{409, {BIND_REFUSED, false,")]},
    {"name": "unavailable-refuses", "of": "H1", "what": "a 503 says that nothing was bound",
     "changes": [(BINDING, "status_rows", "{503, {BIND_RETRY_AFTER, true,", "{503, {BIND_RETRY_AFTER, false,")]},
    {"name": "equal-version-proves", "of": "H1", "what": "a version that was sent proves that the send is dead",
     "changes": [(MACHINE, "proves_all_dead", "s->version > m->sent_version", "s->version >= m->sent_version")]},
    {"name": "no-version", "of": "H1", "what": "a Binding carries no resourceVersion, and versions still prove",
     "changes": [(BINDING, "write_body", "if (b->pod_version != 0) {", "if (b->pod_version == 1) {")]},
    {"name": "expires", "of": "K10, P20", "what": "a reservation ends with its caller's patience",
     "changes": [(MACHINE, "bind_machine_expire", "m->answered = true;",
                  "m->answered = true;\n    m->resolution = BIND_RELEASED;\n    m->next = BIND_END;")]},
    {"name": "busy-forgets-unknown", "of": "H1", "what": "a 429 after an unknown send is taken for an answer to it",
     "changes": [(MACHINE, "try_again", "if (m->unknown) {", "m->unknown = false;\n    if (m->unknown) {")]},
    {"name": "refusal-forgets-unknown", "of": "H1", "what": "a refusal after an unknown send settles both",
     "changes": [(MACHINE, "refused", "if (m->unknown) {", "if (m->unknown && now_ns < 0) {")]},
    {"name": "edited-request", "of": "3.1.4", "what": "a new version of the pod is bound by the old decision",
     "changes": [(STEPS, "bind_holds",
                  "!store_reservation_holds(b->binder->store, b->request.pod_uid, version, &kept_bytes) ||",
                  "(!store_reservation_holds(b->binder->store, b->request.pod_uid, version, &kept_bytes) && "
                  "(kept_bytes = 0) != 0) ||")]},
    {"name": "no-hold-off", "of": "H2", "what": "nobody waits for the Bindings of a predecessor",
     "changes": [("src/cmd/runtime_run.c", "move_hold_off", "r->settled && is_listed(r) ? until_ns : INT64_MAX",
                  "is_listed(r) || until_ns == 0 ? INT64_MIN : INT64_MAX"),
                 ("src/cmd/runtime_run.c", "begin_hold_off", "r->lists_again = r->of->options.holdoff_ms > 0;", "")]},
    {"name": "believes-records", "of": "H3, P15", "what": "a signature is not verified",
     "changes": [("src/extender/record.c", "record_proof_holds", "return key != NULL &&",
                  "return key != NULL ||")]},
    {"name": "freed-when-deleted", "of": "K2, P3, P12", "what": "a pod that is being deleted holds nothing",
     "changes": [("src/extender/ingest.c", "pod_op", "if (pod_is_terminal(pod)) {",
                  "if (pod_is_terminal(pod) || pod->deleting) {")]},
    {"name": "lists-do-not-replace", "of": "K5, P13", "what": "what a list does not show any more stays",
     "changes": [("src/core/ledger/ledger.c", "pods_end", "if (!p->used || is_listed(l, p, version)) {",
                  "if (!p->used || p->state != LEDGER_RESERVED || is_listed(l, p, version)) {")]},
    {"name": "nobody-wakes", "of": "H6, F12", "what": "room that appears wakes nobody",
     "changes": [("src/extender/store_tell.c", "store_unlock_and_tell", "if (capacity_grew) {",
                  "if (capacity_grew && n > 100) {")]},
    {"name": "inventory-once", "of": "B2, K3, P4", "what": "the devices of a node are read once",
     "changes": [("src/extender/ingest.c", "ingest_node", "if (rc == 0 && in->policy->plan_ahead) {",
                  "if (rc == 0 && store_has_node(in->store, node->name)) {\n        return 0;\n    }\n"
                  "    if (rc == 0 && in->policy->plan_ahead) {")]},
    {"name": "wraps", "of": "B1, P1", "what": "what is below 0 is almost infinite",
     "changes": [("src/core/fit/device_state.c", "device_take",
                  "d->mem_free_mib = (int32_t)clamp(mem_left, INT32_MIN);",
                  "d->mem_free_mib = (int32_t)clamp(mem_left < 0 ? INT32_MAX : mem_left, INT32_MIN);")]},
    {"name": "sent-twice-is-once", "of": "contract 4.4", "what": "what was sent again by the connection counts as sent once",
     "changes": [(BINDING, "bind_classify",
                  "answer.maybe_bound = answer.maybe_bound || (outcome->sent_again && answer.reply != BIND_BOUND);",
                  "")]},
]

ELECTION, LEASE_MACHINE, WORLD_NET = "src/cmd/runtime_election.c", "src/extender/lease_machine.c", "test/sim/net.c"

# What only several processes show.
BUGS += [
    {"name": "no-gate", "of": "design 8", "what": "the API client asks nobody whether this replica may write",
     "changes": [("src/cmd/runtime_api.c", "runtime_start_client",
                  ".may_write = s->election != NULL ? runtime_may_write : NULL", ".may_write = NULL")]},
    {"name": "gate-at-submission", "of": "design 8", "what": "it asks when a write is submitted, and not when it leaves",
     "changes": [(WORLD_NET, "leave", "c->of->cut || !call_may_leave(c)", "c->of->cut")]},
    {"name": "lead-from-the-answer", "of": "decision 0097, 1", "what": "the lead is counted from the answer to a renewal",
     "changes": [(LEASE_MACHINE, "written", "m->leads_until_ns = m->sent_ns +", "m->leads_until_ns = now_ns +")]},
    {"name": "nobody-led", "of": "decision 0097, 2", "what": "who takes over a Lease that did not run out leads at once",
     "changes": [(LEASE_MACHINE, "note", "now_ns + (was_released(r) ? 0 : lead_ns(m, r))", "now_ns")]},
    {"name": "takes-back", "of": "decision 0097, 3", "what": "who leads takes a Lease back that somebody else has changed",
     "changes": [(LEASE_MACHINE, "looked", "} else if (!ours) {", "} else if (!ours && now_ns < 0) {")]},
    {"name": "given-back-while-others-lead", "of": "decision 0097",
     "what": "a Lease is given back by one who does not know yet that nobody before leads",
     "changes": [(LEASE_MACHINE, "lease_machine_give_back", "m->phase != LEASE_LEADS || now_ns < m->others_until_ns",
                  "m->phase != LEASE_LEADS")]},
    {"name": "given-back-too-early", "of": "decision 0097",
     "what": "the Lease is given back first, and what still leaves then leaves",
     "changes": [("src/cmd/runtime.c", "parts", "{runtime_start_election, runtime_decline_election, NULL}",
                  "{runtime_start_election, runtime_stop_election, NULL}"),
                 ("src/extender/elector.c", "span_of", "m->phase == LEASE_LEADS ?",
                  "m->phase == LEASE_LEADS || m->phase >= LEASE_GIVES_BACK ?"),
                 ("src/extender/elector.c", "elector_stop", "e->started = false;\n    atomic_store(&e->until_ns, INT64_MIN);",
                  "e->started = false;")]},
    {"name": "hold-off-from-the-start", "of": "decision 0097",
     "what": "the hold-off counts from the start of the process, not from the end of the other's lead",
     "changes": [("src/cmd/runtime_run.c", "runtime_run_elected",
                  "r->hold_off_ends_ns = others_until_ns + s->options.holdoff_ms * NS_PER_MS;", "(void)others_until_ns;")]},
    {"name": "lost-and-stays", "of": "R35", "what": "who has lost the Lease does not end",
     "changes": [(ELECTION, "lost", "if (e->of->options.lost != NULL) {", "if (e->of->options.lost == NULL) {")]},
    {"name": "ended-beside-another", "of": "F105", "what": "`ended` is written while another one, started by mistake, lives",
     "changes": [("src/extender/run_keeper.c", "claimed", "sync_in_ns(RUN_KEEPER_ALONE_MS * NS_PER_MS)", "0")]},
    {"name": "twice-is-no-incident", "of": "decision 0034", "what": "a GPU that two pods were given is closed, and no incident",
     "changes": [("src/core/ledger/incidents.c", "ledger_booking_follow", "} else if (d->booked ?",
                  "} else if (h.n == 2) {\n    } else if (d->booked ?")]},
    {"name": "victims-behind", "of": "contract R10", "what": "preempt puts its victims behind those that were named, whatever their priority",
     "changes": [("src/core/ledger/preempt.c", "answer", "s->candidates[next].priority > priority)",
                  "s->candidates[next].priority > priority + 100)")]},
    {"name": "run-object-ignored", "of": "decision 0091", "what": "whatever the run object says, there is no hold-off",
     "changes": [("src/extender/run_claim.c", "run_claim_is_skipped", "return c->step == RUN_CLAIMED &&",
                  "return c->step == RUN_CLAIMED ||")]},
]

INTENTS, OF_NODE = "src/extender/intents.c", "src/extender/binder_intents.c"
INTENTS_EXCHANGE = "src/extender/binder_intents_exchange.c"

# What only strict ones show (decision 0103): rules of extender/intents.h, left out.
STRICT = [
    {"name": "no-intent", "of": "decision 0103, 2", "what": "a Binding is sent without an intent",
     "changes": [(OF_NODE, "bind_has_intent", "b->intent_version == b->machine.version", "b->intent_version < UINT64_MAX")]},
    {"name": "intent-not-waited-for", "of": "decision 0103, 2", "what": "a write that failed is taken for one that landed",
     "changes": [(INTENTS_EXCHANGE, "written", "            not_written(n, response);", "            is_written(n);")]},
    {"name": "intent-over-any-revision", "of": "decision 0103, 1", "what": "an intent is written over whatever is there",
     "changes": [("src/kube/intent_object.c", "write_metadata", "json_write_kv_cstr(w, \"resourceVersion\", seen->revision);", "")]},
    {"name": "unproven-is-no-matter", "of": "decision 0103, 1", "what": "devices are chosen although an intent is not proven",
     "changes": [(OF_NODE, "bind_node_is_ready", "b->node->read && unproven(b->node) == NULL", "b->node->read")]},
    {"name": "landed-is-dropped", "of": "decision 0103, 3", "what": "the intent of a pod that is bound is not kept",
     "changes": [(INTENTS, "intents_keep", "!= INTENT_DEAD", "== INTENT_OPEN")]},
    {"name": "same-version-is-dead", "of": "decision 0103, 3", "what": "a pod that is unbound at the version that a Binding carries proves it dead",
     "changes": [(INTENTS_EXCHANGE, "pod_read", "found.version > i->version", "found.version >= i->version")]},
    {"name": "unbound-is-dead", "of": "decision 0103, 3", "what": "so does what the watch has shown",
     "changes": [(INTENTS, "intent_judge", "place_version > i->version", "place_version >= i->version")]},
    {"name": "illegible-is-empty", "of": "decision 0103", "what": "an object that nobody can read lists nothing",
     "changes": [(INTENTS_EXCHANGE, "take_object", "intents_read(n->object.intents, &found, &why) != 0) {",
                  "(intents_read(n->object.intents, &found, &why) != 0 && n->object.uid[0] == '\\0')) {")]},
    {"name": "old-reading", "of": "decision 0103, 4", "what": "devices that were chosen by an earlier reading are good",
     "changes": [(INTENTS_EXCHANGE, "collect", "b->node_reading == n->reading", "b->node_reading <= n->reading")]},
]
BUGS += [{**bug, "fleet": "strict"} for bug in STRICT]

# What only containers show: the node's agent (decision 0060), most often needed where two decide.
NODE = [
    {"name": "fence-lets-all-in", "of": "decision 0060", "what": "a container is created whatever runs on its GPUs",
     "changes": [("src/node/fence.c", "is_within", "if (u->closed) {", "if (u->sharers > 0) {\n        return true;\n    }\n    if (u->closed) {")]},
    {"name": "agent-forgets-what-runs", "of": "decision 0060", "what": "an agent that is restarted does not count what runs",
     "changes": [("src/node/agent.c", "add_if_granted", "            add_with_nodes(g, &s->c, &c->gpus);\n", "")]},
    {"name": "agent-believes-records", "of": "decision 0060", "what": "the agent verifies no signature",
     "changes": [("src/node/grant.c", "what_is_wrong", "if (!sign_verify(key, bytes, as->sig)) {", "if (as->sig == NULL) {")]},
]
BUGS += [{**bug, "fleet": "mistake"} for bug in NODE]

# What the world does not see, why, and the test that does.
ELSEWHERE = [
    ("F145", "a pod that a GET shows after its end was told is taken in", "rare: one of 100 seeds of 100,000 steps",
     "F145_pod_read__after_its_end_was_told__stays_gone"),
    ("F145", "a pod that is read while a list comes counts as listed", "rare: one of 100 seeds of 100,000 steps",
     "F145_pod_read__while_a_list_comes__stays_only_if_it_is_newer_than_that"),
    ("H5", "bound to the same node with another record: released",
     "with signatures such a pod counts on every GPU, so nothing is given twice",
     "bind__item5__bound_to_our_node_with_another_record__error_and_stays_charged"),
    ("F3", "devices are chosen while a record waits to be verified",
     "verifying takes no time here, and the oracle holds nothing of pods that fgpu has not bound",
     "reserve__record_that_came_since_the_node_was_verified__waits_for_its_verdict"),
    ("F81", "a record is edited before the watch shows it, without signatures", "signing is on here",
     "rule1__bound_as_reserved_with_an_edited_record__reserved_device_stays_charged"),
    ("B6, P6", "check and charge are apart", "one section of the store does both; there is no place to part them by a line",
     "test_B6_24_concurrent_callers__no_gpu_over_committed"),
]
