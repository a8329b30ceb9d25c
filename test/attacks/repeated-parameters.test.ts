// A parameter that comes twice can be read in two ways (RFC 6749, sections 3.1 and 3.2), so nothing of it is used.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, started, startTestService } from '#test/harness/index.ts'
import { appStart, newPkce, spa } from '../login/harness.ts'
import { assertProblem } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

describe('repeated parameters', () => {
  const provider = started(startHonestProvider)
  const service = started(async () => {
    const config = { login: { clients: [spa] } }
    return startTestService(engines[0]!, { env: provider.env('ACME'), config })
  })

  const begun = async (): Promise<number> =>
    (await service.database.reader.selectFrom('flows').select('provider').execute()).length

  const twice: [name: string, writing: string][] = [
    ['redirect_uri', `redirect_uri=${encodeURIComponent('https://evil.example.com/')}`],
    ['redirect_uri', `redirect_uri=${encodeURIComponent(spa.redirectUris[0]!)}`],
    ['client_id', 'client_id=other'],
    ['code_challenge', `code_challenge=${newPkce().challenge}`],
    ['code_challenge_method', 'code_challenge_method=plain'],
    ['scope', 'scope=a&scope=b'],
    ['state', 'state=other'],
    ['state', '%73tate=other'],
    ['response_type', 'response_type=code&response_type=token'],
    ['return_to', 'return_to=/a&return_to=/b'],
    ['reauthenticate', 'reauthenticate=true&reauthenticate=false'],
    // Behind more parameters than the parser of queries reads.
    ['state', `${Array.from({ length: 120 }, (_, index) => `p${index}=`).join('&')}&state=other`],
  ]
  for (const [name, writing] of twice) {
    test(`a sign-in of an app is refused with two of ${name}: ${writing.slice(0, 50)}`, async () => {
      const before = await begun()
      const good = appStart(newPkce())
      for (const path of [`${good}&${writing}`, good.replace('?', `?${writing}&`)]) {
        const answer = await service.fetch(path)
        const { source } = (await answer.clone().json()) as { source: { parameter: string } }
        assert.equal(source.parameter, name)
        await assertProblem(answer, 400, 'invalid-parameter')
      }
      assert.equal(await begun(), before)
    })
  }

  const fields = ['grant_type', 'client_id', 'code', 'code_verifier', 'redirect_uri', 'refresh_token']
  const refusal = async (body: string, type: string): Promise<void> => {
    const headers = { 'content-type': type }
    const answer = await service.fetch('/auth/token', { method: 'POST', headers, body })
    const { error, error_description: description } = (await answer.json()) as Record<string, string>
    assert.equal(answer.status, 400, body)
    assert.equal(error, 'invalid_request', body)
    assert.match(description!, /came twice/, body)
  }
  test('the token endpoint refuses repeated form fields', async () => {
    for (const field of fields)
      await refusal(`a=b&${field}=x&${field}=y`, 'application/x-www-form-urlencoded')
    await refusal('code=x&c%6fde=y', 'application/x-www-form-urlencoded')
  })

  test("another site's form cannot put its text on our page", async () => {
    const text = 'Your account is locked. Call +1 555 0100 to unlock it today'
    const body = new URLSearchParams([1, 2].map((value) => [text, String(value)]))
    for (const path of ['/login/offer', '/oauth2/end-session', '/auth/acme/callback']) {
      const headers = { accept: 'text/html', 'sec-fetch-site': 'cross-site' }
      const answer = await service.fetch(path, { method: 'POST', headers, body })
      assert.equal(answer.status, 400)
      assert.match(
        await answer.text(),
        /The field Your\?account\?is\?locked\.\?Call\?\?1\?555\?0100 came twice/,
      )
    }
  })

  test('nor can a field that our form does not have, or a link that is not valid', async () => {
    const headers = { accept: 'text/html', 'sec-fetch-site': 'cross-site' }
    const body = new URLSearchParams({ offer: 'x', [`Your account is locked. Call ${'1'.repeat(40)}`]: 'x' })
    const offer = await service.fetch('/login/offer', { method: 'POST', headers, body })
    assert.equal(offer.status, 400)
    assert.match(await offer.text(), /\/Your\?account\?is\?locked\.\?Call\?1{11} is no field of this call/)
    for (const path of ['/Your-account-is-locked%zz', `/users/Your-account-is-locked${'1'.repeat(512)}`]) {
      const answer = await service.fetch(path, { headers })
      assert.match(
        await answer.text(),
        /The path is not percent-encoded correctly|A segment of the path is too long/,
      )
      assert.ok([400, 414].includes(answer.status))
    }
  })

  test('the token endpoint refuses repeated JSON names', async () => {
    for (const field of fields)
      await refusal(`{"a":{"b":1},"${field}":"x","${field}":"y"}`, 'application/json')
    await refusal('{"code":"x","c\\u006fde":"y"}', 'application/json')
    await refusal('{ "code" : "a\\"b" , "code"\n: "y" }', 'application/json')
  })

  test('the same name in a nested object, or as a value, is no repetition', async () => {
    const body =
      '{"grant_type":"x","client_id":"spa","note":"code:","more":{"client_id":"a"},"code":"client_id"}'
    const headers = { 'content-type': 'application/json' }
    const answer = await service.fetch('/auth/token', { method: 'POST', headers, body })
    assert.equal(((await answer.json()) as { error: string }).error, 'unsupported_grant_type')
  })
})
