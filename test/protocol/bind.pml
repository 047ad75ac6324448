/* A model of bind, late landing, restart and fail-over, for Spin. README.md beside it says how to read and run it.
 *
 * Two pods that do not fit together on one device, two API servers, one or two replicas of fgpu, kube-scheduler. One
 * process, whose choices are everything that can happen next; each is a small named step, so that a counter-example
 * reads as a story (scripts/protocol NAME).
 *
 *   REPLICAS 1: `election: none`, and the run object decides about the hold-off.
 *   REPLICAS 2: `election: lease`. With RUN_OBJECT 1 whoever takes over asks the run object, too.
 *   RENEWALS, TAKE_OVERS: how often the lease is renewed after it was taken, and taken.
 *   CRASHES, ENDS, PATCHES, DELETES: how often a process is killed, is ended in order, a pod is patched by others, and
 *   is deleted and made again under its name.
 *
 * "@code", a file and a name: the place of a rule in the code; scripts/protocol fails when it is not there any more.
 */
#ifndef REPLICAS
#define REPLICAS 1
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef ENDS
#define ENDS 1
#endif
#ifndef RUN_OBJECT
#define RUN_OBJECT 1
#endif
#ifndef RENEWALS
#define RENEWALS 1
#endif
#ifndef TAKE_OVERS
#define TAKE_OVERS 2
#endif
#ifndef PATCHES
#define PATCHES 1
#endif
#ifndef DELETES
#define DELETES 0
#endif

/* Rules that can be switched off, one at a time: the environment variable PROTOCOL_OFF is the number. scripts/protocol
 * reads this list and demands a counter-example for each; in brackets for which number of replicas. */
#define CONFLICT_IS_A_REFUSAL 1     /* [1] a 409 to the first send ends the reservation */
#define REFUSAL_SETTLES_EARLIER 2   /* [1] a 403 to a second send ends it, although the first is unknown */
#define DEADLINE_FREES 3            /* [1] the caller's deadline ends it */
#define READ_PROVES 4               /* [1] a GET that shows the pod unbound ends it, at whatever version */
#define WATCH_PROVES 5              /* [1] so does an event of the watch */
#define NO_VERSION 6                /* [1] a Binding carries no resourceVersion */
#define NO_UID 7                    /* [1] nor a uid, and fgpu knows that versions are not looked at */
#define NO_RESERVATION 8            /* [1] devices are not reserved before the send */
#define NO_HOLD_OFF 9               /* [1] there is none after a start */
#define ENDED_WITH_BINDINGS 10      /* [1] `ended` is written while a Binding is not resolved */
#define ENDED_IN_HOLD_OFF 11        /* [1] `ended` is written by one whose own hold-off is not over */
#define ENDED_WITHOUT_REVISION 12   /* [1] `ended` is no compare and swap: it lands on the claim of a successor */
#define SKIP_WITHOUT_CLAIM 13       /* [1] an `ended` counts that was read and not replaced by a claim */
#define WATCH_IS_BEHIND 14          /* [1] the pods are listed when the hold-off begins, and not again at its end */
#define LIST_FROM_CACHE 15          /* [1] the first list is answered by a watch cache */
#define LANDS_AFTER_HOLD_OFF 16     /* [1] a Binding lands later than the hold-off: an assumption */
#define NO_RESEND 17                /* [1] an unknown Binding is not sent again; found as pods that wait for ever */
#define LEASE_NOT_ASKED 18          /* [2] a replica binds without the lease */
#define RESEND_WITHOUT_LEASE 19     /* [2] who has lost the lease sends an unknown Binding again */
#define LEASE_FROM_THE_REPLY 20     /* [2] the lease counts from the reply to the renewal, not from its sending */
#define SUCCESSOR_DOES_NOT_WAIT 21  /* [2] it takes the lease as soon as it sees it */
#define NO_HOLD_OFF_AT_TAKE_OVER 22 /* [2] it binds as soon as it has the lease */
#define NO_LIST_AT_TAKE_OVER 23     /* [2] it goes on with what its watch has shown while it followed */
#define RELEASE_IS_A_PROOF 24       /* [2] who finds the lease released binds without a hold-off */
#define WAKE_NOT_ASKED 25           /* [1] an `ended` counts although somebody has begun to answer since */


byte off;       /* the rule that is switched off */
bool asks_calm; /* from every state: if nothing disturbs any more, is a pod bound soon? Takes longer, so it is asked apart */
#define OFF(rule) (off == rule)

/* ---- the API server: etcd, and two watch caches ---- */

#define PODS 2
#define SERVERS 2

#define UNBOUND 0
#define BOUND 1
#define GONE 2

/* Versions of one object only grow; a Binding lands on exactly the version that it carries. */
byte ver[PODS];
byte state[PODS];
byte born[PODS];    /* the version at which the pod of this uid was made */
byte landings[PODS]; /* Bindings that took effect on this uid */

byte cache_ver[4]; /* of server S and pod P: [S * 2 + P] */
byte cache_state[4];

/* ---- time ----
 * Ticks, which come when they like. HOLD_OFF and LEASE are lengths in ticks. What is sent lands within HOLD_OFF ticks
 * after the last proof that its sender might bind: that it lived and, of two, that its own clock said that its lease had
 * not run out. All clocks tick together: README.md says what this cannot see. */
