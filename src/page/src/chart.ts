/* Lines over time as paths of an SVG. Pure. x is time, so that a pause of fgpu is a gap as wide as it was long. */
import type { Sample } from './types.ts';

export type Series = [name: string, value: (s: Sample) => number];

export interface Chart {
  lines: { name: string; path: string; now: number; low: number; high: number }[];
  grid: { y: number; label: string }[];
}

/* The least of 1, 2, 5 times a power of ten that is not below it. */
export function round_up(v: number): number {
  if (v <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  for (const m of [1, 2, 5]) if (v <= m * power) return m * power;
  return 10 * power;
}

export function chart(samples: Sample[], series: Series[], width: number, height: number): Chart {
  const times = samples.map((s) => Date.parse(s.time));
  const begin = times[0] ?? 0, length = Math.max(1, (times[times.length - 1] ?? 0) - begin);
  let most = 0;
  for (const [, value] of series) for (const s of samples) most = Math.max(most, value(s));
  const top = round_up(most);
  const y = (v: number): number => Math.round((height - (v / top) * (height - 12)) * 10) / 10;
  const step = Math.max(1, Math.floor(samples.length / width));
  const lines = series.map(([name, value]) => {
    let path = '', low = Infinity, high = -Infinity;
    samples.forEach((s, i) => {
      const v = value(s);
      low = Math.min(low, v);
      high = Math.max(high, v);
      if (i % step !== 0 && i !== samples.length - 1) return;
      path += `${path === '' ? 'M' : 'L'}${Math.round(((times[i]! - begin) / length) * width * 10) / 10} ${y(v)}`;
    });
    const now = samples.length === 0 ? 0 : value(samples[samples.length - 1]!);
    return { name, path, now: Math.round(now), low: Math.round(low), high: Math.round(high) };
  });
  return { lines, grid: [0, top / 2, top].map((v) => ({ y: y(v), label: v % 1 === 0 ? String(v) : v.toFixed(1) })) };
}
