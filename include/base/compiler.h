/* base/compiler.h - the few compiler attributes this code base uses, under short names. */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#define WARN_UNUSED __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NOINLINE __attribute__((noinline))
#define NORETURN __attribute__((noreturn))
#define CLEANUP(fn) __attribute__((cleanup(fn)))

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x) /* the value of a macro as text */
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
