/* config/zone.h - time zones of the system's tz database, as tables of transitions.
 *
 * Format: TZif, RFC 9636 (versions 2 and later; version 1 has 32-bit times and ends in 2037). The footer, a rule in the
 * notation of POSIX TZ, speaks for all time after the last transition; it is written out until the end of
 * ZONE_YEAR_MAX, after that the offset stays. Both forms of data that zic makes, "fat" and "slim", give the same.
 *
 * Units: times in seconds since 1970 (UTC), offsets in seconds ahead of UTC (struct time_zone). Reads files when the
 * configuration is loaded, never later. No state, so no lock; what is read is in the caller's arena and lives as long.
 */
#ifndef CONFIG_ZONE_H
#define CONFIG_ZONE_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "model/timetable.h"

#define ZONE_DIR "/usr/share/zoneinfo"
#define ZONE_YEAR_MAX 2199
#define ZONE_NAME_BYTES_MAX 64
#define ZONE_FILE_BYTES_MAX (64 * 1024)

/* Reads the zone `name` below `dir`. "UTC" is known without a database. Name and table are in `a`; an arena that is
 * full shows by its flag.
 *   ERR_INVALID    the name is not one that a zone can have
 *   ERR_NOT_FOUND  there is no such zone, or no database
 *   ERR_PARSE      the file is not what this reader understands
 *   others         the file cannot be read */
WARN_UNUSED int zone_load(const char *dir, struct str name, struct arena *a, struct time_zone *ret, struct err *reterr);

/* The same for the content of a file. ERR_PARSE. */
WARN_UNUSED int zone_parse(struct str name, struct str bytes, struct arena *a, struct time_zone *ret,
                           struct err *reterr);

#endif
