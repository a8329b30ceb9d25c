// Each sender preset has its page, and what the page says of headers, address, secret and signed time is what the code does.
// The handler that a page shows processes the sample that the page sends.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { sql } from 'kysely'
import type { PosternConfig } from '../../src/define-config.ts'
import { otherProofs, secretPresets } from '../harness/presets.ts'
import type { Scheme } from '../../src/receiving/schemes/scheme.ts'
import { reasons } from '../../src/receiving/rejections/reasons.ts'
import { setUps } from '../../src/receiving/schemes/set-up.ts'
import type { SignedSample } from '../../src/receiving/samples/index.ts'
import { samples } from '../../src/receiving/samples/index.ts'
import { startTestKit, type TestWebhook } from '../../src/testing/index.ts'
import { scoped, temporaryFolder, each } from '../harness/index.ts'

const root = join(import.meta.dirname, '../..')
const guides = join(root, 'docs/guides')
const index = readFileSync(join(guides, 'senders.md'), 'utf8')
const folder = temporaryFolder()

const now = Date.parse('2026-03-01T12:00:00.000Z')
const url = 'https://gate.example.com/webhooks/source'
const secret = `whsec_${Buffer.from('a secret of thirty-two bytes, yes').toString('base64')}`

/** Senders with a key pair: what signs, and what verifies. */
function keysOf(name: string): readonly [signing: string, verifying: string] {
  if (name === 'adyen') return ['ab'.repeat(32), 'ab'.repeat(32)]
  if (name === 'discord') {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const hex = (key: Buffer) => key.subarray(-32).toString('hex')
    return [
      hex(privateKey.export({ format: 'der', type: 'pkcs8' })),
      hex(publicKey.export({ format: 'der', type: 'spki' })),
    ]
  }
  if (name === 'sendgrid') {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    return [
      privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
      publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    ]
  }
  return [secret, secret]
}

const all = Object.entries(secretPresets).map(([exported, preset]) => {
  const make = (verifying: string | undefined) => preset({ secret: verifying, header: 'x-signature' })
  return { exported, name: make(undefined).name, make }
})

/** Notes the names of the headers that are read. */
function watched(headers: IncomingHttpHeaders, names: Set<string>): IncomingHttpHeaders {
  const note = (name: string | symbol) => typeof name === 'string' && names.add(name)
  return new Proxy(headers, {
    get: (target, name) => (note(name), Reflect.get(target, name) as unknown),
    has: (target, name) => (note(name), Reflect.has(target, name)),
  })
}

/** Other forms of request that one preset reads: by their headers. */
const variants: Record<string, (headers: IncomingHttpHeaders) => IncomingHttpHeaders[]> = {
  shopify: (headers) => [
    {
      ...headers,
      'shopify-hmac-sha256': String(headers['x-shopify-hmac-sha256']),
      'shopify-topic': 'Product',
    },
  ],
  'standard-webhooks': (headers) => [
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.replace('webhook', 'svix'), value]),
    ),
  ],
}

/** The headers that a preset reads of its requests, in lower case. */
function headersRead(name: string, make: (verifying: string) => Scheme): Set<string> {
  const names = new Set<string>()
  const secrets = name === 'gitlab' ? [secret, 'a token that is repeated'] : [undefined]
  for (const shared of secrets) {
    const [signing, verifying] = shared === undefined ? keysOf(name) : [shared, shared]
    const type = setUps[name]!.exampleType
    const { headers, body } = sampleOf(name)({ type, secret: signing, id: 'e1', now, data: {}, url })
    const withoutOne = Object.keys(headers).map((left) =>
      Object.fromEntries(Object.entries(headers).filter(([header]) => header !== left)),
    )
    for (const sent of [headers, ...withoutOne, ...(variants[name]?.(headers) ?? [])])
      make(verifying).verify({ rawBody: Buffer.from(body), headers: watched(sent, names), now, url })
  }
  names.delete('content-type')
  return names
}

function sampleOf(name: string) {
  return samples[name === 'hmac' ? 'provider' : name]!
}

function asJson({ headers, body }: SignedSample): SignedSample {
  return { headers: { 'content-type': 'application/json', ...headers }, body }
}

/** The seconds by which the signed time of a sample may differ, of 300 and nine hours; `none` if any time will do. */
function toleranceOf(name: string, make: (verifying: string) => Scheme): string {
  const [signing, verifying] = keysOf(name)
  const type = setUps[name]!.exampleType
  const { headers, body } = sampleOf(name)({ type, secret: signing, id: 'e1', now, data: {}, url })
  const isAccepted = (seconds: number) =>
    'id' in make(verifying).verify({ rawBody: Buffer.from(body), headers, now: now + seconds * 1000, url })
  assert.ok(isAccepted(0))
  const bound = [300, 9 * 3600].find((seconds) => isAccepted(seconds - 1) && !isAccepted(seconds + 1))
  return bound === undefined ? 'none' : bound === 300 ? '300 s' : '9 h'
}

/** A table of a page, by the name of its first column: the first cells. */
function column(text: string, heading: string): string[] {
  const [, rows = ''] =
    new RegExp(`^\\| ${heading} \\|.*\\n\\| ---.*\\n((?:\\|.*\\n)*)`, 'm').exec(text) ?? []
  return rows.split('\n').flatMap((row) => (row === '' ? [] : [row.split('|')[1]!.trim()]))
}

