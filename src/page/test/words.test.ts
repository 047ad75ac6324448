import assert from 'node:assert/strict';
import test from 'node:test';
import { allocation, gpu, node } from '../../../test/page/cluster.mjs';
import { cell_count, cells_of, node_mark, spans } from '../src/cells.ts';
import { chart, round_up } from '../src/chart.ts';
import { count, gpus, memory, percent, short_model, span } from '../src/format.ts';
import { Model } from '../src/model.ts';
import { search } from '../src/search.ts';
import { EventParser } from '../src/sse.ts';
import type { Node, State } from '../src/types.ts';
import { cell_words, free_words, request_words } from '../src/words.ts';
import { pending, state } from '../../../test/page/cluster.mjs';

test('MIG instances are parts of their GPU, free ones too', () => {
  const amount = (n: number, held: boolean) => ({ capacity: n, charged: held ? n : 0, free: held ? 0 : n });
  const whole = { ...gpu('n', 0, 'A100', 0, []), milli: amount(0, false), baseMemMib: 40960, mig: { family: 'a100', slots: 8 } };
  const instance = (start: number, held: boolean) => ({
    ...gpu('n', 1024 + start, 'A100', 0, held ? [allocation('team', 'pod', 285, 9728)] : []), milli: amount(285, held), memMib: amount(9728, held),
    mig: { profile: '2g.10gb', gpu: 0, start },
  });
  const n: Node = node('n', [whole, gpu('n', 1, 'A100', 40960, []), instance(0, true), instance(2, false)]);
  const cells = cells_of(n);
  assert.equal(cells.length, 2);
  assert.equal(cell_count(n), 2);
  assert.deepEqual(cells[0]!.segments.map((s) => [s.state, s.pod, s.profile]), [['bound', 'pod', '2g.10gb'], ['instance', '', '2g.10gb']]);
  assert.deepEqual([cells[0]!.usedMilli, cells[0]!.memMib], [285, 40960]);
  assert.equal(free_words(cells[0]!), '1 of 2 instances free');
});

test('GPUs that only a device plugin knows are one cell', () => {
  const n: Node = node('n', [], { wholeGpus: { capacity: 20, charged: 5, free: 15, unitsPerGpu: 10, allocations: [{ namespace: 'a', pod: 'p', uid: 'u', count: 5, state: 'bound', since: '' }] } });
  const [cell] = cells_of(n);
  assert.equal(cell_count(n), 1);
  assert.deepEqual([cell!.milli, cell!.usedMilli, cell!.counted], [2000, 500, true]);
});

test('segments never leave the bar, and are to scale with each other', () => {
  const n: Node = node('n', [gpu('n', 0, 'A100', 80000, [allocation('a', 'p', 600, 1), allocation('a', 'q', 600, 1)])]);
  const cell = cells_of(n)[0]!;
  assert.equal(cell.trouble, 'overcommitted');
  assert.deepEqual(spans(cell, 'milli'), [{ begin: 0, end: 0.5 }, { begin: 0.5, end: 1 }]);
});

test('states and troubles are said in words', () => {
  const of = (state: string, more = {}) => cell_words(cells_of(node('n', [gpu('n', 0, 'NVIDIA-A100', 81920, [allocation('a', 'p', 500, 8192, state)], more)]))[0]!);
  assert.match(of('bound'), /^GPU 0, A100, compute 50 % used, memory 10 % used, a\/p 0.5 GPU, 8 GiB$/);
  assert.match(of('terminating'), /ending, and still charged/);
  assert.match(of('confirmed'), /reserved/);
  assert.match(of('foreign'), /bound by somebody else/);
  assert.match(of('bound', { healthy: false }), /unhealthy/);
  assert.equal(node_mark(node('n', [], { schedulable: false })), 'cordoned');
  assert.equal(node_mark(node('n', [], { closed: true })), 'closed');
});

test('amounts', () => {
  assert.deepEqual([gpus(1000), gpus(500), gpus(250), gpus(5)], ['1', '0.5', '0.25', '0.005']);
  assert.deepEqual([memory(512), memory(8192), memory(81559), memory(3 * 1024 * 1024)], ['512 MiB', '8 GiB', '79.6 GiB', '3 TiB']);
  assert.deepEqual([percent(1, 3), percent(1, 0), count(1234567)], ['33 %', '–', '1\u202f234\u202f567']);
  assert.deepEqual([span(59), span(61), span(3700), span(90000)], ['59 s', '1 min', '1 h 1 min', '1 d 1 h']);
  assert.equal(short_model('NVIDIA-A100-SXM4-80GB'), 'A100-SXM4-80GB');
  assert.equal(request_words({ gpuRequests: [{ container: 'c', count: 2, kind: 'milli', milli: 500 }, { container: 'd', count: 1, kind: 'whole' }] }), '2 × 0.5 GPU, whole GPU');
});

test('events come in pieces of any size', () => {
  const text = ': keep-alive\n\nid: 7\nevent: nodes\ndata: {"a":1}\n\nevent: x\r\ndata: one\r\ndata: two\r\n\r\ndata: cut';
  for (const size of [1, 3, 7, 1000]) {
    const p = new EventParser();
    const found = [];
    for (let i = 0; i < text.length; i += size) found.push(...p.feed(text.slice(i, i + size)));
    assert.deepEqual(found, [{ event: 'nodes', data: '{"a":1}', id: '7' }, { event: 'x', data: 'one\ntwo', id: '7' }], `pieces of ${size}`);
  }
});

test('search finds pods that run and wait, namespaces, nodes, models and UUIDs, the best first', () => {
  const m = new Model();
  m.load(state([node('node-1', [gpu('node-1', 0, 'NVIDIA-A100', 1000, [allocation('team-a', 'train-7', 100, 1)])])], [pending('team-a', 'waits-7')]) as State);
  const kinds = (q: string): string[] => search(m, q).map((f) => `${f.kind} ${f.text}`);
  assert.deepEqual(kinds('train'), ['pod team-a/train-7']);
  assert.deepEqual(kinds('7'), ['pod team-a/waits-7', 'pod team-a/train-7']);
  assert.deepEqual(kinds('team-a'), ['namespace team-a']);
  assert.deepEqual(kinds('team-a/w'), ['pod team-a/waits-7']);
  assert.deepEqual(kinds('A100'), ['model NVIDIA-A100']);
  assert.deepEqual(kinds('node-1'), ['node node-1', 'gpu GPU-node-1-0']);
  assert.deepEqual(kinds('  '), []);
});

test('a chart spans its samples in time and its highest value in height', () => {
  assert.deepEqual([0, 1, 3, 10, 42, 99].map(round_up), [1, 1, 5, 10, 50, 100]);
  const at = (s: number, v: number) => ({ time: new Date(s * 1000).toISOString(), computePermille: v, memoryPermille: 0, fragmentationPermille: 0, pending: 0, bound: 0 });
  const c = chart([at(0, 0), at(10, 500), at(100, 1000)], [['c', (s) => s.computePermille]], 200, 112);
  assert.equal(c.lines[0]!.path, 'M0 112L20 62L200 12');
  assert.deepEqual([c.lines[0]!.now, c.lines[0]!.low, c.lines[0]!.high], [1000, 0, 1000]);
});
