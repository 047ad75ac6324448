/* One Chromium for all tests; a page of it that fails the test if the page breaks its content security policy, throws, or opens a dialog. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export function find_browser() {
  return process.env.FGPU_CHROMIUM ?? PLACES.find((p) => existsSync(p)) ?? '';
}

export async function start_browser() {
  return await chromium.launch({ executablePath: find_browser(), args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 860 }, colorScheme: 'light', ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on('pageerror', (e) => wrong.push(`error: ${e.message}`));
  page.on('dialog', (d) => {
    wrong.push(`dialog: ${d.message()}`);
    void d.dismiss();
  });
  page.on('console', (m) => {
    if (/Content Security Policy/.test(m.text())) wrong.push(m.text());
  });
  page.on('request', (r) => {
    if (new URL(r.url()).origin !== new URL(url).origin) wrong.push(`a foreign host was asked: ${r.url()}`);
  });
  await page.goto(url);
  await page.waitForFunction(() => performance.getEntriesByName('fgpu-loaded').length > 0);
  const close = async () => {
    await context.close();
    assert.deepEqual(wrong, []);
  };
  return { page, close };
}

/* Serious and critical findings; those of a canvas's text nobody can compute. */
export async function axe(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`));
  return found;
}

export const shown = (page, text) => page.getByText(text).first().waitFor();
export const model = (page, f, arg) => page.evaluate(([body, a]) => new Function('fgpu', 'arg', `return (${body})(fgpu, arg)`)(window.fgpu, a), [f.toString(), arg]);
