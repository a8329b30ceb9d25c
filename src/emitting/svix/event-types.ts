import { isoTime } from '../../runtime/iso-time.ts'
import type { CatalogueEntry } from '../events/event-catalogue.ts'
import {
  type EventTypeChange,
  type EventTypeFields,
  noFields,
  type StoredEventType,
} from '../events/stored-event-types.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import { notFound, type SvixCall, type SvixOperations, SvixError, unsupported } from './call.ts'
import { pageOfSorted, readPage } from './pages.ts'
import { exportTaskId, readEventTypes, validName, writeSpec } from './event-types-openapi.ts'

/** An event type in a request. */
export interface EventTypeBody {
  name: string
  description?: string
  archived?: boolean
  deprecated?: boolean
  schemas?: Record<string, unknown> | null
  groupName?: string | null
  featureFlags?: string[] | null
  /** The open-source server's name for feature flags, of which it has one. */
  featureFlag?: string | null
}

/** v1.event-type.*. Types that the configuration declares are read-only. */
export const eventTypeOperations: SvixOperations = {
  async 'v1.event-type.create'({ body, origin, parts }) {
    const { name: type } = body
    const [stored] = await parts.storedEventTypes.change([type], origin, (before) => {
      if (before.get(type)?.archived === false || parts.catalogue.types.has(type))
        throw new SvixError(409, 'event_type_exists', 'An event_type with this name already exists')
      return [replacement(type, body)]
    })
    return viewEventType(stored!)
  },
  async 'v1.event-type.upsert'(call) {
    const type = nameOf(call)
    const [stored] = await call.parts.storedEventTypes.change([type], call.origin, (before) => {
      call.status = before.has(type) ? 200 : 201
      return [replacement(type, call.body)]
    })
    return viewEventType(stored!)
  },
  'v1.event-type.patch': (call) => change(call, readFields(call.body)),
  async 'v1.event-type.delete'(call) {
    if (call.query['expunge'] !== true) await change(call, { archived: true })
    else if (!(await call.parts.storedEventTypes.remove(nameOf(call), call.origin))) await change(call, {})
  },
  async 'v1.event-type.list'(call) {
    const { include_archived: archived = false, with_content: content = false } = call.query
    const all = (await visible(call)).filter((one) => archived || !one.archived)
    return pageOfSorted(
      all,
      readPage(call.query, 'ascending'),
      ({ type }) => type,
      (one) => viewEventType(content ? one : { ...one, schemas: null }),
    )
  },
  'v1.event-type.get': async (call) => viewEventType(await find(call)),
  'v1.event-type.import-openapi': importSpec,
  'v1.event-type.export-openapi': async ({ parts }) => viewExport(parts),
  async 'v1.event-type.get-retry-schedule'(call) {
    await find(call)
    return { retrySchedule: null }
  },
  async 'v1.event-type.set-retry-schedule'(call) {
    await find(call)
    if (call.body.retrySchedule)
      throw unsupported(
        'The retry schedule is a setting of an endpoint. Set `retrySchedule` through PATCH /subscribers/{id}.',
      )
    return { retrySchedule: null }
  },
}

const nameOf = ({ params }: SvixCall): string => params['event_type_name']!

/** @throws SvixError 404 */
async function find(call: SvixCall): Promise<StoredEventType> {
  const found = (await visible(call)).find(({ type }) => type === nameOf(call))
  if (!found) throw notFound()
  return found
}

/** Changes a type that must exist. */
async function change(call: SvixCall, fields: Partial<EventTypeFields>): Promise<object> {
  const { type } = await find(call)
  const [stored] = await call.parts.storedEventTypes.change([type], call.origin, () => [{ ...fields, type }])
  return viewEventType(stored!)
}

/** An export's background task, which is always finished. */
function viewExport({ clock }: EmittingRouteParts): object {
  return { id: exportTaskId, status: 'finished', task: 'sdk.generate', updatedAt: isoTime(clock.now()) }
}

/** The task with its result, an OpenAPI document. */
export async function readExport(parts: EmittingRouteParts): Promise<object> {
  const shown = (await allEventTypes(parts)).filter(({ archived }) => !archived)
  return { ...viewExport(parts), data: { spec: writeSpec(shown) } }
}

