/* A model of `consistency: strict`, for Spin (decision 0103). README.md beside it says how to read and run it.
 *
 * Two processes of fgpu that are both active all the time: no lease, no hold-off, no clock. Two pods, one node with two
 * devices, of which each takes one pod. A process may be killed and started again; what it sent, a Binding or a write
 * of the node's intents, lands whenever it likes, or never. What a process knows of a pod is what it has learned some
 * time ago: of watches, and of the reads of the API server, only that they never go back.
 *
 * The intents of the node: one object, written by compare and swap. It holds, for each Binding that was or may be sent
 * and may land or has landed, the pod, the version that the Binding carries, and who decided (a number of the process).
 * One that holds none may be removed (decision 0111); then it may be made again, also by a write that was sent before
 * there was one. The two steps of the code, a write that holds none and a DELETE of that revision, are one here.
 *
 * "@code", a file and a name: the place of a rule in the code.
 */
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef PATCHES
#define PATCHES 1
#endif
#ifndef LOSSES
#define LOSSES 1 /* answers to writes of intents that are lost; conflicts not counted */
#endif
#ifndef REMOVALS
#define REMOVALS 0 /* of the object */
#endif

/* Rules that can be switched off, as in bind.pml. */
#define WITHOUT_INTENT 1        /* [s] a Binding is sent whose intent was not written */
#define INTENT_NOT_AWAITED 2    /* [s] it is sent before the write of its intent is known to have landed */
#define LOST_IS_WRITTEN 3       /* [s] a write whose outcome is not known counts as landed */
#define WITHOUT_REVISION 4      /* [s] intents are written without compare and swap */
#define UNPROVEN_IS_FREE 5      /* [s] a process decides although an intent that it found is not proven */
#define BOUND_IS_DROPPED 6      /* [s] an intent is dropped when its writer has seen the pod bound: others have not */
#define READ_PROVES_INTENT 7    /* [s] and when it has seen it unbound, at whatever version */
#define DECISION_STANDS 8       /* [s] what was decided before a write failed is written again, not decided again */
#define NOT_READ_FIRST 9        /* [s] a process takes a node that it has not read for one without intents */
#define DECIDER_NOT_NAMED 10    /* [s] an intent of another process counts as one of ours whose bind has ended */
#define BINDING_WITHOUT_VERSION 11 /* [s] a Binding carries no resourceVersion */
#define REFUSAL_IS_SILENT 12    /* [s] a pod that is refused is not patched by kube-scheduler: two that wait for each other's
                                   intent wait for ever; found in calm */
#define REMOVED_WHATEVER 13     /* [s] the object is removed although something that it lists may land, or has landed */
#define REMOVED_AT_ANY_REVISION 14 /* [s] it is removed without compare and swap */

byte off;
bool asks_calm;
#define OFF(rule) (off == rule)

#define PODS 2
#define FGPUS 2
#define VERSIONS 3 /* at which a pod can be unbound */
#define DECIDERS (FGPUS + CRASHES)

/* ---- the API server ---- */
byte ver[PODS];
bool bound[PODS];
byte device[PODS];  /* of a pod that is bound */
short flying[PODS]; /* Bindings that may land: bit(version, device) */
byte revision;      /* of the object of the node; 0: there is none */
byte last_revision;
int intents;        /* bit(decider, pod, version) */

/* ---- the processes ---- */
byte me[FGPUS];      /* the decider's number */
bool read[FGPUS];    /* it knows the object as of revision `basis`: */
byte basis[FGPUS];
int held[FGPUS];
bool writing[FGPUS]; /* a write is on its way, or its answer: */
bool landed[FGPUS];
byte wants[FGPUS];   /* its revision */
int content[FGPUS];
bool removes[FGPUS]; /* it removes the object */
byte became[FGPUS];  /* the revision that it has made, once it has landed */
/* A write whose sender does not wait for it any more. */
byte late_basis[FGPUS];
int late_content[FGPUS];
bool late_removes[FGPUS];
bool late[FGPUS];

