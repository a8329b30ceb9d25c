import { ConfigurationError } from '../config/environment.ts'
import type { ExpandOptions, FieldOptions, FilterOptions, List, ListingConfig } from './config.ts'
import { type Expansion, type Field, type Filter, type ListDeclaration, operators } from './list.ts'
import { fieldTypes } from './field-types.ts'
import { filterKinds } from './filters.ts'
import { validateSummaries } from './summaries.ts'
import { keysetTypes } from './pages/page.ts'

/**
 * Reads the lists of the configuration module and fills in all defaults.
 * @throws ConfigurationError with all faults of all lists.
 */
export function readLists(config: ListingConfig | undefined): ListDeclaration[] {
  const faults: string[] = []
  const lists = (config?.lists ?? []).flatMap((options, index) => {
    const name = typeof options?.path === 'string' ? options.path : `number ${index + 1}`
    const own = validateList(options)
    faults.push(...own.map((fault) => `listing.lists: ${name}: ${fault}`))
    return own.length === 0 ? [completeList(options)] : []
  })
  for (const property of ['path', 'name'] as const)
    for (const value of repeated(lists.map((list) => list[property])))
      faults.push(`listing.lists: two lists have the ${property} ${value}`)
  if (faults.length > 0) throw new ConfigurationError(faults)
  return lists
}

function repeated(values: readonly string[]): Set<string> {
  return new Set(values.filter((value, index) => values.indexOf(value) < index))
}

/** Fills in the defaults. @param options without faults */
export function completeList(options: List): ListDeclaration {
  const { path, table, name = path, summary = `Rows of ${table}`, access = 'admin' } = options
  const key = keyNames(options.key)!
  return {
    name,
    path,
    table,
    summary,
    fields: fieldsOf(options.fields),
    key,
    filters: filtersOf(options),
    sort: sortNames(options),
    nulls: Object.fromEntries(
      (options.sort ?? []).flatMap((one) => (typeof one === 'string' ? [] : [[one.field, one.nulls]])),
    ),
    order: options.order ?? key,
    pages: options.pages ?? ['cursor'],
    limit: pageLimit(options.limit ?? {}),
    count: options.count ?? 'exact',
    maintainCounts: options.keep ?? false,
    choices: true,
    expand: Object.entries(options.expand ?? {}).map(([name, expand]) => expansionOf(name, expand)),
    one: options.one ?? false,
    exports: options.exports ?? false,
    strict: options.strict ?? true,
    access,
    openInDemo: false,
    ...(options.where && { where: options.where }),
    ...(options.settings && { settings: options.settings }),
    ...(options.summaries && {
      summaries: { by: [], sum: [], avg: [], min: [], max: [], ...options.summaries },
    }),
  }
}

function sortNames({ sort = [] }: Pick<List, 'sort'>): string[] {
  return sort.map((one) => (typeof one === 'string' ? one : one.field))
}

/** The maximum number of fields in a key. */
const mostKeyFields = 8

/** A key's fields or columns; `undefined` unless they are 1 to 8 different texts. */
function keyNames(given: unknown): readonly string[] | undefined {
  const names = typeof given === 'string' ? [given] : given
  const isKey =
    areTexts(names) && names.length > 0 && names.length <= mostKeyFields && repeated(names).size === 0
  return isKey ? names : undefined
}

function fieldsOf(fields: Readonly<Record<string, FieldOptions>>): Record<string, Field> {
  const complete = (name: string, { column = name, description = '', ...rest }: FieldOptions): Field => ({
    ...rest,
    column,
    description,
  })
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, complete(name, field)]))
}

/** The filters, sorted by group. */
function filtersOf({ filters = {}, or = {} }: List): Filter[] {
  const groupOf = new Map(
    Object.entries(or).flatMap(([group, names]) => names.map((name): [string, string] => [name, group])),
  )
  const complete = Object.entries(filters).map(([name, filter]) => filterOf(name, filter, groupOf.get(name)))
  const groups = [undefined, ...Object.keys(or)]
  return complete.toSorted((one, other) => groups.indexOf(one.group) - groups.indexOf(other.group))
}

