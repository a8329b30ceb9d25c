import { ConfigurationError } from '../config/environment.ts'
import type { ExpandOptions, FieldOptions, FilterOptions, List, ListAccess, ListingConfig } from './config.ts'
import { fieldTypes } from './field-types.ts'
import { filterKinds } from './filters.ts'
import { keysetTypes } from './keyset-cursor.ts'
import type { Expansion, Field, Filter, ListDeclaration } from './list.ts'

/** Parameters that every list understands itself. */
const taken = new Set(['limit', 'page', 'cursor', 'sort', 'fields', 'expand', 'count'])
const nameForm = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/
const pathForm = /^(?:\/[A-Za-z0-9_~-]+)+$/
const styles = new Set(['cursor', 'offset', 'keyset'])
const accesses: ReadonlySet<ListAccess> = new Set(['public', 'user', 'admin'])
const counts = new Set(['exact', 'estimate', 'none'])
/** Rows of a page that can be asked for, whatever a list declares. */
const largestPage = 1_000
/** Rows of another table in one item. */
const mostOfMany = 100
/** Filters whose values are texts. */
const ofTexts = new Set<Filter['kind']>(['prefix', 'search'])

/**
 * The lists of the configuration module, with all defaults filled in.
 * @throws ConfigurationError that names everything that is wrong with every one of them.
 */
export function readLists(config: ListingConfig | undefined): ListDeclaration[] {
  const faults: string[] = []
  const lists = (config?.lists ?? []).map((options, index) => {
    const about = `listing.lists: ${typeof options?.path === 'string' ? options.path : `number ${index + 1}`}`
    const own = faultsOf(options)
    faults.push(...own.map((fault) => `${about} ${fault}`))
    return own.length === 0 ? [complete(options)] : []
  })
  const read = lists.flat()
  for (const what of ['path', 'name'] as const) {
    const seen = new Set<string>()
    for (const list of read) {
      if (seen.has(list[what])) faults.push(`listing.lists: two have the ${what} ${list[what]}`)
      seen.add(list[what])
    }
  }
  if (faults.length > 0) throw new ConfigurationError(faults)
  return read
}

/** @param options without faults. */
function complete(options: List): ListDeclaration {
  const { path, table, name = path, summary = `The list ${path}`, key, sort = [], access = 'admin' } = options
  const { default: fallback = 20, max = Math.max(100, fallback) } = options.limit ?? {}
  return {
    name,
    path,
    table,
    summary,
    fields: fieldsOf(options.fields),
    key,
    filters: Object.entries(options.filters ?? {}).map(([parameter, filter]) => filterOf(parameter, filter)),
    sort,
    order: options.order ?? [key],
    pages: options.pages ?? ['cursor'],
    limit: { default: fallback, max },
    count: options.count ?? 'exact',
    kept: options.keep ?? false,
    choices: true,
    expand: Object.entries(options.expand ?? {}).map(([name, expand]) => expansionOf(name, expand)),
    exports: options.exports ?? false,
    access,
    openInDemo: false,
    ...(options.where && { where: options.where }),
  }
}

function fieldsOf(fields: Readonly<Record<string, FieldOptions>>): Record<string, Field> {
  const complete = (name: string, { column = name, description = '', ...rest }: FieldOptions): Field => ({
    ...rest,
    column,
    description,
  })
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, complete(name, field)]))
}

function filterOf(parameter: string, given: Filter['kind'] | FilterOptions): Filter {
  const options = typeof given === 'string' ? { kind: given } : given
  const { field = parameter, description = '', ...rest } = options
  return { ...rest, parameter, field, description }
}

function expansionOf(name: string, options: ExpandOptions): Expansion {
  const { table, from, key = 'id', fields, many, description = '' } = options
  const expansion = { name, table, from, key, fields: fieldsOf(fields), description }
  return many ? { ...expansion, many: { limit: 20, ...many } } : expansion
}