#define AT(r, p) ((r) * 2 + (p))
#define IDLE 0
#define DECIDED 1
#define WRITING 2
#define PERSISTED 3
#define SENT 4
byte step[4];
byte with_ver[4];
byte chosen[4];
byte known_ver[4];
bool known_bound[4];
byte known_device[4];

byte crash_n, patch_n, loss_n, removal_n, next_decider, round, i, k;

#define OTHER(p) (1 - (p))
#define BIND_BIT(v, d) (1 << (2 * (v) + (d)))
#define INTENT(i, p, v) (1 << (((i) * PODS + (p)) * VERSIONS + (v)))

/* ---- what is known of an intent ----
 * @code include/extender/intents.h intent_sight */
#define IS_DEAD(r, p, v) (known_ver[AT(r, p)] > (v) || (OFF(READ_PROVES_INTENT) && known_ver[AT(r, p)] >= (v)))
#define IS_OURS(r, i) ((i) == me[r] || OFF(DECIDER_NOT_NAMED))
/* We know what became of ours: sent, and charged by our reservation; or nothing of it can land. */
#define IS_OPEN(r, i, p, v) (IS_OURS(r, i) && step[AT(r, p)] >= WRITING && with_ver[AT(r, p)] == (v))
/* It may land or have landed, and this process does not charge it. */
#define IS_UNPROVEN(r, i, p, v) ((held[r] & INTENT(i, p, v)) && !IS_OURS(r, i) && !known_bound[AT(r, p)] && \
    !IS_DEAD(r, p, v))

/* @code src/extender/intents.c intent_judge */
inline look_at_intents(r) {
    k = 0; /* unproven ones */
    i = 0;
    do
    :: i < DECIDERS ->
        if
        :: IS_UNPROVEN(r, i, 0, 0) || IS_UNPROVEN(r, i, 0, 1) || IS_UNPROVEN(r, i, 0, 2) ||
           IS_UNPROVEN(r, i, 1, 0) || IS_UNPROVEN(r, i, 1, 1) || IS_UNPROVEN(r, i, 1, 2) -> k++
        :: else -> skip
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    if
    :: OFF(UNPROVEN_IS_FREE) -> k = 0
    :: else -> skip
    fi
}
/* What of the intents a write keeps. @code src/extender/intents.c intents_keep */
#define KEEPS(r, i, p, v) ((held[r] & INTENT(i, p, v)) && !(OFF(BOUND_IS_DROPPED) && known_bound[AT(r, p)]) && \
    (known_bound[AT(r, p)] || IS_OPEN(r, i, p, v) || !(IS_OURS(r, i) || IS_DEAD(r, p, v))))
inline keep(r) {
    content[r] = 0;
    i = 0;
    do
    :: i < DECIDERS ->
        k = 0;
        do
        :: k < VERSIONS ->
            content[r] = content[r] | (KEEPS(r, i, 0, k) -> INTENT(i, 0, k) : 0) | (KEEPS(r, i, 1, k) -> INTENT(i, 1, k) : 0);
            k++
        :: else -> break
        od;
        i++
    :: else -> break
    od;
    i = 0;
    k = 0
}

/* Everything that may land has its intent. */
#define HAS_INTENT(p, v) ((intents & (INTENT(0, p, v) | INTENT(1, p, v))) || DECIDERS > 2 && (intents & INTENT(2, p, v)) || \
    DECIDERS > 3 && (intents & INTENT(3, p, v)))
#define MAY_LAND(p) (!bound[p] && (flying[p] & (BIND_BIT(ver[p], 0) | BIND_BIT(ver[p], 1))))
inline check() {
    assert(!(bound[0] && bound[1] && device[0] == device[1])); /* no device is given twice, whatever lands how late */
    assert(off != 0 || !MAY_LAND(0) || HAS_INTENT(0, ver[0]));
    assert(off != 0 || !MAY_LAND(1) || HAS_INTENT(1, ver[1]))
}