async function importSpec(call: SvixCall): Promise<object> {
  const { storedEventTypes: types, catalogue } = call.parts
  const { dryRun = false, replaceAll = false, ...given } = call.body
  const found = (await readEventTypes(given)).filter(({ type }) => !catalogue.types.has(type))
  const names = new Set(found.map(({ type }) => type))
  if (dryRun)
    return {
      data: {
        modified: [],
        to_modify: found.map((one) => ({ name: one.type, ...viewFields({ ...noFields, ...one }) })),
      },
    }
  await types.change(replaceAll ? undefined : [...names], call.origin, (before) => {
    const others = [...before.values()].filter(
      ({ type, archived }) => replaceAll && !archived && !names.has(type),
    )
    return [...found, ...others.map(({ type }) => ({ type, archived: true }))]
  })
  return { data: { modified: [...names], to_modify: null } }
}

/** Stored and declared types whose names Svix's API allows, by name. @param types the only stored ones */
export async function allEventTypes(
  { catalogue, storedEventTypes }: EmittingRouteParts,
  types?: readonly string[],
): Promise<StoredEventType[]> {
  const declared = new Map(
    catalogue.entries
      .filter(({ builtIn, type }) => !builtIn && validName.test(type))
      .map((entry) => [entry.type, ofDeclared(entry)]),
  )
  const stored = await storedEventTypes.list(types)
  const named = stored.filter(({ type }) => validName.test(type) && !declared.has(type))
  return [...named, ...declared.values()].toSorted((a, b) => (a.type < b.type ? -1 : 1))
}

/** The types that the caller may see. A token from app-portal-access sees a type with feature flags only if it has one of them. */
async function visible({ isPortal, request, parts }: SvixCall): Promise<StoredEventType[]> {
  const all = await allEventTypes(parts)
  if (!isPortal) return all
  const flags = await parts.portal.featureFlags(request.principal!.sessionId!)
  return all.filter(({ featureFlags }) => featureFlags?.some((flag) => flags.includes(flag)) ?? true)
}

/** Declared types have no times of creation and change. */
function ofDeclared({ type, description = '', schema, samples = [] }: CatalogueEntry): StoredEventType {
  const examples = samples.length > 0 ? { examples: samples } : undefined
  const schemas = schema || examples ? { 1: { ...schema, ...examples } } : null
  return { ...noFields, type, description, schemas, createdAt: 0, updatedAt: 0 }
}

/** Only the fields that the body contains. */
function readFields(body: EventTypeBody): Partial<EventTypeFields> {
  const { description, archived, deprecated, schemas, groupName: group, featureFlag: flag } = body
  const featureFlags =
    body.featureFlags ?? (flag ? [flag] : body.featureFlags === null ? null : (flag as null))
  const fields = { description, archived, deprecated, schemas, group, featureFlags }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** A change that sets all fields. */
export function replacement(type: string, body: Omit<EventTypeBody, 'name'>): EventTypeChange {
  return { ...noFields, ...readFields({ name: type, ...body }), type }
}

function viewEventType(one: StoredEventType): object {
  return {
    name: one.type,
    ...viewFields(one),
    archived: one.archived,
    createdAt: isoTime(one.createdAt),
    updatedAt: isoTime(one.updatedAt),
    featureFlag: one.featureFlags?.[0] ?? null,
  }
}

function viewFields({ description, deprecated, schemas, group, featureFlags }: EventTypeFields): object {
  return { description, deprecated, schemas, groupName: group, featureFlags }
}

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
export const environmentOperations: SvixOperations = {
  'v1.environment.get-settings': async ({ parts: { configuration } }) => ({
    displayName: configuration.brandName ?? null,
    customColor: configuration.brandColor ?? null,
    ...fixedSettings,
  }),
  'v1.environment.export': async ({ parts }) => ({
    version: 1,
    createdAt: isoTime(parts.clock.now()),
    eventTypes: (await allEventTypes(parts)).map(viewEventType),
    settings: null,
    connectors: [],
  }),
  async 'v1.environment.import'({ body, origin, parts }) {
    const { eventTypes, settings, connectors } = body
    if (connectors?.length || Object.keys(settings ?? {}).length > 0)
      throw unsupported(
        'Only event types can be imported. Remove `settings`, which belong to the configuration, and `connectors`, which Postern does not have.',
      )
    // Types that the configuration declares exist already.
    const { types } = parts.catalogue
    const given = ((eventTypes ?? []) as EventTypeBody[]).filter(({ name }) => !types.has(name))
    await parts.storedEventTypes.change(
      given.map(({ name }) => name),
      origin,
      () => given.map((one) => replacement(one.name, one)),
    )
  },
}
