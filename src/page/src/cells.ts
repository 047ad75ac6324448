/* A node as the page draws it: one cell for each physical GPU, with what its pods hold of it as segments. Pure.
 *
 * MIG instances are segments of their GPU, those that nobody holds too (an empty compartment). GPUs that only a device plugin knows are
 * one cell for the node: only kubelet knows which GPU a pod has. A segment begins where the one before it ends. */
import type { Allocation, Gpu, Node } from './types.ts';

export type SegmentState = 'bound' | 'reserved' | 'terminating' | 'foreign' | 'conflict' | 'instance';

export interface Segment {
  namespace: string; pod: string; container: string; milli: number; memMib: number; state: SegmentState;
  profile: string; /* of a MIG instance, else empty */
  since: string; qos: string;
}

/* What is wrong with a GPU, the worst first. */
export type Trouble = '' | 'unhealthy' | 'lost' | 'overcommitted' | 'elsewhere';

export interface Cell {
  label: string; /* "0", or "plugin" */
  index: number; uuid: string; model: string;
  milli: number; memMib: number; /* capacity */
  usedMilli: number; usedMemMib: number;
  trouble: Trouble; exclusive: boolean; mig: boolean; counted: boolean;
  segments: Segment[];
}

const STATES = new Set(['bound', 'reserved', 'terminating', 'foreign', 'conflict']);

function segment_state(state: string): SegmentState {
  if (state === 'confirmed') return 'reserved';
  return STATES.has(state) ? state as SegmentState : 'foreign';
}

function segment_of(a: Allocation, profile: string): Segment {
  return {
    namespace: a.namespace, pod: a.pod, container: a.container, milli: a.milli, memMib: a.memMib,
    state: segment_state(a.state), profile, since: a.since, qos: a.qos ?? '',
  };
}

function trouble_of(g: Gpu): Trouble {
  if (g.lost) return 'lost';
  if (!g.healthy) return 'unhealthy';
  if (g.overCommitted || (g.milli.free < 0 && g.milli.capacity > 0) || (g.memMib.free < 0 && g.memMib.capacity > 0)) return 'overcommitted';
  return g.groupTaken ? 'elsewhere' : '';
}

function cell_of(g: Gpu): Cell {
  const mig = g.mig !== undefined && g.mig.profile === undefined;
  return {
    label: String(g.index), index: g.index, uuid: g.uuid, model: g.model,
    milli: g.milli.capacity, memMib: g.memMib.capacity, usedMilli: g.milli.charged, usedMemMib: g.memMib.charged,
    trouble: trouble_of(g), exclusive: g.exclusive, mig, counted: false,
    segments: g.allocations.map((a) => segment_of(a, '')),
  };
}

function add_instance(gpu: Cell, g: Gpu): void {
  const profile = g.mig?.profile ?? '';
  if (g.allocations.length === 0) {
    gpu.segments.push({
      namespace: '', pod: '', container: '', milli: g.milli.capacity, memMib: g.memMib.capacity, state: 'instance', profile, since: '', qos: '',
    });
  }
  for (const a of g.allocations) gpu.segments.push(segment_of(a, profile));
  gpu.usedMilli += g.milli.charged;
  gpu.usedMemMib += g.memMib.charged;
  const t = trouble_of(g);
  if (t !== '' && gpu.trouble === '') gpu.trouble = t;
}

function plugin_cell(n: Node): Cell | null {
  const w = n.wholeGpus;
  if (w === undefined || w.capacity === 0) return null;
  const milli_of_one = 1000 / (w.unitsPerGpu ?? 1);
  return {
    label: 'plugin', index: -1, uuid: '', model: w.unitsPerGpu === undefined ? 'whole GPUs' : 'units',
    milli: w.capacity * milli_of_one, memMib: 0, usedMilli: w.charged * milli_of_one, usedMemMib: 0,
    trouble: '', exclusive: false, mig: false, counted: true,
    segments: w.allocations.map((a) => ({
      namespace: a.namespace, pod: a.pod, container: '', milli: a.count * milli_of_one, memMib: 0,
      state: segment_state(a.state), profile: '', since: a.since, qos: '',
    })),
  };
}

function build(n: Node): Cell[] {
  const cells: Cell[] = [];
  const physical = new Map<number, Cell>();
  for (const g of n.gpus) {
    const on = g.mig?.profile === undefined ? undefined : physical.get(g.mig.gpu ?? -1);
    if (on !== undefined) {
      add_instance(on, g);
      continue;
    }
    const cell = cell_of(g);
    if (cell.mig) { /* its instances hold the amounts */
      cell.milli = 1000;
      cell.memMib = g.baseMemMib ?? 0;
    } else if (g.mig?.profile !== undefined) {
      cell.label = g.mig.profile;
    }
    cells.push(cell);
    if (g.mig?.profile === undefined) physical.set(g.index, cell);
  }
  const plugin = plugin_cell(n);
  if (plugin !== null) cells.push(plugin);
  return cells;
}

/* cells_of(n).length, without making them. */
export function cell_count(n: Node): number {
  let count = n.wholeGpus === undefined || n.wholeGpus.capacity === 0 ? 0 : 1;
  for (const g of n.gpus) {
    if (g.mig?.profile === undefined || !n.gpus.some((x) => x.mig?.profile === undefined && x.index === g.mig!.gpu)) count++;
  }
  return count;
}

const built = new WeakMap<Node, Cell[]>();

/* Made when first asked for: of 5,000 nodes only those that are looked at. */
export function cells_of(n: Node): Cell[] {
  let cells = built.get(n);
  if (cells === undefined) {
    cells = build(n);
    built.set(n, cells);
  }
  return cells;
}

export interface Span { begin: number; end: number } /* parts of the bar, 0 to 1 */

/* Where the segments of a bar lie, in their order; together never beyond the end: an over-committed GPU is drawn full, to scale. */
export function spans(cell: Cell, of: 'milli' | 'memMib'): Span[] {
  const sum = cell.segments.reduce((s, x) => s + x[of], 0);
  const whole = Math.max(cell[of], sum, 1);
  let at = 0;
  return cell.segments.map((s) => {
    const begin = at / whole;
    at += s[of];
    return { begin, end: at / whole };
  });
}

/* 0 to 1 of the scarcer of compute and memory. */
export function load_of(cell: Cell): number {
  const c = cell.milli > 0 ? cell.usedMilli / cell.milli : 0;
  const m = cell.memMib > 0 ? cell.usedMemMib / cell.memMib : 0;
  return Math.min(1, Math.max(c, m));
}

export type NodeMark = '' | 'cordoned' | 'closed' | 'gone' | 'elsewhere' | 'unmeasured' | 'changing' | 'unfit';

/* Why a node takes no pods, in a word; empty: it does. */
export function node_mark(n: Node): NodeMark {
  if (!n.described) return 'gone';
  if (n.handOffUnfit) return 'unfit';
  if (n.elsewhere) return 'elsewhere';
  if (n.closed) return 'closed';
  if (!n.schedulable) return 'cordoned';
  if (n.mig?.changing) return 'changing';
  return n.unmeasured ? 'unmeasured' : '';
}
