/* The search field: a combobox with a list of what was found (WAI-ARIA authoring practices, combobox with list autocomplete). */
import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { search, type Found } from '../search.ts';
import type { Page } from '../ui.ts';

const KINDS: Record<Found['kind'], string> = { pod: 'pod', namespace: 'namespace', node: 'node', model: 'model', gpu: 'GPU' };

export function choose(page: Page, f: Found): void {
  const mark = { namespace: '', pod: '', model: '' };
  if (f.kind === 'namespace') page.act.set({ mark: { ...mark, namespace: f.namespace } });
  else if (f.kind === 'model') page.act.set({ mark: { ...mark, model: f.text } });
  else if (f.kind === 'pod') {
    if (f.node !== '') page.act.go(f.node, f.gpu);
    page.act.set({ mark: f.node === '' ? null : { ...mark, namespace: f.namespace, pod: f.pod } });
    page.act.open_pod(f.namespace, f.pod);
  } else {
    page.act.go(f.node, f.gpu);
    page.act.open_node(f.node, f.gpu);
  }
}

export function SearchBox({ page }: { page: Page }): JSX.Element {
  const [words, set_words] = useState('');
  const [at, set_at] = useState(0);
  const [open, set_open] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const found = useMemo(() => (open ? search(page.model, words) : []), [words, open]);
  const shown = open && words.trim() !== '';

  const take = (f: Found | undefined): void => {
    if (f === undefined) return;
    set_open(false);
    choose(page, f);
    input.current?.blur();
  };
  const keydown = (e: JSX.TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (e.key === 'ArrowDown') set_at(Math.min(found.length - 1, at + 1));
    else if (e.key === 'ArrowUp') set_at(Math.max(0, at - 1));
    else if (e.key === 'Enter') take(found[at]);
    else if (e.key === 'Escape' && (shown || words !== '')) {
      set_words('');
      set_open(false);
      page.act.set({ mark: null });
      e.stopPropagation();
    } else return;
    e.preventDefault();
  };

  return (
    <div class="search" role="search">
      <input ref={input} id="search" type="search" placeholder="Search pod, namespace, node, model, UUID" aria-label="Search pods, namespaces, nodes, models and UUIDs; key /"
        role="combobox" aria-expanded={shown} aria-controls="found" aria-autocomplete="list" autocomplete="off" spellcheck={false}
        {...(shown && found[at] !== undefined ? { 'aria-activedescendant': `found-${at}` } : {})}
        value={words} onInput={(e) => { set_words(e.currentTarget.value); set_at(0); set_open(true); }}
        onFocus={() => set_open(true)} onBlur={() => set_open(false)} onKeyDown={keydown} />
      <kbd aria-hidden="true">/</kbd>
      <ul id="found" role="listbox" aria-label="Found" class="found" hidden={!shown || found.length === 0}>
        {found.map((f, i) => (
          <li key={`${f.kind} ${f.text} ${f.detail}`} id={`found-${i}`} role="option" aria-selected={i === at} onPointerDown={(e) => { e.preventDefault(); take(f); }}>
            <span class="kind">{KINDS[f.kind]}</span> <span class="name">{f.text}</span> <span class="note">{f.kind === 'pod' || f.kind === 'gpu' || f.kind === 'model' ? f.detail : ''}</span>
          </li>
        ))}
      </ul>
      {shown && found.length === 0 ? <p class="found nothing" role="status">Nothing is called “{words.trim()}”.</p> : null}
    </div>
  );
}
