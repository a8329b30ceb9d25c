import { isoTime } from '../../runtime/iso-time.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import type { SvixOperations } from './call.ts'
import { SvixError } from './errors.ts'
import { allEventTypes, type EventTypeBody, isDeclared, replacement, viewEventType } from './event-types.ts'

/** Settings that Svix's API cannot change. */
const fixedSettings = {
  enableChannels: true,
  enableMessageTags: true,
  enableTransformations: true,
  enableEndpointOauthConfig: true,
  enableEndpointMtlsConfig: true,
  enableMessageStream: false,
  enableIntegrationManagement: false,
  showUseSvixPlay: false,
  showSvixBrandFooter: false,
  wipeSuccessfulPayload: false,
  showFeatureTooltips: false,
  advancedEndpointTypes: [],
}

/** v1.environment.*: export and import of event types, and read-only settings. */
export function environmentOperations(parts: EmittingRouteParts): SvixOperations {
  const { clock, configuration, storedEventTypes } = parts
  return {
    'v1.environment.get-settings': async () => ({
      displayName: configuration.brandName ?? null,
      customColor: configuration.brandColor ?? null,
      ...fixedSettings,
    }),
    'v1.environment.export': async () => ({
      version: 1,
      createdAt: isoTime(clock.now()),
      eventTypes: (await allEventTypes(parts)).map(viewEventType),
      settings: null,
      connectors: [],
    }),
    'v1.environment.import': async ({ body, origin }) => {
      const { eventTypes, settings, connectors } = body as {
        eventTypes?: EventTypeBody[] | null
        settings?: object | null
        connectors?: object[] | null
      }
      if (connectors?.length || Object.keys(settings ?? {}).length > 0)
        throw new SvixError(
          400,
          'not_implemented',
          'Only event types can be imported. Remove `settings`, which belong to the configuration, and `connectors`, which Postern does not have.',
        )
      // Types that the configuration declares exist already.
      const given = (eventTypes ?? []).filter(({ name }) => !isDeclared(parts, name))
      await storedEventTypes.change(
        given.map(({ name }) => name),
        origin,
        () => given.map((one) => replacement(one.name, one)),
      )
    },
  }
}
