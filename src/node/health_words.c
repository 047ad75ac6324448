#include "node/health.h"

#include "base/compiler.h"
#include "base/sentence.h"

#include <stddef.h>

/* From NVIDIA's list of XIDs, those that admins meet. */
static const char *meaning_of(uint64_t xid)
{
    static const struct {
        uint64_t xid;
        const char *meaning;
    } known[] = {{48, "an ECC error of two bits"},
                 {63, "a row of memory is to be replaced"},
                 {64, "a row of memory could not be replaced"},
                 {74, "an error of NVLink"},
                 {79, "it has fallen off the bus"},
                 {94, "a contained ECC error"},
                 {95, "an uncontained ECC error"},
                 {119, "its processor GSP does not answer"},
                 {120, "an error of its processor GSP"}};

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i].xid == xid) {
            return known[i].meaning;
        }
    }
    return NULL;
}

const char *health_words(struct health_verdict v, char buf[HEALTH_WORDS_BYTES])
{
    struct sentence t = sentence_begin(buf, HEALTH_WORDS_BYTES);
    const char *meaning = meaning_of(v.xid);

    switch (v.kind) {
    case HEALTH_WELL:
        sentence_add(&t, "is well");
        break;
    case HEALTH_XID:
        sentence_add(&t, "reported XID %llu", (unsigned long long)v.xid);
        if (meaning != NULL) {
            sentence_add(&t, " (%s)", meaning);
        }
        break;
    case HEALTH_LOST:
        sentence_add(&t, "is lost: the driver cannot reach it");
        break;
    case HEALTH_UNWATCHED:
        sentence_add(&t, "is not watched: the driver does not tell whether it has errors");
        break;
    }
    return buf;
}