#define HOLD_OFF 1
#define LEASE 2

/* ---- fgpu: replicas R, and the bind of pod P at R: [R * 2 + P] ---- */

#define DOWN 0
#define FOLLOWS 1 /* of two: does not have the lease */
#define ASKS 2    /* has not read the run object yet */
#define CLAIMS 3  /* its claim is on its way */
#define LISTS 4
#define SERVES 5  /* ready as soon as there is no hold-off any more */
#define CLOSES 6  /* begins no bind any more */
#define ENDING 7  /* `ended` is on its way */
byte phase[REPLICAS];
byte hold[REPLICAS];  /* ticks left of the hold-off; of a follower: of lease and hold-off since the last renewal seen */
bool skips[REPLICAS]; /* no hold-off */
bool claimed[REPLICAS];
bool doubtful[REPLICAS];
byte known_ver[2 * REPLICAS]; /* what its ledger says of the pod */
byte known_state[2 * REPLICAS];

/* struct bind_machine. @code include/extender/bind_machine.h bind_machine */
#define IDLE 0
#define POST 1 /* to be sent */
#define SENT 2 /* no answer yet */
#define GET 3
byte next[2 * REPLICAS];
byte with_ver[2 * REPLICAS]; /* `version`. sent_version is the same here once it was sent: versions only grow */
bool sent_any[2 * REPLICAS];
bool unknown[2 * REPLICAS];
bool waits[2 * REPLICAS]; /* a caller does */
bool first_copy[2 * REPLICAS]; /* nothing with this version was on its way before this send */

/* Transactions of R for P that may still land: a bit for each version. Those of processes that are gone, and the ticks
 * since their last proof, apart. */
byte flying[2 * REPLICAS];
byte orphan[2 * REPLICAS];
byte orphan_age[REPLICAS];
byte age[REPLICAS]; /* of two: ticks since the lease ran out by the own clock */

/* ---- the run object: @code include/extender/run_claim.h run_claim ---- */
#define NEVER 0
#define RUNNING 1
#define ENDED 2
byte run_says = NEVER;
byte run_rev;
byte run_by;              /* R + 1 while that process lives; 0: another one */
byte saw_rev[REPLICAS];   /* the revision that its write carries, + 1; 0: no write is on its way */
bool saw_ended[REPLICAS];
byte late_write;          /* of a process that is gone: RUNNING, ENDED; 0: none */
byte late_rev;
/* The wake object: who begins to answer changes it, and `ended` says how it was. Here only one without a claim does: of
 * the others nothing hangs on it. @code src/extender/run_claim.c judge
 * @code src/extender/run_keeper.c spoil_ended */
byte wake, noted_wake, end_wake, late_wake;

/* ---- the lease ---- */
byte holder;                /* R + 1; 0: released; 3: a process that is gone */
byte lease_left[REPLICAS];  /* by its own clock */
byte reply_left[REPLICAS];  /* a renewal that has landed, its reply still under way: what it will be worth, + 1 */
bool renewed[REPLICAS];     /* the record has changed since R looked */

byte round;
byte renew_n, take_n, crash_n, end_n, patch_n, delete_n;
byte i, k; /* 0 between steps */


#define AT(r, p) ((r) * 2 + (p))
#define BIT(v) (1 << (v))
#define OTHER(p) (1 - (p))
#define IS_NAMED_BY(p, v) (v >= born[p])

#if REPLICAS == 1
#define HAS_LEASE(r) true
#else
/* design.md 8: active only while its own clock says that the lease has not run out, also right before each send.
 * @code src/extender/elector.c elector_may_write
 * @code src/kube/transport_exchange.c on_sending
 * It counts from before the sending of a renewal, and who follows counts from the change that it saw.
 * @code src/extender/lease_machine.c can_be_acquired
 * @code src/extender/lease_machine.c written */
#define HAS_LEASE(r) (lease_left[r] > 0 || OFF(LEASE_NOT_ASKED))
#endif
/* @code src/cmd/runtime_run.c move_hold_off */
#define READY(r) (phase[r] == SERVES && (hold[r] == 0 || skips[r]) && HAS_LEASE(r))
/* Rules 1 and 5: bound or reserved is charged. @code src/extender/store_reserve.c store_reserve */
#define TAKEN(r, p) (known_state[AT(r, p)] == BOUND || (next[AT(r, p)] != IDLE && !OFF(NO_RESERVATION)))

/* Can one of these transactions still land? The API server compares before every attempt. @code src/kube/binding.c write_body */
#define LANDS(set, p) (state[p] == UNBOUND && (((set) & BIT(ver[p])) || \
    (OFF(NO_VERSION) && ((set) >> born[p]) != 0) || (OFF(NO_UID) && (set) != 0)))
/* binder_versions_hold(): with NO_UID fgpu knows that (c) is void. @code src/extender/binder_server.c binder_versions_hold */
#define VERSIONS_HOLD (!OFF(NO_UID))

/* ---- what must hold ---- */

inline check_devices() {
    assert(!(state[0] == BOUND && state[1] == BOUND)); /* no device is given twice */
}

