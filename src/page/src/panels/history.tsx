/* Use, fragmentation and waiting pods over time: /v1/history, read again every interval while it is open. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { read_history } from '../api.ts';
import { chart, type Series } from '../chart.ts';
import { clock_time } from '../format.ts';
import type { History, Sample } from '../types.ts';
import { Empty } from './parts.tsx';

const WIDTH = 320;
const HEIGHT = 96;

function Chart({ title, unit, samples, series }: { title: string; unit: string; samples: Sample[]; series: Series[] }): JSX.Element {
  const c = chart(samples, series, WIDTH, HEIGHT);
  const words = c.lines.map((l) => `${l.name} now ${l.now}${unit}, lowest ${l.low}${unit}, highest ${l.high}${unit}`).join('; ');
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + 14}`} role="img" aria-label={`${title}: ${words}`}>
        {c.grid.map((g) => <line key={g.y} class="chart-grid" x1="0" x2={WIDTH} y1={g.y} y2={g.y} />)}
        {c.lines.map((l, i) => <path key={l.name} class={`chart-line line-${i}`} d={l.path} />)}
        {c.grid.map((g) => <text key={g.y} class="chart-text" x="0" y={g.y - 2}>{g.label}{unit}</text>)}
        <text class="chart-text" x="0" y={HEIGHT + 12}>{clock_time(samples[0]!.time)}</text>
        <text class="chart-text end" x={WIDTH} y={HEIGHT + 12}>{clock_time(samples[samples.length - 1]!.time)}</text>
      </svg>
      <ul class="keys" aria-hidden="true">
        {c.lines.map((l, i) => <li key={l.name}><span class={`key line-${i}`} />{l.name} <strong>{l.now}{unit}</strong></li>)}
      </ul>
    </figure>
  );
}

export function HistoryPanel(): JSX.Element {
  const [history, set_history] = useState<History | null>(null);
  const [failed, set_failed] = useState('');
  useEffect(() => {
    let timer = 0, here = true;
    const read = async (): Promise<void> => {
      let seconds = 10;
      try {
        const h = await read_history();
        if (here) set_history(h);
        set_failed('');
        seconds = Math.max(2, h.intervalSeconds);
      } catch (e) {
        if (here) set_failed((e as Error).message);
      }
      if (here) timer = window.setTimeout(() => void read(), seconds * 1000);
    };
    void read();
    return () => {
      here = false;
      window.clearTimeout(timer);
    };
  }, []);
  if (failed !== '') return <p class="line bad" role="alert">{failed}</p>;
  if (history === null) return <Empty>Reading …</Empty>;
  if (history.samples.length < 2) return <Empty>Nothing yet: fgpu remembers since it started, a sample every {history.intervalSeconds} s.</Empty>;
  const s = history.samples;
  return (
    <>
      <Chart title="Used" unit=" %" samples={s} series={[['compute', (x) => x.computePermille / 10], ['memory', (x) => x.memoryPermille / 10]]} />
      <Chart title="Fragmented, of what is idle" unit=" %" samples={s} series={[['fragmentation', (x) => x.fragmentationPermille / 10]]} />
      <Chart title="Pods" unit="" samples={s} series={[['running', (x) => x.bound], ['waiting', (x) => x.pending]]} />
    </>
  );
}
