/* Where nodes and GPUs lie on the page. Pure: pixels of the document, y from the top of the whole list.
 *
 * Zoom: "cluster" packs nodes as small blocks into rows; "nodes" gives each node a band with its GPUs as cells beside its name; "node" is
 * one node, a GPU a line. Bands may differ in height (nodes with more GPUs take more lines), so their tops are sums over all nodes,
 * computed once for a width; what is visible is found by bisection. */

export type Zoom = 'cluster' | 'nodes' | 'node';
export type Density = 'compact' | 'roomy' | 'large';
export interface Rect { x: number; y: number; w: number; h: number }

export interface Metrics { title: number; bar: number; memBar: number; gap: number; padX: number; padY: number; minCell: number }

export const METRICS: Record<Density, Metrics> = {
  compact: { title: 0, bar: 9, memBar: 6, gap: 1, padX: 7, padY: 5, minCell: 72 },
  roomy: { title: 17, bar: 17, memBar: 14, gap: 2, padX: 14, padY: 9, minCell: 150 },
  large: { title: 24, bar: 30, memBar: 26, gap: 3, padX: 20, padY: 13, minCell: 420 },
};
const NARROW = 640;
const NAME_WIDTH = 148;
const NAME_LINE = 22;
const EDGE = 14;

export interface Shape { zoom: Zoom; width: number; height: number; counts: readonly number[]; maxCells: number }

export interface Hit { node: number; cell: number; bar: 'milli' | 'memMib' | ''; at: number }

export class Layout {
  readonly zoom: Zoom;
  readonly density: Density;
  readonly metrics: Metrics;
  readonly columns: number; /* cells of a line; of "cluster": blocks of a row */
  readonly total: number;
  readonly narrow: boolean;
  readonly block: { w: number; h: number; cellW: number; cellH: number };
  readonly #count: readonly number[];
  readonly #tops: Float64Array;
  readonly #cellW: number;
  readonly #nameW: number;
  readonly #nameH: number;

