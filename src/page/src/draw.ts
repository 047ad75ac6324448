/* Draws the nodes that are visible, and nothing else. */
import { cells_of, node_mark, spans, type Cell, type Segment } from './cells.ts';
import { gpus, memory, short_model } from './format.ts';
import type { Layout, Rect } from './layout.ts';
import type { Paint } from './paint.ts';
import { heat, ink_on, type NamespaceColours } from './palette.ts';
import type { Node } from './types.ts';
import { cell_title, free_words } from './words.ts';

export interface Mark { namespace: string; pod: string; model: string } /* empty: any; what is not it is drawn pale */

export interface Scene {
  nodes: readonly Node[]; layout: Layout; width: number; paint: Paint; colours: NamespaceColours;
  focus: { node: number; cell: number } | null; mark: Mark | null; hover: { namespace: string; pod: string } | null;
}

export const stats = { frames: 0, nodes: 0, lastNodes: 0 }; /* for tests: what was drawn since the page began, and last */

const fitted = new Map<string, string>();

/* The text, cut with an ellipsis where it is wider. */
function fit(c: CanvasRenderingContext2D, text: string, width: number): string {
  const key = `${c.font}|${Math.floor(width)}|${text}`;
  let found = fitted.get(key);
  if (found !== undefined) return found;
  found = text;
  if (c.measureText(text).width > width) {
    let low = 0, high = text.length;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (c.measureText(`${text.slice(0, mid)}…`).width <= width) low = mid;
      else high = mid - 1;
    }
    found = low < 2 ? '' : `${text.slice(0, low)}…`;
  }
  if (fitted.size > 8000) fitted.clear();
  fitted.set(key, found);
  return found;
}

function marked(s: Segment, cell: Cell, m: Mark | null): boolean {
  if (m === null) return true;
  if (m.model !== '') return cell.model === m.model;
  return s.namespace === m.namespace && (m.pod === '' || s.pod === m.pod);
}

export function fill_segment(c: CanvasRenderingContext2D, s: Pick<Segment, 'state' | 'namespace'>, r: Rect, p: Paint, colour: string): void {
  if (s.state === 'instance') {
    c.strokeStyle = p.faint;
    c.lineWidth = 1;
    c.strokeRect(r.x + 0.5, r.y + 0.5, Math.max(0, r.w - 1), r.h - 1);
    return;
  }
  if (s.state === 'foreign') {
    c.fillStyle = p.cross;
    c.fillRect(r.x, r.y, r.w, r.h);
    c.strokeStyle = p.muted;
    c.lineWidth = 1;
    c.strokeRect(r.x + 0.5, r.y + 0.5, Math.max(0, r.w - 1), r.h - 1);
    return;
  }
  const alpha = c.globalAlpha;
  if (s.state === 'reserved') c.globalAlpha = alpha * 0.3;
  c.fillStyle = colour;
  c.fillRect(r.x, r.y, r.w, r.h);
  c.globalAlpha = alpha;
  if (s.state === 'terminating') {
    c.fillStyle = p.hatch;
    c.fillRect(r.x, r.y, r.w, r.h);
  }
  if (s.state === 'reserved' || s.state === 'conflict') {
    c.strokeStyle = s.state === 'conflict' ? p.bad : colour;
    c.lineWidth = 2;
    c.setLineDash(s.state === 'reserved' ? [4, 2] : []);
    c.strokeRect(r.x + 1, r.y + 1, Math.max(0, r.w - 2), r.h - 2);
    c.setLineDash([]);
  }
}

function label_segment(c: CanvasRenderingContext2D, s: Segment, r: Rect, text: string, whole: boolean, p: Paint, colour: string): void {
  if (r.h < 13 || r.w < 26) return;
  const plain = s.state === 'bound' || s.state === 'conflict';
  c.font = `${r.h >= 24 ? 12.5 : 11}px ${p.font}`;
  const shown = fit(c, text, r.w - 9);
  if (shown === '' || (whole && shown !== text)) return;
  if (s.state === 'terminating' || s.state === 'foreign') { /* a plate, so that the pattern does not cross the letters */
    c.fillStyle = p.surface;
    c.fillRect(r.x + 3, r.y + r.h / 2 - 7, c.measureText(shown).width + 5, 14);
  }
  c.fillStyle = plain ? ink_on(colour) : p.text;
  c.textBaseline = 'middle';
  c.fillText(shown, r.x + 5, r.y + r.h / 2 + 0.5);
}

