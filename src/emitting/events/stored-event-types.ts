import { sql } from 'kysely'
import { type Static, type TObject, Type } from 'typebox'
import { type AuditOrigin, AuditedStore, type RecordAudit } from '../../accounts/audit/audit.ts'
import { invalidBody, Problem } from '../../errors.ts'
import { nullable } from '../../http/schemas/schemas.ts'
import { stringifyExactly } from '../../json/exact.ts'
import type { Clock } from '../../runtime/clock.ts'
import { locks } from '../../storage/advisory-locks.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import { isOneOf, isStorableText } from '../../storage/sql-text.ts'
import type { Row } from '../../storage/tables.ts'
import { compileSchema, type EventCatalogue } from './event-catalogue.ts'

/** The most stored event types, including archived ones: lists return all of them. */
export const mostStoredTypes = 1_000
/** The most characters of JSON for all schema versions of one type. */
export const longestSchemas = 262_144
const longestDescription = 10_000
const mostFeatureFlags = 100
/** The most characters of JSON for the schemas of all types, because lists return all of them. */
export const mostSchemas = 16_777_216
/** The most levels of arrays and objects in the schemas of one type. */
const deepestSchemas = 100

const Name = Type.String({ pattern: '^[A-Za-z0-9._-]{1,256}$' })
export const eventTypeFields = {
  description: Type.String({
    maxLength: longestDescription,
    description: 'Describes events of this type to customers',
  }),
  schemas: nullable(
    Type.Record(Type.String({ maxLength: 256 }), Type.Unknown()),
    `JSON Schemas of the data by version, at most ${longestSchemas} characters. The newest is shown, and its \`examples\` are the samples. Events are not validated against them.`,
  ),
  group: nullable(Name, 'The name of a group of types'),
  // The type is shown only where one of these names is enabled; null: everywhere.
  featureFlags: nullable(
    Type.Array(Name, { minItems: 1, maxItems: mostFeatureFlags }),
    'If set, GET /event-types and the portal do not show the type',
  ),
  archived: Type.Boolean({
    description:
      "Whether menus and GET /event-types omit it and, with `undeclaredTypes: 'refuse'`, its events are rejected",
  }),
  deprecated: Type.Boolean({ description: 'Whether it should no longer be used' }),
}

export type EventTypeFields = Static<TObject<typeof eventTypeFields>>

/** An event type that was created through the API. Times in milliseconds since 1970. */
export interface StoredEventType extends EventTypeFields {
  type: string
  createdAt: number
  updatedAt: number
}

export type EventTypeChange = Partial<EventTypeFields> & { type: string }

/** The defaults of the fields. */
export const noFields: EventTypeFields = {
  description: '',
  schemas: null,
  group: null,
  featureFlags: null,
  archived: false,
  deprecated: false,
}

/** The event types that were created through the API. The configuration module declares others. */
export class StoredEventTypes extends AuditedStore {
  readonly #catalogue: EventCatalogue

  constructor(parts: { database: Database; clock: Clock; record: RecordAudit }, catalogue: EventCatalogue) {
    super(parts.database, parts.clock, parts.record)
    this.#catalogue = catalogue
  }

  /** All types in the order of their names. @param types only these */
  async list(types?: readonly string[], db: Queryable = this.database.reader): Promise<StoredEventType[]> {
    if (types?.length === 0) return []
    let query = db.selectFrom('event_types').selectAll()
    if (types !== undefined) query = query.where(isOneOf(this.database.engine, 'type', types))
    return (await query.orderBy('type').limit(mostStoredTypes).execute()).map(read)
  }

  /** The types that customers see: not archived, not behind a feature flag, and not also declared. */
  async shown(): Promise<StoredEventType[]> {
    const all = await this.list()
    const { types } = this.#catalogue
    return all.filter((one) => !one.archived && one.featureFlags === null && !types.has(one.type))
  }

  /** All types and their descriptions. */
  async names(): Promise<{ type: string; description: string }[]> {
    return this.database.slowReader
      .selectFrom('event_types')
      .select(['type', 'description'])
      .orderBy('type')
      .limit(mostStoredTypes)
      .execute()
  }

  async get(type: string): Promise<StoredEventType | undefined> {
    return (await this.list([type]))[0]
  }

