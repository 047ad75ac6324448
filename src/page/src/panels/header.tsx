/* The line at the top: how full the cluster is, whether what is shown is true now, search, theme. */
import type { JSX } from 'preact';
import { clock_time, count, gpus, memory, percent, span } from '../format.ts';
import type { Page, ThemeChoice } from '../ui.ts';
import { Meter } from './parts.tsx';
import { SearchBox } from './search_box.tsx';

function Figure({ name, value, detail, part, onClick }: {
  name: string; value: string; detail: string; part?: number; onClick?: () => void;
}): JSX.Element {
  const inside = (
    <>
      <span class="figure-name">{name}</span>
      <span class="figure-value">{value}</span>
      {part === undefined ? null : <Meter part={part} />}
      <span class="figure-detail">{detail}</span>
    </>
  );
  return onClick === undefined ? <div class="figure">{inside}</div> : <button type="button" class="figure" onClick={onClick}>{inside}</button>;
}

export function Figures({ page }: { page: Page }): JSX.Element {
  const { summary: s, pendingCount } = page.model;
  const f = s.fragmentation;
  const running = s.pods.bound + s.pods.confirmed + s.pods.foreign;
  return (
    <section class="figures" aria-label="The cluster in numbers">
      <Figure name="Compute" value={percent(s.milli.charged, s.milli.capacity)} part={s.milli.charged / Math.max(1, s.milli.capacity)}
        detail={`${gpus(s.milli.free)} of ${count(s.gpus)} GPUs free`} />
      <Figure name="Memory" value={percent(s.memMib.charged, s.memMib.capacity)} part={s.memMib.charged / Math.max(1, s.memMib.capacity)}
        detail={`${memory(s.memMib.free)} free`} />
      <Figure name="Fragmented" value={f === undefined ? '–' : percent(f.permille, 1000)} detail={f === undefined ? 'not known yet' : 'of what is idle'}
        {...(f === undefined ? {} : { part: f.permille / 1000 })} onClick={() => page.act.set({ tab: 'history', detail: null })} />
      <Figure name="Pods" value={count(running)} detail={s.pods.reserved > 0 ? `running, ${s.pods.reserved} on the way` : 'running'}
        onClick={() => page.act.set({ tab: 'decisions', detail: null })} />
      <Figure name="Waiting" value={count(pendingCount)} detail={pendingCount === 0 ? 'nobody waits' : 'see why'}
        onClick={() => page.act.set({ tab: 'waiting', detail: null })} />
    </section>
  );
}

const NEXT: Record<ThemeChoice, ThemeChoice> = { auto: 'light', light: 'dark', dark: 'auto' };
const THEME_NAMES: Record<ThemeChoice, string> = { auto: '◐ Auto', light: '☀ Light', dark: '☾ Dark' };

function Windows({ page }: { page: Page }): JSX.Element | null {
  const w = page.model.summary.timeWindows;
  if (w.active.length === 0 && w.at === '') return null;
  const to = w.next.length === 0 ? 'all closed' : w.next.join(', ');
  return (
    <p class="windows">
      <span aria-hidden="true">◷ </span>{w.active.length === 0 ? 'no window open' : `open: ${w.active.join(', ')}`}
      {w.at === '' ? null : <span class="quiet"> → {to} in {span((Date.parse(w.at) - page.now) / 1000)}</span>}
    </p>
  );
}

export function Header({ page }: { page: Page }): JSX.Element {
  const { ui } = page;
  const live = ui.status.phase === 'live' && page.model.metadata.ready;
  return (
    <header class="top">
      <h1>fgpu <span class="version">{page.model.metadata.version}</span></h1>
      <p class={`status ${live ? 'live' : 'not-live'}`} data-testid="status">
        <span class="dot" aria-hidden="true">{live ? '●' : '○'}</span> {live ? 'live' : ui.loaded ? 'stale' : 'connecting'}
      </p>
      <Windows page={page} />
      <SearchBox page={page} />
      <button type="button" class="theme" aria-label={`Theme: ${ui.theme}; press for ${NEXT[ui.theme]}`}
        onClick={() => page.act.set({ theme: NEXT[ui.theme] })}>{THEME_NAMES[ui.theme]}</button>
    </header>
  );
}

/* Says so while what is shown may not be so any more. */
export function Stale({ page, retry, token }: { page: Page; retry: () => void; token: (t: string) => void }): JSX.Element | null {
  const { ui, model } = page;
  if (ui.status.phase === 'token') {
    return (
      <form class="banner warn" onSubmit={(e) => {
        e.preventDefault();
        token(String(new FormData(e.currentTarget).get('token') ?? ''));
      }}>
        <p>fgpu wants a bearer token: {ui.status.why}</p>
        <label>Token <input type="password" name="token" autocomplete="off" /></label> <button type="submit">Use it</button>
      </form>
    );
  }
  if (ui.loaded && !model.metadata.ready) {
    return <div class="banner warn" data-testid="stale"><p>⚠ fgpu has not read all pods and nodes, or hears of no changes: stale since {clock_time(model.metadata.asOf)}.</p></div>;
  }
  if (ui.status.phase !== 'lost') return null;
  return (
    <div class="banner warn" data-testid="stale">
      <p>⚠ {ui.loaded ? `Stale since ${clock_time(new Date(ui.status.since).toISOString())}` : 'Nothing to show yet'}: {ui.status.why}. Asking again.</p>
      <button type="button" onClick={retry}>Ask now</button>
    </div>
  );
}