/* A reservation ends: nothing that was sent for it can land any more. This is what (a) to (d) of rule 4 prove. */
#define NOTHING_LANDS(r, p) (!LANDS(flying[AT(r, p)], p))

/* ---- steps of the API server ---- */

inline land(set, p) {
    set = (OFF(NO_VERSION) || OFF(NO_UID) -> 0 : set & ~BIT(ver[p]));
    state[p] = BOUND;
    ver[p]++;
    landings[p]++;
    assert(landings[p] == 1); /* no pod is bound twice */
    check_devices()
}

inline forget_bind(r, p) {
    next[AT(r, p)] = IDLE;
    with_ver[AT(r, p)] = 0;
    sent_any[AT(r, p)] = false;
    unknown[AT(r, p)] = false;
    waits[AT(r, p)] = false;
    first_copy[AT(r, p)] = false
}

/* @code src/extender/bind_machine.c resolve */
inline release(r, p) {
    assert(NOTHING_LANDS(r, p));
    forget_bind(r, p)
}

/* (c) of rule 4. @code src/extender/bind_machine.c proves_all_dead */
#define PROVES_ALL_DEAD(r, p, v) (VERSIONS_HOLD && ((v) > with_ver[AT(r, p)] || !sent_any[AT(r, p)]))

/* The pod was seen unbound, in a quorum GET or by the watch.
 * @code src/extender/bind_machine.c seen_unbound */
inline seen_unbound(r, p, v, reads_prove) {
    if
    :: unknown[AT(r, p)] && !PROVES_ALL_DEAD(r, p, v) && !(reads_prove) -> next[AT(r, p)] = POST
    :: else ->
        unknown[AT(r, p)] = false;
        if
        :: waits[AT(r, p)] && v > with_ver[AT(r, p)] -> with_ver[AT(r, p)] = v; sent_any[AT(r, p)] = false; next[AT(r, p)] = POST
        :: else -> release(r, p)
        fi
    fi
}

/* A look at the pod at version v in state s, by a GET (now) or by the watch (of a cache).
 * @code src/extender/bind_machine.c bind_machine_seen
 * @code src/extender/bind_steps.c bind_resolve_by_watch */
inline seen(r, p, s, v, reads_prove, busy) {
    if
    :: next[AT(r, p)] == IDLE -> skip
    :: else ->
        if
        :: s == GONE || !IS_NAMED_BY(p, with_ver[AT(r, p)]) && IS_NAMED_BY(p, v) -> release(r, p) /* (b) */
        :: s == BOUND && IS_NAMED_BY(p, with_ver[AT(r, p)]) -> forget_bind(r, p)                  /* (a) */
        :: s == UNBOUND && IS_NAMED_BY(p, with_ver[AT(r, p)]) && !(busy) -> seen_unbound(r, p, v, reads_prove)
        :: else -> skip
        fi
    fi
}

/* What a cache says matters only to those who watch and know less, so all that is older is written as version 0: the same
 * state to the checker. */
#if REPLICAS == 1
#define MATTERS(p, v) ((phase[0] >= SERVES && known_ver[p] < (v)) || OFF(LIST_FROM_CACHE) || OFF(WATCH_PROVES))
#else
#define WATCHES(r) (phase[r] >= SERVES || (OFF(NO_LIST_AT_TAKE_OVER) && phase[r] >= FOLLOWS))
#define MATTERS(p, v) ((WATCHES(0) && known_ver[p] < (v)) || (WATCHES(1) && known_ver[2 + p] < (v)))
#endif
inline forget_old_cache(s, p) {
    if
    :: !MATTERS(p, cache_ver[AT(s, p)]) -> cache_ver[AT(s, p)] = 0; cache_state[AT(s, p)] = 0
    :: else -> skip
    fi
}
inline know(r, p, s, v) {
    known_state[AT(r, p)] = s;
    known_ver[AT(r, p)] = v;
}

/* ---- steps of one replica ---- */

/* The verb bind: kube-scheduler calls it for any pod, at any time, and again.
 * @code src/extender/binder.c binder_bind */
#define CAN_BIND(r, p) (READY(r) && known_state[AT(r, p)] == UNBOUND && next[AT(r, p)] == IDLE && !TAKEN(r, OTHER(p)))
inline begin_bind(r, p) {
    next[AT(r, p)] = POST;
    with_ver[AT(r, p)] = known_ver[AT(r, p)];
    waits[AT(r, p)] = true
}

/* @code src/extender/bind_machine.c bind_machine_join */
#define CAN_JOIN(r, p) (READY(r) && next[AT(r, p)] != IDLE && !waits[AT(r, p)])

/* @code src/extender/bind_machine.c bind_machine_next
 * @code src/extender/binder_exchange.c bind_send_post */
#define CAN_SEND(r, p) (next[AT(r, p)] == POST && (waits[AT(r, p)] || unknown[AT(r, p)]) && \
    (HAS_LEASE(r) || OFF(RESEND_WITHOUT_LEASE)) && !(OFF(NO_RESEND) && unknown[AT(r, p)]))
