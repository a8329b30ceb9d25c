import { ConfigurationError } from '../config/environment.ts'
import type { ExpandOptions, FieldOptions, FilterOptions, List, ListingConfig } from './config.ts'
import type { Expansion, Field, Filter, ListDeclaration } from './list.ts'
import { validateList, pageLimit } from './validation.ts'

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
  const { path, table, name = path, summary = `The list ${path}`, key, sort = [], access = 'admin' } = options
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
    limit: pageLimit(options.limit ?? {}),
    count: options.count ?? 'exact',
    maintainCounts: options.keep ?? false,
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