/* ---- the API server ---- */
#define LANDS(p, d) (!bound[p] && ((flying[p] & BIND_BIT(ver[p], d)) || (OFF(BINDING_WITHOUT_VERSION) && \
    (flying[p] & (BIND_BIT(0, d) | BIND_BIT(1, d) | BIND_BIT(2, d))))))
inline land(p, d) {
    bound[p] = true;
    device[p] = d;
    ver[p]++;
    flying[p] = 0;
    check()
}
inline move_on(p) { /* none that carries an older version can land any more */
    ver[p]++;
    flying[p] = (OFF(BINDING_WITHOUT_VERSION) -> flying[p] : 0)
}
#define CAN_LAND_WRITE(r) (writing[r] && !landed[r] && (wants[r] == revision || OFF(WITHOUT_REVISION) || \
    (OFF(REMOVED_AT_ANY_REVISION) && removes[r])))
#define CAN_LAND_LATE(r) (late[r] && (late_basis[r] == revision || OFF(WITHOUT_REVISION) || \
    (OFF(REMOVED_AT_ANY_REVISION) && late_removes[r])))
/* One that makes the object lands whenever there is none, be it again. */
#define MAY_MATCH(basis, is_removal) ((basis) == revision || OFF(WITHOUT_REVISION) || (REMOVALS > 0 && (basis) == 0) || \
    (OFF(REMOVED_AT_ANY_REVISION) && (is_removal)))
inline forget_dead_writes() {
    if
    :: late[0] && !MAY_MATCH(late_basis[0], late_removes[0]) -> late[0] = false; late_basis[0] = 0; late_content[0] = 0; late_removes[0] = false
    :: else -> skip
    fi;
    if
    :: late[1] && !MAY_MATCH(late_basis[1], late_removes[1]) -> late[1] = false; late_basis[1] = 0; late_content[1] = 0; late_removes[1] = false
    :: else -> skip
    fi
}
inline write_lands(r) {
    intents = content[r];
    last_revision++;
    revision = (removes[r] -> 0 : last_revision);
    became[r] = revision;
    landed[r] = true;
    forget_dead_writes();
    check()
}
inline late_write_lands(r) {
    intents = late_content[r];
    last_revision++;
    revision = (late_removes[r] -> 0 : last_revision);
    late[r] = false;
    late_basis[r] = 0;
    late_content[r] = 0;
    late_removes[r] = false;
    forget_dead_writes();
    check()
}

/* ---- the processes ---- */
inline forget_bind(r, p) {
    step[AT(r, p)] = IDLE;
    with_ver[AT(r, p)] = 0;
    chosen[AT(r, p)] = 0
}
/* A watch event, a list or a GET: what is true now, at any time. */
#define CAN_LEARN(r, p) (known_ver[AT(r, p)] != ver[p])
inline learn(r, p) {
    known_ver[AT(r, p)] = ver[p];
    known_bound[AT(r, p)] = bound[p];
    known_device[AT(r, p)] = device[p];
    if
    :: step[AT(r, p)] != IDLE && (bound[p] || ver[p] > with_ver[AT(r, p)]) -> forget_bind(r, p)
    :: else -> skip
    fi
}
inline give_up_undecided(r, p) {
    if
    :: (step[AT(r, p)] == DECIDED || step[AT(r, p)] == WRITING) && !OFF(DECISION_STANDS) -> forget_bind(r, p)
    :: step[AT(r, p)] == WRITING -> step[AT(r, p)] = DECIDED
    :: else -> skip
    fi
}
/* GET of the object. What was decided before is decided again.
 * @code src/extender/binder_intents_exchange.c take_object */
#define CAN_READ(r) (!read[r] && !writing[r])
inline read_object(r) {
    read[r] = true;
    basis[r] = revision;
    held[r] = intents;
    give_up_undecided(r, 0);
    give_up_undecided(r, 1)
}
#define CHARGED(r, q, d) ((known_bound[AT(r, q)] && known_device[AT(r, q)] == (d)) || \
    (step[AT(r, q)] != IDLE && chosen[AT(r, q)] == (d)))