function filterOf(
  parameter: string,
  given: Filter['kind'] | FilterOptions,
  group: string | undefined,
): Filter {
  const options = typeof given === 'string' ? { kind: given } : given
  const { field = parameter, description = '', ...rest } = options
  return { ...rest, parameter, field, description, ...(group !== undefined && { group }) }
}

function expansionOf(name: string, options: ExpandOptions): Expansion {
  const { table, key = 'id', fields, many, description = '' } = options
  const columns = { from: keyNames(options.from)!, key: keyNames(key)! }
  const expansion = { name, table, ...columns, fields: fieldsOf(fields), description }
  return many ? { ...expansion, many: { limit: 20, ...many } } : expansion
}

/** Parameters that every list reads itself. */
const reserved = new Set(['limit', 'page', 'cursor', 'sort', 'fields', 'expand', 'count', 'bom', 'null'])
const nameForm = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/
const pathForm = /^(?:\/[A-Za-z0-9_~-]+)+$/
const pageStyles: readonly string[] = ['cursor', 'offset', 'keyset']
const listAccesses: readonly string[] = ['public', 'user', 'admin']
const countModes: readonly string[] = ['exact', 'estimate', 'none']
/** Rows of a page, whatever a list declares. */
const largestPage = 1_000
/** Rows of another table in one item. */
const mostExpanded = 100

/** Validates what the types of a declaration cannot express. Returns one sentence for each fault. */
function validateList(options: List): string[] {
  if (typeof options !== 'object' || options === null) return ['it is not a list']
  const { path, table, fields } = options
  const faults = [
    ...(typeof path === 'string' && pathForm.test(path)
      ? []
      : ['`path` must consist of slashes, letters, digits, _, ~ and -, such as /orders']),
    ...(table === undefined || table === '' ? ['`table` is missing'] : []),
  ]
  if (typeof fields !== 'object' || fields === null) return [...faults, '`fields` is missing']
  const misshapen = validateShape(options, listShapes)
  if (misshapen.length > 0) return [...faults, ...misshapen]
  return [
    ...faults,
    ...validateFields(fields),
    ...validateOrder(options),
    ...validateFilters(options),
    ...validateExpansions(options),
    ...validatePages(options),
    ...validateChoices(options),
    ...validateSummaries(options),
  ]
}

type Shape = 'objects' | 'object' | 'texts' | 'text' | 'table' | 'boolean' | 'other'
type Shapes<Options> = Readonly<Record<keyof Options, Shape>>

/** The shapes of all options; those that are `other` are validated elsewhere. */
const listShapes: Shapes<List> = {
  path: 'other',
  table: 'table',
  name: 'text',
  summary: 'text',
  fields: 'objects',
  key: 'other',
  filters: 'objects',
  or: 'object',
  sort: 'other',
  order: 'other',
  pages: 'other',
  limit: 'object',
  count: 'other',
  keep: 'boolean',
  expand: 'objects',
  summaries: 'object',
  one: 'boolean',
  exports: 'boolean',
  strict: 'boolean',
  access: 'other',
  where: 'other',
  settings: 'other',
}
const fieldShapes: Shapes<FieldOptions> = {
  type: 'text',
  column: 'text',
  nullable: 'boolean',
  hidden: 'boolean',
  values: 'texts',
  collation: 'text',
  description: 'text',
}
const filterShapes: Shapes<FilterOptions> = {
  kind: 'text',
  field: 'text',
  description: 'text',
  member: 'other',
  configuration: 'text',
  index: 'table',
}
const expandShapes: Shapes<ExpandOptions> = {
  table: 'table',
  from: 'other',
  key: 'other',
  fields: 'objects',
  many: 'object',
  description: 'text',
}

/** The name of a table, with its schema if it needs one. */
const tableForm = /^[^.]+(?:\.[^.]+)?$/

const shapeRules: Record<Exclude<Shape, 'other'>, [fits: (value: unknown) => boolean, form: string]> = {
  objects: [isObject, 'an object'],
  object: [isObject, 'an object'],
  texts: [areTexts, 'an array of strings'],
  text: [(value) => typeof value === 'string', 'a string'],
  table: [
    (value) => typeof value === 'string' && tableForm.test(value),
    'the name of a table, with at most one schema: orders or shop.orders',
  ],
  boolean: [(value) => typeof value === 'boolean', 'true or false'],
}

