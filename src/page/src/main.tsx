/* The page: one model kept equal to fgpu's, one grid that draws it, and panels. Wiring only. */
import { render, type JSX } from 'preact';
import { useEffect, useReducer, useRef } from 'preact/hooks';
import { set_token } from './api.ts';
import type { Cell, Segment } from './cells.ts';
import { stats } from './draw.ts';
import { Grid } from './grid.ts';
import type { Zoom } from './layout.ts';
import { Live } from './live.ts';
import { Model } from './model.ts';
import { NamespaceColours, type Theme } from './palette.ts';
import { Figures, Header, Stale } from './panels/header.tsx';
import { Key, Legend } from './panels/legend.tsx';
import { Alerts, Side } from './panels/side.tsx';
import { Tooltip } from './tooltip.ts';
import type { Node } from './types.ts';
import type { Actions, Page, ThemeChoice, Ui } from './ui.ts';

const REPAINT_MS = 400; /* panels; the grid is drawn at once */
const ZOOMS: readonly [Zoom, string][] = [['cluster', 'Cluster'], ['nodes', 'Nodes'], ['node', 'One node']];
const BLOCKS_FROM = 150; /* nodes; a larger cluster is shown as a whole first */

const model = new Model();
const colours = new NamespaceColours();
const dark = window.matchMedia('(prefers-color-scheme: dark)');

function stored_theme(): ThemeChoice {
  try {
    const t = localStorage.getItem('fgpu-theme');
    return t === 'light' || t === 'dark' ? t : 'auto';
  } catch {
    return 'auto'; /* storage is not allowed here */
  }
}

const ui: Ui = {
  zoom: 'nodes', only: '', mark: null, tab: 'waiting', detail: null, theme: stored_theme(), loaded: false,
  status: { phase: 'connecting', since: Date.now(), why: '' },
};
let repaint: () => void = () => undefined;
let grid: Grid | null = null;
let timer = 0;
let opener: HTMLElement | null = null; /* had the focus when a detail was opened */

function soon(): void {
  timer ||= window.setTimeout(() => {
    timer = 0;
    repaint();
  }, REPAINT_MS);
}

function theme(): Theme {
  return ui.theme === 'auto' ? (dark.matches ? 'dark' : 'light') : ui.theme;
}

function apply_theme(): void {
  document.documentElement.dataset.theme = theme();
  grid?.theme_changed();
  repaint();
}
dark.addEventListener('change', apply_theme);

const act: Actions = {
  set(change) {
    const had = ui.theme, had_detail = ui.detail;
    Object.assign(ui, change);
    if (ui.detail !== null && had_detail === null) opener = document.activeElement as HTMLElement | null;
    if (had !== ui.theme) {
      try {
        localStorage.setItem('fgpu-theme', ui.theme);
      } catch {
        /* then it holds until the page is closed */
      }
      apply_theme();
    }
    if (ui.zoom === 'node' && ui.only === '') ui.only = grid?.focus_node || model.nodes[0]?.name || '';
    grid?.show(ui.zoom, ui.zoom === 'node' ? ui.only : '', ui.mark);
    repaint();
    if (ui.detail === null && had_detail !== null) (opener?.isConnected ? opener : document.querySelector<HTMLElement>('.grid'))?.focus({ preventScroll: true });
  },
  open_pod: (namespace, pod) => act.set({ detail: { kind: 'pod', namespace, pod } }),
  open_node: (node, cell) => act.set({ detail: { kind: 'node', node, cell } }),
  go(node, cell) {
    if (ui.zoom === 'cluster' || (ui.zoom === 'node' && ui.only !== node)) act.set({ zoom: 'nodes', only: '' });
    grid?.go(node, cell);
  },
  announce(text) {
    const region = document.getElementById('said');
    if (region !== null) region.textContent = text;
  },
};

function zoom(step: number): void {
  const at = ZOOMS.findIndex(([z]) => z === ui.zoom);
  const to = ZOOMS[at + step]?.[0];
  if (to === undefined) return;
  const node = grid?.focus_node ?? '';
  act.set({ zoom: to, only: to === 'node' ? node : '' });
  if (node !== '') grid?.go(node, to === 'cluster' ? -1 : 0);
}

