/* Colours and patterns of the canvas, read once for a theme from style.css: it alone knows them. */
import type { Theme } from './palette.ts';

export interface Paint {
  theme: Theme; text: string; muted: string; faint: string; line: string; track: string; surface: string; accent: string; bad: string; warn: string;
  hatch: CanvasPattern; cross: CanvasPattern; dots: CanvasPattern; font: string;
}

function tile(size: number, draw: (c: CanvasRenderingContext2D) => void, on: CanvasRenderingContext2D): CanvasPattern {
  const t = document.createElement('canvas');
  const ratio = window.devicePixelRatio || 1;
  t.width = t.height = Math.round(size * ratio);
  const c = t.getContext('2d')!;
  c.scale(t.width / size, t.width / size);
  draw(c);
  const pattern = on.createPattern(t, 'repeat')!;
  pattern.setTransform(new DOMMatrix().scale(size / t.width));
  return pattern;
}

function diagonals(c: CanvasRenderingContext2D, size: number, colour: string, width: number, both: boolean): void {
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.beginPath();
  for (const shift of [-size, 0, size]) {
    c.moveTo(shift - 1, size + 1);
    c.lineTo(shift + size + 1, -1);
    if (both) {
      c.moveTo(shift - 1, -1);
      c.lineTo(shift + size + 1, size + 1);
    }
  }
  c.stroke();
}

export function read_paint(root: HTMLElement, on: CanvasRenderingContext2D): Paint {
  const css = getComputedStyle(root);
  const value = (name: string): string => css.getPropertyValue(name).trim();
  const track = value('--track');
  return {
    theme: value('--theme') === 'dark' ? 'dark' : 'light',
    text: value('--text'), muted: value('--muted'), faint: value('--faint'), line: value('--line'), track, surface: value('--surface'),
    accent: value('--accent'), bad: value('--bad'), warn: value('--warn'), font: css.fontFamily,
    hatch: tile(6, (c) => diagonals(c, 6, value('--surface'), 2, false), on),
    cross: tile(6, (c) => diagonals(c, 6, value('--muted'), 1, true), on),
    dots: tile(4, (c) => {
      c.fillStyle = value('--muted');
      c.fillRect(1, 1, 1.2, 1.2);
    }, on),
  };
}
