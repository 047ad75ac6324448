/* What colours and patterns mean; a namespace's button shows its pods alone. The patterns are drawn by the code that draws the bars. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { SegmentState } from '../cells.ts';
import { fill_segment } from '../draw.ts';
import { read_paint } from '../paint.ts';
import { heat, PALETTE, type Theme } from '../palette.ts';
import type { Page } from '../ui.ts';
import { Swatch } from './parts.tsx';

const NAMESPACES = 8;
const STATES: readonly [SegmentState, string][] = [['reserved', 'reserved'], ['terminating', 'ending'], ['foreign', 'foreign'], ['conflict', 'conflict']];

function Pattern({ state, theme }: { state: SegmentState | 'unhealthy' | 'free' | number; theme: Theme }): JSX.Element {
  const ref = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const canvas = ref.current!, ratio = window.devicePixelRatio || 1;
    const wide = typeof state === 'number' ? 72 : 22;
    canvas.width = wide * ratio;
    canvas.height = 12 * ratio;
    canvas.style.width = `${wide}px`;
    canvas.style.height = '12px';
    const c = canvas.getContext('2d')!;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const p = read_paint(document.documentElement, c), r = { x: 0, y: 0, w: wide, h: 12 };
    c.fillStyle = p.track;
    c.fillRect(0, 0, wide, 12);
    if (typeof state === 'number') {
      for (let i = 0; i < 12; i++) {
        c.fillStyle = heat(theme, i / 11);
        c.fillRect(i * 6, 0, 6, 12);
      }
    } else if (state === 'unhealthy') {
      c.fillStyle = p.cross;
      c.fillRect(0, 0, wide, 12);
      c.strokeStyle = p.bad;
      c.lineWidth = 2;
      c.strokeRect(1, 1, wide - 2, 10);
      c.font = `700 10px ${p.font}`;
      c.fillStyle = p.bad;
      c.textAlign = 'center';
      c.textBaseline = 'middle';
      c.fillText('✕', wide / 2, 6.5);
    } else if (state !== 'free') {
      fill_segment(c, { state, namespace: '' }, r, p, PALETTE[theme][0]!);
    }
  }, [theme, state]);
  return <canvas ref={ref} class="pattern" aria-hidden="true" />;
}

export function Legend({ page }: { page: Page }): JSX.Element {
  const names = [...page.model.namespaces].sort((a, b) => b[1].milli - a[1].milli).map(([name]) => name);
  const shown = names.slice(0, NAMESPACES).sort();
  const only = page.ui.mark;
  return (
    <div class="legend">
      <ul class="namespaces" aria-label="Namespaces">
        {shown.map((name) => {
          const pressed = only !== null && only.namespace === name && only.pod === '';
          return (
            <li key={name}>
              <button type="button" aria-pressed={pressed} onClick={() => page.act.set({ mark: pressed ? null : { namespace: name, pod: '', model: '' } })}>
                <Swatch page={page} namespace={name} />{name}
              </button>
            </li>
          );
        })}
        {names.length > NAMESPACES ? <li class="quiet">and {names.length - NAMESPACES} more; colours repeat</li> : null}
      </ul>
      {only === null ? null : (
        <button type="button" class="chip" onClick={() => page.act.set({ mark: null })}>
          only {only.model || `${only.namespace}${only.pod === '' ? '' : `/${only.pod}`}`} <span aria-hidden="true">✕</span><span class="unseen">, show all</span>
        </button>
      )}
    </div>
  );
}

/* What the patterns mean; below the grid, where it takes no room from the namespaces. */
export function Key({ page }: { page: Page }): JSX.Element {
  const blocks = page.ui.zoom === 'cluster';
  return (
    <ul class="key-line" aria-label="Patterns">
      {blocks ? <li><Pattern state={0} theme={page.theme} />free to full</li> : null}
      <li>{blocks ? 'upper half compute, lower memory' : 'upper bar compute, lower memory'}</li>
      {blocks ? null : STATES.map(([state, name]) => <li key={state}><Pattern state={state} theme={page.theme} />{name}</li>)}
      <li><Pattern state="unhealthy" theme={page.theme} />unhealthy</li>
      <li><span class="symbol" aria-hidden="true">⊘</span>takes no new pods</li>
    </ul>
  );
}