function draw_bar(c: CanvasRenderingContext2D, s: Scene, cell: Cell, of: 'milli' | 'memMib', b: Rect): void {
  const p = s.paint;
  c.fillStyle = p.track;
  c.fillRect(b.x, b.y, b.w, b.h);
  if (of === 'memMib' && cell.memMib === 0) return;
  const where = spans(cell, of);
  cell.segments.forEach((seg, i) => {
    const w = where[i]!;
    if (w.end <= w.begin) return;
    const x = Math.round(b.x + w.begin * b.w), end = Math.round(b.x + w.end * b.w);
    const r = { x, y: b.y, w: Math.max(1, end - x - (end - x > 3 ? 1 : 0)), h: b.h };
    const colour = s.colours.colour(seg.namespace, p.theme);
    c.globalAlpha = marked(seg, cell, s.mark) ? 1 : 0.16;
    fill_segment(c, seg, r, p, colour);
    if (b.h >= 13) {
      const amount = of === 'milli' ? seg.pod || seg.profile : memory(seg.memMib);
      label_segment(c, seg, r, of === 'milli' && b.h >= 24 && seg.pod !== '' ? `${amount}  ${gpus(seg.milli)}` : amount, of === 'memMib', p, colour);
    }
    c.globalAlpha = 1;
    if (s.hover !== null && s.hover.pod === seg.pod && s.hover.namespace === seg.namespace && seg.pod !== '') {
      c.strokeStyle = p.text;
      c.lineWidth = 1.5;
      c.strokeRect(r.x + 0.75, r.y + 0.75, Math.max(1, r.w - 1.5), r.h - 1.5);
    }
  });
}

function draw_trouble(c: CanvasRenderingContext2D, cell: Cell, r: Rect, top: number, p: Paint): void {
  const y = r.y + top, h = r.h - top;
  if (cell.trouble === 'unhealthy' || cell.trouble === 'lost') {
    c.fillStyle = p.cross;
    c.globalAlpha = 0.55;
    c.fillRect(r.x, y, r.w, h);
    c.globalAlpha = 1;
  }
  c.strokeStyle = cell.trouble === 'overcommitted' ? p.warn : p.bad;
  c.lineWidth = 2;
  c.setLineDash(cell.trouble === 'lost' || cell.trouble === 'elsewhere' ? [5, 3] : []);
  c.strokeRect(r.x - 1, y - 1, r.w + 2, h + 2);
  c.setLineDash([]);
  const size = Math.min(15, h);
  c.fillStyle = c.strokeStyle;
  c.fillRect(r.x + r.w + 1 - size, y - 1, size, size);
  c.fillStyle = p.surface;
  c.font = `700 ${size - 3}px ${p.font}`;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.fillText(cell.trouble === 'overcommitted' ? '!' : cell.trouble === 'elsewhere' ? '⇄' : cell.trouble === 'lost' ? '?' : '✕', r.x + r.w + 1 - size / 2, y - 0.5 + size / 2);
  c.textAlign = 'left';
}

function draw_cell(c: CanvasRenderingContext2D, s: Scene, cell: Cell, r: Rect): void {
  const p = s.paint, m = s.layout.metrics;
  const pale = s.mark !== null && s.mark.model !== '' && s.mark.model !== cell.model;
  if (m.title > 0) {
    c.font = `600 ${m.title > 20 ? 13 : 11}px ${p.font}`;
    c.textBaseline = 'alphabetic';
    c.fillStyle = pale ? p.faint : p.text;
    const big = m.title > 20;
    const name = big ? `${cell_title(cell)}   ${short_model(cell.model)}` : cell_title(cell);
    const y = r.y + m.title - (big ? 8 : 6);
    const shown = fit(c, name, r.w);
    c.fillText(shown, r.x, y);
    const used = c.measureText(shown).width + 10;
    c.font = `${big ? 12.5 : 11}px ${p.font}`;
    c.fillStyle = pale ? p.faint : p.muted;
    const right = fit(c, big && cell.uuid !== '' ? `${free_words(cell)}   ${cell.uuid}` : free_words(cell), r.w - used);
    c.textAlign = 'right';
    c.fillText(right, r.x + r.w, y);
    c.textAlign = 'left';
  }
  draw_bar(c, s, cell, 'milli', s.layout.bar(r, 'milli'));
  draw_bar(c, s, cell, 'memMib', s.layout.bar(r, 'memMib'));
  if (cell.trouble !== '') draw_trouble(c, cell, r, m.title, p);
}