const otherNames = Object.keys(otherProofs).map((name) =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
)

for (const [at, name] of otherNames.entries())
  test(`docs/guides/senders/${name}.md shows the scheme and agrees with the steps of the dashboard`, () => {
    const page = readFileSync(join(guides, 'senders', `${name}.md`), 'utf8')
    assert.ok(page.includes(`${Object.keys(otherProofs)[at]}({`))
    assert.ok(page.includes(setUps[name]!.docs))
    for (const variable of page.matchAll(/process\.env\.(\w+)/g))
      assert.match(page, new RegExp(`\`${variable[1]}\` (is|holds|has|a) `))
  })

test('there is a page for each preset and no other', () => {
  const linked = [...index.matchAll(/\]\(senders\/([a-z0-9-]+)\.md\)/g)].map((match) => match[1]!)
  assert.deepEqual([...new Set(linked)].toSorted(), [...each(all, 'name'), ...otherNames].toSorted())
})

test('the index explains each reason for a refusal', () => {
  for (const reason of Object.keys(reasons))
    assert.match(index, new RegExp(`^\\| \\d+ \\|.*\`${reason}\``, 'm'))
})

for (const { exported, name, make } of all) {
  describe(`docs/guides/senders/${name}.md`, () => {
    const page = readFileSync(join(guides, 'senders', `${name}.md`), 'utf8')
    const code = /^```ts\n([^]*?)^```$/m.exec(page)![1]!
    const [, source, call] = /sources: \{\s*(\w+): (\w+)\(/.exec(code)!
    const variables = [...code.matchAll(/process\.env\.(\w+)/g)].map((match) => match[1]!)
    const prose = page.replaceAll(/^```[^]*?^```$/gm, '')

    test('shows the preset, the address and what the variables hold', () => {
      assert.equal(call, exported)
      assert.ok(prose.includes(`BASE_URL/webhooks/${source}`), `BASE_URL/webhooks/${source}`)
      for (const variable of variables) assert.match(prose, new RegExp(`\`${variable}\` (is|holds|has|a) `))
    })

    test('names the headers that the code reads', () => {
      const read = headersRead(name, make)
      const shown = column(page, 'header or property')
        .filter((cell) => cell.startsWith('`'))
        .map((header) => header.replaceAll('`', '').toLowerCase())
      // Of `hmac()` the reader names the header.
      assert.deepEqual(shown.toSorted(), [...read].toSorted())
    })

    test('tells the tolerance of the code, as the index does', () => {
      const tolerance = toleranceOf(name, make)
      const row = index.split('\n').find((line) => line.includes(`(senders/${name}.md)`))!
      assert.equal(row.split('|')[2]!.trim(), `\`${exported}\``)
      assert.equal(row.split('|')[4]!.trim(), tolerance)
      const told = /^\| signed time \| (.*) \|$/m.exec(page)![1]!
      assert.match(told, { none: /^no\b|^only with/, '300 s': /300 s/, '9 h': /nine hours/ }[tolerance]!)
    })

    test('agrees with the steps that the dashboard shows', () => {
      const { steps, docs } = setUps[name]!
      assert.ok(page.includes(docs), docs)
      // Of `Settings › API › Webhooks`: each word with the one after it.
      for (const [, before, next] of steps.join(' ').matchAll(/(\w+)(?= › (\w+))/g))
        assert.ok(page.includes(`${before} › ${next}`), `${before} › ${next}`)
    })

    test('has a handler that processes the sample that it sends', async () => {
      const [signing, verifying] = keysOf(name)
      for (const variable of variables) process.env[variable] = verifying
      const file = join(folder, `${name}.ts`)
      writeFileSync(
        file,
        code.replace("'postern'", JSON.stringify(pathToFileURL(join(root, 'src/index.ts')).href)),
      )
      const { default: config } = (await import(pathToFileURL(file).href)) as { default: PosternConfig }
      const tables = [...page.matchAll(/^```sql\n([^]*?)^```$/gm)].map((match) => match[1]!)
      await using kit = scoped(
        await startTestKit(config, {
          setUp: async (db) => {
            for (const table of tables) await sql.raw(table).execute(db)
          },
        }),
      )
      const commands = [...page.matchAll(/^npx postern trigger (\w+) (\S+)(?:.*--data '(.*)')?/gm)]
      assert.ok(commands.length > 0)
      for (const [, named, type, data] of commands) {
        assert.equal(named, source)
        const request = { type: type!, data: JSON.parse(data ?? '{"sample":true}') as unknown }
        const webhook: TestWebhook =
          signing === verifying
            ? request
            : asJson(sampleOf(name)({ ...request, secret: signing, id: 'e1', now: Date.now(), url }))
        const result = await kit.receive(source!, webhook)
        assert.equal(result.error, undefined)
        assert.equal(result.status, 'processed')
        const handlers = Object.keys(config.receiving?.handlers ?? {})
        const found = await kit.db
          .selectFrom('events')
          .select('type')
          .where('direction', '=', 'received')
          .execute()
        assert.ok(
          handlers.includes(String(found.at(-1)!['type'])),
          `no handler for ${String(found.at(-1)!['type'])}`,
        )
      }
    })
  })
}
