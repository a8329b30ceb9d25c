import { byService } from '../accounts/audit/audit.ts'
import type { Destinations } from '../alerts/destinations.ts'
import type { App } from '../http/app.ts'
import { ifFound } from './if-found.ts'
import { sinkRoutes } from './sinks.ts'

const sink = { path: '/demo/alerts', status: 204 } as const

const samples = [
  {
    id: '00000000-0000-7000-8000-000000000d51',
    kind: 'teams',
    choice: {
      name: 'On call (sample)',
      conditions: ['handler-failing', 'work-stalls', 'disk-fills'],
      severity: 'error',
      repeat: 3_600_000,
      enabled: false,
    },
  },
  {
    id: '00000000-0000-7000-8000-000000000d52',
    kind: 'slack',
    choice: {
      name: 'Operations channel (sample)',
      conditions: null,
      severity: 'warning',
      repeat: 86_400_000,
      enabled: true,
    },
  },
] as const

/** Destinations of alerts whose messages stay on this machine: an address of this service takes them, in place of Slack and Teams. */
export function createSampleAlerts(destinations: Destinations) {
  return {
    routes: (app: App): Promise<void> => sinkRoutes(app, [sink]),

    async create(baseUrl: string): Promise<void> {
      for (const { id, kind, choice } of samples) {
        const conditions = choice.conditions && [...choice.conditions]
        await destinations.create(
          kind,
          { ...choice, id, conditions },
          { url: baseUrl + sink.path },
          byService,
        )
      }
    },

    /** Updates the address of those that still exist. */
    async follow(baseUrl: string): Promise<void> {
      const url = baseUrl + sink.path
      for (const { id } of samples) {
        const known = await ifFound(destinations.get(id))
        if (known && 'url' in known.target && known.target.url !== url)
          await destinations.change(id, { url }, byService)
      }
    },
  }
}