/** A misspelled `where` would show every caller all rows, and a misspelled `hidden` its field. */
function validateShape(options: object, shapes: Readonly<Record<string, Shape>>, prefix = ''): string[] {
  return Object.entries<unknown>({ ...options }).flatMap(([name, value]): string[] => {
    const shape = Object.hasOwn(shapes, name) ? shapes[name]! : undefined
    if (shape === undefined) return [`there is no option \`${prefix}${name}\``]
    if (shape === 'other' || value === undefined) return []
    const [fits, form] = shapeRules[shape]
    if (!fits(value)) return [`\`${prefix}${name}\` must be ${form}`]
    return shape === 'objects' ? validateMembers(`${prefix}${name}`, name, value as object) : []
  })
}

function validateMembers(path: string, option: string, members: object): string[] {
  const shapes = option === 'filters' ? filterShapes : option === 'expand' ? expandShapes : fieldShapes
  return Object.entries<unknown>({ ...members }).flatMap(([name, member]) => {
    if (option === 'filters' && typeof member === 'string') return []
    if (!isObject(member)) return [`\`${path}.${name}\` must be an object`]
    return validateShape(member, shapes, `${path}.${name}.`)
  })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

const collationForm = /^[\w.@-]{1,63}$/

function validateFields(fields: Readonly<Record<string, FieldOptions>>): string[] {
  return Object.entries(fields).flatMap(([name, { type, values, collation }]) => {
    if (!nameForm.test(name) || name === '__proto__')
      return [`the field name ${JSON.stringify(name)} is invalid: use up to 63 letters, digits and _`]
    if (!Object.hasOwn(fieldTypes, type)) return [`the field ${name} has an unknown type: ${type}`]
    if (type === 'enum' && values === undefined) return [`the field ${name} is an enum and needs \`values\``]
    if (type !== 'enum' && values !== undefined)
      return [`the field ${name} has \`values\`, which only an enum can have`]
    if (collation !== undefined && type !== 'text')
      return [`the field ${name} has \`collation\`, which only a text can have`]
    if (collation !== undefined && !collationForm.test(collation))
      return [`the field ${name} has an invalid \`collation\`: it must be a name such as de-x-icu`]
    return []
  })
}

function validateOrder(options: List): string[] {
  const { fields, key: given, sort = [], order = [] } = options
  const key = keyNames(given)
  if (!key)
    return [`\`key\` must be the name of a field, or an array of 1 to ${mostKeyFields} different names`]
  const isPlaced = (one: { field?: unknown; nulls?: unknown } | null): boolean =>
    typeof one?.field === 'string' && (one.nulls === 'first' || one.nulls === 'last')
  if (!Array.isArray(sort) || !sort.every((one) => typeof one === 'string' || isPlaced(one)))
    return ["`sort` must be an array of field names, or of { field, nulls: 'first' or 'last' }"]
  if (!areTexts(order)) return ['`order` must be an array of field names, with a leading - for descending']
  const faults = [
    ...key.flatMap((name) => validateSortField(fields, name, 'key')),
    ...sortNames({ sort }).flatMap((name) => validateSort(options, name, 'sort')),
    ...order.flatMap((name) => validateSort(options, name.replace(/^-/, ''), 'order')),
  ]
  if (order.length > 1 && order.some((name) => name.includes('.')))
    faults.push('`order` by a field of another table must be the only one')
  for (const name of key.filter((one) => Object.hasOwn(fields, one))) {
    if (fields[name]!.nullable) faults.push(`the key ${name} must not be nullable`)
    if (fields[name]!.collation !== undefined)
      faults.push(
        `the key ${name} must not have a \`collation\`: declare another field of its column to sort by`,
      )
  }
  return faults
}

/** Validates a name such as `total`, or `customer.name` for a field of an expansion. */
function validateSort(
  { fields, expand = {}, where, settings }: List,
  name: string,
  option: string,
): string[] {
  const [of, own] = [name.split('.', 1)[0]!, name.slice(name.indexOf('.') + 1)]
  if (own === name || !Object.hasOwn(expand, of)) return validateSortField(fields, name, option)
  const { many, fields: others, from } = expand[of]!
  // validateExpansions reports it.
  if (typeof others !== 'object') return []
  if (many) return [`\`${option}\` names ${name}, but an item has many ${of}`]
  if (where || settings)
    return [
      `\`${option}\` names ${name}, and no index has the rows of \`where\` or \`settings\` in its order`,
    ]
  const missing = (keyNames(from) ?? []).flatMap((one) => validateSortField(fields, one, `${option}=${name}`))
  return [...missing, ...validateSortField(others, own, option)]
}

function validateSortField(fields: List['fields'], name: string, option: string): string[] {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (!field) return [`\`${option}\` names ${name}, which is not a field`]
  if (field.hidden) return [`\`${option}\` names ${name}, which is hidden: cursors would show it`]
  return field.type === 'json' ? [`\`${option}\` names ${name}, which is json and has no order`] : []
}

function validateFilters({ fields, filters = {}, or = {} }: List): string[] {
  const faults = Object.entries(filters).flatMap(([parameter, given]) => {
    const fault = filterFault(fields, parameter, typeof given === 'string' ? { kind: given } : given)
    return fault === undefined ? [] : [`the filter ${parameter} ${fault}`]
  })
  const grouped: string[] = []
  for (const [group, parameters] of Object.entries(or)) {
    if (!areTexts(parameters) || parameters.length < 2)
      faults.push(`\`or.${group}\` must be an array of two or more filters`)
    else grouped.push(...parameters)
  }
  for (const name of grouped.filter((one) => !Object.hasOwn(filters, one)))
    faults.push(`\`or\` names ${name}, which is not a filter`)
  for (const name of repeated(grouped)) faults.push(`\`or\` names ${name} twice`)
  return faults
}

function filterFault(
  fields: List['fields'],
  parameter: string,
  { kind, field = parameter, member }: FilterOptions,
): string | undefined {
  if (reserved.has(parameter)) return 'has the name of a parameter that every list has'
  if (!nameForm.test(parameter)) return 'has an invalid name: use up to 63 letters, digits and _'
  if (!Object.hasOwn(filterKinds, kind)) return `has an unknown kind: ${kind}`
  if (!Object.hasOwn(fields, field)) return `names ${field}, which is not a field`
  const { type } = fields[field]!
  if (kind === 'flag' && type !== 'boolean') return `needs a boolean field, and ${field} is ${type}`
  if (operators[kind].takes === 'text' && type !== 'text')
    return `needs a text field, and ${field} is ${type}`
  if (member !== undefined) return memberFault(member, kind, type)
  if (kind === 'has') return type === 'json' ? undefined : `needs a json field, and ${field} is ${type}`
  if (type === 'json' && kind !== 'null')
    return 'has a json field: without `member`, only the kinds `null` and `has` can filter it'
  return undefined
}

/** The names become part of the statement. */
const memberForm = /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*){0,9}$/
const memberKinds = new Set<Filter['kind']>(['equals', 'in', 'not', 'notIn', 'null'])

