/* Every vocabulary fgpu speaks, and what is asked of the words of all of them. */
#include "core/dialects/dialect.h"
#include "core/dialects/kai/kai.h"
#include "core/dialects/units/units.h"

const struct dialect *const dialects[] = {
    &dialect_native,
    &dialect_units,
    &dialect_kai,
    NULL,
};

const struct dialect *dialect_find(struct str name)
{
    size_t i = 0;

    while (dialects[i] != NULL && !str_eq_cstr(name, dialects[i]->name)) {
        i++;
    }
    return dialects[i];
}

/* ---- their words ---- */

bool dialect_is_request_key(struct str key)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        const struct dialect_key *known = dialects[i]->request_keys;

        for (; known != NULL && known->name != NULL; known++) {
            if (str_eq_cstr(key, known->name)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_answer(const struct dialect_answer *answer, struct str key)
{
    struct str rest = str_drop(key, str_of(answer->name).n);

    return str_starts(key, str_of(answer->name)) &&
           (rest.n == 0 || (answer->form == ANSWER_PER_CONTAINER && rest.p[0] == '.') ||
            answer->form == ANSWER_OF_OTHERS);
}

bool dialect_writes_key(struct str key)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        const struct dialect_answer *answer = dialects[i]->answers;

        for (; answer != NULL && answer->name != NULL; answer++) {
            if (is_answer(answer, key)) {
                return true;
            }
        }
    }
    return false;
}

bool dialect_owns_resource(const struct policy *p, struct str name)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        if (dialects[i]->owns_resource != NULL && dialects[i]->owns_resource(p, name)) {
            return true;
        }
    }
    return false;
}