/* @code src/extender/binder_intents.c bind_node_is_ready */
#define CAN_DECIDE(r, p) (read[r] && step[AT(r, p)] == IDLE && !known_bound[AT(r, p)])
/* Each process prefers another device for each pod, so that two decisions on one pod differ, and on two pods clash. */
#define FIRST(r, p) ((me[r] + (p)) & 1)
inline decide(r, p, d) {
    step[AT(r, p)] = DECIDED;
    with_ver[AT(r, p)] = known_ver[AT(r, p)];
    chosen[AT(r, p)] = d;
    if
    :: OFF(WITHOUT_INTENT) -> step[AT(r, p)] = PERSISTED
    :: else -> skip
    fi
}
/* One write for all that are decided. @code src/extender/binder_intents_exchange.c collect */
#define CAN_WRITE(r) (read[r] && !writing[r] && (step[AT(r, 0)] == DECIDED || step[AT(r, 1)] == DECIDED))
inline add_intent(r, p) {
    if
    :: step[AT(r, p)] == DECIDED -> step[AT(r, p)] = WRITING; content[r] = content[r] | INTENT(me[r], p, with_ver[AT(r, p)])
    :: else -> skip
    fi
}
inline write_object(r) {
    keep(r);
    add_intent(r, 0);
    add_intent(r, 1);
    wants[r] = basis[r];
    writing[r] = true;
    landed[r] = false
}
inline end_write(r) {
    writing[r] = false;
    landed[r] = false;
    wants[r] = 0;
    content[r] = 0;
    removes[r] = false;
    became[r] = 0
}
inline late_if_not_landed(r) {
    if
    :: writing[r] && !landed[r] && !late[r] && MAY_MATCH(wants[r], removes[r]) ->
        late[r] = true; late_basis[r] = wants[r]; late_content[r] = content[r]; late_removes[r] = removes[r]
    :: else -> skip
    fi
}
/* What is kept is nothing: @code src/extender/binder_intents_tidy.c bind_node_looked_at
 * @code src/kube/intent_object.c intent_object_delete_body */
#define CAN_REMOVE(r) (removal_n < REMOVALS && read[r] && !writing[r] && basis[r] != 0 && \
    step[AT(r, 0)] != DECIDED && step[AT(r, 1)] != DECIDED)
inline remove_object(r) {
    keep(r);
    if
    :: content[r] == 0 || OFF(REMOVED_WHATEVER) ->
        content[r] = 0;
        wants[r] = basis[r];
        writing[r] = true;
        landed[r] = false;
        removes[r] = true;
        removal_n++;
        printf("fgpu %d: removes the object of revision %d\n", me[r], basis[r])
    :: else -> content[r] = 0
    fi
}
inline persisted(r, p) {
    if
    :: step[AT(r, p)] == WRITING -> step[AT(r, p)] = PERSISTED
    :: else -> skip
    fi
}
/* 200. @code src/extender/binder_intents_exchange.c written */
inline answered_ok(r) {
    held[r] = content[r];
    basis[r] = became[r];
    read[r] = !removes[r];
    persisted(r, 0);
    persisted(r, 1);
    end_write(r)
}
/* 409, 5xx or no answer: the object is read again. */
#define CONFLICTS(r) (!landed[r] && wants[r] != revision && !OFF(WITHOUT_REVISION))
#define CAN_LOSE(r) (writing[r] && (CONFLICTS(r) || (loss_n < LOSSES && (landed[r] || !late[r]))))
inline answered_unclear(r) {
    loss_n = loss_n + (CONFLICTS(r) -> 0 : 1);
    late_if_not_landed(r);
    if
    :: OFF(LOST_IS_WRITTEN) -> persisted(r, 0); persisted(r, 1)
    :: else -> skip
    fi;
    read[r] = false;
    held[r] = 0;
    basis[r] = 0;
    end_write(r)
}
#define CAN_SEND(r, p) (step[AT(r, p)] == PERSISTED || (OFF(INTENT_NOT_AWAITED) && step[AT(r, p)] == WRITING))
inline send(r, p) {
    flying[p] = ((ver[p] == with_ver[AT(r, p)] && !bound[p]) || OFF(BINDING_WITHOUT_VERSION) ->
        flying[p] | BIND_BIT(with_ver[AT(r, p)], chosen[AT(r, p)]) : flying[p]);
    step[AT(r, p)] = SENT;
    check()
}
inline kill(r) {
    late_if_not_landed(r);
    end_write(r);
    forget_bind(r, 0);
    forget_bind(r, 1);
    read[r] = OFF(NOT_READ_FIRST);
    held[r] = 0;
    basis[r] = (OFF(NOT_READ_FIRST) -> revision : 0);
    me[r] = next_decider;
    next_decider++;
    learn(r, 0); /* the first list is a quorum read */
    learn(r, 1)
}

