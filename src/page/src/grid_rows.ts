/* What the canvas shows, for screen readers: rows and cells of the ARIA grid, around the one that has the focus. Their number is bounded
 * whatever the size of the cluster, and they are written when the focus moves, else twice a second at most. */
import { cells_of } from './cells.ts';
import type { Layout } from './layout.ts';
import type { Node } from './types.ts';
import { cell_words, node_words } from './words.ts';

const ROWS_AROUND = 8;
const PAUSE_MS = 500;

export class GridRows {
  readonly #box: HTMLElement;
  readonly #rows: HTMLElement;
  #focus = '';
  #timer = 0;
  #next: (() => void) | null = null;

  constructor(box: HTMLElement, rows: HTMLElement) {
    this.#box = box;
    this.#rows = rows;
  }

  show(nodes: readonly Node[], layout: Layout, visible: [number, number], focus: number, cell: number): void {
    const write = (): void => this.#write(nodes, layout, visible, focus, cell);
    const key = `${layout.zoom}|${focus}|${cell}`;
    if (key !== this.#focus) {
      this.#focus = key;
      this.#next = null;
      write();
    } else {
      this.#next = write;
      this.#timer ||= window.setTimeout(() => {
        this.#timer = 0;
        this.#next?.();
        this.#next = null;
      }, PAUSE_MS);
    }
  }

  #write(nodes: readonly Node[], layout: Layout, visible: [number, number], focus: number, cell: number): void {
    const blocks = layout.zoom === 'cluster';
    const per_row = blocks ? layout.columns : 1;
    const middle = Math.floor(Math.max(0, focus) / per_row);
    const around = blocks ? 1 : ROWS_AROUND;
    const first = Math.max(0, Math.min(middle, Math.max(middle - around, Math.floor(visible[0] / per_row))));
    const last = Math.min(Math.ceil(nodes.length / per_row) - 1, middle + around);
    const rows: HTMLElement[] = [];
    for (let r = first; r <= last; r++) rows.push(blocks ? this.#block_row(nodes, r, layout.columns) : this.#node_row(nodes[r]!, r));
    this.#rows.replaceChildren(...rows);
    this.#box.setAttribute('aria-rowcount', String(Math.ceil(nodes.length / per_row)));
    if (nodes.length === 0) this.#box.removeAttribute('aria-activedescendant');
    else this.#box.setAttribute('aria-activedescendant', `cell-${Math.max(0, focus)}-${blocks ? -1 : cell}`);
  }

  #row(index: number): HTMLElement {
    const row = document.createElement('div');
    row.setAttribute('role', 'row');
    row.setAttribute('aria-rowindex', String(index + 1));
    return row;
  }

  #cell(row: HTMLElement, role: string, id: string, text: string): void {
    const e = document.createElement('div');
    e.setAttribute('role', role);
    e.id = id;
    e.textContent = text;
    row.append(e);
  }

  #node_row(n: Node, index: number): HTMLElement {
    const row = this.#row(index);
    this.#cell(row, 'rowheader', `cell-${index}--1`, node_words(n));
    cells_of(n).forEach((c, k) => this.#cell(row, 'gridcell', `cell-${index}-${k}`, cell_words(c)));
    return row;
  }

  #block_row(nodes: readonly Node[], r: number, columns: number): HTMLElement {
    const row = this.#row(r);
    for (let i = r * columns; i < Math.min(nodes.length, (r + 1) * columns); i++) {
      this.#cell(row, 'gridcell', `cell-${i}--1`, node_words(nodes[i]!));
    }
    return row;
  }
}