const live = new Live(model, {
  changed(event) {
    if (event === 'state') {
      if (!ui.loaded && model.nodes.length > BLOCKS_FROM) ui.zoom = 'cluster';
      for (const name of [...model.namespaces.keys()].sort()) colours.slot(name);
      ui.loaded = true;
      grid?.show(ui.zoom, ui.zoom === 'node' ? ui.only : '', ui.mark);
      performance.mark('fgpu-loaded');
      repaint();
    }
    grid?.dirty();
    soon();
  },
  status(s) {
    if (s.phase !== ui.status.phase && ui.loaded) act.announce(s.phase === 'lost' ? 'connection lost; what is shown is stale' : s.phase === 'live' && ui.status.phase === 'lost' ? 'live again' : '');
    ui.status = s;
    repaint();
  },
});

function GridBox({ page }: { page: Page }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tooltip = new Tooltip();
    grid = new Grid(box.current!, model, colours, {
      open_pod: act.open_pod,
      open_gpu: act.open_node,
      open_node: (node) => (ui.zoom === 'node' ? act.open_node(node, -1) : act.set({ zoom: 'node', only: node, detail: { kind: 'node', node, cell: -1 } })),
      zoom,
      hover: (what: { node: Node; cell: Cell | null; segment: Segment | null; x: number; y: number } | null) => tooltip.show(what, Date.now()),
    });
    grid.show(ui.zoom, ui.only, ui.mark);
  }, []);
  const empty = page.ui.loaded && page.model.nodes.length === 0;
  return (
    <div class="grid-frame">
      <div ref={box} class="grid" role="grid" tabIndex={0} aria-label="GPUs by node; arrow keys move, Enter opens" data-testid="grid" />
      {empty ? <p class="no-nodes">The cluster has no node with GPUs.</p> : page.ui.loaded ? null : <p class="no-nodes">Reading the cluster …</p>}
    </div>
  );
}

function ZoomBar({ page }: { page: Page }): JSX.Element {
  return (
    <div class="toolbar">
      <div class="zooms" role="group" aria-label="Zoom">
        {ZOOMS.map(([z, name]) => (
          <button key={z} type="button" aria-pressed={page.ui.zoom === z} onClick={() => act.set({ zoom: z, only: z === 'node' ? page.ui.only : '' })}>
            {z === 'node' && page.ui.zoom === 'node' && page.ui.only !== '' ? page.ui.only : name}
          </button>
        ))}
      </div>
      <Legend page={page} />
    </div>
  );
}

function App(): JSX.Element {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    repaint = () => again(undefined);
    void live.run();
  }, []);
  const page: Page = { model, ui, act, colours, theme: theme(), now: Date.now() };
  return (
    <>
      <Header page={page} />
      <Stale page={page} retry={() => live.retry()} token={(t) => { set_token(t); live.retry(); }} />
      <Alerts page={page} />
      <Figures page={page} />
      <main class="main">
        <section class="left" aria-label="GPUs">
          <ZoomBar page={page} />
          <GridBox page={page} />
          <Key page={page} />
        </section>
        <Side page={page} />
      </main>
    </>
  );
}

document.addEventListener('keydown', (e) => {
  const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLTextAreaElement;
  if (e.key === '/' && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
    e.preventDefault();
    document.getElementById('search')?.focus();
  } else if (e.key === 'Escape' && !e.defaultPrevented) {
    if (ui.detail !== null) act.set({ detail: null });
    else if (ui.mark !== null) act.set({ mark: null });
    else if (typing) (e.target as HTMLElement).blur();
    else if (ui.zoom === 'node') zoom(-1);
  }
});

/* For tests, and for people with a question at the console. Nothing on the page reads it. */
Object.defineProperty(window, 'fgpu', { value: Object.freeze({ model, stats }) });

apply_theme();
render(<App />, document.getElementById('app')!);