  constructor(s: Shape) {
    this.zoom = s.zoom;
    this.#count = s.counts;
    this.narrow = s.width < NARROW;
    this.#nameW = this.narrow || s.zoom === 'node' ? 0 : NAME_WIDTH;
    this.#nameH = this.narrow || s.zoom === 'node' ? NAME_LINE : 0;
    if (s.zoom === 'node') this.#nameH = 0;
    this.block = block_of(s);
    this.density = s.zoom === 'node' ? 'large' : 'compact';
    if (s.zoom === 'nodes' && bands_height(s, 'roomy', this.#nameW, this.#nameH) <= Math.max(s.height * 1.6, 700)) this.density = 'roomy';
    this.metrics = METRICS[this.density];
    if (s.zoom === 'cluster') {
      this.columns = Math.max(1, Math.floor((s.width - 2 * EDGE) / this.block.w));
      this.#cellW = this.block.w;
      this.#tops = new Float64Array(0);
      this.total = Math.ceil(s.counts.length / this.columns) * this.block.h + 2 * EDGE;
      return;
    }
    this.columns = columns_of(s, this.metrics, this.#nameW);
    this.#cellW = (s.width - 2 * EDGE - this.#nameW + this.metrics.padX) / this.columns;
    this.#tops = new Float64Array(s.counts.length + 1);
    let y = 4;
    for (let i = 0; i < s.counts.length; i++) {
      this.#tops[i] = y;
      y += this.#nameH + Math.max(1, Math.ceil(s.counts[i]! / this.columns)) * line_height(this.metrics) + 1;
    }
    this.#tops[s.counts.length] = y;
    this.total = y + 8;
  }

  get count(): number {
    return this.#count.length;
  }

  /* The nodes from y to y + h: the first, and the one behind the last. */
  visible(y: number, h: number): [number, number] {
    if (this.count === 0) return [0, 0];
    if (this.zoom === 'cluster') {
      const first = Math.max(0, Math.floor((y - EDGE) / this.block.h)) * this.columns;
      const end = (Math.floor((y + h - EDGE) / this.block.h) + 1) * this.columns;
      return [Math.min(first, this.count), Math.max(0, Math.min(end, this.count))];
    }
    return [this.#band_at(y), Math.min(this.count, this.#band_at(y + h) + 1)];
  }

  #band_at(y: number): number {
    let low = 0, high = this.count - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (this.#tops[mid]! <= y) low = mid;
      else high = mid - 1;
    }
    return low;
  }

  node(i: number, width: number): Rect {
    if (this.zoom === 'cluster') {
      return {
        x: EDGE + (i % this.columns) * this.block.w, y: EDGE + Math.floor(i / this.columns) * this.block.h, w: this.block.w, h: this.block.h,
      };
    }
    return { x: 0, y: this.#tops[i]!, w: width, h: this.#tops[i + 1]! - this.#tops[i]! };
  }

  /* Of its name; with zero width there is none. */
  name(i: number, width: number): Rect {
    const r = this.node(i, width);
    if (this.#nameH > 0) return { x: EDGE, y: r.y, w: width - 2 * EDGE, h: this.#nameH };
    return { x: EDGE, y: r.y, w: this.#nameW === 0 ? 0 : this.#nameW - 12, h: line_height(this.metrics) };
  }

  /* Without its padding: from the title to the lower edge of the memory bar. */
  cell(i: number, c: number): Rect {
    if (this.zoom === 'cluster') {
      const r = this.node(i, 0);
      return { x: r.x + c * (this.block.cellW + 1), y: r.y, w: this.block.cellW, h: this.block.cellH };
    }
    const m = this.metrics, h = line_height(m);
    return {
      x: EDGE + this.#nameW + (c % this.columns) * this.#cellW,
      y: this.#tops[i]! + this.#nameH + Math.floor(c / this.columns) * h + m.padY,
      w: this.#cellW - m.padX, h: h - 2 * m.padY,
    };
  }

  bar(cell: Rect, of: 'milli' | 'memMib'): Rect {
    const m = this.metrics, y = cell.y + m.title;
    return of === 'milli' ? { x: cell.x, y, w: cell.w, h: m.bar } : { x: cell.x, y: y + m.bar + m.gap, w: cell.w, h: m.memBar };
  }

  hit(x: number, y: number, width: number): Hit | null {
    if (this.zoom === 'cluster') {
      const column = Math.floor((x - EDGE) / this.block.w), row = Math.floor((y - EDGE) / this.block.h);
      const node = row * this.columns + column;
      if (column < 0 || row < 0 || column >= this.columns || node >= this.count) return null;
      const cell = Math.floor((x - EDGE - column * this.block.w) / (this.block.cellW + 1));
      return { node, cell: cell < this.#count[node]! ? cell : -1, bar: '', at: 0 };
    }
    const node = this.count === 0 ? -1 : this.#band_at(y);
    if (node < 0 || y >= this.#tops[this.count]!) return null;
    for (let c = 0; c < this.#count[node]!; c++) {
      const r = this.cell(node, c);
      if (x < r.x || x >= r.x + r.w || y < r.y - 3 || y >= r.y + r.h + 3) continue;
      for (const of of ['milli', 'memMib'] as const) {
        const b = this.bar(r, of);
        if (y >= b.y && y < b.y + b.h + this.metrics.gap) return { node, cell: c, bar: of, at: (x - b.x) / b.w };
      }
      return { node, cell: c, bar: '', at: 0 };
    }
    const n = this.name(node, width);
    return y < n.y + n.h && x < n.x + Math.max(n.w, 0) ? { node, cell: -1, bar: '', at: 0 } : null;
  }
}

function line_height(m: Metrics): number {
  return 2 * m.padY + m.title + m.bar + m.gap + m.memBar;
}

function columns_of(s: Shape, m: Metrics, nameW: number): number {
  if (s.zoom === 'node') return 1;
  const room = Math.max(1, Math.floor((s.width - 2 * EDGE - nameW + m.padX) / m.minCell));
  return Math.max(1, Math.min(room, s.maxCells));
}

function bands_height(s: Shape, d: Density, nameW: number, nameH: number): number {
  const m = METRICS[d];
  const columns = columns_of(s, m, nameW);
  if (columns < Math.min(s.maxCells, 4)) return Infinity;
  let sum = 0;
  for (const n of s.counts) sum += nameH + Math.max(1, Math.ceil(n / columns)) * line_height(m) + 1;
  return sum;
}

/* The largest blocks with which the whole cluster fits; else the smallest, and the list scrolls. */
function block_of(s: Shape): Layout['block'] {
  const sizes: [number, number][] = [[26, 34], [18, 24], [13, 18], [10, 14], [8, 11], [6, 9]];
  let block = { w: 0, h: 0, cellW: 0, cellH: 0 };
  for (const [cellW, cellH] of sizes) {
    const gap = cellW >= 10 ? 12 : 6;
    block = { w: s.maxCells * (cellW + 1) + gap, h: cellH + (cellW >= 10 ? 10 : 4), cellW, cellH };
    const columns = Math.max(1, Math.floor((s.width - 2 * EDGE) / block.w));
    if (block.w <= s.width - 2 * EDGE && Math.ceil(s.counts.length / columns) * block.h + 2 * EDGE <= s.height) break;
  }
  return block;
}
