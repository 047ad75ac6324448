/* The page in a real Chromium, against a mock of the ops listener (mock.mjs). Times are printed, never asserted. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { axe, open, shown, start_browser } from './browser.mjs';
import { allocation, gpu, large, node, pending, state } from './cluster.mjs';
import { start_mock } from './mock.mjs';

const DIST = process.env.FGPU_PAGE;
const MARKUP = '<img src=x onerror=alert(1)>';
let browser;

before(async () => {
  browser = await start_browser();
});
after(() => browser.close());

function small() {
  const of = (name, model, list) => node(name, list.map((a, i) => gpu(name, i, model, 81920, a)));
  return state([
    of('node-a', 'NVIDIA-A100-SXM4-80GB', [[allocation('team-a', 'train-1', 600, 40960), allocation('team-b', 'infer-1', 300, 20480)], []]),
    of('node-b', 'NVIDIA-L40S', [[allocation('team-b', 'infer-2', 1000, 81920)], [allocation('team-c', 'note-1', 100, 4096, 'terminating')]]),
  ], [pending('team-a', 'waits-1')], {
    decisions: [{ decision: 'd1', at: '2026-01-01T00:00:00.000Z', namespace: 'team-a', pod: 'train-1', uid: 'u', node: 'node-a', text: 'of 2 nodes 2 fit; node-a is fuller' }],
  });
}

const WAITING = {
  outcome: 'waiting', text: 'it needs 2 empty GPUs on one node; node-a comes nearest, which has 1',
  pod: { namespace: 'team-a', pod: 'waits-1', uid: 'u', state: 'pending', node: '', request: { gpuRequests: [{ container: 'main', count: 2, kind: 'whole' }] } },
  nodeCount: 2, reasons: [{ reason: 'not_empty', text: 'too few empty GPUs', nodes: 2 }],
  nearest: [{ node: 'node-a', reason: 'not_empty', reasonText: 'too few empty GPUs', text: '1 GPU is missing', fitsIfEnded: [{ namespace: 'team-a', pod: 'train-1', milli: 600, memMib: 40960 }] }],
  scheduler: { name: 'default-scheduler', message: 'm', ownReasons: ['1 node(s) had an untolerated taint'], asked: 3 },
};

async function with_page(st, f, options = {}) {
  const mock = await start_mock(DIST, st);
  mock.explain = () => WAITING;
  const { page, close } = await open(browser, mock.url, options);
  try {
    await mock.listened; /* what is sent before is heard by nobody */
    await f(page, mock);
  } finally {
    await close();
    await mock.close();
  }
}

