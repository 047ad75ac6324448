/* The page of the real programs: what a newcomer sees first, and that all windows onto fgpu show the same. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open, start_browser } from './browser.mjs';
import { end_all, fgpu, start_cluster, start_demo, until } from './fgpu.mjs';

let browser;

before(async () => {
  browser = await start_browser();
});
after(async () => {
  end_all();
  await browser.close();
});

test('fgpu demo: the page fills, and a click on a pod that waits says why', async (t) => {
  const demo = await start_demo();
  const begun = Date.now();
  const { page, close } = await open(browser, demo.url);
  try {
    await page.waitForFunction(() => window.fgpu.model.summary.milli.charged * 2 > window.fgpu.model.summary.milli.capacity);
    t.diagnostic(`half full after ${Date.now() - begun} ms`);
    let said = '';
    await until('a pod that waits is explained', async () => {
      await page.keyboard.press('Escape');
      await page.locator('.list .pod').first().click({ timeout: 60000 });
      said = await page.getByTestId('explain').innerText();
      return /\b0\/\d+ nodes have GPUs for it: \d/.test(said); /* or it has just been placed: the next one */
    });
    t.diagnostic(said.replaceAll('\n', ' ').slice(0, 200));
    if (process.env.FGPU_PICTURE !== undefined) await page.screenshot({ path: process.env.FGPU_PICTURE });
    await page.keyboard.press('Escape');
    await page.getByRole('tab', { name: 'Decisions' }).click();
    await page.getByRole('tabpanel').getByText(/node-\d/).first().waitFor();
    await page.getByRole('tab', { name: 'What if' }).click();
    await page.getByLabel('share of a GPU').fill('10');
    await page.getByLabel('number of pods').fill('2');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByTestId('whatif').getByText(/2/).first().waitFor();
    await page.getByRole('tab', { name: 'Over time' }).click();
    await page.locator('figure.chart svg path').first().waitFor();
  } finally {
    await close();
    await demo.end();
  }
});

/* What all of them say, in one shape: pods with their GPUs' indexes and amounts. */
function held(nodes) {
  return nodes.flatMap((n) => n.gpus.flatMap((g) => g.allocations.map((a) => `${n.name} ${g.index} ${a.namespace}/${a.pod} ${a.milli} ${a.memMib}`))).sort();
}

test('page, command, metrics and /state agree at one generation', async () => {
  const cluster = await start_cluster(3, 2);
  try {
    const bound = [];
    for (const [name, milli] of [['a', 300], ['b', 500], ['c', 1000], ['d', 700]]) {
      bound.push(`team/${name}`);
      assert.notEqual(await cluster.pod('team', name, { 'fgpu.io/gpu-milli': String(milli) }), '');
    }
    assert.equal(await cluster.pod('team', 'waits', { 'fgpu.io/gpu-milli': '1000', 'fgpu.io/gpu-count': '3' }), '');
    const { page, close } = await open(browser, cluster.url);
    let state, model, metrics, table, json;
    await until('all of one generation', async () => {
      const read = async () => await (await fetch(`${cluster.url}/state`)).json();
      const text = async (path) => await (await fetch(cluster.url + path)).text();
      const first = await read();
      [metrics, table, json] = [await text('/metrics'), await fgpu(cluster.url, 'state'), JSON.parse(await fgpu(cluster.url, 'state', '-o', 'json'))];
      model = await page.evaluate(() => {
        const m = window.fgpu.model;
        return { generation: m.metadata.generation, nodesGeneration: m.nodesGeneration, nodes: m.nodes, summary: m.summary, pending: m.pending };
      });
      state = await read();
      return new Set([first, json, model, state].map((x) => x.metadata?.generation ?? x.generation)).size === 1 && state.summary.bindsInFlight === 0 &&
        held(state.nodes).length === bound.length;
    });
    assert.deepEqual(held(model.nodes), held(state.nodes));
    assert.deepEqual(held(json.nodes), held(state.nodes));
    for (const pod of bound) assert.ok(table.includes(pod), `${pod} in\n${table}`);
    for (const n of state.nodes) assert.ok(table.includes(n.name), `${n.name} in\n${table}`);
    const metric = (name) => Number(new RegExp(`^${name.replaceAll(/[{}"]/g, '\\$&')} (\\S+)$`, 'm').exec(metrics)[1]);
    for (const s of [model.summary, json.summary, state.summary]) {
      assert.deepEqual({ ...s.milli }, { capacity: 6000, charged: 2500, free: 3500 });
      assert.equal(metric('fgpu_gpu_milli{kind="charged"}'), s.milli.charged);
      assert.equal(metric('fgpu_gpu_memory_bytes{kind="charged"}'), s.memMib.charged * 1024 * 1024);
      assert.equal(metric('fgpu_ledger_devices'), s.gpus);
    }
    assert.equal(metric('fgpu_ledger_generation'), state.metadata.generation);
    assert.deepEqual(model.pending.map((p) => p.pod), ['waits']);
    assert.deepEqual(state.pending.map((p) => p.pod), ['waits']);
    assert.ok(table.includes('team/waits'));
    const figures = (await page.locator('.figures').innerText()).replaceAll(/\s+/g, ' ');
    assert.match(figures, /Compute 42 ?%/i);
    assert.match(figures, /Waiting 1 /i);
    const explained = JSON.parse(await fgpu(cluster.url, 'explain', 'pod/team/waits', '-o', 'json'));
    await page.locator('.list .pod', { hasText: 'team/waits' }).click();
    await page.getByTestId('explain').getByText(explained.text).first().waitFor();
    await close();
  } finally {
    await cluster.end();
  }
});
