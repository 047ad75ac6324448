/* Small parts that panels share. */
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { pod_name } from '../words.ts';
import type { Page } from '../ui.ts';

/* Colour by script: the content security policy allows no style attribute. */
export function Swatch({ page, namespace }: { page: Page; namespace: string }): JSX.Element {
  const ref = useRef<HTMLSpanElement>(null);
  const colour = page.colours.colour(namespace, page.theme);
  useLayoutEffect(() => {
    if (ref.current !== null) ref.current.style.backgroundColor = colour;
  }, [colour]);
  return <span ref={ref} class="swatch" aria-hidden="true" />;
}

/* A bar as wide as the part of the whole, 0 to 1. */
export function Meter({ part, kind }: { part: number; kind?: string }): JSX.Element {
  const ref = useRef<HTMLSpanElement>(null);
  const width = `${Math.round(Math.max(0, Math.min(1, part)) * 1000) / 10}%`;
  useLayoutEffect(() => {
    if (ref.current !== null) ref.current.style.width = width;
  }, [width]);
  return <span class="meter" aria-hidden="true"><span ref={ref} class={`meter-fill ${kind ?? ''}`} /></span>;
}

export function PodLink({ page, namespace, pod, note }: { page: Page; namespace: string; pod: string; note?: string }): JSX.Element {
  return (
    <button type="button" class="link pod" onClick={() => page.act.open_pod(namespace, pod)}>
      <Swatch page={page} namespace={namespace} />
      <span class="name">{pod_name(namespace, pod)}</span>
      {note === undefined ? null : <span class="note">{note}</span>}
    </button>
  );
}

export function NodeLink({ page, node, cell, children }: { page: Page; node: string; cell?: number; children?: ComponentChildren }): JSX.Element {
  return (
    <button type="button" class="link" onClick={() => { page.act.go(node, cell ?? -1); page.act.open_node(node, cell ?? -1); }}>
      {children ?? node}
    </button>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return <div class="fact"><dt>{name}</dt><dd>{children}</dd></div>;
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}
