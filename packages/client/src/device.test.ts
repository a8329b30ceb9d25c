import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'
import { deviceSignIn, type DeviceCode } from './device.ts'

const url = 'https://gate.example.com'
const code = {
  device_code: 'd1',
  user_code: 'BCDF-GHJK',
  verification_uri: `${url}/device`,
  expires_in: 900,
  interval: 5,
}
const refusal = (error: string): Response => Response.json({ error }, { status: 400 })
const tokens = (): Response =>
  Response.json({ access_token: 'a', expires_in: 900, refresh_token: 'r', scope: 'openid' })

describe('deviceSignIn', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'] }))
  afterEach(() => mock.timers.reset())

  /** The seconds at which the service was asked for tokens, and the outcome. */
  async function run(answers: (() => Response | Promise<Response>)[], signal?: AbortSignal) {
    const asked: number[] = []
    const shown: DeviceCode[] = []
    let over = false
    const outcome = deviceSignIn({
      url,
      clientId: 'cli',
      scope: 'openid',
      signal,
      onCode: (one) => void shown.push(one),
      async fetch(address, init) {
        const fields = Object.fromEntries(new URLSearchParams(String(init?.body as URLSearchParams)))
        if (address === `${url}/oauth2/device_authorization`) {
          assert.deepEqual(fields, { client_id: 'cli', scope: 'openid' })
          return Response.json(code)
        }
        assert.equal(address, `${url}/oauth2/token`)
        const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
        assert.deepEqual(fields, { grant_type, client_id: 'cli', device_code: 'd1' })
        asked.push(Date.now() / 1000)
        return answers.shift()!()
      },
    })
      .then((found) => ({ found }))
      .catch((error: unknown) => ({ error }))
      .finally(() => (over = true))
    for (let turn = 0; turn < 5_000 && !over; turn += 1) {
      await new Promise((done) => setImmediate(done))
      mock.timers.tick(500)
    }
    return { asked, shown, outcome: await outcome }
  }

  test('shows the code and asks at the interval until the person has agreed', async () => {
    const pending = (): Response => refusal('authorization_pending')
    const { asked, shown, outcome } = await run([pending, pending, tokens])
    assert.deepEqual(shown, [{ userCode: 'BCDF-GHJK', verificationUri: `${url}/device`, expiresIn: 900 }])
    const [first, second, third] = asked
    assert.ok(first! >= 5 && second! - first! >= 5 && third! - second! >= 5, asked.join())
    assert.ok('found' in outcome)
    const { accessToken, refreshToken, scope } = outcome.found
    assert.deepEqual([accessToken, refreshToken, scope], ['a', 'r', 'openid'])
  })

  test('slows down when it is told to, and when the network fails', async () => {
    const broken = () => Promise.reject(new TypeError('fetch failed'))
    const { asked } = await run([() => refusal('slow_down'), broken, tokens])
    const [first, second, third] = asked
    assert.ok(second! - first! >= 10 && third! - second! >= 20, asked.join())
  })

  for (const error of ['access_denied', 'expired_token', 'invalid_client'])
    test(`${error} ends it`, async () => {
      const { asked, outcome } = await run([() => refusal(error)])
      assert.equal(asked.length, 1)
      assert.ok('error' in outcome)
      assert.equal((outcome.error as { code: string }).code, error)
    })

  test('it ends when the code has expired, whatever the service says', async () => {
    const forever = Array.from({ length: 400 }, () => () => refusal('authorization_pending'))
    const { asked, outcome } = await run(forever)
    assert.ok('error' in outcome)
    assert.ok(asked.at(-1)! >= 900 && asked.at(-1)! < 910, String(asked.at(-1)))
  })

  test('an abort ends it with the reason of the signal', async () => {
    const control = new AbortController()
    const { outcome } = await run(
      [
        () => {
          control.abort(new Error('left'))
          return refusal('authorization_pending')
        },
      ],
      control.signal,
    )
    assert.ok('error' in outcome && (outcome.error as Error).message === 'left')
  })
})
