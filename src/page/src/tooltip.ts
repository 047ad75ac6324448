/* What is under the pointer, in words. Text nodes only; hidden from screen readers, which have the grid. */
import type { Cell, Segment } from './cells.ts';
import { ago, gpus, memory, percent, short_model } from './format.ts';
import { node_mark } from './cells.ts';
import type { Node } from './types.ts';
import { cell_title, free_words, MARK_WORDS, pod_name, STATE_WORDS, TROUBLE_WORDS } from './words.ts';

export interface Under { node: Node; cell: Cell | null; segment: Segment | null; x: number; y: number }

function lines_of(u: Under, now: number): string[] {
  const { node, cell, segment: s } = u;
  const place = cell === null ? node.name : `${node.name} · ${cell_title(cell)} · ${short_model(cell.model)}`;
  if (cell !== null && s !== null && s.pod !== '') {
    return [
      pod_name(s.namespace, s.pod), `${gpus(s.milli)} GPU (${percent(s.milli, cell.milli)}) · ${memory(s.memMib)}`,
      `${STATE_WORDS[s.state]}${s.since === '' ? '' : `, ${ago(s.since, now)}`}${s.qos === '' ? '' : `, ${s.qos}`}${s.profile === '' ? '' : `, ${s.profile}`}`, place,
    ];
  }
  if (cell !== null) {
    const trouble = cell.trouble === '' ? [] : [TROUBLE_WORDS[cell.trouble]];
    return [place, ...trouble, free_words(cell), ...(s?.profile ? [`MIG ${s.profile}, free`] : []), ...(cell.uuid === '' ? [] : [cell.uuid])];
  }
  const mark = node_mark(node);
  return [place, ...(mark === '' ? [] : [MARK_WORDS[mark]]), ...(node.note === '' ? [] : [node.note])];
}

export class Tooltip {
  readonly #box: HTMLElement;

  constructor() {
    this.#box = document.createElement('div');
    this.#box.className = 'tooltip';
    this.#box.setAttribute('aria-hidden', 'true');
    this.#box.hidden = true;
    document.body.append(this.#box);
  }

  show(u: Under | null, now: number): void {
    this.#box.hidden = u === null;
    if (u === null) return;
    this.#box.replaceChildren(...lines_of(u, now).map((text) => {
      const line = document.createElement('div');
      line.textContent = text;
      return line;
    }));
    const { width, height } = this.#box.getBoundingClientRect();
    const x = u.x + 14 + width > window.innerWidth ? u.x - width - 10 : u.x + 14;
    const y = u.y + 16 + height > window.innerHeight ? u.y - height - 10 : u.y + 16;
    this.#box.style.transform = `translate(${Math.max(4, Math.round(x))}px, ${Math.max(4, Math.round(y))}px)`;
  }
}