inline send(r, p) {
    first_copy[AT(r, p)] = !(flying[AT(r, p)] & BIT(with_ver[AT(r, p)]));
    flying[AT(r, p)] = flying[AT(r, p)] | BIT(with_ver[AT(r, p)]);
    next[AT(r, p)] = SENT;
    sent_any[AT(r, p)] = true
}
/* Nobody would learn of a success, and nothing is on its way. */
#define CAN_GIVE_UP(r, p) (next[AT(r, p)] == POST && !waits[AT(r, p)] && !unknown[AT(r, p)])

#define HAS_LANDED(r, p) (state[p] == BOUND && ver[p] == with_ver[AT(r, p)] + 1 && \
    !(flying[AT(r, p)] & BIT(with_ver[AT(r, p)])))

/* 409, 5xx or no answer: says nothing, whether it has landed, will, or never will.
 * @code src/extender/bind_machine.c bind_machine_posted
 * @code src/kube/binding.c bind_classify */
inline answered_unclear(r, p) {
    if
    :: OFF(CONFLICT_IS_A_REFUSAL) && !unknown[AT(r, p)] -> release(r, p)
    :: else -> unknown[AT(r, p)] = true; next[AT(r, p)] = GET
    fi
}
/* 400, 401, 403, 404, 422, 429: this copy was not handed on. @code src/extender/bind_machine.c refused */
#define CAN_BE_REFUSED(r, p) (next[AT(r, p)] == SENT && \
    (!first_copy[AT(r, p)] || (flying[AT(r, p)] & BIT(with_ver[AT(r, p)]))))
inline answered_refused(r, p) {
    if
    :: first_copy[AT(r, p)] -> flying[AT(r, p)] = flying[AT(r, p)] & ~BIT(with_ver[AT(r, p)])
    :: else -> skip
    fi;
    if
    :: unknown[AT(r, p)] && !OFF(REFUSAL_SETTLES_EARLIER) -> next[AT(r, p)] = GET
    :: else -> release(r, p)
    fi
}

/* A quorum read; an answer that never comes changes nothing. @code src/extender/binder_exchange.c sight_of */
inline get(r, p) {
    know(r, p, state[p], ver[p]);
    seen(r, p, state[p], ver[p], OFF(READ_PROVES), false);
    forget_old_cache(0, p);
    forget_old_cache(1, p)
}

/* @code src/extender/bind_machine.c bind_machine_expire */
#define CAN_EXPIRE(r, p) (waits[AT(r, p)])
inline expire(r, p) {
    waits[AT(r, p)] = false;
    if
    :: OFF(DEADLINE_FREES) && next[AT(r, p)] != SENT -> release(r, p)
    :: else -> skip
    fi
}

/* An event of the watch at server s. Versions of a watch only grow: the reflector goes on where it was.
 * @code src/extender/store_reserve.c store_binding_seen */
#define CAN_WATCH(r, p, s) (cache_ver[AT(s, p)] > known_ver[AT(r, p)] && \
    (phase[r] >= SERVES || (OFF(NO_LIST_AT_TAKE_OVER) && phase[r] >= FOLLOWS)))
inline watch(r, p, s) {
    know(r, p, cache_state[AT(s, p)], cache_ver[AT(s, p)]);
    seen(r, p, cache_state[AT(s, p)], cache_ver[AT(s, p)], false, next[AT(r, p)] == SENT || !unknown[AT(r, p)]);
    forget_old_cache(0, p);
    forget_old_cache(1, p)
}
/* The wrong one compares nothing: the event of before the send is one, too. */
#define CAN_WATCH_WRONGLY(r, p, s) (OFF(WATCH_PROVES) && cache_ver[AT(s, p)] > 0 && phase[r] >= SERVES && unknown[AT(r, p)] && \
    next[AT(r, p)] != SENT && cache_state[AT(s, p)] == UNBOUND)

inline forget_all(r) {
    i = 0;
    do
    :: i < 2 -> forget_bind(r, i); know(r, i, UNBOUND, 0); i++
    :: else -> break
    od;
    i = 0;
    skips[r] = false;
    claimed[r] = false;
    doubtful[r] = false;
    saw_ended[r] = false
}

/* A process is gone, at any moment: what it sent may still land. */
inline vanish(r) {
    if
    :: flying[AT(r, 0)] != 0 || flying[AT(r, 1)] != 0 ->
        orphan[AT(r, 0)] = orphan[AT(r, 0)] | flying[AT(r, 0)];
        orphan[AT(r, 1)] = orphan[AT(r, 1)] | flying[AT(r, 1)];
        orphan_age[r] = age[r]
    :: else -> skip
    fi;
    flying[AT(r, 0)] = 0;
    flying[AT(r, 1)] = 0;
    age[r] = 0;
    if
    :: saw_rev[r] != 0 -> late_write = (phase[r] == ENDING -> ENDED : RUNNING); late_rev = saw_rev[r] - 1; late_wake = (phase[r] == ENDING -> end_wake : 0)
    :: else -> skip
    fi;
    saw_rev[r] = 0;
    if
    :: run_by == r + 1 -> run_by = 0
    :: else -> skip
    fi;
    if
    :: holder == r + 1 -> holder = 3
    :: else -> skip
    fi;
    lease_left[r] = 0;
    reply_left[r] = 0;
    renewed[r] = false;
    hold[r] = 0;
    forget_all(r);
    phase[r] = DOWN;
    forget_old_cache(0, 0);
    forget_old_cache(0, 1);
    forget_old_cache(1, 0);
    forget_old_cache(1, 1)
}

