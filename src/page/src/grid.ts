/* The grid: a canvas that shows the visible part of a list, in a box that scrolls; pointer and keyboard; and for screen readers a real
 * grid of the rows around the one that is read, which aria-activedescendant points into. */
import { cells_of, spans, type Cell, type Segment } from './cells.ts';
import { draw, type Mark } from './draw.ts';
import { GridRows } from './grid_rows.ts';
import { Layout, type Hit, type Zoom } from './layout.ts';
import type { Model } from './model.ts';
import { read_paint, type Paint } from './paint.ts';
import type { NamespaceColours } from './palette.ts';
import type { Node } from './types.ts';

export interface GridHooks {
  open_pod(namespace: string, pod: string): void;
  open_gpu(node: string, cell: number): void;
  open_node(node: string): void;
  zoom(step: number): void;
  hover(what: { node: Node; cell: Cell | null; segment: Segment | null; x: number; y: number } | null): void;
}

export class Grid {
  readonly #model: Model;
  readonly #hooks: GridHooks;
  readonly #colours: NamespaceColours;
  readonly #box: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #spacer: HTMLElement;
  readonly #rows: GridRows;
  #layout = new Layout({ zoom: 'nodes', width: 800, height: 600, counts: [], maxCells: 1 });
  #shown: readonly Node[] = [];
  #paint: Paint | null = null;
  #zoom: Zoom = 'nodes';
  #only = ''; /* the node of zoom "node" */
  #mark: Mark | null = null;
  #hover: { namespace: string; pod: string } | null = null;
  #focusNode = '';
  #focusCell = 0;
  #width = 0;
  #height = 0;
  #key = '';
  #frame = 0;

