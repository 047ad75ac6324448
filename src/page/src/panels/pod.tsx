/* Why a pod waits, or why it is where it is: /v1/explain in words. Asked again when the pod's place may have changed. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { explain } from '../api.ts';
import { ago, gpus, memory, plural, short_model } from '../format.ts';
import type { Explanation, NearestNode } from '../types.ts';
import type { Page } from '../ui.ts';
import { request_words } from '../words.ts';
import { Empty, Fact, Meter, NodeLink, PodLink, Swatch } from './parts.tsx';

export function Nearest({ page, nodes }: { page: Page; nodes: NearestNode[] }): JSX.Element | null {
  if (nodes.length === 0) return null;
  return (
    <section>
      <h3>What comes nearest</h3>
      <ul class="list">
        {nodes.map((n) => (
          <li key={n.node}>
            <p class="line"><NodeLink page={page} node={n.node} /> <span class="note">{n.reasonText}</span></p>
            {n.text === '' ? null : <p class="line">{n.text}</p>}
            {n.untolerated ? <p class="line quiet">It is cordoned, or has a taint that the pod does not tolerate.</p> : null}
            {n.fitsIfEnded.map((p) => (
              <PodLink key={`${p.namespace}/${p.pod}`} page={page} namespace={p.namespace} pod={p.pod}
                note={p.terminating ? 'ending now' : `holds ${p.milli > 0 ? `${gpus(p.milli)} GPU` : memory(p.memMib)}`} />
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Reasons({ of, nodeCount }: { of: { text: string; nodes: number }[]; nodeCount: number }): JSX.Element | null {
  if (of.length === 0) return null;
  return (
    <section>
      <h3>{plural(nodeCount, 'node')}, each with its reason</h3>
      <ul class="reasons">
        {of.map((r) => (
          <li key={r.text}><span class="number">{r.nodes}</span> <span class="grow">{r.text}</span> <Meter part={r.nodes / Math.max(1, nodeCount)} /></li>
        ))}
      </ul>
    </section>
  );
}

function Scheduler({ of, now }: { of: NonNullable<Explanation['scheduler']>; now: number }): JSX.Element {
  return (
    <section>
      <h3>What {of.name === '' ? 'the scheduler' : of.name} says</h3>
      {of.notAsked === undefined ? null : <p class="line">{of.notAsked}</p>}
      {of.ownReasons.length === 0 ? null : <ul class="plain">{of.ownReasons.map((r) => <li key={r}>{r}</li>)}</ul>}
      <p class="line quiet">
        {of.message === '' ? 'Nothing yet. ' : null}
        It has asked {plural(of.asked, 'time')}{of.lastAsked === undefined ? '' : `, last ${ago(of.lastAsked, now)} ago`}.
      </p>
    </section>
  );
}

function Placed({ page, of }: { page: Page; of: Explanation }): JSX.Element {
  const d = of.decision;
  return (
    <>
      <section>
        <h3>It holds</h3>
        <ul class="list">
          {(of.allocations ?? []).map((a) => (
            <li key={`${a.uuid}/${a.index}/${a.container}`}>
              <p class="line">
                <NodeLink page={page} node={of.pod.node}>{of.pod.node} · GPU {a.index}</NodeLink>
                <span class="note">{gpus(a.milli)} GPU · {memory(a.memMib)}</span>
              </p>
              <p class="line quiet">{short_model(a.model)}{a.container === '' ? '' : ` · container ${a.container}`}</p>
              <p class="line quiet mono">{a.uuid}</p>
            </li>
          ))}
        </ul>
      </section>
      {d?.parts === undefined || d.parts.length === 0 || d.scores === undefined ? null : (
        <section>
          <h3>Points</h3>
          <table>
            <thead><tr><th scope="col">part</th><th scope="col" class="number">{d.best}</th><th scope="col" class="number">{d.next === '' ? 'next' : d.next}</th></tr></thead>
            <tbody>
              {d.parts.map((p, i) => <tr key={i}><th scope="row">{p.strategy ?? p.part}</th><td class="number">{p.best}</td><td class="number">{p.next}</td></tr>)}
              <tr class="sum"><th scope="row">score</th><td class="number">{d.scores.best}</td><td class="number">{d.scores.next}</td></tr>
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}

export function Pod({ page, namespace, pod }: { page: Page; namespace: string; pod: string }): JSX.Element {
  const [found, set_found] = useState<Explanation | null>(null);
  const [failed, set_failed] = useState('');
  const [asked, ask] = useState(0);
  const waits = page.model.pending.some((p) => p.namespace === namespace && p.pod === pod);
  useEffect(() => {
    let here = true;
    explain(namespace, pod).then((e) => {
      if (!here) return;
      set_found(e);
      set_failed('');
      if (asked === 0) page.act.announce(e.text);
    }, (e: Error) => {
      if (here) set_failed(e.message);
    });
    return () => {
      here = false;
    };
  }, [namespace, pod, waits, asked]);
  return (
    <div class="detail" data-testid="explain">
      <h2><Swatch page={page} namespace={namespace} /> {pod}</h2>
      <p class="line quiet">namespace {namespace}</p>
      {failed === '' ? null : <p class="line bad" role="alert">{failed}</p>}
      {found === null ? (failed === '' ? <Empty>Asking fgpu …</Empty> : null) : (
        <>
          <p class={`answer ${found.outcome}`}>{found.text}</p>
          <dl class="facts">
            <Fact name="state">{found.pod.state === '' ? found.outcome : found.pod.state}{found.pod.terminating ? ', ending' : ''}</Fact>
            {found.pod.node === '' ? null : <Fact name="node"><NodeLink page={page} node={found.pod.node} /></Fact>}
            {found.pod.request === undefined ? null : <Fact name="asks for">{request_words(found.pod.request)}</Fact>}
          </dl>
          {found.outcome === 'placed' ? <Placed page={page} of={found} /> : null}
          {found.decision === undefined ? null : <section><h3>Why there</h3><p class="line">{found.decision.text}</p></section>}
          {(found.fitting ?? []).length === 0 ? null : <section><h3>Nodes that take it now</h3><p class="line">{found.fitting!.map((n) => <NodeLink key={n} page={page} node={n} />)}</p></section>}
          <Nearest page={page} nodes={found.nearest ?? []} />
          <Reasons of={found.reasons ?? []} nodeCount={found.nodeCount ?? 0} />
          {found.scheduler === undefined ? null : <Scheduler of={found.scheduler} now={page.now} />}
          {(found.nearNames ?? []).length === 0 ? null : <p class="line">Meant perhaps: {found.nearNames!.join(', ')}</p>}
        </>
      )}
      <p class="actions">
        <button type="button" onClick={() => ask(asked + 1)}>Ask again</button>
        <button type="button" onClick={() => page.act.set({ mark: { namespace, pod, model: '' } })}>Show it alone</button>
      </p>
    </div>
  );
}
