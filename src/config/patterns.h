/* The grammars of text as patterns of the JSON Schema (ECMA 262), each beside what names.c, number.c and daytime.c
 * accept. Where a pattern would repeat arithmetic it accepts more than the reader; it never accepts less. */
#ifndef CONFIG_PATTERNS_H
#define CONFIG_PATTERNS_H

#define PATTERN_LABEL_WORD "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define PATTERN_SUBDOMAIN PATTERN_LABEL_WORD "(\\." PATTERN_LABEL_WORD ")*"
#define PATTERN_QUALIFIED "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
#define PATTERN_PREFIX "((?=[^/]{1,253}/)" PATTERN_SUBDOMAIN "/)?"
#define PATTERN_NAME "^(?=.{1,63}$)" PATTERN_SUBDOMAIN "$"
#define PATTERN_NAMESPACE "^[-a-z0-9*]{1,63}$"
#define PATTERN_RESOURCE                                                                                               \
    "^(?!requests[.])(?!([^/]*[.])?kubernetes[.]io/)(?=[^/]{1,244}/)" PATTERN_SUBDOMAIN "/" PATTERN_QUALIFIED "$"
#define PATTERN_OBJECT "^((?=[^/]{1,63}/)" PATTERN_LABEL_WORD "/(?=.{1,253}$)" PATTERN_SUBDOMAIN ")?$"
#define PATTERN_LABEL "^" PATTERN_PREFIX PATTERN_QUALIFIED "=(" PATTERN_QUALIFIED ")?$"
#define PATTERN_LABEL_KEY "^" PATTERN_PREFIX PATTERN_QUALIFIED "$"
#define PATTERN_LABEL_VALUE "^(" PATTERN_QUALIFIED ")?$"

#define PATTERN_DECIMAL "([0-9]+[.]?[0-9]*|[.][0-9]+)"
#define PATTERN_AMOUNT "[+]?" PATTERN_DECIMAL "([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?"
#define PATTERN_FACTOR "^" PATTERN_DECIMAL "$"
#define PATTERN_QUANTITY "^" PATTERN_AMOUNT "$"
#define PATTERN_PERCENT "^" PATTERN_DECIMAL "%$"
#define PATTERN_QUANTITY_OR_PERCENT "^(" PATTERN_AMOUNT "|" PATTERN_DECIMAL "%)$"
#define PATTERN_DURATION "^(0|([0-9]+(ms|s|m|h))+)$"

#define PATTERN_INSTANT "^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}Z)?$"
#define PATTERN_HOUR_MINUTE "([01][0-9]|2[0-3]):[0-5][0-9]"
#define PATTERN_TIME "^" PATTERN_HOUR_MINUTE "$"
#define PATTERN_TIME_OR_24 "^(" PATTERN_HOUR_MINUTE "|24:00)$"
#define PATTERN_DAY "(mon|tue|wed|thu|fri|sat|sun)"
#define PATTERN_DAYS "^" PATTERN_DAY "(-" PATTERN_DAY ")?$"
#define PATTERN_ZONE_PART "[A-Za-z0-9][-+_A-Za-z0-9]*"
#define PATTERN_ZONE "^(?=.{1,64}$)" PATTERN_ZONE_PART "(/" PATTERN_ZONE_PART ")*$"

#define PATTERN_BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define PATTERN_PORT ":0*(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})"
#define PATTERN_HOST_PORT "(localhost|" PATTERN_BYTE "([.]" PATTERN_BYTE "){3}|\\[[0-9A-Fa-f:.]{2,45}\\])?" PATTERN_PORT
#define PATTERN_ADDRESS "^" PATTERN_HOST_PORT "$"
#define PATTERN_ADDRESS_OR_NONE "^(none|" PATTERN_HOST_PORT ")$"
#define PATTERN_SWITCH "^(on|off|true|false)$"

#endif
