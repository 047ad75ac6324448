import assert from 'node:assert/strict';
import test from 'node:test';
import { allocation, gpu, node, pending, state } from '../../../test/page/cluster.mjs';
import { DECISIONS_MAX, Model } from '../src/model.ts';
import type { ClusterEvent, Decision, Node, State } from '../src/types.ts';

const of = (name: string, pods: string[]): Node => node(name, [gpu(name, 0, 'A100', 81920, pods.map((p) => allocation('team-a', p, 100, 8192)))]);

function loaded(nodes: Node[]): Model {
  const m = new Model();
  m.load(state(nodes) as State);
  return m;
}

/* What a model that had read this state would know. */
function same(m: Model, nodes: Node[]): void {
  const fresh = loaded(nodes);
  assert.deepEqual(m.nodes, fresh.nodes);
  assert.deepEqual(m.namespaces, fresh.namespaces);
  assert.deepEqual(m.models, fresh.models);
  assert.deepEqual(m.counts, fresh.counts);
  assert.equal(m.troubles, fresh.troubles);
  m.nodes.forEach((n, i) => assert.equal(m.node_index(n.name), i));
}

test('events leave what reading everything again would give', () => {
  const m = loaded([of('a', ['p1']), of('b', []), of('c', ['p2', 'p3'])]);
  const b = of('b', ['p4']), d = of('d', ['p5']), ill = { ...of('a', []), gpus: [{ ...of('a', []).gpus[0]!, healthy: false }] };
  m.apply_nodes({ generation: 101, nodes: [d, b, ill], gone: ['c'] });
  same(m, [ill, b, d]);
  assert.equal(m.troubles, 1);
  m.apply_nodes({ generation: 102, nodes: [of('a', ['p9'])], gone: ['d', 'nobody'] });
  same(m, [of('a', ['p9']), b]);
  assert.equal(m.full_passes, 1, 'no event walks over all nodes');
});

test('a node with another number of GPUs changes the shape, one with other pods does not', () => {
  const m = loaded([of('a', ['p1'])]);
  const before = m.shape;
  m.apply_nodes({ generation: 101, nodes: [of('a', ['p2'])], gone: [] });
  assert.equal(m.shape, before);
  m.apply_nodes({ generation: 102, nodes: [node('a', [...of('a', []).gpus, gpu('a', 1, 'A100', 81920, [])])], gone: [] });
  assert.notEqual(m.shape, before);
  assert.deepEqual(m.counts, [2]);
});

test('an event that is older than what is known changes nothing', () => {
  const m = loaded([of('a', ['p1'])]);
  m.apply_nodes({ generation: 99, nodes: [of('a', [])], gone: [] });
  same(m, [of('a', ['p1'])]);
  m.apply_cluster({ generation: 99, asOf: '', pendingCount: 7 } as ClusterEvent);
  assert.equal(m.pendingCount, 0);
});

test('the cluster event replaces what waits and what is wrong', () => {
  const m = loaded([]);
  const s = state([]) as State;
  m.apply_cluster({ generation: 105, asOf: 'T', metadata: { ...s.metadata, ready: false }, summary: s.summary, pending: [pending('n', 'p')], pendingCount: 1200, incidents: [], conflicts: [{ kind: 'pod', node: 'a', text: 'x' }] });
  assert.deepEqual([m.metadata.ready, m.metadata.generation, m.pendingCount, m.conflicts.length], [false, 105, 1200, 1]);
});

test('decisions: the newest first, none twice, bounded', () => {
  const m = loaded([]);
  const d = (i: number): Decision => ({ decision: String(i), at: '', namespace: 'n', pod: `p${i}`, uid: '', node: 'a', text: 't' });
  m.apply_decisions({ generation: 1, decisions: [d(1), d(2)] });
  m.apply_decisions({ generation: 2, decisions: [d(2), d(3)] });
  assert.deepEqual(m.decisions.map((x) => x.decision), ['3', '2', '1']);
  m.apply_decisions({ generation: 3, decisions: Array.from({ length: 500 }, (_, i) => d(10 + i)) });
  assert.equal(m.decisions.length, DECISIONS_MAX);
  assert.equal(m.decisions[0]!.decision, '509');
});