/* @code src/cmd/runtime_run.c runtime_prepare_run */
inline start(r) {
#if REPLICAS == 1
    phase[r] = ASKS;
    hold[r] = (OFF(NO_HOLD_OFF) -> 0 : HOLD_OFF);
#else
    phase[r] = FOLLOWS;
    hold[r] = LEASE + HOLD_OFF;
#endif
    i = 0;
    do
    :: i < 2 -> 
        if
        :: OFF(NO_LIST_AT_TAKE_OVER) -> know(r, i, state[i], ver[i])
        :: else -> skip
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

/* ---- the run object ---- */

/* The GET; the claim is on its way from now on. @code src/extender/run_claim.c read_object */
inline ask(r) {
    doubtful[r] = doubtful[r] || (saw_rev[r] != 0 && saw_rev[r] != run_rev + 1);
    saw_rev[r] = run_rev + 1;
    saw_ended[r] = run_says == ENDED && (noted_wake == wake || OFF(WAKE_NOT_ASKED));
    phase[r] = CLAIMS;
    if
    :: OFF(SKIP_WITHOUT_CLAIM) && saw_ended[r] -> skips[r] = true; claimed[r] = true; saw_rev[r] = 0; phase[r] = LISTS
    :: else -> skip
    fi
}
/* Compare and swap. @code src/kube/run_object.c run_object_patch */
#define CAN_LAND_WRITE(r) (saw_rev[r] != 0 && \
    (saw_rev[r] == run_rev + 1 || (phase[r] == ENDING && OFF(ENDED_WITHOUT_REVISION))))
inline land_write(r) {
    run_says = (phase[r] == ENDING -> ENDED : RUNNING);
    noted_wake = (phase[r] == ENDING -> end_wake : 0);
    run_by = r + 1;
    run_rev++;
    saw_rev[r] = 0
}
#define CAN_LAND_LATE_WRITE (late_write != 0 && \
    (late_rev == run_rev || (late_write == ENDED && OFF(ENDED_WITHOUT_REVISION))))
inline land_late_write() {
    run_says = late_write;
    noted_wake = late_wake;
    late_wake = 0;
    run_by = 0;
    run_rev++;
    late_write = 0;
    late_rev = 0
}
/* It has landed; the answer came, or a GET showed it. @code src/extender/run_claim.c run_claim_is_skipped */
#define IS_CLAIMED(r) (phase[r] == CLAIMS && saw_rev[r] == 0 && run_says == RUNNING && run_by == r + 1)
inline claim_seen(r) {
    claimed[r] = true;
    skips[r] = saw_ended[r] && !doubtful[r];
    saw_ended[r] = false;
    doubtful[r] = false;
    phase[r] = LISTS
}
/* Somebody else was faster: it reads again. */
#define MUST_ASK_AGAIN(r) (phase[r] == CLAIMS && saw_rev[r] != 0 && saw_rev[r] != run_rev + 1)

/* The list of pods, a quorum read, begun after the claim and when the hold-off is over; the watch goes on from there. (The
 * code lists when the hold-off begins as well, which proves nothing.) @code src/cmd/runtime_run.c begin_hold_off */
#define CAN_LIST(r) (phase[r] == LISTS && (hold[r] == 0 || skips[r] || OFF(WATCH_IS_BEHIND)))
inline list(r) {
    i = 0;
    do
    :: i < 2 ->
        if
        :: OFF(LIST_FROM_CACHE) -> know(r, i, cache_state[i], cache_ver[i])
        :: OFF(NO_LIST_AT_TAKE_OVER) -> skip
        :: else -> know(r, i, state[i], ver[i])
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    wake = (claimed[r] -> wake : wake + 1);
    phase[r] = SERVES
}

/* SIGTERM. @code src/extender/binder.c binder_close */
inline begin_end(r) {
    phase[r] = CLOSES;
    end_n++
}
#define IS_RESOLVED(r) (next[AT(r, 0)] == IDLE && next[AT(r, 1)] == IDLE)
/* @code src/cmd/runtime_run.c has_ended
 * @code src/extender/run_keeper.c run_keeper_end */
#define CAN_END(r) (phase[r] == CLOSES && claimed[r] && run_by == r + 1 && \
    (IS_RESOLVED(r) || OFF(ENDED_WITH_BINDINGS)) && (hold[r] == 0 || skips[r] || OFF(ENDED_IN_HOLD_OFF)))
inline write_end(r) {
    phase[r] = ENDING;
    end_wake = wake;
    saw_rev[r] = run_rev + 1
}
/* It exits, with `ended` written or not; of two, the lease is released: nothing is sent any more. */
inline leave(r) {
    if
    :: holder == r + 1 && lease_left[r] > 0 -> holder = 0; renewed[0] = true; renewed[REPLICAS - 1] = true
    :: else -> skip
    fi;
    vanish(r)
}

/* ---- the lease ---- */