#define STEPS_OF_A_POD(r, p) \
    :: d_step { CAN_LEARN(r, p) -> learn(r, p); printf("fgpu %d: learns of pod %d: bound %d, version %d\n", me[r], p, bound[p], ver[p]) } \
    :: d_step { CAN_DECIDE(r, p) -> look_at_intents(r); \
        if \
        :: k == 0 && !CHARGED(r, OTHER(p), FIRST(r, p)) -> decide(r, p, FIRST(r, p)); printf("fgpu %d: decides on pod %d at version %d: device %d\n", me[r], p, with_ver[AT(r, p)], chosen[AT(r, p)]) \
        :: k == 0 && CHARGED(r, OTHER(p), FIRST(r, p)) && !CHARGED(r, OTHER(p), 1 - FIRST(r, p)) -> decide(r, p, 1 - FIRST(r, p)); printf("fgpu %d: decides on pod %d at version %d: device %d\n", me[r], p, with_ver[AT(r, p)], chosen[AT(r, p)]) \
        :: else -> skip \
        fi; k = 0 } \
    :: d_step { CAN_SEND(r, p) -> send(r, p); printf("fgpu %d: Binding of pod %d at version %d, device %d, is sent\n", me[r], p, with_ver[AT(r, p)], chosen[AT(r, p)]) }
#define STEPS_OF_AN_FGPU(r) \
    STEPS_OF_A_POD(r, 0) \
    STEPS_OF_A_POD(r, 1) \
    :: d_step { CAN_READ(r) -> read_object(r); printf("fgpu %d: reads the intents, revision %d: %d\n", me[r], revision, intents) } \
    :: d_step { CAN_WRITE(r) -> write_object(r); printf("fgpu %d: sends intents over revision %d: %d\n", me[r], wants[r], content[r]) } \
    :: d_step { CAN_REMOVE(r) -> remove_object(r) } \
    :: d_step { CAN_LAND_WRITE(r) -> write_lands(r); printf("etcd: the intents of fgpu %d land, revision %d\n", me[r], revision) } \
    :: d_step { CAN_LAND_LATE(r) -> late_write_lands(r); printf("etcd: intents that nobody waits for land, revision %d\n", revision) } \
    :: d_step { writing[r] && landed[r] -> answered_ok(r); printf("fgpu %d: its intents are written\n", me[r]) } \
    :: d_step { CAN_LOSE(r) -> answered_unclear(r); printf("fgpu %d: 409, 5xx or no answer to its intents\n", me[r]) } \
    :: d_step { crash_n < CRASHES && !late[r] -> crash_n++; kill(r); printf("fgpu %d: starts in place of one that was killed\n", me[r]) }
#define STEPS_OF_THE_SERVER(p) \
    :: d_step { LANDS(p, 0) -> printf("etcd: a Binding of pod %d lands, device 0\n", p); land(p, 0) } \
    :: d_step { LANDS(p, 1) -> printf("etcd: a Binding of pod %d lands, device 1\n", p); land(p, 1) } \
    :: d_step { patch_n < PATCHES && !bound[p] -> patch_n++; move_on(p); printf("etcd: pod %d is patched, version %d\n", p, ver[p]) }

