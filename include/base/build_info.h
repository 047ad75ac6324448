/* base/build_info.h - which build this is, for `fgpu version`, /version and fgpu_build_info.
 *
 * Only src/base/build_info.c is compiled with the commit, so a new commit compiles one file anew.
 */
#ifndef BASE_BUILD_INFO_H
#define BASE_BUILD_INFO_H

extern const char build_commit[]; /* first twelve digits; "unknown" when built outside git */
extern const char build_date[];   /* of that commit, "November 24, 2026" */

#ifdef __clang__
#define BUILD_COMPILER __VERSION__
#else
#define BUILD_COMPILER "gcc " __VERSION__
#endif

#endif
