/* Relative value iteration for test/packing/moving.py, which says what is computed. A state is how many pods there are
 * of each class. */
#include <math.h>
#include <stdint.h>
#include <string.h>

struct kind {
    int32_t class; /* what it takes */
    double rate;   /* how many come in a mean life time */
    double value;  /* what one counts for when it is refused */
};

static double after_arrivals(const double *worth, int32_t at, const int32_t *more, const struct kind *kinds,
                             int32_t kind_n)
{
    double ret = 0;

    for (int32_t k = 0; k < kind_n; k++) {
        int32_t to = more[kinds[k].class];
        double refused = worth[at] + kinds[k].value;

        ret += kinds[k].rate * (to < 0 ? refused : fmin(worth[to], refused));
    }
    return ret;
}

/* `more`, `less`: the state with one pod of a class more or less, for each state and class; below 0: there is none.
 * `number`: how many pods there are. `fastest`: no state changes more often in a mean life time. `worth` and `next` are
 * for each state and begin with zeros. Returns how much is refused in a mean life time at least; the optimum is less
 * than `precision` above that, unless `steps` end first. */
double least_refused(int32_t state_n, int32_t class_n, int32_t kind_n, const int32_t *more, const int32_t *less,
                     const int32_t *number, const struct kind *kinds, double fastest, double precision, int32_t steps,
                     double *worth, double *next)
{
    double ret = 0, come = 0;

    for (int32_t k = 0; k < kind_n; k++) {
        come += kinds[k].rate;
    }
    for (int32_t step = 0; step < steps; step++) {
        double low = INFINITY, high = -INFINITY, first;

        for (int32_t s = 0; s < state_n; s++) {
            double ends = 0, total = after_arrivals(worth, s, more + (size_t)s * class_n, kinds, kind_n);

            for (size_t i = (size_t)s * class_n; i < ((size_t)s + 1) * class_n; i++) {
                if (number[i] > 0) {
                    ends += number[i];
                    total += number[i] * worth[less[i]];
                }
            }
            next[s] = (total + (fastest - come - ends) * worth[s]) / fastest;
            low = fmin(low, next[s] - worth[s]);
            high = fmax(high, next[s] - worth[s]);
        }
        ret = fmax(ret, fastest * low);
        if (fastest * high - ret < precision) {
            break;
        }
        first = next[0];
        for (int32_t s = 0; s < state_n; s++) {
            worth[s] = next[s] - first;
        }
    }
    return ret;
}
