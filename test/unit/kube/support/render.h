/* kube/support/render.h - every field of a pod or node as text, to compare two of them. */
#ifndef KUBE_SUPPORT_RENDER_H
#define KUBE_SUPPORT_RENDER_H

#include "base/strbuf.h"
#include "model/node.h"
#include "model/pod.h"

void render_pod(struct strbuf *out, const struct pod *p);
void render_node(struct strbuf *out, const struct node *n);

#endif
