#include "cli/completion.h"

#include "cli/page_parts.h"

#include <string.h>

void completion_end(struct strbuf *out, enum completion_directive d)
{
    strbuf_addf(out, ":%d\n", (int)d);
}

void completion_offer(struct strbuf *out, const char *there, const char *word, const char *text)
{
    if (str_starts(str_of(word), str_of(there))) {
        strbuf_addf(out, "%s%s%s\n", word, text[0] != '\0' ? "\t" : "", text);
    }
}

/* The option of which `word` is the name, or to which the letters of `word` lead; what stands behind '=' counts not. */
static const struct page_option *option_of(const struct page *p, const char *word)
{
    for (size_t i = 0; i < p->option_n; i++) {
        const struct page_option *o = &p->options[i];

        if (o->name != NULL && word[0] == '-' && word[1] == '-' &&
            str_eq_cstr((struct str){word + 2, strcspn(word + 2, "=")}, o->name)) {
            return o;
        }
        if (o->letter != 0 && word[0] == '-' && word[1] == o->letter && word[2] == '\0') {
            return o;
        }
    }
    return NULL;
}

static bool is_choice(struct str word)
{
    return word.n > 0 && word.p[0] >= 'a' && word.p[0] <= 'z';
}

static bool names_a_file(const char *value)
{
    return strstr(value, "FILE") != NULL || strstr(value, "PATH") != NULL || strstr(value, "DIR") != NULL;
}

/* `before` is what stands before the value in the same word: "--output=". */
static void offer_value(const char *before, const char *there, struct str word, const char *text, struct strbuf *out)
{
    struct strbuf whole;

    if (str_starts(word, str_of(there))) {
        strbuf_init(&whole, PAGE_LINE_BYTES_MAX);
        strbuf_addf(&whole, "%s%.*s", before, STR_ARG(word));
        completion_offer(out, "", whole.p, text);
        strbuf_fini(&whole);
    }
}

static void offer_words(const char *before, const char *there, page_words_fn *words, struct strbuf *out)
{
    const char *comma = strrchr(there, ','), *text = "", *word;
    struct strbuf first;

    strbuf_init(&first, PAGE_LINE_BYTES_MAX);
    strbuf_add_cstr(&first, before);
    if (comma != NULL) { /* a list: its last word is open */
        strbuf_add(&first, there, (size_t)(comma + 1 - there));
        there = comma + 1;
    }
    for (size_t i = 0; (word = words(i, &text)) != NULL; i++) {
        offer_value(first.n > 0 ? first.p : "", there, str_of(word), text, out);
    }
    strbuf_fini(&first);
}

static enum completion_directive offer_values(const struct page_option *o, const char *before, const char *there,
                                              struct strbuf *out)
{
    struct str rest = str_of(o->value + page_value_may_be_left_out(o)), word;

    while (str_split(&rest, '|', &word)) {
        if (is_choice(word)) {
            offer_value(before, there, word, "", out);
        }
    }
    if (o->words != NULL) {
        offer_words(before, there, o->words, out);
    }
    return names_a_file(o->value) ? COMPLETION_FILES : COMPLETION_NO_FILES;
}

static void offer_options(const struct page *p, const char *there, struct strbuf *out)
{
    for (size_t i = 0; i < p->option_n; i++) {
        const struct page_option *o = &p->options[i];
        struct strbuf word;

        if (!page_is_shown(o)) {
            continue;
        }
        strbuf_init(&word, PAGE_LINE_BYTES_MAX);
        if (o->name != NULL) {
            strbuf_addf(&word, "--%s", o->name);
        } else {
            strbuf_addf(&word, "-%c", o->letter);
        }
        completion_offer(out, there, word.p, o->text);
        strbuf_fini(&word);
    }
    completion_offer(out, there, "--help", "explains the command");
}

void completion_of_page(const struct page *p, int n, char *const *words, struct strbuf *out)
{
    const char *there = words[n - 1], *equals = strchr(there, '=');
    const struct page_option *before = n > 1 ? option_of(p, words[n - 2]) : NULL;
    const struct page_option *same = equals != NULL ? option_of(p, there) : NULL;
    enum completion_directive d = COMPLETION_NO_FILES;

    if (before != NULL && before->value != NULL && !page_value_may_be_left_out(before) &&
        strchr(words[n - 2], '=') == NULL) {
        d = offer_values(before, "", there, out);
    } else if (same != NULL && same->value != NULL) {
        struct strbuf name;

        strbuf_init(&name, PAGE_LINE_BYTES_MAX);
        strbuf_add(&name, there, (size_t)(equals + 1 - there));
        d = offer_values(same, name.p, equals + 1, out);
        strbuf_fini(&name);
    } else if (there[0] == '-') {
        offer_options(p, there, out);
    } else if (p->words != NULL) {
        offer_words("", there, p->words, out);
    } else if (p->word != NULL && names_a_file(p->word)) {
        d = COMPLETION_FILES;
    }
    completion_end(out, d);
}
