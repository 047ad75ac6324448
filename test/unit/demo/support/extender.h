/* A small, slow, honest extender for the tests of the player: first fit over what the checker sees,
 * bind through the API server. It can be told to break the protocol. */
#ifndef SUPPORT_EXTENDER_H
#define SUPPORT_EXTENDER_H

struct extender;

enum extender_fault {
    EXTENDER_HONEST,
    EXTENDER_UNKNOWN_NODE, /* filter returns a node that was not asked for */
    EXTENDER_NO_REASON,    /* filter refuses and leaves a node out */
    EXTENDER_NOT_JSON,     /* filter answers garbage */
    EXTENDER_HTTP_500,     /* filter answers 500 */
    EXTENDER_ERROR,        /* filter answers an Error */
    EXTENDER_SCORE_11,     /* prioritize gives 11 */
    EXTENDER_LYING_BIND,   /* bind says success and does nothing */
    EXTENDER_OVERCOMMIT,   /* everything goes to the first device */
};

struct extender *extender_start(void); /* for the test's server */
void extender_free(struct extender *e);
const char *extender_url(const struct extender *e);
void extender_set(struct extender *e, enum extender_fault fault);

#endif