function faultsOf(options: List): string[] {
  const faults: string[] = []
  const { path, table, fields, key, sort = [], order = [key], pages = ['cursor'], access, count } = options
  if (typeof path !== 'string' || !pathForm.test(path))
    faults.push('has no path of letters, digits, _, ~ and - between slashes')
  if (typeof table !== 'string' || table === '') faults.push('names no table')
  if (typeof fields !== 'object' || fields === null) return [...faults, 'has no fields']
  faults.push(...faultsOfFields(fields))

  const sortable = (name: string, where: string): void => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!field) faults.push(`has no field ${name}, which its ${where} names`)
    else if (field.hidden) faults.push(`sorts by ${name}, which is hidden and would be in its cursors`)
    else if (field.type === 'json') faults.push(`sorts by ${name}, which is json`)
  }
  sortable(key, 'key')
  for (const name of sort) sortable(name, 'sort')
  for (const name of order) sortable(name.replace(/^-/, ''), 'order')
  if (Object.hasOwn(fields, key) && fields[key]!.nullable) faults.push(`has a key, ${key}, that may be null`)

  faults.push(...faultsOfFilters(options), ...faultsOfExpansions(options))
  if (pages.length === 0 || pages.some((style) => !styles.has(style)) || new Set(pages).size < pages.length)
    faults.push('has pages that are not some of cursor, offset and keyset')
  if (options.keep && !pages.includes('offset'))
    faults.push('keeps a total that no page tells: it has none by offset')
  if (pages.includes('keyset')) faults.push(...faultsOfKeyset(options))
  if (access !== undefined && !accesses.has(access))
    faults.push('has an access that is none of public, user and admin')
  if (count !== undefined && !counts.has(count))
    faults.push('has a count that is none of exact, estimate and none')
  const { default: fallback = 20, max = Math.max(100, fallback) } = options.limit ?? {}
  if (![fallback, max].every(Number.isInteger) || fallback < 1 || fallback > max || max > largestPage)
    faults.push(`has a limit that is not 1 ≤ default ≤ max ≤ ${largestPage}`)
  if (options.where !== undefined && typeof options.where !== 'function')
    faults.push('has a `where` that is no function')
  return faults
}

function faultsOfFields(fields: Readonly<Record<string, FieldOptions>>): string[] {
  return Object.entries(fields).flatMap(([name, { type, values }]) => {
    if (!nameForm.test(name) || name === '__proto__')
      return [`has a field whose name cannot be used: ${JSON.stringify(name)}`]
    if (!Object.hasOwn(fieldTypes, type)) return [`has a field, ${name}, of a type that is none: ${type}`]
    if ((type === 'enum') !== (values !== undefined))
      return [`has a field, ${name}, that is an enum without values, or has values and is none`]
    return []
  })
}

function faultsOfFilters({ fields, filters = {} }: List): string[] {
  return Object.entries(filters).flatMap(([parameter, given]) => {
    const { kind, field } = filterOf(parameter, given)
    const about = `has a filter, ${parameter},`
    if (!nameForm.test(parameter) || taken.has(parameter)) return [`${about} whose name is taken or no name`]
    if (!Object.hasOwn(filterKinds, kind)) return [`${about} of a kind that is none: ${kind}`]
    if (!Object.hasOwn(fields, field)) return [`${about} for a field that is not there: ${field}`]
    const { type } = fields[field]!
    if (kind === 'flag' && type !== 'boolean')
      return [`${about} that is a flag of a field that is no boolean`]
    if (ofTexts.has(kind) && type !== 'text') return [`${about} that wants a text, and ${field} is ${type}`]
    if (type === 'json' && kind !== 'null') return [`${about} of a json field, which can only be null or not`]
    return []
  })
}

function faultsOfExpansions({ fields, expand = {} }: List): string[] {
  return Object.entries(expand).flatMap(([name, options]) => {
    if (!nameForm.test(name) || Object.hasOwn(fields, name))
      return [`expands ${name}, whose name is a field's or no name`]
    if (!Object.hasOwn(fields, options.from))
      return [`expands ${name} from a field that is not there: ${options.from}`]
    if (typeof options.table !== 'string' || typeof options.fields !== 'object')
      return [`expands ${name} without a table or its fields`]
    return faultsOfFields(options.fields).concat(faultsOfMany(name, options))
  })
}

function faultsOfMany(name: string, { many, fields }: ExpandOptions): string[] {
  if (many === undefined) return []
  const { order, limit = 20 } = many
  if (!Array.isArray(order) || order.length === 0) return [`expands ${name} to many without an order`]
  const faults = order
    .map((text) => String(text).replace(/^-/, ''))
    .filter((field) => !Object.hasOwn(fields, field))
    .map((field) => `orders ${name} by a field that is not there: ${field}`)
  if (!Number.isInteger(limit) || limit < 1 || limit > mostOfMany)
    faults.push(`expands ${name} with a limit that is not 1 to ${mostOfMany}`)
  return faults
}

function faultsOfKeyset({ fields, key, sort = [], order = [key], pages = [] }: List): string[] {
  const faults: string[] = []
  if (sort.length > 0 || order.length !== 1 || order[0]!.replace(/^-/, '') !== key)
    faults.push('has pages by keyset, whose cursor is the key alone: it can have no other order')
  if (pages.includes('cursor'))
    faults.push('has pages by cursor and by keyset, which one parameter cannot tell apart')
  const type = Object.hasOwn(fields, key) ? fields[key]!.type : undefined
  if (type && !keysetTypes.includes(type))
    faults.push(`has pages by keyset, and a key that is none of ${keysetTypes.join(', ')}`)
  return faults
}
