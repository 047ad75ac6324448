/* base/order.h - which of two numbers comes first, as functions that sort are to say it. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

/* -1: the smaller one is `a`; 1: it is `b`; 0: they are equal. Each is evaluated twice. The largest first: the other
 * way round. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#endif
