/* Search over pods, namespaces, nodes, models and UUIDs. Pure. Walks over the nodes as they are: an index of 80,000 pods would have to
 * follow every event, and one walk takes a few milliseconds; it runs when somebody types, never for an event. */
import type { Model } from './model.ts';

export type FoundKind = 'pod' | 'namespace' | 'node' | 'model' | 'gpu';

export interface Found {
  kind: FoundKind; text: string; detail: string;
  namespace: string; pod: string; node: string; gpu: number; /* index; -1: none */
}

const OF_A_KIND = 8;

/* 0: begins with it, 1: a word begins with it, 2: contains it, 3: not at all. */
function rank(text: string, query: string): number {
  const at = text.toLowerCase().indexOf(query);
  if (at < 0) return 3;
  if (at === 0) return 0;
  return /[-_./ ]/.test(text[at - 1]!) ? 1 : 2;
}

class Best {
  readonly #of: [number, Found][] = [];
  readonly #seen = new Set<string>();

  offer(text: string, query: string, make: () => Found): void {
    const r = rank(text, query);
    if (r === 3) return;
    const worst = this.#of.length < OF_A_KIND ? 3 : this.#of[this.#of.length - 1]![0];
    if (r >= worst) return;
    const found = make();
    const key = `${found.text} ${found.detail}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#of.push([r, found]);
    this.#of.sort((a, b) => a[0] - b[0]);
    this.#of.length = Math.min(this.#of.length, OF_A_KIND);
  }

  all(): [number, Found][] {
    return this.#of;
  }
}

const ORDER: FoundKind[] = ['namespace', 'pod', 'node', 'model', 'gpu'];

export function search(m: Model, words: string): Found[] {
  const q = words.trim().toLowerCase();
  if (q === '') return [];
  const best: Record<FoundKind, Best> = { pod: new Best(), namespace: new Best(), node: new Best(), model: new Best(), gpu: new Best() };
  const none = { namespace: '', pod: '', node: '', gpu: -1 };
  const offer_pod = (namespace: string, pod: string, node: string, gpu: number): void => {
    const text = `${namespace}/${pod}`;
    const make = (): Found => ({ kind: 'pod', text, detail: node === '' ? 'waits' : node, namespace, pod, node, gpu });
    best.pod.offer(q.includes('/') ? text : pod, q, make);
  };
  for (const ns of m.namespaces.keys()) {
    best.namespace.offer(ns, q, () => ({ ...none, kind: 'namespace', text: ns, detail: 'namespace', namespace: ns }));
  }
  for (const p of m.pending) offer_pod(p.namespace, p.pod, '', -1);
  for (const [model, gpus] of m.models) best.model.offer(model, q, () => ({ ...none, kind: 'model', text: model, detail: `${gpus} GPUs` }));
  for (const n of m.nodes) {
    best.node.offer(n.name, q, () => ({ ...none, kind: 'node', text: n.name, detail: 'node', node: n.name }));
    for (const g of n.gpus) {
      if (g.uuid !== '') best.gpu.offer(g.uuid, q, () => ({ ...none, kind: 'gpu', text: g.uuid, detail: `${n.name}, GPU ${g.index}`, node: n.name, gpu: g.index }));
      for (const a of g.allocations) offer_pod(a.namespace, a.pod, n.name, g.index);
    }
    for (const a of n.wholeGpus?.allocations ?? []) offer_pod(a.namespace, a.pod, n.name, -1);
    for (const a of n.unplaced ?? []) offer_pod(a.namespace, a.pod, n.name, -1);
  }
  return ORDER.flatMap((kind) => best[kind].all()).sort((a, b) => a[0] - b[0]).map(([, f]) => f).slice(0, 20);
}
