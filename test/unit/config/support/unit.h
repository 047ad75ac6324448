/* What every unit test of this layer includes. */
#ifndef UNIT_CONFIG_SUPPORT_UNIT_H
#define UNIT_CONFIG_SUPPORT_UNIT_H

#include "base/str.h"
#include "base/strbuf.h"
#include "config/load.h"
#include "support/cmocka.h"

#include <stdbool.h>

/* binpack, spread, tight-fit, rsp. */
extern const struct config_names unit_names;

/* Fails with both texts in the message. `row` names the row of the table, or NULL. */
void expect_text(struct str got, const char *want, const char *row);

/* The two mandatory lines, then `body`: parsed as the file "f.yaml". Fails with the report if it is
 * refused. */
struct config *unit_config(const char *body);

/* Parsed as the file "k": refused with this message, which does not say the secret "hush", and nothing was read. */
void expect_kubeconfig_refused(struct str text, const char *context, const char *want, const char *row);

/* The whole file at `path`. */
void unit_read(const char *path, struct strbuf *ret);

#endif