  /**
   * Creates or changes types, all of them or none.
   * @param types the types whose stored fields `decide` gets; `undefined` for all
   * @param decide returns the changes; absent fields stay as they are, or get their defaults in a new type
   * @returns the stored types, in the order of the changes
   * @throws Problem `invalid-body` for an invalid field; `conflict` for too many types or schemas, and for a type that the configuration
   * or the service declares; and what `decide` throws
   */
  async change(
    types: readonly string[] | undefined,
    origin: AuditOrigin,
    decide: (before: ReadonlyMap<string, StoredEventType>) => readonly EventTypeChange[],
  ): Promise<StoredEventType[]> {
    return this.database.transaction(async (tx) => {
      // Serializes changes, because they depend on what they read. SQLite has one write lock.
      if (this.database.engine === 'postgres')
        await sql`select pg_advisory_xact_lock(${locks.eventTypes[0]}, ${locks.eventTypes[1]})`.execute(tx)
      const before = new Map((await this.list(types, tx)).map((one) => [one.type, one]))
      const stored: StoredEventType[] = []
      const changes = decide(before)
      // Before they are written, because no other request can write meanwhile.
      if (changes.length > mostStoredTypes) throw tooMany()
      for (const { type, ...change } of changes) {
        const one = await this.#write(tx, type, { before: before.get(type), change, origin })
        before.set(type, one)
        stored.push(one)
      }
      const { count, size } = await tx
        .selectFrom('event_types')
        .select([(eb) => eb.fn.countAll<number>().as('count'), sql<number>`sum(length(schemas))`.as('size')])
        .executeTakeFirstOrThrow()
      if (count > mostStoredTypes) throw tooMany()
      if (size > mostSchemas)
        throw new Problem('conflict', {
          detail: `The schemas of all stored event types can have at most ${mostSchemas} characters in total. Shorten or delete some first.`,
        })
      return stored
    })
  }

  /** @returns whether the type was stored */
  async remove(type: string, origin: AuditOrigin): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const { numDeletedRows } = await tx
        .deleteFrom('event_types')
        .where('type', '=', type)
        .executeTakeFirst()
      if (Number(numDeletedRows) === 0) return false
      await this.record(tx, { action: 'event_type.deleted', target: `event_type:${type}`, ...origin })
      return true
    })
  }

  async #write(
    tx: Tx,
    type: string,
    given: { before: StoredEventType | undefined; change: Partial<EventTypeFields>; origin: AuditOrigin },
  ): Promise<StoredEventType> {
    const { before, change, origin } = given
    if (this.#catalogue.types.has(type))
      throw new Problem('conflict', {
        detail: `The configuration or the service itself declares ${type}, so it cannot be changed through the API.`,
      })
    const now = this.clock.now()
    const row = rowOf({ ...noFields, ...before, ...change, type, createdAt: before?.createdAt ?? now })
    const old = before && rowOf(before)
    const names = Object.keys(change) as (keyof EventTypeFields)[]
    const changed = names.filter((name) => old?.[columns[name]] !== row[columns[name]])
    // A deployment that sends the same types again writes nothing.
    if (before && changed.length === 0) return before
    const stored = { ...row, updated_at: now }
    await tx
      .insertInto('event_types')
      .values(stored)
      .onConflict((conflict) => conflict.column('type').doUpdateSet(stored))
      .execute()
    await this.record(tx, {
      action: before ? 'event_type.changed' : 'event_type.created',
      target: `event_type:${type}`,
      ...(before && { detail: { fields: changed.join(' ') } }),
      ...origin,
    })
    return read(stored)
  }
}

const tooMany = (): Problem =>
  new Problem('conflict', {
    detail: `At most ${mostStoredTypes} event types can be stored, including archived ones. Delete some first.`,
  })

const columns = {
  description: 'description',
  schemas: 'schemas',
  group: 'group_name',
  featureFlags: 'feature_flags',
  archived: 'archived',
  deprecated: 'deprecated',
} as const satisfies Record<keyof EventTypeFields, keyof Row<'event_types'>>

/** Not too long, and without the control characters U+0000 to U+0008. */
const isDescription = (text: string): boolean =>
  text.length <= longestDescription &&
  isStorableText(text) &&
  !Array.from(text).some((character) => character < '\t')

function rowOf(one: Omit<StoredEventType, 'updatedAt'>): Omit<Row<'event_types'>, 'updated_at'> {
  if (!isDescription(one.description))
    throw invalidBody(
      '/description',
      `The description of ${one.type} contains a control character or has more than ${longestDescription} characters.`,
    )
  if ((one.featureFlags?.length ?? 0) > mostFeatureFlags)
    throw invalidBody('/featureFlags', `${one.type} has more than ${mostFeatureFlags} feature flags.`)
  return {
    type: one.type,
    description: one.description,
    schemas: one.schemas && writeSchemas(one.type, one.schemas),
    group_name: one.group,
    feature_flags: one.featureFlags && JSON.stringify(one.featureFlags),
    archived: Number(one.archived),
    deprecated: Number(one.deprecated),
    created_at: one.createdAt,
  }
}