  constructor(box: HTMLElement, model: Model, colours: NamespaceColours, hooks: GridHooks) {
    this.#model = model;
    this.#hooks = hooks;
    this.#colours = colours;
    this.#box = box;
    this.#canvas = document.createElement('canvas');
    this.#canvas.setAttribute('aria-hidden', 'true');
    this.#spacer = document.createElement('div');
    this.#spacer.className = 'spacer';
    const rows = document.createElement('div');
    rows.className = 'unseen';
    rows.setAttribute('role', 'rowgroup');
    box.append(this.#canvas, this.#spacer, rows);
    this.#rows = new GridRows(box, rows);
    this.#context = this.#canvas.getContext('2d')!;
    new ResizeObserver(() => this.#resize()).observe(box);
    box.addEventListener('scroll', () => this.dirty(), { passive: true });
    box.addEventListener('pointermove', (e) => this.#point(e));
    box.addEventListener('pointerleave', () => this.#leave());
    box.addEventListener('click', (e) => this.#click(e));
    box.addEventListener('keydown', (e) => this.#keydown(e));
    box.addEventListener('focus', () => this.dirty());
    box.addEventListener('blur', () => this.dirty());
  }

  /* The model has changed. */
  dirty(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  theme_changed(): void {
    this.#paint = null;
    this.dirty();
  }

  show(zoom: Zoom, only: string, mark: Mark | null): void {
    if (zoom !== this.#zoom || only !== this.#only) {
      this.#zoom = zoom;
      this.#only = only;
      this.#key = '';
      this.#box.scrollTop = 0;
      if (only !== '') this.#focusNode = only;
      this.#focusCell = 0;
      this.#ensure();
      this.#reveal();
    }
    this.#mark = mark;
    this.dirty();
  }

  /* Scrolls to it and puts the focus of the grid there. */
  go(node: string, cell: number): void {
    this.#ensure();
    this.#focusNode = node;
    this.#focusCell = cell;
    this.#reveal();
    this.dirty();
  }

  focus(): void {
    this.#box.focus({ preventScroll: true });
  }

  get focus_node(): string {
    return this.#focusNode;
  }

  #resize(): void {
    this.#width = this.#box.clientWidth;
    this.#height = this.#box.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    this.#canvas.width = Math.round(this.#width * ratio);
    this.#canvas.height = Math.round(this.#height * ratio);
    this.#canvas.style.width = `${this.#width}px`;
    this.#canvas.style.height = `${this.#height}px`;
    this.#canvas.style.marginBottom = `-${this.#height}px`;
    this.#draw();
  }

  /* The layout fits what there is now. */
  #ensure(): void {
    const key = `${this.#zoom}|${this.#only}|${this.#width}|${this.#height}|${this.#model.shape}`;
    const one = this.#zoom === 'node' ? this.#model.node_index(this.#only) : -1;
    this.#shown = this.#zoom !== 'node' ? this.#model.nodes : one < 0 ? [] : [this.#model.nodes[one]!];
    if (key === this.#key) return;
    this.#key = key;
    const counts = this.#zoom !== 'node' ? this.#model.counts.slice() : one < 0 ? [] : [this.#model.counts[one]!];
    let maxCells = 1;
    for (const n of counts) maxCells = Math.max(maxCells, n);
    this.#layout = new Layout({ zoom: this.#zoom, width: this.#width, height: this.#height, counts, maxCells });
    this.#spacer.style.height = `${this.#layout.total}px`;
  }

  #focus_index(): number {
    if (this.#shown.length === 0) return -1;
    const at = this.#zoom === 'node' ? 0 : this.#model.node_index(this.#focusNode);
    return at < 0 ? 0 : at;
  }

  #draw(): void {
    if (this.#frame !== 0) cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (this.#width === 0) return;
    this.#ensure();
    this.#paint ??= read_paint(document.documentElement, this.#context);
    const at = this.#focus_index();
    const focus = at < 0 ? null : { node: at, cell: Math.min(this.#focusCell, this.#layout.zoom === 'cluster' ? -1 : this.#model.counts[at] ?? 0) };
    const ratio = window.devicePixelRatio || 1;
    this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const top = this.#box.scrollTop;
    draw(this.#context, {
      nodes: this.#shown, layout: this.#layout, width: this.#width, paint: this.#paint, colours: this.#colours, focus,
      mark: this.#mark, hover: this.#hover,
    }, top, this.#height, document.activeElement === this.#box);
    this.#rows.show(this.#shown, this.#layout, this.#layout.visible(top, this.#height), at, this.#zoom === 'cluster' ? -1 : this.#focusCell);
  }

  #hit(e: MouseEvent): { hit: Hit; node: Node; cell: Cell | null; segment: Segment | null } | null {
    const r = this.#canvas.getBoundingClientRect();
    const hit = this.#layout.hit(e.clientX - r.left, e.clientY - r.top + this.#box.scrollTop, this.#width);
    const node = hit === null ? undefined : this.#shown[hit.node];
    if (hit === null || node === undefined) return null;
    const cell = cells_of(node)[hit.cell] ?? null;
    let segment: Segment | null = null;
    if (cell !== null && hit.bar !== '') {
      const at = spans(cell, hit.bar).findIndex((s) => hit.at >= s.begin && hit.at < s.end);
      segment = cell.segments[at] ?? null;
    }
    return { hit, node, cell, segment };
  }

  #point(e: PointerEvent): void {
    if (e.pointerType === 'touch') return;
    const found = this.#hit(e);
    const pod = found?.segment?.pod ? { namespace: found.segment.namespace, pod: found.segment.pod } : null;
    if (pod?.pod !== this.#hover?.pod || pod?.namespace !== this.#hover?.namespace) {
      this.#hover = pod;
      this.dirty();
    }
    this.#box.classList.toggle('pointing', found !== null);
    this.#hooks.hover(found === null ? null : { node: found.node, cell: found.cell, segment: found.segment, x: e.clientX, y: e.clientY });
  }

  #leave(): void {
    this.#hover = null;
    this.#hooks.hover(null);
    this.dirty();
  }

  #click(e: MouseEvent): void {
    const found = this.#hit(e);
    if (found === null) return;
    this.#focusNode = found.node.name;
    this.#focusCell = found.hit.cell;
    this.dirty();
    if (found.segment !== null && found.segment.pod !== '') this.#hooks.open_pod(found.segment.namespace, found.segment.pod);
    else this.#open(found.node.name, this.#zoom === 'cluster' ? -1 : found.hit.cell);
  }

  #open(node: string, cell: number): void {
    if (cell < 0) this.#hooks.open_node(node);
    else this.#hooks.open_gpu(node, cell);
  }

  #reveal(): void {
    const at = this.#focus_index();
    if (at < 0) return;
    const r = this.#focusCell >= 0 && this.#zoom !== 'cluster' ? this.#layout.cell(at, this.#focusCell) : this.#layout.node(at, this.#width);
    const top = this.#box.scrollTop;
    if (r.y < top + 12) this.#box.scrollTop = r.y - 12;
    else if (r.y + r.h > top + this.#height - 12) this.#box.scrollTop = r.y + r.h - this.#height + 12;
  }

  #keydown(e: KeyboardEvent): void {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const at = this.#focus_index();
    if (at < 0) return;
    if (e.key === 'Enter' || e.key === ' ') this.#open(this.#shown[at]!.name, this.#zoom === 'cluster' ? -1 : this.#focusCell);
    else if (e.key === '+' || e.key === '=') this.#hooks.zoom(1);
    else if (e.key === '-') this.#hooks.zoom(-1);
    else if (!this.#move(e.key, at)) return;
    e.preventDefault();
  }

  #move(key: string, at: number): boolean {
    const l = this.#layout, blocks = this.#zoom === 'cluster';
    const cells = this.#model.counts, index = (i: number): number => (this.#zoom === 'node' ? this.#model.node_index(this.#only) : i);
    const page = Math.max(1, Math.floor(this.#height / (blocks ? l.block.h : Math.max(1, l.total / Math.max(1, l.count))))) * (blocks ? l.columns : 1);
    let node = at, cell = this.#focusCell;
    const count = cells[index(at)] ?? 0;
    switch (key) {
      case 'ArrowRight': if (blocks) node++; else if (cell + 1 < count) cell++; else return true; break;
      case 'ArrowLeft': if (blocks) node--; else if (cell >= (this.#zoom === 'node' ? 1 : 0)) cell--; break;
      case 'ArrowDown':
        if (blocks) node += l.columns;
        else if (cell >= 0 && cell + l.columns < count) cell += l.columns;
        else if (node + 1 < l.count) { node++; cell = cell < 0 ? -1 : cell % l.columns; }
        break;
      case 'ArrowUp':
        if (blocks) node -= l.columns;
        else if (cell >= l.columns) cell -= l.columns;
        else if (node > 0) {
          node--;
          const last = (cells[index(node)] ?? 1) - 1;
          cell = cell < 0 ? -1 : Math.min(last, Math.floor(last / l.columns) * l.columns + cell);
        }
        break;
      case 'PageDown': node += page; break;
      case 'PageUp': node -= page; break;
      case 'Home': node = 0; cell = 0; break;
      case 'End': node = l.count - 1; break;
      default: return false;
    }
    node = Math.max(0, Math.min(l.count - 1, node));
    this.#focusNode = this.#shown[node]!.name;
    this.#focusCell = Math.min(cell, (cells[index(node)] ?? 1) - 1);
    this.#reveal();
    this.dirty();
    return true;
  }
}
