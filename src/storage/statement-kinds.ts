import { BoundedCache } from '../runtime/bounded-cache.ts'
import type { Engine } from './query-runner.ts'

/** A statement of the user's code would reach beyond its transaction, which others may share, or beyond its use of the connection. */
export class StatementRejected extends Error {
  constructor(statement: string, instead: string) {
    super(`remove ${JSON.stringify(statement.trim().slice(0, 40))}: ${instead}`)
    this.name = 'StatementRejected'
  }
}

/** What is known of a statement from its text. */
interface StatementKind {
  /** Why the user's code must not run it, and what it is to use instead. */
  readonly rejected: string | undefined
  /** Whether it returns a row count only. Such a statement stays valid when columns are added to its table. */
  readonly returnsNoRows: boolean
  /**
   * Whether it reads and writes rows only, with functions that are known to change no setting. Triggers may still run others.
   */
  readonly isPlain: boolean
}

const kinds: Readonly<Record<Engine, BoundedCache<string, StatementKind>>> = {
  sqlite: new BoundedCache(1_000),
  postgres: new BoundedCache(1_000),
}

/** Texts that are longer are scanned each time. */
const longestCached = 4_000

export function kindOf(engine: Engine, statement: string): StatementKind {
  const known = kinds[engine].get(statement)
  if (known) return known
  const all = tokensOf(engine, statement)
  // Both engines pass over empty statements before it.
  const tokens = all.slice(all.findIndex((token) => token !== ';'))
  const kind: StatementKind = {
    rejected: rejectionOf(engine, tokens),
    returnsNoRows: writes.has(tokens[0] ?? '') && !tokens.includes('returning'),
    isPlain:
      plain.has(tokens[0] ?? '') &&
      !tokens.some((token, at) => temporary.has(token) || isUnknownCall(tokens, token, at)),
  }
  if (statement.length <= longestCached) kinds[engine].set(statement, kind)
  return kind
}

/** @throws StatementRejected */
export function rejectBeyondTransaction(engine: Engine, statement: string): void {
  const { rejected } = kindOf(engine, statement)
  if (rejected !== undefined) throw new StatementRejected(statement, rejected)
}

/**
 * @param statements several, separated by semicolons
 * @throws StatementRejected if they would end their transaction or, on SQLite, change settings of the connection
 */
export function rejectBeyondMigration(engine: Engine, statements: string): void {
  let from = 0
  const tokens = tokensOf(engine, statements)
  for (let at = 0; at <= tokens.length; at += 1) {
    if (at < tokens.length && tokens[at] !== ';') continue
    const [first = ''] = tokens.slice(from, from + 1)
    const rejected = wordsBeyondMigration[engine].has(first) && rejectionOf(engine, tokens.slice(from, at))
    if (rejected) throw new StatementRejected(first, rejected)
    from = at + 1
  }
}

/** Without `end`, which ends the bodies of triggers and functions. */
const transactionWords = ['begin', 'start', 'commit', 'rollback', 'abort']
const wordsBeyondMigration: Readonly<Record<Engine, ReadonlySet<string>>> = {
  sqlite: new Set([...transactionWords, 'pragma', 'attach', 'detach']),
  postgres: new Set(transactionWords),
}
const writes = new Set(['insert', 'update', 'delete'])
const plain = new Set([
  ...writes,
  'select',
  'values',
  'with',
  'merge',
  'replace',
  'savepoint',
  'release',
  'rollback',
])

/** A query can make a temporary table: select … into temp t. */
const temporary = new Set(['temp', 'temporary', 'pg_temp'])

const oneTransaction =
  'tx is one transaction, which begins at its first use and commits when the work ends; throw to roll back'
const settings = `it would change the connection for later work: use "set local", which ends with the transaction`
const locks = 'it would hold the lock after the transaction: use pg_advisory_xact_lock'
const prepared = 'Postern prepares statements itself: pass the statement with its parameters'

/** By the first word of a statement. */
const rejectedWords: Readonly<Record<Engine, ReadonlyMap<string, string>>> = {
  postgres: new Map([
    ['reset', settings],
    ['discard', 'temporary tables and settings end with the work by themselves'],
    ['listen', 'no client receives notifications of this connection: listen on your own connection'],
    ['unlisten', 'no client receives notifications of this connection: listen on your own connection'],
    ['prepare', prepared],
    ['execute', prepared],
    ['deallocate', prepared],
    ['load', 'it would load a library for later work: set session_preload_libraries on the server'],
  ]),
  sqlite: new Map([
    ['attach', 'it would stay attached for later work: open the other file on a connection of your own'],
    ['detach', 'it would be missing for later work: open the other file on a connection of your own'],
  ]),
}

/** Pragmas that only read: https://www.sqlite.org/pragma.html */
const readingPragmas = new Set(
  `collation_list compile_options data_version database_list foreign_key_check foreign_key_list freelist_count function_list index_info
  index_list index_xinfo integrity_check module_list page_count pragma_list quick_check table_info table_list table_xinfo`.split(
    /\s+/,
  ),
)

/** Functions of PostgreSQL whose effect outlives the transaction. */
const sessionLocks = /^pg_(?:try_)?advisory_(?:lock|unlock)(?:_shared|_all)?$/

