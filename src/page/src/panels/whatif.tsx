/* How many pods of a kind would fit now: /v1/whatif. Nothing is reserved. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { what_if } from '../api.ts';
import { plural } from '../format.ts';
import type { ReasonCount, WhatIf } from '../types.ts';
import type { Page } from '../ui.ts';
import { NodeLink } from './parts.tsx';
import { Nearest, Reasons } from './pod.tsx';

const REQUESTS: readonly [string, string, string][] = [
  /* what people call it, the container limit, an example */
  ['share of a GPU, in thousandths', 'fgpu.io/gpu-milli', '500'],
  ['GPU memory, MiB', 'fgpu.io/gpu-memory-mib', ''],
  ['on how many GPUs', 'fgpu.io/gpu-count', ''],
  ['whole GPUs', 'nvidia.com/gpu', ''],
];

function reasons_of(v: WhatIf['verdicts']): ReasonCount[] {
  if (v === undefined) return [];
  return Array.isArray(v) ? v : Object.entries(v).map(([reason, nodes]) => ({ reason, text: reason, nodes }));
}

export function WhatIfPanel({ page }: { page: Page }): JSX.Element {
  const [limits, set_limits] = useState<Record<string, string>>(Object.fromEntries(REQUESTS.map(([, key, value]) => [key, value])));
  const [namespace, set_namespace] = useState('default');
  const [count, set_count] = useState('1');
  const [answer, set_answer] = useState<WhatIf | null>(null);
  const [failed, set_failed] = useState('');
  const [asking, set_asking] = useState(false);

  const ask = async (e: Event): Promise<void> => {
    e.preventDefault();
    set_asking(true);
    const asked = Object.fromEntries(Object.entries(limits).map(([k, v]) => [k, v.trim()]).filter(([, v]) => v !== ''));
    try {
      const a = await what_if(asked, {}, namespace.trim(), Number(count));
      set_answer(a);
      set_failed('');
      page.act.announce(a.text);
    } catch (x) {
      set_answer(null);
      set_failed((x as Error).message);
    }
    set_asking(false);
  };

  return (
    <>
      <form class="form" onSubmit={(e) => void ask(e)}>
        <p class="line quiet">How many such pods would fit now? Nothing is reserved.</p>
        {REQUESTS.map(([label, key]) => (
          <label key={key}>
            <span>{label} <code>{key}</code></span>
            <input type="text" inputMode="numeric" value={limits[key] ?? ''} onInput={(e) => set_limits({ ...limits, [key]: e.currentTarget.value })} />
          </label>
        ))}
        <label><span>namespace</span><input type="text" value={namespace} onInput={(e) => set_namespace(e.currentTarget.value)} /></label>
        <label><span>number of pods</span><input type="number" min="1" max="100000" value={count} onInput={(e) => set_count(e.currentTarget.value)} /></label>
        <p class="actions"><button type="submit" class="primary" disabled={asking}>{asking ? 'Asking …' : 'Ask'}</button></p>
      </form>
      {failed === '' ? null : <p class="line bad" role="alert">{failed}</p>}
      {answer === null ? null : (
        <div data-testid="whatif">
          <p class={`answer ${answer.fitting >= answer.asked ? 'placed' : 'waiting'}`}>{answer.text}</p>
          {answer.first === undefined ? null : (
            <p class="line">
              The first: <NodeLink page={page} node={answer.first.node} />
              {answer.first.devices.length === 0 ? '' : `, GPU ${answer.first.devices.map((d) => d.index).join(', ')}`}
            </p>
          )}
          {answer.first?.reason?.text === undefined ? null : <p class="line quiet">{answer.first.reason.text}</p>}
          <Nearest page={page} nodes={answer.nearest ?? []} />
          {answer.fitting >= answer.asked ? null : <Reasons of={reasons_of(answer.verdicts)} nodeCount={answer.nodeCount} />}
        </div>
      )}
      <MoreFit page={page} />
    </>
  );
}

function MoreFit({ page }: { page: Page }): JSX.Element | null {
  const more = page.model.summary.fragmentation?.moreFit ?? [];
  if (more.length === 0) return null;
  return (
    <section>
      <h3>How many more of one kind fit</h3>
      <ul class="reasons">
        {more.map((m) => <li key={m.size}><span class="number">{m.more}</span> <span class="grow">{m.wholeGpus === undefined ? m.size : `pods of ${plural(m.wholeGpus, 'whole GPU')}`}</span></li>)}
      </ul>
    </section>
  );
}
