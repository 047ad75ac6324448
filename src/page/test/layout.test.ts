import assert from 'node:assert/strict';
import test from 'node:test';
import { Layout, type Zoom } from '../src/layout.ts';

const make = (zoom: Zoom, counts: number[], width = 1000, height = 700): Layout => new Layout({ zoom, width, height, counts, maxCells: Math.max(1, ...counts) });
const many = (n: number, gpus: number): number[] => Array.from({ length: n }, () => gpus);

for (const zoom of ['cluster', 'nodes'] as const) {
  for (const width of [360, 1000, 2400]) {
    test(`${zoom} at ${width}: bands lie one below the other, cells inside, and a cell is found where it is drawn`, () => {
      const counts = [8, 4, 0, 16, 1, 8, 8];
      const l = make(zoom, counts, width);
      counts.forEach((n, i) => {
        const band = l.node(i, width);
        if (zoom === 'nodes' && i > 0) assert.equal(band.y, l.node(i - 1, width).y + l.node(i - 1, width).h);
        for (let c = 0; c < n; c++) {
          const r = l.cell(i, c);
          assert.ok(r.y >= band.y && r.y + r.h <= band.y + band.h, `cell ${c} of node ${i} is outside`);
          const hit = l.hit(r.x + r.w / 2, r.y + r.h / 2, width);
          assert.deepEqual([hit?.node, hit?.cell], [i, c]);
        }
        assert.ok(band.y + band.h <= l.total);
      });
    });

    test(`${zoom} at ${width}: what is visible is exactly what reaches into the window`, () => {
      const counts = Array.from({ length: 500 }, (_, i) => [8, 4, 16, 2][i % 4]!);
      const l = make(zoom, counts, width);
      for (const y of [0, 1, 333, 2000, l.total - 500]) {
        const [first, end] = l.visible(y, 500);
        for (let i = 0; i < counts.length; i++) {
          const r = l.node(i, width);
          const reaches = r.y + r.h > y && r.y < y + 500;
          assert.ok(!reaches || (i >= first && i < end), `node ${i} is missing at ${y}`);
        }
        assert.ok(end - first <= (zoom === 'nodes' ? 60 : 1200), `${end - first} nodes for one window`);
      }
    });
  }
}

test('a small cluster has room for names in its bars, a large one does not', () => {
  assert.equal(make('nodes', many(8, 4)).density, 'roomy');
  assert.equal(make('nodes', many(5000, 8)).density, 'compact');
});

test('blocks are as large as lets the whole cluster be seen', () => {
  const small = make('cluster', many(40, 8)), large = make('cluster', many(5000, 8));
  assert.ok(small.total <= 700);
  assert.ok(small.block.cellW > large.block.cellW);
});

test('where in a bar the pointer is', () => {
  const l = make('node', [4]);
  const bar = l.bar(l.cell(0, 2), 'memMib');
  const hit = l.hit(bar.x + bar.w / 4, bar.y + 1, 1000);
  assert.deepEqual([hit?.node, hit?.cell, hit?.bar], [0, 2, 'memMib']);
  assert.ok(Math.abs(hit!.at - 0.25) < 0.01);
});

test('no nodes', () => {
  const l = make('nodes', []);
  assert.deepEqual(l.visible(0, 500), [0, 0]);
  assert.equal(l.hit(10, 10, 1000), null);
});
