import assert from 'node:assert/strict';
import test from 'node:test';
import { state } from '../../../test/page/cluster.mjs';
import { Live, type Status } from '../src/live.ts';
import { Model } from '../src/model.ts';

const CLUSTER = { generation: 100, asOf: '2026-01-01T00:00:00.000Z', metadata: {}, summary: {}, pending: [], pendingCount: 0, incidents: [], conflicts: [] };
const STARTED = state([]).metadata.startedAt as string;

const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const hello = (startedAt: string): string => event('hello', { apiVersion: 'stream.fgpu.io/v1alpha1', generation: 100, startedAt, version: 'v1' });

/* A reply whose stream says this, and then ends or stays open. */
function stream(text: string, ends: boolean): Response {
  return new Response(new ReadableStream({
    start(c): void {
      c.enqueue(new TextEncoder().encode(text));
      if (ends) c.close();
    },
  }));
}

/* Follows a server that answers like this until it is asked for the `last`th time; what it was asked, and which phases were shown. */
async function follow(answer: (path: string, times: number) => Response | null, last: number): Promise<{ asked: string[]; statuses: Status[]; at: number[] }> {
  const asked: string[] = [], statuses: Status[] = [], at: number[] = [], times = new Map<string, number>();
  const { fetch, setTimeout } = globalThis, timers: NodeJS.Timeout[] = [];
  globalThis.setTimeout = ((f: () => void, ms: number) => timers[timers.push(setTimeout(f, ms)) - 1]) as typeof setTimeout;
  try {
    await new Promise<void>((done) => {
      globalThis.fetch = (async (url: string): Promise<Response> => {
        const path = url.split('?')[0]!;
        times.set(path, (times.get(path) ?? 0) + 1);
        asked.push(path);
        at.push(performance.now());
        const reply = asked.length < last ? answer(path, times.get(path)!) : null;
        if (asked.length === last) done();
        return reply ?? await new Promise<Response>(() => undefined); /* it never answers */
      }) as typeof fetch;
      void new Live(new Model(), { changed: () => undefined, status: (s) => statuses.push({ ...s }) }).run();
    });
  } finally {
    timers.forEach((t) => clearTimeout(t)); /* it follows for ever */
    Object.assign(globalThis, { fetch, setTimeout });
  }
  return { asked, statuses, at };
}

const json = (): Response => new Response(JSON.stringify(state([])));

test('a reload whose state does not come is not shown as live', async () => {
  const { asked, statuses } = await follow((path) => path === '/state' ? json() : stream(hello(STARTED) + event('cluster', CLUSTER) + event('reload', {}), true), 3);
  assert.deepEqual(asked, ['/state', '/v1/stream', '/state']);
  assert.deepEqual(statuses.map((s) => s.phase), ['live', 'connecting']);
});

test('another process at each connection: the state is not read again and again without a pause', async () => {
  const { asked, at, statuses } = await follow((path) => path === '/state' ? json() : stream(hello('2001-01-01T00:00:00.000Z'), true), 6);
  assert.deepEqual(asked, ['/state', '/v1/stream', '/state', '/v1/stream', '/state', '/v1/stream']);
  assert.ok(at[4]! - at[3]! >= 300, 'the second time it waits');
  assert.ok(statuses.some((s) => s.phase === 'lost') && !statuses.some((s) => s.phase === 'live'));
});

test('a stream that ends in order, as each does after minutes, is followed by the next at once', async () => {
  const { asked, statuses } = await follow((path) => path === '/state' ? json() : stream(hello(STARTED) + event('cluster', CLUSTER), true), 3);
  assert.deepEqual(asked, ['/state', '/v1/stream', '/v1/stream']);
  assert.deepEqual(statuses.map((s) => s.phase), ['live', 'connecting']);
});