function draw_name(c: CanvasRenderingContext2D, s: Scene, n: Node, r: Rect): void {
  if (r.w <= 0 || s.layout.zoom === 'node') return;
  const p = s.paint, mark = node_mark(n);
  const roomy = s.layout.density !== 'compact' && !s.layout.narrow;
  const y = r.y + (s.layout.narrow ? r.h / 2 + 2 : roomy ? 26 : r.h / 2);
  c.textBaseline = 'middle';
  c.font = `600 12.5px ${p.font}`;
  c.fillStyle = mark === '' ? p.text : p.muted;
  const plate = mark === '' ? '' : mark;
  c.fillText(fit(c, n.name, r.w - (plate === '' || roomy ? 0 : 20)), r.x, y);
  c.font = `11px ${p.font}`;
  c.fillStyle = p.muted;
  const model = n.gpus[0]?.model ?? '';
  const unplaced = n.unplaced?.length ?? 0;
  const second = [plate, unplaced > 0 ? `${unplaced} pods unplaced` : '', model === '' ? '' : short_model(model)].filter((x) => x !== '').join(' · ');
  if (roomy) {
    c.fillText(fit(c, second, r.w), r.x, y + 17);
    if (plate !== '') c.fillText(fit(c, s.layout.metrics.title > 0 ? '⊘ takes no new pods' : '', r.w), r.x, y + 33);
  } else if (s.layout.narrow) {
    c.textAlign = 'right';
    c.fillText(fit(c, second, r.w / 2), r.x + r.w, y);
    c.textAlign = 'left';
  } else if (plate !== '' || unplaced > 0) {
    c.textAlign = 'right';
    c.fillText(plate === '' ? '?' : '⊘', r.x + r.w, y);
    c.textAlign = 'left';
  }
}

function draw_block(c: CanvasRenderingContext2D, s: Scene, n: Node, i: number): void {
  const p = s.paint, cells = cells_of(n), mark = node_mark(n);
  cells.forEach((cell, k) => {
    const r = s.layout.cell(i, k);
    const half = Math.floor(r.h / 2);
    const any = s.mark === null || (s.mark.model !== '' ? cell.model === s.mark.model : cell.segments.some((x) => marked(x, cell, s.mark)));
    c.globalAlpha = any ? 1 : 0.15;
    c.fillStyle = heat(p.theme, cell.milli > 0 ? cell.usedMilli / cell.milli : 0);
    c.fillRect(r.x, r.y, r.w, half);
    c.fillStyle = heat(p.theme, cell.memMib > 0 ? cell.usedMemMib / cell.memMib : 0);
    c.fillRect(r.x, r.y + half, r.w, r.h - half);
    c.globalAlpha = 1;
    if (cell.trouble !== '') {
      c.strokeStyle = cell.trouble === 'overcommitted' ? p.warn : p.bad;
      c.lineWidth = 1.5;
      c.beginPath();
      c.moveTo(r.x, r.y);
      c.lineTo(r.x + r.w, r.y + r.h);
      c.moveTo(r.x + r.w, r.y);
      c.lineTo(r.x, r.y + r.h);
      c.stroke();
      c.strokeRect(r.x, r.y, r.w, r.h);
    }
  });
  if (mark !== '') { /* a line under what takes no pods */
    const a = s.layout.cell(i, 0), b = s.layout.cell(i, Math.max(0, cells.length - 1));
    c.fillStyle = p.muted;
    c.fillRect(a.x, a.y + a.h + 1, b.x + b.w - a.x, 1.5);
  }
}

function draw_focus(c: CanvasRenderingContext2D, s: Scene): void {
  const f = s.focus;
  if (f === null || f.node >= s.nodes.length) return;
  const l = s.layout;
  let r = f.cell >= 0 ? l.cell(f.node, f.cell) : l.name(f.node, s.width);
  if (l.zoom === 'cluster' && f.cell < 0) {
    const a = l.cell(f.node, 0), b = l.cell(f.node, Math.max(0, cells_of(s.nodes[f.node]!).length - 1));
    r = { x: a.x, y: a.y, w: b.x + b.w - a.x, h: a.h };
  }
  c.strokeStyle = s.paint.accent;
  c.lineWidth = 2;
  c.strokeRect(r.x - 4, r.y - 3, r.w + 8, r.h + 6);
}

/* The part from y on of the whole list, h high, at the origin of the canvas. */
export function draw(c: CanvasRenderingContext2D, s: Scene, y: number, h: number, focused: boolean): void {
  const [first, end] = s.layout.visible(y, h);
  c.save();
  c.clearRect(0, 0, s.width, h);
  c.translate(0, -y);
  for (let i = first; i < end; i++) {
    const n = s.nodes[i]!;
    if (s.layout.zoom === 'cluster') {
      draw_block(c, s, n, i);
      continue;
    }
    const band = s.layout.node(i, s.width);
    if (i > 0) {
      c.fillStyle = s.paint.line;
      c.fillRect(14, band.y - 1, s.width - 28, 1);
    }
    draw_name(c, s, n, s.layout.name(i, s.width));
    cells_of(n).forEach((cell, k) => draw_cell(c, s, cell, s.layout.cell(i, k)));
  }
  if (focused) draw_focus(c, s);
  c.restore();
  stats.frames++;
  stats.nodes += end - first;
  stats.lastNodes = end - first;
}
