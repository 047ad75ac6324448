/* routes/audit.h - POST /audit: an audit of the ledger now; and an audit's report as JSON.
 *
 * The answer comes when the run has ended, 200 whatever it found; a run with differences lasts at
 * least as long as the configured audit.settle. Calls that come while a run is on wait for the next
 * one together, so however many ask, lists do not overlap. No body, no parameters. 503 when fgpu
 * stops meanwhile.
 */
#ifndef ROUTES_AUDIT_H
#define ROUTES_AUDIT_H

#include "base/json_write.h"
#include "extender/audit.h"
#include "httpd/server.h"

/* `ctx` is the struct audit. */
enum httpd_action audit_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp);

/* One object; the contract is $defs/audit of config/state.schema.json. */
void audit_write(struct json_writer *w, const struct audit_report *r);

#endif
