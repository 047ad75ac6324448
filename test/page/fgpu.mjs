/* The real programs: fgpu demo, and fgpu serve in front of the simulated API server. What is started here ends with the test. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const FGPU = process.env.FGPU_BIN;
const running = new Set();

/* A program whose output says, at some time, what `pattern` finds. */
async function start(args, stream, pattern) {
  const child = spawn(FGPU, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let text = '';
  running.add(child);
  const ended = new Promise((done) => child.on('close', (code, signal) => {
    running.delete(child);
    done({ code, signal });
  }));
  const found = await new Promise((done, failed) => {
    child.stdout.on('data', (d) => stream === 'stdout' && look(d));
    child.stderr.on('data', (d) => stream === 'stderr' && look(d));
    function look(d) {
      text = (text + d).slice(-100000);
      const m = pattern.exec(text);
      if (m !== null) done(m);
    }
    void ended.then((e) => failed(new Error(`fgpu ${args[0]} ended with ${e.code ?? e.signal}: ${text}`)));
  });
  const end = async () => {
    child.kill('SIGTERM');
    const { code } = await ended;
    assert.equal(code, 0, `fgpu ${args[0]}: ${text.slice(-3000)}`);
  };
  return { found, end };
}

/* What a test that failed has left. */
export function end_all() {
  for (const child of running) child.kill('SIGKILL');
}

export async function start_demo(...more) {
  const p = await start(['demo', '--no-browser', '--for', '3600', ...more], 'stdout', /web page of this demonstration: (http:\S+)\//);
  return { url: p.found[1], end: p.end };
}

/* The command line of fgpu, against an ops listener; its standard output. */
export async function fgpu(url, ...args) {
  return (await promisify(execFile)(FGPU, [...args, '--server', url], { maxBuffer: 1 << 28 })).stdout;
}

async function call(method, url, body) {
  const reply = await fetch(url, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  assert.ok(reply.ok, `${method} ${url}: ${reply.status}`);
  return await reply.json();
}

export async function until(what, condition) {
  const end = Date.now() + 60000;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `after a minute not yet: ${what}`);
    await new Promise((r) => setTimeout(r, 50));
  }
}

/* fgpu serve and a cluster of `nodes` nodes with `gpus` GPUs; nothing happens there unless the test does it. */
export async function start_cluster(nodes, gpus) {
  const folder = mkdtempSync(join(tmpdir(), 'fgpu-page-'));
  const config = join(folder, 'config.yaml');
  writeFileSync(config, 'apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\nsigning: off\n');
  const api = await start(['apiserver', '--nodes', String(nodes), '--gpus', String(gpus)], 'stdout', /(http:\S+)/);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': 'c', clusters: [{ name: 'c', cluster: { server: api.found[1] } }], users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  }));
  const serve = await start(['serve', '--config', config, '--kubeconfig', kubeconfig, '--verbs-address', '127.0.0.1:0', '--ops-address', '127.0.0.1:0',
    '--health-address', '127.0.0.1:0'], 'stderr', /"Listening" listener="verbs" port=(\d+)[^]*"Listening" listener="ops" port=(\d+)/);
  const verbs = `http://127.0.0.1:${serve.found[1]}/v1`, url = `http://127.0.0.1:${serve.found[2]}`;
  await until('fgpu is ready', async () => (await fetch(`${url}/readyz`)).ok);
  const names = (await call('GET', `${api.found[1]}/api/v1/nodes`)).items.map((n) => n.metadata.name);
  return {
    url,
    /* A pod, which the verbs place as kube-scheduler would; the node, or '' where there is no room. */
    async pod(namespace, name, limits) {
      const pod = await call('POST', `${api.found[1]}/api/v1/namespaces/${namespace}/pods`, {
        apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec: { containers: [{ name: 'main', image: 'i', resources: { limits } }] },
      });
      const fit = await call('POST', `${verbs}/filter`, { Pod: pod, NodeNames: names });
      assert.equal(fit.Error ?? '', '');
      const [node] = fit.NodeNames ?? [];
      if (node === undefined) return '';
      const bound = await call('POST', `${verbs}/bind`, { PodName: name, PodNamespace: namespace, PodUID: pod.metadata.uid, Node: node });
      assert.equal(bound.Error ?? '', '');
      return node;
    },
    async end() {
      await serve.end();
      await api.end();
      rmSync(folder, { recursive: true });
    },
  };
}
