/* cmd/serve_inputs.h - what `fgpu serve` reads before it starts: the configuration, how the API server is reached, the
 * keys that records are signed with.
 *
 * Each returns EXIT_OK or the exit code, and says on stderr what is wrong. */
#ifndef CMD_SERVE_INPUTS_H
#define CMD_SERVE_INPUTS_H

#include "base/log.h"
#include "config/load.h"
#include "model/credentials.h"

struct signing;
struct serve_options;

/* The file and the flags over it. The caller frees *ret with config_free(), also after a failure. */
int serve_load_config(const struct serve_options *o, struct config **ret);
int serve_write_config(const char *path, const struct config *c);
/* A key must be named; whether it can be read is seen when it is. */
int serve_check_signing(const struct config *c);
int serve_load_credentials(const struct serve_options *o, struct credentials *ret);
/* *ret is NULL with signing off. */
int serve_load_keys(const struct config *c, const struct log *log, struct signing **ret);

#endif