test('5,000 nodes with 8 GPUs: one pass over the cluster, frames of what is visible, a bounded document', async (t) => {
  const nodes = large(5000, 8);
  await with_page(state(nodes), async (page, mock) => {
    t.diagnostic(`interactive after ${await page.evaluate(() => Math.round(performance.getEntriesByName('fgpu-loaded')[0].startTime))} ms`);
    await page.evaluate(() => {
      window.longest = 0;
      new PerformanceObserver((l) => l.getEntries().forEach((e) => { window.longest = Math.max(window.longest, e.duration); })).observe({ type: 'longtask' });
    });
    for (const zoom of ['Cluster', 'Nodes']) {
      await page.getByRole('button', { name: zoom, exact: true }).click();
      const before = await page.evaluate(() => ({ ...window.fgpu.stats }));
      await page.getByTestId('grid').hover();
      for (let i = 0; i < 40; i++) await page.mouse.wheel(0, 700);
      await page.waitForFunction((y) => document.querySelector('.grid').scrollTop > y, 2000);
      const end = await page.evaluate(() => ({ ...window.fgpu.stats }));
      const per_frame = (end.nodes - before.nodes) / (end.frames - before.frames);
      assert.ok(per_frame <= (zoom === 'Nodes' ? 40 : 1500), `${per_frame} nodes in a frame`);
      t.diagnostic(`${zoom}: ${end.frames - before.frames} frames of ${Math.round(per_frame)} nodes, longest task ${Math.round(await page.evaluate(() => window.longest))} ms`);
    }
    for (let g = 0; g < 30; g++) {
      mock.send('nodes', { generation: 101 + g, nodes: nodes.slice(g * 100, g * 100 + 100), gone: [] });
    }
    await page.waitForFunction(() => window.fgpu.model.nodesGeneration === 130);
    assert.equal(await page.evaluate(() => window.fgpu.model.full_passes), 1, 'events do not walk over the cluster');
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    assert.ok(elements < 1500, `${elements} elements`);
    await page.keyboard.press('/');
    await page.keyboard.type('node-4321');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'node-4321' }).waitFor();
    assert.equal(await page.locator('.grid').evaluate((g) => document.getElementById(g.getAttribute('aria-activedescendant')).textContent.split(',')[0]), 'node-4321');
  });
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1440, 400]) {
    test(`no serious finding of axe, ${colorScheme}, ${width} pixels`, async () => {
      const st = small();
      st.conflicts = [{ kind: 'pod', namespace: 'team-c', pod: 'note-1', uid: 'u', node: 'node-b', text: 'its record names a GPU that is not there' }];
      st.incidents = [{ kind: 'double_booking', since: '2026-01-01T00:00:00.000Z', node: 'node-b', uuid: 'GPU-b', index: 0, pods: [], text: 'GPU 0 is given out twice', remedy: 'Delete one of the pods.' }];
      st.summary.tenants = [{ name: 'research', pods: 2, milli: { charged: 900, limit: 800 }, memMib: { charged: 1000 }, overLimit: true }];
      await with_page(st, async (page, mock) => {
        mock.history = { intervalSeconds: 60, samples: [1, 2, 3].map((i) => ({ time: new Date(i * 60000).toISOString(), computePermille: 100 * i, memoryPermille: 200 * i, fragmentationPermille: 10, pending: i, bound: 7 })) };
        const look = async (what) => assert.deepEqual(await axe(page), [], what);
        await page.getByTestId('grid').focus();
        await look('the list of waiting pods');
        for (const tab of ['Decisions', 'Tenants', 'What if', 'Over time']) {
          await page.getByRole('tab', { name: tab }).click();
          if (tab === 'Over time') await page.locator('svg path').first().waitFor();
          await look(tab);
        }
        await page.getByRole('tab', { name: /Waiting/ }).click();
        await page.locator('.list .pod').first().click();
        await shown(page, WAITING.text);
        await look('a pod');
        await page.keyboard.press('Escape');
        await page.getByTestId('grid').focus();
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'node-a · GPU 0' }).waitFor();
        await look('a GPU');
        await page.keyboard.press('/');
        await page.keyboard.type('node');
        await page.getByRole('option').first().waitFor();
        await look('search');
      }, { colorScheme, viewport: { width, height: 860 } });
    });
  }
}

test('names with markup stay text', async () => {
  const st = state(
    [node(MARKUP, [gpu(MARKUP, 0, MARKUP, 81920, [allocation(MARKUP, MARKUP, 500, 40960)])], { note: MARKUP })], [pending(MARKUP, MARKUP, { defect: MARKUP })],
    { conflicts: [{ kind: 'pod', node: MARKUP, text: MARKUP }], decisions: [{ decision: 'd', at: '', namespace: MARKUP, pod: MARKUP, uid: '', node: MARKUP, text: MARKUP }] },
  );
  await with_page(st, async (page, mock) => {
    mock.explain = () => ({ ...WAITING, text: MARKUP, pod: { ...WAITING.pod, namespace: MARKUP, pod: MARKUP } });
    for (const tab of ['Decisions', 'Tenants', 'Waiting']) {
      await page.getByRole('tab', { name: tab }).click();
      assert.match(await page.getByRole('tabpanel').textContent(), /<img src=x/);
    }
    await page.locator('.list .pod').first().click();
    await page.getByTestId('explain').getByText(MARKUP).first().waitFor();
    await page.getByTestId('grid').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: MARKUP }).waitFor();
    await page.getByTestId('grid').hover({ position: { x: 300, y: 30 } });
    await page.locator('.tooltip', { hasText: MARKUP }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('<img');
    await page.getByRole('option').first().waitFor();
    assert.equal(await page.locator('img').count(), 0);
  });
});

