/* extender/incident_words.h - an incident in one sentence, the same in Events, the log, audits and /state. */
#ifndef EXTENDER_INCIDENT_WORDS_H
#define EXTENDER_INCIDENT_WORDS_H

#include "core/ledger/incidents.h"

#include <stddef.h>

/* A sentence without its full stop: what happened, where, to whom. Of many pods the first few are named; what does not
 * fit into `size` bytes is cut. Returns buf. */
#define INCIDENT_SENTENCE_MAX 768
char *incident_sentence(const struct incident *in, char *buf, size_t size);

/* What to do about it; static, a sentence. */
const char *incident_remedy(enum incident_kind k);

/* Who should go, because it is the youngest: of a double booking that is not over. */
const struct incident_pod *incident_youngest(const struct incident *in);

#endif
