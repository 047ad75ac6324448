/* node build.mjs OUT: the page as files that fgpu embeds: index.html, and assets with a hash of their bytes in their names.
 * node build.mjs --tests OUT: the unit tests as modules for node --test. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const tests = process.argv[2] === '--tests';
const out = process.argv[tests ? 3 : 2];

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

if (tests) {
  const files = readdirSync(join(here, 'test')).filter((f) => f.endsWith('.test.ts')).map((f) => join(here, 'test', f));
  await build({ entryPoints: files, outdir: out, outExtension: { '.js': '.mjs' }, bundle: true, platform: 'node', target: 'node18', format: 'esm', sourcemap: 'inline' });
} else {
  const made = await build({
    entryPoints: [join(here, 'src/main.tsx'), join(here, 'src/style.css')], outdir: out, write: false, bundle: true, minify: true, format: 'esm',
    target: ['chrome109', 'firefox115', 'safari16'], jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none', charset: 'utf8',
    banner: { js: '/* fgpu; with preact, MIT licence, (c) 2015-present Jason Miller */' },
  });
  const files = new Map(made.outputFiles.map((f) => [f.path.slice(out.length).replace(/^[\\/]/, ''), Buffer.from(f.contents)]));
  files.set('icon.svg', readFileSync(join(here, 'src/icon.svg')));
  const names = new Map();
  for (const [name, bytes] of files) {
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
    const hashed = name.split('/').pop().replace(/\.(\w+)$/, `-${hash}.$1`);
    names.set(name.split('/').pop(), hashed);
    writeFileSync(join(out, hashed), bytes);
  }
  const html = readFileSync(join(here, 'src/index.html'), 'utf8').replace(/\{\{([\w.]+)\}\}/g, (_, name) => {
    if (!names.has(name)) throw new Error(`index.html names ${name}, which was not built`);
    return names.get(name);
  });
  writeFileSync(join(out, 'index.html'), html);
}