test('by keyboard alone: grid, GPU, pod, back; search; zoom; tabs; theme', async () => {
  await with_page(small(), async (page) => {
    const active = () => page.locator('.grid').evaluate((g) => document.getElementById(g.getAttribute('aria-activedescendant'))?.textContent ?? '');
    const focus_is = (selector) => page.waitForFunction((s) => document.activeElement?.matches(s), selector);
    for (let i = 0; i < 40 && !(await page.evaluate(() => document.activeElement?.classList.contains('grid'))); i++) await page.keyboard.press('Tab');
    await focus_is('.grid');
    assert.match(await active(), /^GPU 0, A100/);
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => document.querySelector('.grid').getAttribute('aria-activedescendant') === 'cell-0-1');
    assert.match(await active(), /^GPU 1, .*no pods$/);
    await page.keyboard.press('ArrowDown');
    await page.waitForFunction(() => document.querySelector('.grid').getAttribute('aria-activedescendant') === 'cell-1-1');
    assert.match(await active(), /note-1 .*ending/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'node-b · GPU 1' }).waitFor();
    await focus_is('.back button');
    await page.keyboard.press('Tab');
    await focus_is('.pod');
    await page.keyboard.press('Enter');
    await shown(page, WAITING.text);
    await page.keyboard.press('Escape');
    await focus_is('.grid');
    await page.keyboard.press('-');
    await page.locator('.zooms button[aria-pressed=true]', { hasText: 'Cluster' }).waitFor();
    await page.keyboard.press('+');
    await page.keyboard.press('/');
    await page.keyboard.type('infer-2');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'infer-2' }).waitFor();
    await page.locator('.chip', { hasText: 'team-b/infer-2' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.locator('.chip').waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: /Waiting/ }).focus();
    await page.keyboard.press('ArrowRight');
    await shown(page, 'of 2 nodes 2 fit; node-a is fuller');
    await page.locator('button.theme').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  });
});

test('a pod that waits says why, and whose end would help', async () => {
  await with_page(small(), async (page) => {
    await page.locator('.list .pod', { hasText: 'team-a/waits-1' }).click();
    const panel = page.getByTestId('explain');
    await panel.getByText(WAITING.text).waitFor();
    for (const text of ['2 × whole GPU', '1 GPU is missing', 'team-a/train-1', 'too few empty GPUs', '1 node(s) had an untolerated taint']) {
      await panel.getByText(text).first().waitFor();
    }
  });
});

test('a click on a bar opens the pod whose bar it is', async () => {
  await with_page(small(), async (page, mock) => {
    const asked = [];
    mock.explain = (pod) => {
      asked.push(pod);
      return { ...WAITING, outcome: 'placed', text: 'bound to node-a' };
    };
    const box = await page.getByTestId('grid').boundingBox();
    await page.mouse.click(box.x + 200, box.y + 45);
    await shown(page, 'bound to node-a');
    assert.deepEqual(asked, ['team-a/train-1']);
  });
});

test('a lost stream says since when, and recovers without reading everything again', async () => {
  await with_page(small(), async (page, mock) => {
    await page.locator('.status.live').waitFor();
    mock.refuse = true;
    mock.drop();
    await page.getByTestId('stale').getByText(/Stale since \d\d:\d\d:\d\d/).waitFor();
    mock.refuse = false;
    await page.getByRole('button', { name: 'Ask now' }).click();
    await page.locator('.status.live').waitFor();
    await page.getByTestId('stale').waitFor({ state: 'detached' });
    assert.equal(mock.requests.filter((r) => r === 'GET /state').length, 1);
    mock.send('nodes', { generation: 200, nodes: [], gone: ['node-b'] });
    await page.waitForFunction(() => window.fgpu.model.nodes.length === 1);
  });
});

