/* What people read of a pod whose annotations contradict what is known of it. */
#include "core/ledger/observe.h"

const char ledger_conflict_record[] = "the assignment annotation was changed after binding; ignored";
const char ledger_conflict_request[] =
    "the request annotations were changed after binding; the larger charge stays";
const char ledger_conflict_reading[] =
    "the configuration reads its request differently since it was bound; the larger charge stays";
const char ledger_conflict_no_record[] =
    "bound without an assignment by fgpu; counted on every device of its node";
const char ledger_conflict_signature[] = "the signature of its record does not hold";
