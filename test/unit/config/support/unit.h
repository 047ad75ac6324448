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

/* UNIT_HEAD, the two mandatory lines, then `body`: parsed as the file "f.yaml". Fails with the report if it is
 * refused. */
struct config *unit_config(const char *body);

#define UNIT_HEAD "apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n"

struct mistake {
    const char *name, *text, *want; /* the text stands behind UNIT_HEAD, so it begins on line 3 */
};

/* Each of the texts is refused with exactly this report, the first line of which is in the error, too. */
void expect_reports(const struct mistake *rows, size_t n);

/* What differs, as config_diff() says: "key: before -> after; ...". With `reloads` each has "(applies)" behind it;
 * without, none may take a restart. */
void unit_diff_text(const struct config *before, const struct config *after, bool reloads, struct strbuf *ret);

/* Parsed as the file "k": refused with this message, which does not say the secret "hush", and nothing was read. */
void expect_kubeconfig_refused(struct str text, const char *context, const char *want, const char *row);

/* The whole file at `path`. */
void unit_read(const char *path, struct strbuf *ret);

#endif
