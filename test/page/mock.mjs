/* The ops listener as far as the page sees it, in the hands of a test: what /state is, which events a stream brings, when it ends. */
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

export const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };

export async function start_mock(dist, state) {
  const files = new Map(readdirSync(dist).map((f) => [f, readFileSync(join(dist, f))]));
  const streams = new Set();
  let hear;
  const mock = {
    listened: new Promise((done) => { hear = done; }), /* the first stream is open */
    state, streams, refuse: false, requests: [], explain: () => ({ outcome: 'unknown', text: 'no such pod', pod: { namespace: '', pod: '', uid: '', state: '', node: '' } }),
    whatif: () => ({ generation: 1, asked: 1, fitting: 0, text: 'none fits', nodeCount: 0 }), history: { intervalSeconds: 10, samples: [] },
    send(event, data) {
      for (const s of streams) s.write(`id: ${data.generation ?? ''}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    drop() {
      for (const s of streams) s.destroy();
    },
    /* The cluster event that says what the state says. */
    cluster(change = {}) {
      const s = mock.state;
      mock.send('cluster', { generation: s.metadata.generation, asOf: s.metadata.asOf, metadata: s.metadata, summary: s.summary, pending: s.pending,
        pendingCount: s.pending.length, incidents: s.incidents, conflicts: s.conflicts, ...change });
    },
  };
  const cached = { of: state, bytes: Buffer.from(JSON.stringify(state)) }; /* a large one takes longer to write than the page takes to read */
  const json = (res, body) => {
    const bytes = gzipSync(JSON.stringify(body), { level: 1 });
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip', 'Content-Length': bytes.length });
    res.end(bytes);
  };
  const server = createServer((req, res) => {
    const url = new URL(req.url, 'http://mock');
    mock.requests.push(`${req.method} ${url.pathname}`);
    res.setHeader('Content-Security-Policy', CSP);
    if (mock.refuse) return void res.writeHead(503, { 'Retry-After': '1' }).end('not now');
    const file = url.pathname === '/' ? 'index.html' : url.pathname.replace(/^\/ui\//, '');
    if (files.has(file)) return void res.writeHead(200, { 'Content-Type': TYPES[file.split('.').pop()] }).end(files.get(file));
    if (url.pathname === '/state') {
      if (cached.of !== mock.state) return json(res, mock.state);
      return void res.writeHead(200, { 'Content-Type': 'application/json' }).end(cached.bytes);
    }
    if (url.pathname === '/v1/history') return json(res, mock.history);
    if (url.pathname === '/v1/explain') return json(res, mock.explain(url.searchParams.get('pod')));
    if (url.pathname === '/v1/whatif') {
      let body = '';
      req.on('data', (d) => { body += d; });
      req.on('end', () => json(res, mock.whatif(JSON.parse(body))));
      return;
    }
    if (url.pathname !== '/v1/stream') return void res.writeHead(404).end('no such path');
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    const { generation, startedAt, version } = mock.state.metadata;
    res.write(`event: hello\ndata: ${JSON.stringify({ apiVersion: 'stream.fgpu.io/v1alpha1', generation, startedAt, version })}\n\n`);
    streams.add(res);
    hear();
    res.on('close', () => streams.delete(res));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  mock.url = `http://127.0.0.1:${server.address().port}/`;
  mock.close = () => new Promise((done) => {
    mock.drop();
    server.closeAllConnections();
    server.close(done);
  });
  return mock;
}
