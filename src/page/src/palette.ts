/* Colours of namespaces. Pure.
 *
 * Eight colours for a light and eight for a dark background, each with a contrast of at least 3 to the empty bar (WCAG 1.4.11), told apart
 * with the three kinds of colour blindness (test/palette.test.ts computes both). A namespace prefers the colour that its name hashes to; if
 * another one has it, the next that is free, in the order in which they are seen. Beyond eight namespaces colours repeat. */

export type Theme = 'light' | 'dark';

export const PALETTE: Record<Theme, readonly string[]> = {
  light: ['#095bc0', '#bb7913', '#025900', '#a5004d', '#0090c9', '#762d7b', '#8a8a52', '#a97993'],
  dark: ['#1d87f1', '#c2811c', '#6ef29f', '#db54a0', '#b0eedf', '#cbc7ff', '#7b8e52', '#e8e76a'],
};
export const COLOURS = 8;

/* FNV-1a, 32 bits. */
export function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h ^= text.charCodeAt(i);
    h = Math.imul(h, 0x01000193) >>> 0;
  }
  return h;
}

export class NamespaceColours {
  #slot = new Map<string, number>();
  #taken = 0;

  /* The number of its colour; the same as long as this object lives. */
  slot(namespace: string): number {
    const known = this.#slot.get(namespace);
    if (known !== undefined) return known;
    let slot = hash(namespace) % COLOURS;
    if (this.#taken < COLOURS) {
      const used = new Set(this.#slot.values());
      while (used.has(slot)) slot = (slot + 1) % COLOURS;
      this.#taken++;
    }
    this.#slot.set(namespace, slot);
    return slot;
  }

  colour(namespace: string, theme: Theme): string {
    return PALETTE[theme][this.slot(namespace)]!;
  }
}

function channel(v: number): number {
  const c = v / 255;
  return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

export function rgb(hex: string): [number, number, number] {
  return [parseInt(hex.slice(1, 3), 16), parseInt(hex.slice(3, 5), 16), parseInt(hex.slice(5, 7), 16)];
}

/* Relative luminance, as WCAG defines it. */
export function luminance(hex: string): number {
  const [r, g, b] = rgb(hex);
  return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
}

export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/* Black or white, whichever is read better on it; always at least 4.5. */
export function ink_on(hex: string): string {
  return contrast(hex, '#ffffff') >= contrast(hex, '#10131a') ? '#ffffff' : '#10131a';
}

/* From the empty bar to full, in STEPS: one hue, darker (on dark: lighter) with load. */
export const HEAT_STEPS = 12;
const HEAT: Record<Theme, readonly [string, string]> = { light: ['#dfe8f5', '#0b3f8f'], dark: ['#27364f', '#9ecbff'] };

export function heat(theme: Theme, load: number): string {
  const [from, to] = HEAT[theme].map(rgb) as [[number, number, number], [number, number, number]];
  const t = Math.round(Math.max(0, Math.min(1, load)) * HEAT_STEPS) / HEAT_STEPS;
  const mix = from.map((v, i) => Math.round(v + (to[i]! - v) * t));
  return `rgb(${mix[0]},${mix[1]},${mix[2]})`;
}