function read(row: Row<'event_types'>): StoredEventType {
  return {
    type: row.type,
    description: row.description,
    schemas: row.schemas === null ? null : (JSON.parse(row.schemas) as Record<string, unknown>),
    group: row.group_name,
    featureFlags: row.feature_flags === null ? null : (JSON.parse(row.feature_flags) as string[]),
    archived: row.archived === 1,
    deprecated: row.deprecated === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** The schema of the newest version, with its `examples` as samples. */
export function newestSchema({ schemas }: EventTypeFields): {
  schema: object | undefined
  samples: unknown[]
} {
  const [newest] = Object.entries(schemas ?? {}).toSorted(([a], [b]) => compareVersions(b, a))
  const schema = newest?.[1]
  if (typeof schema !== 'object' || schema === null) return { schema: undefined, samples: [] }
  const { examples } = schema as { examples?: unknown }
  return { schema, samples: Array.isArray(examples) ? (examples as unknown[]) : [] }
}

/** Numbers in versions are compared as numbers: 10 is newer than 9. */
const compareVersions = new Intl.Collator('en', { numeric: true }).compare

const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }
const ref = { $ref: '#/$defs/schema' }
const map = { type: 'object', additionalProperties: ref }
const list = { type: 'array', minItems: 1, items: ref }
const texts = { type: 'array', items: text }
const each = (names: string, form: object): Record<string, object> =>
  Object.fromEntries(names.split(' ').map((name) => [name, form]))
const simpleType = { enum: ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'] }

/** The types of the values of JSON Schema's keywords, drafts 7 to 2020-12. Other keywords are allowed. */
const schemaOfSchemas = {
  ...ref,
  $defs: {
    schema: {
      type: ['object', 'boolean'],
      properties: {
        ...each('$id $schema $ref $anchor $comment title description format pattern', text),
        ...each('readOnly writeOnly deprecated uniqueItems', { type: 'boolean' }),
        ...each('maximum minimum', { type: 'number' }),
        // Booleans in OpenAPI 3.0.
        ...each('exclusiveMaximum exclusiveMinimum', { type: ['number', 'boolean'] }),
        ...each('maxLength minLength maxItems minItems maxProperties minProperties', count),
        ...each('maxContains minContains', count),
        ...each('not if then else contains propertyNames additionalProperties additionalItems', ref),
        ...each('properties patternProperties definitions $defs dependentSchemas', map),
        ...each('allOf anyOf oneOf prefixItems', list),
        items: { anyOf: [ref, list] },
        required: texts,
        type: { anyOf: [simpleType, { type: 'array', items: simpleType, minItems: 1 }] },
        multipleOf: { type: 'number', exclusiveMinimum: 0 },
        examples: { type: 'array' },
        enum: { type: 'array' },
      },
    },
  },
}

let checkOfSchemas: ReturnType<typeof compileSchema> | undefined

/** @throws Problem `invalid-body` */
function writeSchemas(type: string, schemas: Readonly<Record<string, unknown>>): string {
  const refuse = (detail: string): Problem => invalidBody('/schemas', detail)
  try {
    const written = stringifyExactly(schemas)!
    if (written.length > longestSchemas)
      throw refuse(`The schemas of ${type} have more than ${longestSchemas} characters of JSON.`)
    const plain = JSON.parse(written) as object
    if (depthOf(plain) > deepestSchemas)
      throw refuse(`The schemas of ${type} are nested more than ${deepestSchemas} levels deep.`)
    checkOfSchemas ??= compileSchema(schemaOfSchemas)
    for (const [version, schema] of Object.entries(plain)) {
      if (checkOfSchemas.Check(schema)) continue
      const [fault] = checkOfSchemas.Errors(schema)[1]
      throw refuse(
        `Version ${version} of the schema of ${type} is not a JSON Schema: ${fault?.instancePath || 'it'} ${fault?.message ?? 'is invalid'}.`,
      )
    }
    return written
  } catch (error) {
    if (error instanceof RangeError) throw refuse(`The schemas of ${type} are nested too deeply.`)
    throw error
  }
}

/** The number of levels of arrays and objects in a value. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let deepest = 0
  for (const part of Object.values(value)) deepest = Math.max(deepest, depthOf(part))
  return 1 + deepest
}