/* ---- calm: what is on its way lands, or never; then both pods are bound soon. ---- */
#define ROUNDS 6
inline calm_write(r) {
    if
    :: CAN_READ(r) -> read_object(r)
    :: else -> skip
    fi;
    if
    :: CAN_WRITE(r) -> write_object(r)
    :: else -> skip
    fi;
    if
    :: CAN_LAND_WRITE(r) -> write_lands(r)
    :: else -> skip
    fi;
    if
    :: writing[r] && landed[r] -> answered_ok(r)
    :: writing[r] && !landed[r] -> answered_unclear(r)
    :: else -> skip
    fi
}
inline calm_pod(r, p) {
    learn(r, 0);
    learn(r, 1);
    if
    :: CAN_READ(r) -> read_object(r)
    :: else -> skip
    fi;
    k = 1;
    if
    :: CAN_DECIDE(r, p) -> look_at_intents(r)
    :: else -> skip
    fi;
    if
    :: CAN_DECIDE(r, p) && k == 0 && !CHARGED(r, OTHER(p), FIRST(r, p)) -> decide(r, p, FIRST(r, p))
    :: CAN_DECIDE(r, p) && k == 0 && CHARGED(r, OTHER(p), FIRST(r, p)) && !CHARGED(r, OTHER(p), 1 - FIRST(r, p)) -> decide(r, p, 1 - FIRST(r, p))
    :: CAN_DECIDE(r, p) && k > 0 && !OFF(REFUSAL_IS_SILENT) && ver[p] < VERSIONS - 1 -> move_on(p) /* kube-scheduler says why */
    :: else -> skip
    fi;
    k = 0;
    calm_write(r);
    if
    :: CAN_SEND(r, p) || step[AT(r, p)] == SENT && ver[p] == with_ver[AT(r, p)] && !bound[p] -> send(r, p)
    :: else -> skip
    fi;
    if
    :: LANDS(p, 0) -> land(p, 0)
    :: LANDS(p, 1) -> land(p, 1)
    :: else -> skip
    fi;
    learn(r, p)
}
inline calm(all_land) {
    if
    :: all_land && CAN_LAND_LATE(0) -> late_write_lands(0)
    :: all_land && CAN_LAND_LATE(1) -> late_write_lands(1)
    :: else -> skip
    fi;
    if
    :: all_land && LANDS(0, 0) -> land(0, 0)
    :: all_land && LANDS(0, 1) -> land(0, 1)
    :: else -> skip
    fi;
    if
    :: all_land && LANDS(1, 0) -> land(1, 0)
    :: all_land && LANDS(1, 1) -> land(1, 1)
    :: else -> skip
    fi;
    late[0] = false;
    late[1] = false;
    flying[0] = 0;
    flying[1] = 0;
    round = 0;
    do
    :: round < ROUNDS ->
        calm_pod(0, 0);
        calm_pod(0, 1);
        calm_pod(1, 1);
        calm_pod(1, 0);
        round++
    :: else -> break
    od;
    assert(bound[0] && bound[1]) /* a pod that fits waits for ever */
}

init {
    c_code {
        now.off = getenv("PROTOCOL_OFF") != 0 ? atoi(getenv("PROTOCOL_OFF")) : 0;
        now.asks_calm = getenv("PROTOCOL_CALM") != 0;
    };
    d_step {
        me[0] = 0;
        me[1] = 1;
        next_decider = 2;
        read[0] = OFF(NOT_READ_FIRST);
        read[1] = OFF(NOT_READ_FIRST)
    }
end:
    do
    STEPS_OF_AN_FGPU(0)
    STEPS_OF_AN_FGPU(1)
    STEPS_OF_THE_SERVER(0)
    STEPS_OF_THE_SERVER(1)
    :: asks_calm ->
        if
        :: d_step { calm(true); printf("nothing disturbs any more, what is on its way lands\n") }
        :: d_step { calm(false); printf("nothing disturbs any more, what is on its way does not land\n") }
        fi;
        break
    od
}
