#include "demo/scheduler/player_internal.h"

#include "demo/doc_internal.h"

#include <stdio.h>
#include <string.h>

static const char *limit(const cJSON *container, const char *key)
{
    return cJSON_GetStringValue(doc_field(doc_at(container, "resources.limits"), key));
}

static const char *annotation(const cJSON *pod, const char *key)
{
    return cJSON_GetStringValue(doc_field(doc_at(pod, "metadata.annotations"), key));
}

static bool limits_text(const cJSON *container, char *buf, size_t size)
{
    const char *milli = limit(container, "fgpu.io/gpu-milli");
    const char *mem = limit(container, "fgpu.io/gpu-memory-mib");
    const char *count = limit(container, "fgpu.io/gpu-count");
    const char *times = count && (milli || mem) ? count : "";
    if (milli || mem) {
        snprintf(buf, size, "%.8s%s%.16s%s%s%.16s%s", times, times[0] ? " x " : "", milli ? milli : "",
                 milli ? " milli" : "", milli && mem ? " + " : "", mem ? mem : "", mem ? " MiB" : "");
    } else if (count) {
        snprintf(buf, size, "%.16s GPU%s", count, strcmp(count, "1") == 0 ? "" : "s");
    }
    return milli || mem || count;
}

/* What others call GPUs: the first limit with a domain, "300 nvidia.com/vgpu". */
static bool foreign_text(const cJSON *container, char *buf, size_t size)
{
    const cJSON *l;

    cJSON_ArrayForEach(l, doc_at(container, "resources.limits"))
    {
        if (strchr(l->string, '/') != NULL && cJSON_IsString(l)) {
            snprintf(buf, size, "%.16s %.30s", l->valuestring, strchr(l->string, '/') + 1);
            return true;
        }
    }
    return false;
}

/* "gpu-fraction 0.5": the first annotation whose key speaks of a GPU or a size. */
static bool annotations_text(const cJSON *pod, char *buf, size_t size)
{
    const cJSON *a;

    cJSON_ArrayForEach(a, doc_at(pod, "metadata.annotations"))
    {
        const char *slash = strchr(a->string, '/'), *key = slash != NULL ? slash + 1 : a->string;

        if (cJSON_IsString(a) && (strncmp(key, "gpu-", 4) == 0 || strncmp(key, "mig-", 4) == 0)) {
            snprintf(buf, size, "%.24s %.20s", key, a->valuestring);
            return true;
        }
    }
    return false;
}

void gpu_request_text(const cJSON *pod, char *buf, size_t size)
{
    static const struct {
        const char *key, *before, *after;
    } words[] = {{"fgpu.io/gpu-fraction", "", " GPU"},
                 {"fgpu.io/gpu-memory", "", " memory"},
                 {"fgpu.io/gpu-count", "", " whole GPUs"},
                 {"fgpu.io/size", "size ", ""}};
    const cJSON *c;
    cJSON_ArrayForEach(c, doc_at(pod, "spec.containers"))
    {
        if (limits_text(c, buf, size) || foreign_text(c, buf, size)) {
            return;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const char *text = annotation(pod, words[i].key);
        if (text != NULL) {
            snprintf(buf, size, "%s%.24s%s", words[i].before, text, words[i].after);
            return;
        }
    }
    if (!annotations_text(pod, buf, size)) {
        snprintf(buf, size, "other");
    }
}
