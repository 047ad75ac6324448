/* The cluster as the page knows it: /state once, then the events of /v1/stream. Pure: no clock, no network, no document.
 *
 * A node is kept as it came; what is drawn of it is made when it is looked at (cells.ts). Only load() walks over all nodes
 * (full_passes counts it); an event costs what it names, and a sorted list of names when nodes come or go.
 * Invariant: use (what namespaces hold) and troubles are sums over nodes, kept by adding and taking away. */
import { cell_count } from './cells.ts';
import type {
  ClusterEvent, Conflict, Decision, DecisionsEvent, Incident, Metadata, Node, NodesEvent, PendingPod, State, Summary,
} from './types.ts';

export const DECISIONS_MAX = 200;

export interface Use { milli: number; memMib: number; pods: number }

const EMPTY_SUMMARY: Summary = {
  nodes: 0, gpus: 0, overCommittedGpus: 0, closedNodes: 0, podsOnClosedNodes: 0,
  milli: { capacity: 0, charged: 0, free: 0 }, memMib: { capacity: 0, charged: 0, free: 0 },
  pods: { pending: 0, reserved: 0, confirmed: 0, bound: 0, foreign: 0 }, tenants: [],
  timeWindows: { active: [], next: [], at: '' }, poolCommands: [],
};

/* Node names as the server orders them, which compares bytes; among nodes it does not matter in which order equal names come. */
function before(a: Node, b: Node): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

export class Model {
  nodes: Node[] = []; /* by name */
  metadata: Metadata = { generation: 0, asOf: '', ready: false, leader: false, version: '' };
  summary: Summary = EMPTY_SUMMARY;
  pending: PendingPod[] = [];
  pendingCount = 0;
  incidents: Incident[] = [];
  conflicts: Conflict[] = [];
  decisions: Decision[] = []; /* the newest first */
  namespaces = new Map<string, Use>();
  models = new Map<string, number>(); /* GPUs */
  troubles = 0; /* GPUs that are ill, lost or over-committed */
  counts: number[] = []; /* cells of each of nodes */
  shape = 0; /* changes when nodes come or go, or have another number of cells */
  nodesGeneration = 0; /* nodes are those of this generation */
  full_passes = 0;
  version = 0; /* changes with everything that is seen */
  #index = new Map<string, number>();

  load(s: State): void {
    this.full_passes++;
    this.version++;
    this.namespaces.clear();
    this.models.clear();
    this.troubles = 0;
    this.nodes = s.nodes.slice().sort(before);
    this.#reindex();
    for (const n of this.nodes) this.#count(n, 1);
    this.metadata = s.metadata;
    this.summary = s.summary;
    this.pending = s.pending;
    this.pendingCount = s.pending.length;
    this.incidents = s.incidents ?? [];
    this.conflicts = s.conflicts;
    this.decisions = (s.decisions ?? []).slice(0, DECISIONS_MAX);
    this.nodesGeneration = s.metadata.generation;
  }

  /* An event that is older than what is known changes nothing. */
  apply_nodes(e: NodesEvent): void {
    if (e.generation < this.nodesGeneration) return;
    let moved = false;
    for (const n of e.nodes) {
      const at = this.#index.get(n.name);
      if (at === undefined) {
        this.#index.set(n.name, this.nodes.length);
        this.nodes.push(n);
        moved = true;
      } else {
        this.#count(this.nodes[at]!, -1);
        this.nodes[at] = n;
        if (!moved && this.counts[at] !== cell_count(n)) {
          this.counts[at] = cell_count(n);
          this.shape++;
        }
      }
      this.#count(n, 1);
    }
    for (const name of e.gone) {
      const at = this.#index.get(name);
      if (at === undefined) continue;
      this.#count(this.nodes[at]!, -1);
      this.nodes[at] = { ...this.nodes[at]!, name: '' };
      this.#index.delete(name);
      moved = true;
    }
    if (moved) {
      this.nodes = this.nodes.filter((n) => n.name !== '').sort(before);
      this.#reindex();
    }
    this.nodesGeneration = e.generation;
    this.version++;
  }

  apply_cluster(e: ClusterEvent): void {
    if (e.generation < this.metadata.generation) return;
    this.metadata = { ...this.metadata, ...e.metadata, generation: e.generation, asOf: e.asOf };
    this.summary = { ...this.summary, ...e.summary };
    this.pending = e.pending;
    this.pendingCount = e.pendingCount;
    this.incidents = e.incidents;
    this.conflicts = e.conflicts;
    this.version++;
  }

  apply_decisions(e: DecisionsEvent): void {
    const known = new Set(this.decisions.map((d) => d.decision));
    const fresh = e.decisions.filter((d) => !known.has(d.decision)).reverse();
    this.decisions = fresh.concat(this.decisions).slice(0, DECISIONS_MAX);
    this.version++;
  }

  node_index(name: string): number {
    return this.#index.get(name) ?? -1;
  }

  #reindex(): void {
    this.#index.clear();
    this.nodes.forEach((n, i) => this.#index.set(n.name, i));
    this.counts = this.nodes.map(cell_count);
    this.shape++;
  }

  #use(namespace: string, milli: number, memMib: number, sign: number): void {
    let u = this.namespaces.get(namespace);
    if (u === undefined) {
      u = { milli: 0, memMib: 0, pods: 0 };
      this.namespaces.set(namespace, u);
    }
    u.milli += sign * milli;
    u.memMib += sign * memMib;
    u.pods += sign; /* of the shares: a pod on two GPUs counts twice */
    if (u.pods === 0) this.namespaces.delete(namespace);
  }

  #count(n: Node, sign: number): void {
    for (const g of n.gpus) {
      if (g.lost || !g.healthy || g.overCommitted) this.troubles += sign;
      if (g.mig?.profile === undefined) {
        const count = (this.models.get(g.model) ?? 0) + sign;
        if (count === 0) this.models.delete(g.model);
        else this.models.set(g.model, count);
      }
      for (const a of g.allocations) this.#use(a.namespace, a.milli, a.memMib, sign);
    }
    for (const a of n.wholeGpus?.allocations ?? []) this.#use(a.namespace, a.count * 1000, 0, sign);
  }
}
