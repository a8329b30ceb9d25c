import { byService } from '../accounts/audit/audit.ts'
import type { Subscribers } from '../emitting/index.ts'
import type { App } from '../http/app.ts'
import { ifFound } from './if-found.ts'
import { sinkRoutes } from './sinks.ts'

/** The owner of the subscribers that get the sample events. */
export const sampleCustomer = 'acme'

const subscribersOfCustomer = [
  {
    id: '00000000-0000-7000-8000-000000000d31',
    path: '/demo/acme/works',
    status: 204,
    description: 'Sample: accepts all',
  },
  {
    id: '00000000-0000-7000-8000-000000000d32',
    path: '/demo/acme/down',
    status: 503,
    description: 'Sample: returns 503',
  },
] as const

/** Milliseconds before each attempt. Short, so that deliveries fail for good while the newcomer looks. */
const retrySchedule = [0, 5_000]

/** Fixed ids, by which a restart finds them. */
export const sampleCustomerSubscribers: readonly string[] = subscribersOfCustomer.map(({ id }) => id)

export interface SampleCustomer {
  /** Declares the addresses of the subscribers. They verify nothing and change nothing. */
  routes(app: App): Promise<void>
  /** Registers the subscribers. */
  create(baseUrl: string): Promise<void>
  /** Updates the addresses of those that still exist. */
  follow(baseUrl: string): Promise<void>
}

/** A customer in demo mode with two subscribers inside the service: one works, one is down. They get sample events only. */
export function createSampleCustomer(subscribers: Subscribers): SampleCustomer {
  return {
    routes: (app) => sinkRoutes(app, subscribersOfCustomer),

    async create(baseUrl) {
      for (const { id, path, description } of subscribersOfCustomer) {
        const url = baseUrl + path
        const eventTypes = ['sample.*']
        const settings = { id, url, description, eventTypes, retrySchedule, owner: sampleCustomer }
        await subscribers.create(settings, 'all', byService)
      }
    },

    async follow(baseUrl) {
      for (const { id, path } of subscribersOfCustomer) {
        const url = baseUrl + path
        const known = await ifFound(subscribers.get(id, 'all'))
        if (known && known.url !== url) await subscribers.change(id, { url }, 'all', byService)
      }
    },
  }
}
