"""Known defects of the way to the API server (src/kube) and of what is read from it."""

LOOP, CALLS, EXCHANGE = "src/kube/transport_loop.c", "src/kube/transport_calls.c", "src/kube/transport_exchange.c"
JSON_SCAN = "src/base/json_scan.c"

BUGS = [
    {"name": "unread-text-validated", "of": "H11", "what": "text that nobody reads is validated",
     "test": "json_skip__as_stored__checks_the_grammar_and_nothing_else",
     "changes": [(JSON_SCAN, "", "if (c == 0 && !r->as_stored) {", "if (c == 0) {")]},
    {"name": "large-text-ends-all", "of": "H11", "what": "a text that is too large ends the reading of its object",
     "test": "excerpt__member_above_the_bound__is_null_and_said_so",
     "changes": [("src/kube/excerpt.c", "copy", "    e->lost = true;\n    e->how = PASS;", "    e->lost = true;\n    e->place = NOWHERE;")]},
    {"name": "keys-counted", "of": "H13", "what": "an object with more keys than are compared is an error",
     "test": "json_object_next__as_stored__more_keys_than_are_compared",
     "changes": [("src/base/json_keys.c", "", "if (r->key_n == JSON_KEYS_MAX && r->as_stored) {", "if (r->key_n > JSON_KEYS_MAX && r->as_stored) {")]},
    {"name": "check-of-the-old-watch", "of": "F36", "what": "the answer to a check goes to the reflector that came in the place of the one that asked",
     "test": "watcher__slices_of_another_version__forgets_the_check_of_the_old_one",
     "changes": [("src/kube/watcher.c", "take_refusal", "contact_check_free(\n        w->check);", ""),
                 ("src/kube/watcher.c", "begin_reflector", "w->check = contact_check_new(w->client, w->stream);",
                  "w->check = w->check != NULL ? w->check : contact_check_new(w->client, w->stream);")]},
    {"name": "silent-for-ten-minutes", "of": "F37", "what": "one 403 silences all Events for the longest time",
     "test": "trouble__forbidden_again_and_again__silence_doubles_and_begins_anew",
     "changes": [("src/kube/event_machine.c", "forbidden", "was_known ? 2 * m->silence[m->call].ms : EVENT_SILENCE_MIN_MS", "EVENT_SILENCE_MS")]},
    {"name": "each-opens-one", "of": "F109", "what": "every call that finds no idle connection opens one",
     "test": "calls__while_a_connection_opens__wait_for_it",
     "changes": [(CALLS, "begin_at_ns", "if (q->idle_n > 0 || q->used_n == 0) {", "if (first != NULL) {")]},
    {"name": "idle-for-ever", "of": "F109", "what": "connections that were idle for long count as idle",
     "test": "F109_calls__after_connections_were_idle_for_long__open_one_at_a_time_again",
     "changes": [(CALLS, "serve_waiting", "forget_old_idle(q, now_ns);", "")]},
    {"name": "all-sockets-looked-at", "of": "F116", "what": "libcurl looks at all transfers whenever anything happens",
     "test": "F116_call__beside_many_in_flight__looks_at_its_own_socket_alone",
     "changes": [(LOOP, "transport_loop_wait", "    transport_loop_due(l);\n",
                  "    int active;\n    (void)curl_multi_perform(l->multi, &active);\n    transport_loop_due(l);\n")]},
    {"name": "kernel-goes-on", "of": "F122", "what": "the kernel goes on sending what a call that was given up has left",
     "test": "F122_call__given_up__what_the_kernel_has_left_of_it_is_not_sent",
     "changes": [(EXCHANGE, "exchange_call_socket", "{.l_onoff = 1}", "{.l_onoff = 0}")]},
]
