/* What the pictures show, in words: tooltips, the screen reader's grid, lists. Pure. */
import type { Cell, NodeMark, Segment, SegmentState, Trouble } from './cells.ts';
import { cells_of, node_mark } from './cells.ts';
import { gpus, memory, percent, plural, short_model } from './format.ts';
import type { Node, PodRequest } from './types.ts';

export const STATE_WORDS: Record<SegmentState, string> = {
  bound: 'running', reserved: 'reserved: its bind is on the way', terminating: 'ending, and still charged',
  foreign: 'bound by somebody else; which GPUs it has is not known', conflict: 'its record contradicts what is known',
  instance: 'free MIG instance',
};

export const TROUBLE_WORDS: Record<Trouble, string> = {
  '': '', unhealthy: 'unhealthy: takes no pods', lost: 'the node no longer lists it', overcommitted: 'more is given out than there is',
  elsewhere: 'held by another node of its host group',
};

export const MARK_WORDS: Record<NodeMark, string> = {
  '': '', cordoned: 'cordoned: takes no new pods', closed: 'its pool is closed: takes no new pods', gone: 'the node is gone; only its pods are known',
  elsewhere: 'another system assigns its GPUs', unmeasured: 'only the number of its GPUs is known',
  changing: 'its MIG layout is being changed', unfit: 'the hand-off does not work with these GPUs',
};

export function pod_name(namespace: string, pod: string): string {
  return `${namespace}/${pod}`;
}

export function segment_words(s: Segment): string {
  if (s.state === 'instance') return `${s.profile} free`;
  const what = [s.milli > 0 ? `${gpus(s.milli)} GPU` : '', s.memMib > 0 ? memory(s.memMib) : ''].filter((x) => x !== '').join(', ');
  const state = s.state === 'bound' ? '' : `, ${STATE_WORDS[s.state]}`;
  return `${pod_name(s.namespace, s.pod)}${s.profile === '' ? '' : ` on ${s.profile}`} ${what}${state}`;
}

const CRUMB_MIB = 16; /* what rounding leaves over */

export function cell_title(c: Cell): string {
  return c.counted ? `device plugin, ${c.model}` : `GPU ${c.label}`;
}

export function free_words(c: Cell): string {
  if (c.mig) return `${c.segments.filter((s) => s.state === 'instance').length} of ${plural(c.segments.length, 'instance')} free`;
  const milli = Math.max(0, c.milli - c.usedMilli), mib = Math.max(0, c.memMib - c.usedMemMib);
  if (c.usedMilli === 0 && c.usedMemMib === 0) return c.memMib > 0 ? `empty · ${memory(mib)}` : 'empty';
  if (milli === 0 && mib < CRUMB_MIB) return 'full';
  return c.memMib > 0 ? `${gpus(milli)} free · ${memory(mib)}` : `${gpus(milli)} free`;
}

export function cell_words(c: Cell): string {
  const parts = [cell_title(c), short_model(c.model)];
  if (c.trouble !== '') parts.push(TROUBLE_WORDS[c.trouble]);
  parts.push(`compute ${percent(c.usedMilli, c.milli)} used`);
  if (c.memMib > 0) parts.push(`memory ${percent(c.usedMemMib, c.memMib)} used`);
  const held = c.segments.filter((s) => s.state !== 'instance');
  parts.push(held.length === 0 ? 'no pods' : held.slice(0, 6).map(segment_words).join('; ') + (held.length > 6 ? `; and ${held.length - 6} more` : ''));
  return parts.join(', ');
}

export function node_words(n: Node): string {
  const cells = cells_of(n);
  const mark = node_mark(n);
  const milli = cells.reduce((s, c) => s + c.milli, 0), used = cells.reduce((s, c) => s + c.usedMilli, 0);
  const parts = [n.name, plural(cells.length, 'GPU'), `compute ${percent(used, milli)} used`];
  if (mark !== '') parts.push(MARK_WORDS[mark]);
  const ill = cells.filter((c) => c.trouble !== '').length;
  if (ill > 0) parts.push(`${plural(ill, 'GPU')} with trouble`);
  return parts.join(', ');
}

export function request_words(r: PodRequest | undefined): string {
  const parts: string[] = [];
  for (const g of r?.gpuRequests ?? []) {
    const of = g.mig !== undefined ? g.mig
      : g.kind === 'whole' ? 'whole GPU'
      : [g.milli ? `${gpus(g.milli)} GPU` : '', g.memMib ? memory(g.memMib) : ''].filter((x) => x !== '').join(' + ');
    parts.push(g.count > 1 ? `${g.count} × ${of}` : of);
  }
  if (r?.wholeGpus) parts.push(`${r.wholeGpus} of a device plugin`);
  return parts.join(', ');
}