function memberFault(member: unknown, kind: Filter['kind'], type: Field['type']): string | undefined {
  if (type !== 'json') return 'has `member`, which only a json field has'
  if (!memberKinds.has(kind)) return `has \`member\`, which only ${[...memberKinds].join(', ')} can have`
  return typeof member === 'string' && memberForm.test(member)
    ? undefined
    : 'has a `member` that is not names separated by dots, of letters, digits, _ and -'
}

function validateExpansions({ fields, expand = {} }: List): string[] {
  return Object.entries(expand).flatMap(([name, options]) => {
    const fault = expansionFault(fields, name, options)
    if (fault !== undefined) return [`the expansion ${name} ${fault}`]
    return validateFields(options.fields).concat(validateMany(`the expansion ${name}`, options))
  })
}

function expansionFault(
  fields: List['fields'],
  name: string,
  { from: given, key = 'id', table, fields: expanded }: ExpandOptions,
): string | undefined {
  if (!nameForm.test(name)) return 'has an invalid name: use up to 63 letters, digits and _'
  if (Object.hasOwn(fields, name)) return 'has the name of a field'
  const [from, columns] = [keyNames(given), keyNames(key)]
  if (!from || columns?.length !== from.length)
    return `needs as many columns in \`key\` as fields in \`from\`: 1 to ${mostKeyFields} different ones`
  const unknown = from.find((one) => !Object.hasOwn(fields, one))
  if (unknown !== undefined) return `starts from ${unknown}, which is not a field`
  if (table === undefined) return 'needs a `table`'
  return expanded === undefined ? 'needs `fields`' : undefined
}

