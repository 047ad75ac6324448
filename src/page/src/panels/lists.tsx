/* The panels that are lists: pods that wait, decisions, tenants. */
import type { JSX } from 'preact';
import { ago, clock_time, gpus, memory, percent, plural } from '../format.ts';
import type { Limited, PendingPod, Tenant } from '../types.ts';
import type { Page } from '../ui.ts';
import { request_words } from '../words.ts';
import { Empty, Meter, NodeLink, PodLink } from './parts.tsx';

const SHOWN = 100;

function why(p: PendingPod): string {
  if (p.defect !== '') return p.defect;
  const r = p.refused;
  if (r === undefined) return 'not refused; it waits for kube-scheduler';
  return r.reasons.slice(0, 2).map((x) => `${plural(x.nodes, 'node')}: ${x.text}`).join('; ');
}

export function Waiting({ page }: { page: Page }): JSX.Element {
  const { pending, pendingCount } = page.model;
  if (pendingCount === 0) return <Empty>No pod waits for a GPU.</Empty>;
  return (
    <>
      <ul class="list">
        {pending.slice(0, SHOWN).map((p) => (
          <li key={p.uid}>
            <PodLink page={page} namespace={p.namespace} pod={p.pod} note={ago(p.since, page.now)} />
            <p class="line">{request_words(p.request)}</p>
            <p class={p.defect === '' ? 'line quiet' : 'line bad'}>{why(p)}</p>
          </li>
        ))}
      </ul>
      {pendingCount > SHOWN ? <Empty>and {pendingCount - SHOWN} more; search finds them</Empty> : null}
    </>
  );
}

export function Decisions({ page }: { page: Page }): JSX.Element {
  const shown = page.model.decisions.slice(0, SHOWN);
  if (shown.length === 0) return <Empty>No decision since fgpu started.</Empty>;
  return (
    <ul class="list">
      {shown.map((d) => (
        <li key={d.decision}>
          <PodLink page={page} namespace={d.namespace} pod={d.pod} note={clock_time(d.at)} />
          <p class="line">to <NodeLink page={page} node={d.node} /></p>
          <p class="line quiet clamp">{d.text}</p>
        </li>
      ))}
    </ul>
  );
}

function Held({ name, of, words }: { name: string; of: Limited; words: (v: number) => string }): JSX.Element {
  return (
    <div class="held">
      <span class="quiet">{name}</span>
      {of.limit === undefined ? null : <Meter part={of.limit === 0 ? 1 : of.charged / of.limit} kind={of.charged > of.limit ? 'over' : ''} />}
      <span>{of.limit === undefined ? words(of.charged) : `${words(of.charged)} of ${words(of.limit)}`}</span>
    </div>
  );
}

function TenantItem({ t }: { t: Tenant }): JSX.Element {
  return (
    <li>
      <p class="line strong">{t.name} <span class="note">{plural(t.pods, 'pod')}</span></p>
      <Held name="compute" of={t.milli} words={(v) => `${gpus(v)} GPU`} />
      <Held name="memory" of={t.memMib} words={memory} />
      {t.overLimit ? <p class="line bad">! above its limit: it gets nothing more until it holds less</p> : null}
    </li>
  );
}

export function Tenants({ page }: { page: Page }): JSX.Element {
  const { tenants, milli } = page.model.summary;
  const spaces = [...page.model.namespaces].sort((a, b) => b[1].milli - a[1].milli);
  return (
    <>
      {tenants.length === 0 ? null : <ul class="list">{tenants.map((t) => <TenantItem key={t.name} t={t} />)}</ul>}
      <h3>{tenants.length === 0 ? 'No tenants are configured. Namespaces:' : 'Namespaces'}</h3>
      <table>
        <thead><tr><th scope="col">namespace</th><th scope="col" class="number">GPUs</th><th scope="col" class="number">of all</th><th scope="col" class="number">memory</th></tr></thead>
        <tbody>
          {spaces.slice(0, SHOWN).map(([name, use]) => (
            <tr key={name}>
              <th scope="row">
                <button type="button" class="link" onClick={() => page.act.set({ mark: { namespace: name, pod: '', model: '' } })}>{name}</button>
              </th>
              <td class="number">{gpus(use.milli)}</td><td class="number">{percent(use.milli, milli.capacity)}</td><td class="number">{memory(use.memMib)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
