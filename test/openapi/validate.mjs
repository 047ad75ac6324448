// node validate.mjs FILE: is it an OpenAPI 3.1 document, do its references lead somewhere, has each operation a name of its own?
// Schemas in files beside it are JSON Schemas, which the integration tests (test_openapi.py) judge; here they only have to be there.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';

const file = process.argv[2];
const complaints = [];

function read() {
  return JSON.parse(readFileSync(file, 'utf8'), (key, value) => {
    const other = value?.$ref;
    if (typeof other !== 'string' || other.startsWith('#')) return value;
    if (!existsSync(join(dirname(file), other))) complaints.push(`there is no ${other}`);
    return {};
  });
}

async function wrong(document) {
  const validator = new Validator();
  const result = await validator.validate(document);
  return result.valid && validator.version === '3.1' ? [] : [`version ${validator.version}: ${JSON.stringify(result.errors, null, 1)}`];
}

const document = read();
complaints.push(...(await wrong(document)));
const names = Object.values(document.paths).flatMap((item) => [item.get, item.post]).filter(Boolean).map((o) => o.operationId);
for (const name of names) {
  if (!name || names.indexOf(name) !== names.lastIndexOf(name)) complaints.push(`operationId ${name}: missing, or there twice`);
}
for (const spoil of [
  (d) => delete d.paths['/state'].get.responses['200'].description,
  (d) => (d.paths['/state'].get.responses['304'].$ref = '#/components/responses/None'),
  (d) => (d.paths['state'] = {}),
]) {
  const spoilt = read();
  spoil(spoilt);
  if ((await wrong(spoilt)).length === 0) complaints.push(`the validator does not see: ${spoil}`);
}
for (const said of complaints) console.error(`${file}: ${said}`);
process.exit(complaints.length ? 1 : 0);
