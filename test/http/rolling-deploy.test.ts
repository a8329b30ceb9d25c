// Two services behind a load balancer are replaced one after the other, while clients go on. No request may fail.
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, test } from 'node:test'
import { type Engine, onPostgres, postgres } from '#test/harness/engines.ts'
import { startTestService, webhookSecret, type TestService } from '#test/harness/service.ts'
import { sign } from '../receiving/harness.ts'

// One SQLite file has one service.

/** What a load balancer does: it keeps connections to each service, and sends requests to those that say that they are ready. */
class Balancer {
  readonly agent = new Agent({ keepAlive: true })
  readonly failures: string[] = []
  answers = 0
  readonly #backends = new Map<string, { ready: boolean }>()
  #next = 0

  async call(method: string, url: string, headers: Record<string, string> = {}, body = ''): Promise<number> {
    return new Promise((resolve, reject) => {
      const call = request(url, { method, headers, agent: this.agent }, (response) => {
        response
          .resume()
          .once('end', () => resolve(response.statusCode!))
          .once('error', reject)
      })
      call.once('error', reject).end(body)
    })
  }

  /** Asks a service again and again whether it is ready, until it is taken out. */
  add(url: string): void {
    const backend = { ready: false }
    this.#backends.set(url, backend)
    void (async () => {
      while (this.#backends.has(url)) {
        backend.ready = await this.call('GET', `${url}/readyz`).then(
          (status) => status === 200,
          () => false,
        )
        await nextTurn()
      }
    })()
  }

  remove(url: string): void {
    this.#backends.delete(url)
  }

  async until(url: string, ready: boolean): Promise<void> {
    while (this.#backends.get(url)?.ready !== ready) await nextTurn()
  }

  /** One client, until it is told to end: each of its requests goes to the next service that is ready. */
  async client(name: string, ended: AbortSignal): Promise<void> {
    for (let number = 0; !ended.aborted; number += 1) {
      const ready = [...this.#backends].filter(([, backend]) => backend.ready)
      this.#next += 1
      const [url] = ready[this.#next % ready.length]!
      const body = JSON.stringify({ id: `${name}-${number}`, type: 'rolled' })
      const headers = { 'content-type': 'application/json', 'x-signature': sign(body, webhookSecret) }
      const status = await (
        number % 2 === 0
          ? this.call('POST', `${url}/webhooks/provider`, headers, body)
          : this.call('GET', `${url}/products?limit=1`)
      ).catch((error: Error) => error.message)
      if (status === 200) this.answers += 1
      else this.failures.push(`${name}-${number}: ${status}`)
    }
  }
}

describe('a rolling deploy', onPostgres, () => {
  test('fails no request on kept-alive connections', async () => {
    const engine = postgres as Engine
    const database = await engine.createDatabase()
    const env = { SHUTDOWN_DELAY: '300' }
    const start = (): Promise<TestService> => startTestService(engine, { env, databaseUrl: database.url })
    const balancer = new Balancer()
    const running: TestService[] = []
    const ended = new AbortController()
    try {
      for (let count = 0; count < 2; count += 1) running.push(await start())
      for (const { baseUrl } of running) balancer.add(baseUrl)
      for (const { baseUrl } of running) await balancer.until(baseUrl, true)
      const clients = Array.from({ length: 6 }, (_, index) =>
        balancer.client(`client-${index}`, ended.signal),
      )
      for (let roll = 0; roll < 4; roll += 1) {
        const old = running.shift()!
        const before = balancer.answers
        while (balancer.answers < before + 50) await nextTurn()
        const noticed = new AbortController()
        const announced = old.announceStop(noticed.signal)
        await balancer.until(old.baseUrl, false)
        // The delay is over once the balancer knows, and what it had sent is answered.
        const known = balancer.answers
        while (balancer.answers < known + 20) await nextTurn()
        noticed.abort()
        await announced
        await old.stop()
        balancer.remove(old.baseUrl)
        running.push(await start())
        const { baseUrl } = running.at(-1)!
        balancer.add(baseUrl)
        await balancer.until(baseUrl, true)
      }
      ended.abort()
      await Promise.all(clients)
      assert.deepEqual(balancer.failures, [])
    } finally {
      ended.abort()
      for (const { baseUrl } of running) balancer.remove(baseUrl)
      await Promise.all(running.map((service) => service.close()))
      balancer.agent.destroy()
      await database.drop()
    }
  })
})
