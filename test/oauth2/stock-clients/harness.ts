// One service with the clients that programs of other authors use as they are: issuer, id, secret, redirect URI, no more.
import { after, before, beforeEach } from 'node:test'
import type { Engine } from '#test/harness/engines.ts'
import { startProvingProvider, type OAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import type { ClientConfig } from '../../../src/oauth2/clients/client.ts'

export const webSecret = 'a-secret of+thirty/two=characters%'
/** The ports of loopback addresses may differ, so that each test may listen on any. */
export const loopback = 'http://127.0.0.1/callback'

const clients: readonly ClientConfig[] = [
  { id: 'web', secret: webSecret, redirectUris: ['https://web.example.com/callback', loopback] },
  { id: 'native', redirectUris: [loopback] },
]

export interface Stock {
  service: TestService
  provider: OAuthProvider
}

/**
 * The service of a suite, in which Ann signs in. It is there while tests run.
 * @param more clients besides `web` (confidential) and `native` (public)
 */
export function useStockService(engine: Engine, more: () => readonly ClientConfig[] = () => []): Stock {
  const stock = {} as Stock
  before(async () => {
    stock.provider = await startProvingProvider()
    stock.service = await startTestService(engine, {
      env: stock.provider.env('ACME'),
      config: { login: { clients: [...clients, ...more()] } },
    })
  })
  beforeEach(() => {
    stock.provider.profile = { id: 'ann', name: 'Ann', email: 'ann@example.com', email_verified: true }
  })
  after(async () => {
    await stock.service.close()
    await stock.provider.close()
  })
  return stock
}
