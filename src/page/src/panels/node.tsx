/* One node, or one of its GPUs, as a list: the same that the bars show, with every amount. */
import type { JSX } from 'preact';
import { cells_of, node_mark, type Cell } from '../cells.ts';
import { ago, gpus, memory, percent, plural, short_model } from '../format.ts';
import type { Page } from '../ui.ts';
import { cell_title, free_words, MARK_WORDS, STATE_WORDS, TROUBLE_WORDS } from '../words.ts';
import { Empty, Fact, PodLink } from './parts.tsx';

function Gpu({ page, cell, alone }: { page: Page; cell: Cell; alone: boolean }): JSX.Element {
  return (
    <section>
      {alone ? null : <h3>{cell_title(cell)} <span class="note">{free_words(cell)}</span></h3>}
      {cell.trouble === '' ? null : <p class="line bad">! {TROUBLE_WORDS[cell.trouble]}</p>}
      {alone ? (
        <dl class="facts">
          <Fact name="model">{short_model(cell.model)}</Fact>
          <Fact name="compute">{gpus(cell.usedMilli)} of {gpus(cell.milli)} GPU ({percent(cell.usedMilli, cell.milli)})</Fact>
          {cell.memMib === 0 ? null : <Fact name="memory">{memory(cell.usedMemMib)} of {memory(cell.memMib)} ({percent(cell.usedMemMib, cell.memMib)})</Fact>}
          {cell.uuid === '' ? null : <Fact name="UUID"><span class="mono">{cell.uuid}</span></Fact>}
        </dl>
      ) : null}
      {cell.segments.length === 0 ? <Empty>No pod holds any of it.</Empty> : (
        <ul class="list tight">
          {cell.segments.map((s, i) => (
            <li key={`${s.namespace}/${s.pod}/${s.container}/${i}`}>
              {s.pod === '' ? <p class="line quiet">{s.profile}: free</p>
                : <PodLink page={page} namespace={s.namespace} pod={s.pod} note={`${gpus(s.milli)} · ${memory(s.memMib)}`} />}
              {s.pod === '' || (s.state === 'bound' && s.profile === '' && s.qos === '' && !alone) ? null : (
                <p class="line quiet">
                  {[s.profile, STATE_WORDS[s.state], s.qos, s.since === '' ? '' : `for ${ago(s.since, page.now)}`].filter((x) => x !== '').join(' · ')}
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

export function NodeDetail({ page, node, cell }: { page: Page; node: string; cell: number }): JSX.Element {
  const at = page.model.node_index(node);
  if (at < 0) return <div class="detail"><h2>{node}</h2><Empty>The cluster has no such node now.</Empty></div>;
  const n = page.model.nodes[at]!, cells = cells_of(n), mark = node_mark(n), one = cell < 0 ? undefined : cells[cell];
  return (
    <div class="detail">
      <h2>{node}{one === undefined ? '' : ` · ${cell_title(one)}`}</h2>
      {mark === '' ? null : <p class="line bad">⊘ {MARK_WORDS[mark]}</p>}
      {n.note === '' ? null : <p class="line">{n.note}</p>}
      {one !== undefined ? <Gpu page={page} cell={one} alone={true} /> : (
        <>
          <p class="line quiet">{plural(cells.length, 'GPU')}{n.hostGroup === undefined ? '' : ` · host group ${n.hostGroup.name}`}</p>
          {cells.map((c, i) => <Gpu key={i} page={page} cell={c} alone={false} />)}
        </>
      )}
      {(n.unplaced ?? []).length === 0 ? null : (
        <section>
          <h3>Pods here whose GPUs are not known</h3>
          {n.unplaced!.map((p) => <PodLink key={p.uid} page={page} namespace={p.namespace} pod={p.pod} />)}
        </section>
      )}
      <p class="actions">
        {one === undefined ? null : <button type="button" onClick={() => page.act.open_node(node, -1)}>The whole node</button>}
        <button type="button" onClick={() => page.act.set({ zoom: 'node', only: node })}>Show this node alone</button>
      </p>
    </div>
  );
}
