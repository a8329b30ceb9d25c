import type { App } from '../http/app.ts'
import type { EventCatalogue } from './events/event-catalogue.ts'
import { parseLossless, parsePlain } from '../json/lossless.ts'
import { adminArea } from './routes/area.ts'
import { brandRoutes } from './routes/brand.ts'
import { deliveryRoutes, deliverySearchRoute } from './routes/deliveries.ts'
import type { DeliveryRouteParts } from './routes/delivery-parts.ts'
import { eventTypeRoutes } from './routes/event-types.ts'
import { eventRoutes, type EventRouteParts } from './routes/events.ts'
import { healthRoutes, type HealthRouteParts } from './routes/health.ts'
import { jobRoutes, type JobRouteParts } from './routes/jobs.ts'
import { keyRoutes, type KeyRouteParts, verificationRoutes } from './routes/verification.ts'
import { ownerRoutes, type OwnerRouteParts } from './routes/owners.ts'
import { portalArea, portalRoutes, type PortalRouteParts } from './routes/portal.ts'
import { subscriberRoutes } from './routes/subscribers.ts'
import type { SubscriberRouteParts } from './routes/subscriber-view.ts'

export interface EmittingRouteParts
  extends
    EventRouteParts,
    SubscriberRouteParts,
    DeliveryRouteParts,
    HealthRouteParts,
    JobRouteParts,
    KeyRouteParts,
    OwnerRouteParts,
    PortalRouteParts {
  catalogue: EventCatalogue
}

/** All routes of emitting. Numbers of emitted events are preserved as text; other bodies are parsed as usual. */
export async function emittingRoutes(app: App, parts: EmittingRouteParts): Promise<void> {
  eventTypeRoutes(app, parts.catalogue)
  await app.register(async (scope: App) => {
    readJsonWith(scope, parseLossless)
    eventRoutes(scope, parts)
  })
  await app.register(async (scope: App) => {
    readJsonWith(scope, parsePlain)
    keyRoutes(scope, parts)
    portalRoutes(scope, parts)
    deliverySearchRoute(scope, parts)
    ownerRoutes(scope, parts)
    brandRoutes(scope, parts)
    for (const area of [adminArea, portalArea]) {
      subscriberRoutes(scope, parts, area)
      deliveryRoutes(scope, parts, area)
      jobRoutes(scope, parts, area)
      healthRoutes(scope, parts, area)
      verificationRoutes(scope, parts, area)
    }
  })
}

function readJsonWith(scope: App, parse: (bytes: Uint8Array) => unknown): void {
  scope.removeContentTypeParser('application/json')
  scope.bodies.parse(scope, ['application/json'], (_request, bytes, done) => {
    let body: unknown
    try {
      body = parse(bytes)
    } catch (error) {
      return done(error as Error)
    }
    done(null, body)
  })
}