#if REPLICAS > 1
inline renew(r) {
    renew_n++;
    reply_left[r] = LEASE + 1; /* counted from the sending */
    renewed[1 - r] = true
}
inline renewed_reply(r) {
    lease_left[r] = (OFF(LEASE_FROM_THE_REPLY) -> LEASE : reply_left[r] - 1);
    reply_left[r] = 0
}
inline observe(r) {
    renewed[r] = false;
    hold[r] = LEASE + HOLD_OFF
}
/* The lease has not changed for its own duration, by the clock of who looks; or it is released. */
#define CAN_TAKE_OVER(r) (phase[r] == FOLLOWS && !renewed[r] && holder != r + 1 && \
    (hold[r] <= HOLD_OFF || holder == 0 || OFF(SUCCESSOR_DOES_NOT_WAIT)))
inline take_over(r) {
    if
    :: holder == 0 || OFF(SUCCESSOR_DOES_NOT_WAIT) -> hold[r] = HOLD_OFF
    :: else -> skip
    fi;
    if
    :: OFF(NO_HOLD_OFF_AT_TAKE_OVER) || (OFF(RELEASE_IS_A_PROOF) && holder == 0) -> hold[r] = 0
    :: else -> skip
    fi;
    holder = r + 1;
    take_n++;
    renewed[1 - r] = true;
    renewed[r] = false;
    lease_left[r] = LEASE;
    age[r] = 0;
    phase[r] = ASKS
}
#endif

/* ---- time ---- */

inline tick() {
    k = 0;
    do
    :: k < REPLICAS ->
#if REPLICAS > 1
        if
        :: lease_left[k] == 0 && (flying[AT(k, 0)] != 0 || flying[AT(k, 1)] != 0) -> age[k]++
        :: else -> skip
        fi;
        if
        :: age[k] >= HOLD_OFF -> flying[AT(k, 0)] = 0; flying[AT(k, 1)] = 0; age[k] = 0
        :: else -> skip
        fi;
#endif
        if
        :: orphan[AT(k, 0)] != 0 || orphan[AT(k, 1)] != 0 -> 
            orphan_age[k]++;
            if
            :: orphan_age[k] >= HOLD_OFF && !OFF(LANDS_AFTER_HOLD_OFF) -> orphan[AT(k, 0)] = 0; orphan[AT(k, 1)] = 0; orphan_age[k] = 0
            :: orphan_age[k] >= HOLD_OFF -> orphan_age[k] = HOLD_OFF
            :: else -> skip
            fi
        :: else -> skip
        fi;
        hold[k] = (hold[k] > 0 -> hold[k] - 1 : 0);
        lease_left[k] = (lease_left[k] > 0 -> lease_left[k] - 1 : 0);
        reply_left[k] = (reply_left[k] > 1 -> reply_left[k] - 1 : reply_left[k]);
        k++
    :: else -> break
    od;
    k = 0
}

/* ---- what can happen next ---- */

#define CAN_ANSWER(r, p) (next[AT(r, p)] == SENT)

#if REPLICAS == 1
#define OF_EACH_REPLICA(STEP) STEP(0)
#define OF_EACH_BIND(STEP) STEP(0, 0) STEP(0, 1)
#define OF_EACH_WATCH(STEP) STEP(0, 0, 0) STEP(0, 1, 0) STEP(0, 0, 1) STEP(0, 1, 1)
#else
#define OF_EACH_REPLICA(STEP) STEP(0) STEP(1)
#define OF_EACH_BIND(STEP) STEP(0, 0) STEP(0, 1) STEP(1, 0) STEP(1, 1)
#define OF_EACH_WATCH(STEP) STEP(0, 0, 0) STEP(0, 1, 0) STEP(0, 0, 1) STEP(0, 1, 1) \
    STEP(1, 0, 0) STEP(1, 1, 0) STEP(1, 0, 1) STEP(1, 1, 1)
#endif

/* @code src/extender/bind_machine.c bind_machine_posted */
inline answered_201(r, p) {
    know(r, p, BOUND, ver[p]);
    forget_bind(r, p);
    forget_old_cache(0, p);
    forget_old_cache(1, p)
}

#define STEPS_OF_A_BIND(r, p) \
    :: d_step { CAN_BIND(r, p) -> begin_bind(r, p); printf("fgpu %d: bind of pod %d, reserved at version %d\n", r, p, with_ver[AT(r, p)]) } \
    :: d_step { CAN_JOIN(r, p) -> waits[AT(r, p)] = true; printf("fgpu %d: kube-scheduler calls bind of pod %d again\n", r, p) } \
    :: d_step { CAN_SEND(r, p) -> send(r, p); printf("fgpu %d: Binding of pod %d at version %d is sent\n", r, p, with_ver[AT(r, p)]) } \
    :: d_step { CAN_GIVE_UP(r, p) -> release(r, p); printf("fgpu %d: pod %d released, nothing was sent\n", r, p) } \
    :: d_step { CAN_ANSWER(r, p) && HAS_LANDED(r, p) -> answered_201(r, p); printf("fgpu %d: 201 for pod %d\n", r, p) } \
    :: d_step { CAN_ANSWER(r, p) -> printf("fgpu %d: 409, 5xx or no answer for pod %d\n", r, p); answered_unclear(r, p) } \
    :: d_step { CAN_BE_REFUSED(r, p) -> printf("fgpu %d: 403 for pod %d\n", r, p); answered_refused(r, p) } \
    :: d_step { next[AT(r, p)] == GET -> printf("fgpu %d: GET of pod %d: state %d, version %d\n", r, p, state[p], ver[p]); get(r, p) } \
    :: d_step { CAN_EXPIRE(r, p) -> printf("fgpu %d: deadline of the caller of pod %d\n", r, p); expire(r, p) } \
    :: d_step { LANDS(flying[AT(r, p)], p) -> printf("etcd: the Binding of pod %d by fgpu %d lands\n", p, r); land(flying[AT(r, p)], p) } \
    :: d_step { LANDS(orphan[AT(r, p)], p) -> printf("etcd: a Binding of pod %d by an fgpu that is gone lands\n", p); land(orphan[AT(r, p)], p) }

