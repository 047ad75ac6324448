import assert from 'node:assert/strict';
import test from 'node:test';
import { contrast, COLOURS, hash, ink_on, NamespaceColours, PALETTE, rgb, type Theme } from '../src/palette.ts';

const TRACK: Record<Theme, string> = { light: '#eaedf2', dark: '#262d39' }; /* --track of style.css */

/* Brettel, Viénot and Mollon, 1997, as the matrices of Machado et al., 2009, of full severity; linear RGB. */
const BLINDNESS: Record<string, number[]> = {
  none: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

function lab(hex: string, m: number[]): number[] {
  const lin = rgb(hex).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  const [r, g, b] = [0, 3, 6].map((i) => Math.max(0, Math.min(1, m[i]! * lin[0]! + m[i + 1]! * lin[1]! + m[i + 2]! * lin[2]!))) as [number, number, number];
  const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [x, y, z] = [
    f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047), f(0.2126 * r + 0.7152 * g + 0.0722 * b), f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883),
  ];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

for (const theme of ['light', 'dark'] as const) {
  test(`${theme}: every colour stands out from the empty bar, and text is readable on it`, () => {
    assert.equal(PALETTE[theme].length, COLOURS);
    for (const c of PALETTE[theme]) {
      assert.ok(contrast(c, TRACK[theme]) >= 3, `${c}: ${contrast(c, TRACK[theme])}`);
      assert.ok(contrast(c, ink_on(c)) >= 4.5, `${c}: ${contrast(c, ink_on(c))}`);
    }
  });

  test(`${theme}: colours are told apart with every kind of colour blindness`, () => {
    for (const [kind, m] of Object.entries(BLINDNESS)) {
      const all = PALETTE[theme].map((c) => lab(c, m));
      let least = Infinity, pair = '';
      all.forEach((a, i) => all.forEach((b, k) => {
        const d = Math.hypot(a[0]! - b[0]!, a[1]! - b[1]!, a[2]! - b[2]!);
        if (k > i && d < least) [least, pair] = [d, `${PALETTE[theme][i]} ${PALETTE[theme][k]}`];
      }));
      assert.ok(least >= 14, `${kind}: ${pair} differ by ${least.toFixed(1)}`);
    }
  });
}

test('a namespace prefers the colour that its name hashes to, and keeps what it got', () => {
  const c = new NamespaceColours();
  assert.equal(c.slot('team-a'), hash('team-a') % COLOURS);
  const names = Array.from({ length: 40 }, (_, i) => `ns-${i}`);
  const first = names.map((n) => c.slot(n));
  assert.equal(new Set([c.slot('team-a'), ...first.slice(0, 7)]).size, 8, 'eight namespaces have eight colours');
  assert.deepEqual(names.map((n) => c.slot(n)), first);
  assert.equal(first[20], hash('ns-20') % COLOURS);
});