function validateMany(about: string, { many, fields }: ExpandOptions): string[] {
  if (many === undefined) return []
  const { order, limit = 20 } = many
  if (!Array.isArray(order) || order.length === 0) return [`${about} needs \`many.order\``]
  const faults = order
    .map((text) => String(text).replace(/^-/, ''))
    .filter((field) => !Object.hasOwn(fields, field))
    .map((field) => `${about} orders by ${field}, which is not one of its fields`)
  if (!isIntegerIn(limit, 1, mostExpanded))
    faults.push(`${about}: \`many.limit\` must be 1 to ${mostExpanded}`)
  return faults
}

function validatePages(options: List): string[] {
  const { pages = ['cursor'], keep } = options
  const faults: string[] = []
  if (!areTexts(pages)) return [`\`pages\` must be an array of ${pageStyles.join(', ')}`]
  if (pages.length === 0 || !pages.every((style) => pageStyles.includes(style)) || repeated(pages).size > 0)
    faults.push(`\`pages\` must be one or more of ${pageStyles.join(', ')}`)
  if (keep && !pages.includes('offset'))
    faults.push('`keep` needs `pages` by offset: no other page has a total')
  return pages.includes('keyset') ? [...faults, ...validateKeyset(options, pages)] : faults
}

function validateKeyset({ fields, key: given, sort = [], order }: List, pages: readonly string[]): string[] {
  const key = keyNames(given)
  if (!key || (order !== undefined && !areTexts(order)) || !Array.isArray(sort)) return []
  const faults: string[] = []
  const ordered = order?.map((name) => name.replace(/^-/, ''))
  if (sort.length > 0 || (ordered && ordered.join() !== key.join()))
    faults.push('pages by keyset need the order of the key alone: their cursor is the key')
  if (pages.includes('cursor'))
    faults.push('`pages` cannot have both cursor and keyset: they share the parameter `cursor`')
  if (key.some((name) => Object.hasOwn(fields, name) && !keysetTypes.includes(fields[name]!.type)))
    faults.push(`pages by keyset need a key of the type ${keysetTypes.join(', ')}`)
  return faults
}

function validateChoices({ access, count, limit = {}, where, settings, keep }: List): string[] {
  const faults: string[] = []
  if (access !== undefined && !listAccesses.includes(access))
    faults.push(`\`access\` must be ${listAccesses.join(', ')}`)
  if (count !== undefined && !countModes.includes(count))
    faults.push(`\`count\` must be ${countModes.join(', ')}`)
  const { default: fallback, max } = pageLimit(limit)
  if (!isIntegerIn(max, 1, largestPage) || !isIntegerIn(fallback, 1, max))
    faults.push(`\`limit\` must hold 1 ≤ default ≤ max ≤ ${largestPage}`)
  for (const [name, value] of Object.entries({ where, settings }))
    if (value !== undefined && typeof value !== 'function') faults.push(`\`${name}\` must be a function`)
  if (settings !== undefined && keep)
    faults.push('`settings` and `keep` cannot be combined: the maintained total is that of all rows')
  return faults
}

/** The items of a page, by default and at most. */
function pageLimit({ default: fallback = 20, max = Math.max(100, fallback) }: List['limit'] & {}) {
  return { default: fallback, max }
}

function areTexts(given: unknown): given is string[] {
  return Array.isArray(given) && given.every((one) => typeof one === 'string')
}

function isIntegerIn(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most
}