#define STEPS_OF_A_WATCH(r, p, s) \
    :: d_step { CAN_WATCH(r, p, s) -> printf("fgpu %d: watch at server %d: pod %d is in state %d, version %d\n", r, s, p, cache_state[AT(s, p)], cache_ver[AT(s, p)]); watch(r, p, s) } \
    :: d_step { CAN_WATCH_WRONGLY(r, p, s) -> printf("fgpu %d: watch at server %d: pod %d unbound, at version %d\n", r, s, p, cache_ver[AT(s, p)]); release(r, p) }

#define STEPS_OF_A_RUN(r) \
    :: d_step { phase[r] == DOWN -> start(r); printf("fgpu %d: starts\n", r) } \
    :: d_step { phase[r] != DOWN && crash_n < CRASHES -> crash_n++; vanish(r); printf("fgpu %d: killed\n", r) } \
    :: d_step { phase[r] == ASKS && !RUN_OBJECT -> phase[r] = LISTS; printf("fgpu %d: has no run object\n", r) } \
    :: d_step { RUN_OBJECT && (phase[r] == ASKS || MUST_ASK_AGAIN(r)) -> ask(r); printf("fgpu %d: reads the run object (%d), sends its claim\n", r, run_says) } \
    :: d_step { CAN_LAND_WRITE(r) -> land_write(r); printf("etcd: the run object says %d (of fgpu %d)\n", run_says, r) } \
    :: d_step { IS_CLAIMED(r) -> claim_seen(r); printf("fgpu %d: has claimed; no hold-off: %d\n", r, skips[r]) } \
    :: d_step { phase[r] == CLAIMS && run_says != ENDED -> phase[r] = LISTS; printf("fgpu %d: goes on without its claim\n", r) } \
    :: d_step { CAN_LIST(r) -> list(r); printf("fgpu %d: has listed the pods\n", r) } \
    :: d_step { (phase[r] == LISTS || phase[r] == SERVES) && end_n < ENDS -> begin_end(r); printf("fgpu %d: SIGTERM\n", r) } \
    :: d_step { CAN_END(r) -> write_end(r); printf("fgpu %d: sends `ended`\n", r) } \
    :: d_step { phase[r] >= CLOSES -> leave(r); printf("fgpu %d: exits\n", r) }

#define STEPS_OF_A_LEASE(r) \
    :: d_step { renew_n < RENEWALS && lease_left[r] > 0 && holder == r + 1 && reply_left[r] == 0 -> renew(r); printf("fgpu %d: its renewal lands\n", r) } \
    :: d_step { reply_left[r] > 0 -> renewed_reply(r); printf("fgpu %d: knows that it was renewed, ticks left: %d\n", r, lease_left[r]) } \
    :: d_step { reply_left[r] > 0 -> reply_left[r] = 0; printf("fgpu %d: the reply to its renewal is lost\n", r) } \
    :: d_step { phase[r] == FOLLOWS && renewed[r] -> observe(r); printf("fgpu %d: sees that the lease was renewed\n", r) } \
    :: d_step { take_n < TAKE_OVERS && CAN_TAKE_OVER(r) -> take_over(r); printf("fgpu %d: takes the lease\n", r) } \
    :: d_step { phase[r] > FOLLOWS && lease_left[r] == 0 -> vanish(r); printf("fgpu %d: has lost the lease and exits\n", r) }

#define STEPS_OF_A_CACHE(s, p) \
    :: d_step { cache_ver[AT(s, p)] != ver[p] && MATTERS(p, ver[p]) -> cache_ver[AT(s, p)] = ver[p]; cache_state[AT(s, p)] = state[p]; printf("server %d: its cache has pod %d at version %d\n", s, p, ver[p]) }

#define STEPS_OF_A_USER(p) \
    :: d_step { patch_n < PATCHES && state[p] == UNBOUND -> patch_n++; ver[p]++; printf("etcd: pod %d is patched, version %d\n", p, ver[p]) } \
    :: d_step { delete_n < DELETES && state[p] != GONE -> delete_n++; state[p] = GONE; ver[p]++; printf("etcd: pod %d is deleted\n", p) } \
    :: d_step { state[p] == GONE -> state[p] = UNBOUND; ver[p]++; born[p] = ver[p]; landings[p] = 0; printf("etcd: a pod of the name %d is made, version %d\n", p, ver[p]) }

/* ---- calm ----
 * Nothing disturbs any more: no crash, no lie of the API server, watches follow, kube-scheduler goes on trying. Whatever
 * is on its way lands now, or never (`all_land`). After some rounds one of the pods that exist must be bound. This is the
 * bounded form of "every pod that fits is bound once faults stop": from every state that can be reached. */