function rejectionOf(engine: Engine, tokens: readonly string[]): string | undefined {
  const [first = '', second = '', third = ''] = tokens
  if (['begin', 'start', 'commit', 'end', 'abort'].includes(first)) return oneTransaction
  if (first === 'prepare' && second === 'transaction') return oneTransaction
  if (first === 'rollback') {
    const toSavepoint = ['work', 'transaction'].includes(second) ? third : second
    return toSavepoint === 'to' ? undefined : oneTransaction
  }
  const rejected = rejectedWords[engine].get(first)
  if (rejected !== undefined) return rejected
  if (engine === 'sqlite') return first === 'pragma' ? pragmaRejection(tokens) : undefined
  if (first === 'set' && !['local', 'constraints', 'transaction'].includes(second)) return settings
  if (first === 'declare' && tokens.some((token, at) => token === 'with' && tokens[at + 1] === 'hold'))
    return 'the cursor would outlive the transaction: declare it without hold'
  for (const [at, token] of tokens.entries()) {
    if (tokens[at + 1] !== '(') continue
    if (sessionLocks.test(token)) return locks
    if (token === 'set_config' && lastArgument(tokens, at + 1) === 'false')
      return `${settings}, or set_config(name, value, true)`
  }
  return undefined
}

function pragmaRejection(tokens: readonly string[]): string | undefined {
  const name = tokens[2] === '.' ? tokens[3] : tokens[1]
  if (readingPragmas.has(name ?? '')) return undefined
  return 'it would change the connection for later work: settings of the connection are those of the service'
}

/** The last token before the bracket that closes the one at `open`. */
function lastArgument(tokens: readonly string[], open: number): string | undefined {
  let depth = 0
  for (let at = open; at < tokens.length; at += 1) {
    if (tokens[at] === '(') depth += 1
    if (tokens[at] === ')') depth -= 1
    if (depth === 0) return tokens[at - 1]
  }
  return undefined
}

/** Functions, and other words before a bracket, that change no setting. */
const harmless = new Set(
  `values in exists any all some and or not on using over filter as from join where when then else select by having returning conflict
  set limit offset between like ilike is null distinct row array cast case union intersect except materialized with lateral
  count sum min max avg coalesce nullif greatest least abs ceil ceiling floor round mod power sqrt random sign trunc
  lower upper initcap length char_length octet_length concat concat_ws substring substr trim btrim ltrim rtrim replace split_part
  position left right lpad rpad strpos reverse repeat format md5 encode decode to_char to_number to_date to_timestamp
  now clock_timestamp statement_timestamp transaction_timestamp date_trunc date_part extract age make_interval make_date
  json_build_object jsonb_build_object json_build_array jsonb_build_array json_agg jsonb_agg json_object_agg jsonb_object_agg to_json
  to_jsonb jsonb_set jsonb_insert jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_each jsonb_each_text
  jsonb_typeof jsonb_path_query json_extract json json_object json_array json_each
  array_agg string_agg bool_and bool_or every unnest generate_series array_length cardinality row_number rank dense_rank ntile lag
  lead first_value last_value gen_random_uuid uuidv7 nextval currval hashtext hashtextextended pg_advisory_xact_lock
  pg_try_advisory_xact_lock varchar char numeric decimal timestamp timestamptz time interval bit`.split(
    /\s+/,
  ),
)

const isWord = (token: string | undefined): boolean =>
  token !== undefined && /^[\w$"\u0080-\uffff]/.test(token)

function isUnknownCall(tokens: readonly string[], token: string, at: number): boolean {
  if (tokens[at + 1] !== '(' || !isWord(token) || harmless.has(token)) return false
  let before = at - 1
  while (tokens[before] === '.') before -= 2
  // The columns of a table: insert into t (a, b); update … from (…) as t (a, b).
  return tokens[before] !== 'into' && tokens[before] !== 'as'
}

/**
 * The words, names and signs of a statement in lower case, without comments and the contents of texts, in one pass over it. Only
 * a dollar quote is searched for twice: its tag, and its end.
 */
function tokensOf(engine: Engine, statement: string): string[] {
  const tokens: string[] = []
  const scan = /--[^\n]*|\/\*|\s+|'|"|\$\w*\$|[\w\u0080-\uffff]+|[^]/gy
  let escapes = false
  while (scan.lastIndex < statement.length) {
    const start = scan.lastIndex
    const [token] = scan.exec(statement)!
    if (token === '/*') scan.lastIndex = endOfComment(statement, scan.lastIndex, engine === 'postgres')
    else if (token === "'") {
      scan.lastIndex = endOfQuote(statement, scan.lastIndex, "'", escapes)
      tokens.push("'")
    } else if (token === '"') {
      scan.lastIndex = endOfQuote(statement, scan.lastIndex, '"', false)
      tokens.push(statement.slice(start + 1, scan.lastIndex - 1).toLowerCase())
    } else if (engine === 'postgres' && token.length > 1 && token.startsWith('$')) {
      const end = statement.indexOf(token, scan.lastIndex)
      scan.lastIndex = end < 0 ? statement.length : end + token.length
      tokens.push("'")
    } else if (!token.startsWith('--') && token.trim() !== '') tokens.push(token.toLowerCase())
    // In E'…', a backslash escapes a quote.
    escapes = engine === 'postgres' && (token === 'e' || token === 'E')
  }
  return tokens
}

/** PostgreSQL's comments may contain others, SQLite's end at the first end. */
function endOfComment(text: string, from: number, nests: boolean): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = from
  for (let depth = 1; depth > 0;) {
    const mark = marks.exec(text)
    if (!mark) return text.length
    if (mark[0] === '*/') depth -= 1
    else if (nests) depth += 1
  }
  return marks.lastIndex
}

/** Doubled quotes belong to the text. */
function endOfQuote(text: string, from: number, quote: string, escapes: boolean): number {
  for (let at = from; at < text.length; at += 1) {
    if (escapes && text[at] === '\\') at += 1
    else if (text[at] !== quote) continue
    else if (text[at + 1] === quote) at += 1
    else return at + 1
  }
  return text.length
}