test('another process behind the same address, and a reload event: the state is read again', async () => {
  await with_page(small(), async (page, mock) => {
    const reads = () => mock.requests.filter((r) => r === 'GET /state').length;
    mock.state = { ...small(), metadata: { ...small().metadata, startedAt: '2026-02-02T00:00:00.000Z', generation: 5 } };
    mock.state.nodes = mock.state.nodes.slice(0, 1);
    mock.drop();
    await page.waitForFunction(() => window.fgpu.model.nodes.length === 1);
    assert.equal(reads(), 2);
    await page.locator('.status.live').waitFor();
    mock.state = { ...small(), metadata: mock.state.metadata };
    mock.send('reload', {});
    await page.waitForFunction(() => window.fgpu.model.nodes.length === 2);
    await page.locator('.status.live').waitFor();
  });
});

test('not ready: what is shown is called stale', async () => {
  await with_page(small(), async (page, mock) => {
    mock.state.metadata.ready = false;
    mock.cluster();
    await page.getByTestId('stale').getByText('has not read all pods and nodes').waitFor();
    assert.equal(await page.getByTestId('status').innerText(), '○ stale');
    mock.state.metadata.ready = true;
    mock.cluster();
    await page.getByTestId('stale').waitFor({ state: 'detached' });
  });
});

test('what if: the request as it was typed, the answer in words', async () => {
  await with_page(small(), async (page, mock) => {
    let asked;
    mock.whatif = (body) => {
      asked = body;
      return { generation: 1, asked: 5, fitting: 3, text: '3 of 5 fit', first: { node: 'node-a', devices: [{ uuid: 'u', index: 1, model: 'm' }], reason: { text: 'it is fuller' } }, nodeCount: 2, verdicts: [{ reason: 'x', text: 'no room', nodes: 1 }], nearest: [] };
    };
    await page.getByRole('tab', { name: 'What if' }).click();
    await page.getByLabel('share of a GPU').fill('300');
    await page.getByLabel('number of pods').fill('5');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByTestId('whatif').getByText('3 of 5 fit').waitFor();
    assert.deepEqual(asked, { limits: { 'fgpu.io/gpu-milli': '300' }, annotations: {}, namespace: 'default', count: 5 });
    await page.getByTestId('whatif').getByText('no room').waitFor();
  });
});

test('states are told apart without colour', async () => {
  const states = ['bound', 'reserved', 'terminating', 'foreign', 'conflict'];
  const st = state([node('n', [...states.map((s, i) => gpu('n', i, 'm', 1000, [allocation('one', 'pod', 1000, 1000, s)])),
    gpu('n', 5, 'm', 1000, [], { healthy: false }), gpu('n', 6, 'm', 1000, [])])]);
  await with_page(st, async (page) => {
    await page.getByRole('button', { name: 'One node' }).click();
    await page.waitForFunction(() => window.fgpu.stats.lastNodes === 1);
    const greys = await page.evaluate(() => {
      const c = document.querySelector('.grid canvas'), k = c.getContext('2d'), ratio = window.devicePixelRatio;
      const of = [];
      const line = (document.querySelector('.spacer').clientHeight - 13) / 7;
      for (let i = 0; i < 7; i++) {
        const p = k.getImageData(300 * ratio, (4 + i * line + 13 + 24) * ratio, 160 * ratio, 30 * ratio).data, grey = [];
        for (let x = 0; x < p.length; x += 4) grey.push(Math.round((p[x] * 0.3 + p[x + 1] * 0.59 + p[x + 2] * 0.11) / 16));
        of.push(grey);
      }
      return of;
    });
    const names = [...states, 'unhealthy', 'free'];
    greys.forEach((a, i) => greys.forEach((b, k) => {
      const differ = a.filter((v, x) => v !== b[x]).length / a.length;
      assert.ok(k <= i || differ > 0.04, `${names[i]} and ${names[k]} differ in ${(differ * 100).toFixed(1)} % of their pixels in grey`);
    }));
  });
});

test('nothing moves for those who asked for less motion', async () => {
  await with_page(small(), async (page) => {
    assert.equal(await page.locator('.meter-fill').first().evaluate((e) => getComputedStyle(e).transitionDuration), '0s');
  }, { reducedMotion: 'reduce' });
});
