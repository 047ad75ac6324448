/* support/cmocka.h - cmocka, behind the headers that its own needs. */
#ifndef UNIT_SUPPORT_CMOCKA_H
#define UNIT_SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
