/* The panel beside the grid: tabs of lists, or one pod or node in detail. First of all what must not be overlooked. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ago, plural } from '../format.ts';
import { TABS, type Page, type Tab } from '../ui.ts';
import { pod_name } from '../words.ts';
import { HistoryPanel } from './history.tsx';
import { Decisions, Tenants, Waiting } from './lists.tsx';
import { NodeDetail } from './node.tsx';
import { NodeLink } from './parts.tsx';
import { Pod } from './pod.tsx';
import { WhatIfPanel } from './whatif.tsx';

export function Alerts({ page }: { page: Page }): JSX.Element | null {
  const { incidents, conflicts, summary } = page.model;
  const [open, set_open] = useState(true);
  const failed = summary.poolCommands.filter((c) => c.result === 'failed');
  const sum = incidents.length + conflicts.length + failed.length;
  if (sum === 0) return null;
  const title = [incidents.length > 0 ? plural(incidents.length, 'incident') : '', conflicts.length > 0 ? plural(conflicts.length, 'conflict') : '',
    failed.length > 0 ? plural(failed.length, 'failed pool command') : ''].filter((x) => x !== '').join(', ');
  return (
    <section class="alerts" aria-label="Incidents and conflicts">
      <button type="button" class="alerts-title" aria-expanded={open} onClick={() => set_open(!open)}>
        <span aria-hidden="true">▲ </span>{title}<span class="note">{open ? 'hide' : 'show'}</span>
      </button>
      {open ? (
        <ul class="list">
          {incidents.slice(0, 20).map((i) => (
            <li key={`${i.kind} ${i.node} ${i.since}`}>
              <p class="line strong">{i.text}</p>
              <p class="line">{i.remedy}</p>
              <p class="line quiet">{i.node === '' ? null : <NodeLink page={page} node={i.node} />} for {ago(i.since, page.now)}; {i.pods.map((p) => pod_name(p.namespace, p.pod)).join(', ')}</p>
            </li>
          ))}
          {conflicts.slice(0, 20).map((c, i) => (
            <li key={`${c.kind} ${c.node} ${i}`}><p class="line"><NodeLink page={page} node={c.node} /> {c.pod === undefined ? '' : pod_name(c.namespace ?? '', c.pod)} {c.text}</p></li>
          ))}
          {failed.map((c) => <li key={c.pool}><p class="line">pool {c.pool}, command to make it {c.state}: {c.error}</p></li>)}
        </ul>
      ) : null}
    </section>
  );
}

function Panel({ page }: { page: Page }): JSX.Element {
  switch (page.ui.tab) {
    case 'waiting': return <Waiting page={page} />;
    case 'decisions': return <Decisions page={page} />;
    case 'tenants': return <Tenants page={page} />;
    case 'whatif': return <WhatIfPanel page={page} />;
    case 'history': return <HistoryPanel />;
  }
}

function Tabs({ page }: { page: Page }): JSX.Element {
  const keydown = (e: JSX.TargetedKeyboardEvent<HTMLDivElement>): void => {
    const at = TABS.findIndex(([tab]) => tab === page.ui.tab);
    const to = e.key === 'ArrowRight' ? at + 1 : e.key === 'ArrowLeft' ? at - 1 : e.key === 'Home' ? 0 : e.key === 'End' ? TABS.length - 1 : -9;
    if (to === -9) return;
    e.preventDefault();
    const tab = TABS[(to + TABS.length) % TABS.length]![0];
    page.act.set({ tab });
    document.getElementById(`tab-${tab}`)?.focus();
  };
  const name = (tab: Tab, text: string): string => (tab === 'waiting' && page.model.pendingCount > 0 ? `${text} ${page.model.pendingCount}` : text);
  return (
    <div class="tabs" role="tablist" aria-label="Panels" onKeyDown={keydown}>
      {TABS.map(([tab, text]) => (
        <button key={tab} type="button" role="tab" id={`tab-${tab}`} aria-controls="panel" aria-selected={page.ui.tab === tab}
          tabIndex={page.ui.tab === tab ? 0 : -1} onClick={() => page.act.set({ tab })}>{name(tab, text)}</button>
      ))}
    </div>
  );
}

export function Side({ page }: { page: Page }): JSX.Element {
  const { detail } = page.ui;
  const back = useRef<HTMLButtonElement>(null);
  const key = detail === null ? '' : detail.kind === 'pod' ? `${detail.namespace}/${detail.pod}` : `${detail.node} ${detail.cell}`;
  useEffect(() => {
    if (key !== '') back.current?.focus({ preventScroll: false });
  }, [key]);
  if (detail !== null) {
    return (
      <aside class="side" aria-label="Details">
        <p class="back"><button ref={back} type="button" class="link" onClick={() => page.act.set({ detail: null })}>← back <kbd>Esc</kbd></button></p>
        <div class="scroll">
          {detail.kind === 'pod' ? <Pod key={key} page={page} namespace={detail.namespace} pod={detail.pod} /> : <NodeDetail key={key} page={page} node={detail.node} cell={detail.cell} />}
        </div>
      </aside>
    );
  }
  return (
    <aside class="side" aria-label="Panels">
      <Tabs page={page} />
      <div class="scroll" role="tabpanel" id="panel" aria-labelledby={`tab-${page.ui.tab}`} tabIndex={0}><Panel page={page} /></div>
    </aside>
  );
}