#define ROUNDS 16

inline settle_flying(r, p, all_land) {
    if
    :: all_land && LANDS(flying[AT(r, p)], p) -> land(flying[AT(r, p)], p)
    :: else -> skip
    fi;
    if
    :: all_land && LANDS(orphan[AT(r, p)], p) -> land(orphan[AT(r, p)], p)
    :: else -> skip
    fi;
    if
    :: next[AT(r, p)] == SENT && HAS_LANDED(r, p) -> know(r, p, BOUND, ver[p]); forget_bind(r, p)
    :: next[AT(r, p)] == SENT && !HAS_LANDED(r, p) -> answered_unclear(r, p)
    :: else -> skip
    fi;
    flying[AT(r, p)] = 0;
    orphan[AT(r, p)] = 0
}
inline calm_bind(r, p) {
    if
    :: phase[r] >= SERVES && known_ver[AT(r, p)] < ver[p] -> 
        know(r, p, state[p], ver[p]);
        seen(r, p, state[p], ver[p], false, !unknown[AT(r, p)])
    :: else -> skip
    fi;
    if
    :: CAN_BIND(r, p) -> begin_bind(r, p)
    :: else -> skip
    fi;
    if
    :: CAN_SEND(r, p) ->
        send(r, p);
        if
        :: LANDS(flying[AT(r, p)], p) -> land(flying[AT(r, p)], p); know(r, p, BOUND, ver[p]); forget_bind(r, p)
        :: else -> answered_unclear(r, p)
        fi;
        flying[AT(r, p)] = 0
    :: CAN_GIVE_UP(r, p) -> release(r, p)
    :: else -> skip
    fi;
    if
    :: next[AT(r, p)] == GET -> know(r, p, state[p], ver[p]); seen(r, p, state[p], ver[p], OFF(READ_PROVES), false)
    :: else -> skip
    fi;
    if
    :: CAN_EXPIRE(r, p) -> expire(r, p)
    :: else -> skip
    fi
}
inline calm_run(r) {
    if
    :: phase[r] == DOWN -> start(r)
    :: phase[r] == ASKS -> saw_ended[r] = false; claimed[r] = true; phase[r] = LISTS
    :: phase[r] == CLAIMS -> phase[r] = LISTS
    :: CAN_LIST(r) -> list(r)
    :: phase[r] >= CLOSES && (IS_RESOLVED(r) || round > 2) -> leave(r)
    :: else -> skip
    fi;
#if REPLICAS > 1
    if
    :: phase[r] == FOLLOWS && renewed[r] -> observe(r)
    :: CAN_TAKE_OVER(r) -> take_over(r)
    :: phase[r] > FOLLOWS && lease_left[r] == 0 -> vanish(r)
    :: lease_left[r] > 0 && holder == r + 1 -> lease_left[r] = LEASE; renewed[1 - r] = true
    :: else -> skip
    fi;
#endif
    calm_bind(r, 0);
    calm_bind(r, 1)
}
inline calm(all_land) {
    round = 0;
    settle_flying(0, 0, all_land);
    settle_flying(0, 1, all_land);
#if REPLICAS > 1
    settle_flying(1, 0, all_land);
    settle_flying(1, 1, all_land);
#endif
    do
    :: round < ROUNDS ->
        calm_run(0);
#if REPLICAS > 1
        calm_run(1);
#endif
        tick();
        round++
    :: else -> break
    od;
    assert(state[0] == BOUND || state[1] == BOUND || (state[0] == GONE && state[1] == GONE)); /* a pod that fits waits for ever */
    round = 0
}

init {
    c_code {
        now.off = getenv("PROTOCOL_OFF") != 0 ? atoi(getenv("PROTOCOL_OFF")) : 0;
        now.asks_calm = getenv("PROTOCOL_CALM") != 0;
    };
    d_step {
        ver[0] = 1;
        ver[1] = 1;
        cache_ver[0] = 1;
        cache_ver[1] = 1;
        cache_ver[2] = 1;
        cache_ver[3] = 1
    }
    do
    OF_EACH_BIND(STEPS_OF_A_BIND)
    OF_EACH_WATCH(STEPS_OF_A_WATCH)
    OF_EACH_REPLICA(STEPS_OF_A_RUN)
#if REPLICAS > 1
    OF_EACH_REPLICA(STEPS_OF_A_LEASE)
#endif
    STEPS_OF_A_CACHE(0, 0) STEPS_OF_A_CACHE(0, 1) STEPS_OF_A_CACHE(1, 0) STEPS_OF_A_CACHE(1, 1)
    STEPS_OF_A_USER(0) STEPS_OF_A_USER(1)
    :: d_step { CAN_LAND_LATE_WRITE -> land_late_write(); printf("etcd: the run object says %d, of an fgpu that is gone\n", run_says) }
    :: d_step { tick(); printf("a tick\n") }
    :: asks_calm -> 
        if
        :: d_step { calm(true); printf("nothing disturbs any more, what is on its way lands\n") }
        :: d_step { calm(false); printf("nothing disturbs any more, what is on its way does not land\n") }
        fi;
        break
    od
}
