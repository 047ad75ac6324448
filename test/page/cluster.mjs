/* Makes a /state of any size, the same for the same arguments. */

function random(seed) { /* mulberry32 */
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const MODELS = [['NVIDIA-A100-SXM4-80GB', 81920], ['NVIDIA-L40S', 46068], ['NVIDIA-H100-80GB-HBM3', 81559], ['Tesla-T4', 15360]];
const SINCE = '2026-01-01T00:00:00.000Z';
const amount = (capacity, charged) => ({ capacity, charged, free: capacity - charged });

export function allocation(namespace, pod, milli, memMib, state = 'bound') {
  return {
    namespace, pod, uid: `uid-${namespace}-${pod}`, container: 'main', init: false, milli, memMib, kind: 'milli', record: 'verified', state, since: SINCE,
    decision: 'd', dialect: 'native',
  };
}

export function gpu(node, index, model, memMib, allocations, more = {}) {
  const sum = (key) => allocations.reduce((s, a) => s + a[key], 0);
  return {
    uuid: `GPU-${node}-${index}`, index, model, healthy: true, lost: false, exclusive: false, overCommitted: false, milli: amount(1000, sum('milli')),
    memMib: amount(memMib, sum('memMib')), slots: amount(16, allocations.length), baseMemMib: memMib, allocations, ...more,
  };
}

export function node(name, gpus, more = {}) {
  return {
    name, uid: `uid-${name}`, described: true, schedulable: true, closed: false, dialects: ['native'], source: 'annotation', note: '',
    overCommitMilli: { compute: 1000, memory: 1000 }, gpus, ...more,
  };
}

export function pending(namespace, pod, more = {}) {
  return {
    namespace, pod, uid: `uid-${namespace}-${pod}`, since: SINCE, dialect: 'native', defect: '', priority: 0,
    refused: { since: SINCE, last: SINCE, generation: 1, nodes: 3, reasons: [{ reason: 'not_empty', text: 'too few empty GPUs', nodes: 3 }] },
    request: { editable: false, gpuRequests: [{ container: 'main', init: false, count: 2, kind: 'whole' }] }, ...more,
  };
}

export function state(nodes, waiting = [], more = {}) {
  let gpus = 0, bound = 0;
  const milli = amount(0, 0), mem = amount(0, 0);
  for (const n of nodes) {
    gpus += n.gpus.length;
    for (const g of n.gpus) {
      for (const [to, from] of [[milli, g.milli], [mem, g.memMib]]) for (const key of ['capacity', 'charged', 'free']) to[key] += from[key];
      bound += g.allocations.length;
    }
  }
  return {
    apiVersion: 'state.fgpu.io/v1alpha1', kind: 'State',
    metadata: {
      generation: 100, asOf: new Date().toISOString(), startedAt: SINCE, podsResourceVersion: '1', nodesResourceVersion: '1', ready: true, leader: true,
      config: { hash: 'built-in', generation: 1 }, version: 'v0.1.0', signing: { mode: 'off', signsWith: '', publicKeys: [], unverified: 0, refuted: 0, ignored: 0 },
    },
    summary: {
      nodes: nodes.length, gpus, overCommittedGpus: 0, closedNodes: 0, podsOnClosedNodes: 0, unmeasuredNodes: 0, elsewhereNodes: 0, milli, memMib: mem,
      pods: { pending: waiting.length, reserved: 0, confirmed: 0, bound, foreign: 0 }, tenants: [], bindsInFlight: 0,
      timeWindows: { active: [], next: [], at: '' }, poolCommands: [],
      fragmentation: { generation: 100, asOf: SINCE, nodes: nodes.length, idleMilli: milli.free, fragmentedMilli: milli.free / 4, permille: 250, typicalPods: 3,
        largestHole: { milli: 1000, memMib: 81920 }, mostEmpty: { node: '', gpus: 0 }, moreFit: [{ size: '1 GPU', wholeGpus: 1, more: 4 }] },
    },
    nodes, conflicts: [], incidents: [], pending: waiting, decisions: [], ...more,
  };
}

/* NODES nodes with GPUS GPUs each, filled as clusters are: some empty, some whole, most shared by one to four pods. */
export function large(nodes, gpus, seed = 1) {
  const r = random(seed);
  let pods = 0;
  return Array.from({ length: nodes }, (_, i) => {
    const [model, mem] = MODELS[Math.floor((i * MODELS.length) / nodes)];
    const name = `node-${String(i).padStart(4, '0')}`;
    const list = Array.from({ length: gpus }, (_, k) => {
      const of = [];
      const want = r();
      let left = want < 0.12 ? 0 : 1000, free = mem;
      if (want > 0.75) of.push(allocation(`team-${Math.floor(r() * 12)}`, `train-${pods++}`, 1000, mem));
      else while (left >= 100 && of.length < 4 && r() < 0.85) {
        const milli = Math.min(left, 100 * (1 + Math.floor(r() * 5)));
        const state = r() < 0.01 ? 'terminating' : r() < 0.005 ? 'reserved' : 'bound';
        const part = Math.min(free, Math.floor((mem * milli * (0.4 + 0.8 * r())) / 1000));
        free -= part;
        of.push(allocation(`team-${Math.floor(r() * 12)}`, `infer-${pods++}`, milli, part, state));
        left -= milli;
      }
      return gpu(name, k, model, mem, of, r() < 0.002 ? { healthy: false } : {});
    });
    return node(name, list, r() < 0.01 ? { schedulable: false } : {});
  });
}
