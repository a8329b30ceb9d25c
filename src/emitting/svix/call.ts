import type { FastifyRequest } from 'fastify'
import { type AuditOrigin, auditOrigin } from '../../accounts/audit/audit.ts'
import type { Problem, ProblemCode } from '../../errors.ts'
import { toProblem } from '../../http/responses/problem-details.ts'
import type { Row } from '../../storage/tables.ts'
import type { Reach } from '../events/event.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import type { MessageRow } from './rows.ts'

/**
 * A validated call of one operation, with the services for its handler. A class, because V8 creates a hidden class for each object literal with a getter, which retains the
 * request until a full garbage collection.
 */
export class SvixCall {
  /** The owner of `{app_id}`. Empty for operations without it, and if the operation creates the application. */
  readonly owner!: string
  /** The number of the last event of removed customers with the same owner. */
  readonly eventsAfter!: number
  /** When the owner was created, in milliseconds since 1970. */
  readonly createdAt!: number
  /** The parameters of the path. */
  readonly params!: Readonly<Record<string, string>>
  /** The endpoint of `{endpoint_id}`, except for its upsert. */
  endpoint!: Row<'subscribers'>
  /** The message of `{msg_id}`. */
  message!: MessageRow
  /** Declared parameters only: numbers, booleans, arrays, and times in milliseconds since 1970. */
  // The document declares the types. TypeScript cannot read them from it.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly query!: Readonly<Record<string, any>>
  /** As the document declares it. Numbers that a double cannot represent are raw JSON. An absent body is an empty object. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body!: any
  readonly request!: FastifyRequest
  readonly parts!: EmittingRouteParts
  /** Whether the caller is the owner, with a token of app-portal-access. */
  readonly isPortal!: boolean
  /** The status of a response with a body: the first that the document declares, unless the handler sets another one. */
  status!: number

  constructor(call: Omit<SvixCall, 'origin' | 'reach' | 'endpoint' | 'message'>) {
    Object.assign(this, call)
  }

  /** The endpoints that the caller can change. */
  get reach(): Reach {
    return this.isPortal ? { owner: this.owner } : 'all'
  }

  /** A getter, because messages write no audit entry and do not need it. */
  get origin(): AuditOrigin {
    return auditOrigin(this.request)
  }
}

/** Returns the response's body, or `undefined` for 204. */
type SvixHandler = (call: SvixCall) => Promise<unknown>

/** Handlers by operation id. */
export type SvixOperations = Readonly<Record<string, SvixHandler>>

export const notFound = (): SvixError => new SvixError(404, 'not_found', 'Entity not found')

/** For requests without a counterpart. Not 501, because the libraries retry requests that fail with 5xx. */
export const notImplemented = (detail: string): SvixError => new SvixError(404, 'not_implemented', detail)

/** For settings of a request without a counterpart. */
export const unsupported = (detail: string): SvixError => new SvixError(400, 'not_implemented', detail)

/** One fault of a request, in Svix's form. */
export interface SvixFault {
  /** `body` or `query`, then the names of fields. */
  loc: string[]
  msg: string
  type: string
}

/** An error in Svix's form: `{ code, detail }`, or `{ detail: faults }` with status 422. */
export class SvixError extends Error {
  readonly status: number
  readonly body: object

  constructor(status: number, code: string, detail: string | SvixFault[]) {
    super(typeof detail === 'string' ? detail : detail.map(({ msg }) => msg).join(' '))
    this.name = 'SvixError'
    this.status = status
    this.body = typeof detail === 'string' ? { code, detail } : { detail }
  }
}

/** Returns the error for an invalid request. */
export const invalid = (faults: SvixFault[]): SvixError => new SvixError(422, 'validation', faults)

/** The error of one field of the body. @param field the path to it, outermost field first */
export function invalidField(field: readonly string[], msg: string, type = 'value_error'): SvixError {
  return invalid([{ loc: ['body', ...field], msg, type }])
}

/**
 * Times of a body in milliseconds since 1970. The document checks their form: only a leap second is no time.
 * @throws SvixError 422
 */
export function readTimes<Name extends string>(
  body: SvixCall['body'],
  ...names: Name[]
): { [N in Name]?: number } {
  const times: { [N in Name]?: number } = {}
  for (const name of names) {
    if (!body[name]) continue
    times[name] = Date.parse(body[name])
    if (Number.isNaN(times[name])) throw invalidField([name], 'invalid time', 'value_error.jsondecode')
  }
  return times
}

const codes: Partial<Record<ProblemCode, [code: string, detail?: string]>> = {
  'not-signed-in': ['authentication_failed', 'Invalid token'],
  forbidden: ['insufficient access'],
  'insufficient-scope': ['insufficient access'],
  'not-found': ['not_found', 'Entity not found'],
  conflict: ['conflict'],
  'id-conflict': ['conflict'],
  'body-too-large': ['payload_too_large'],
  'too-many-requests': ['rate_limit'],
}

/** `eventTypes` as `event_types`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** A problem in Svix's form. For an unknown error, the body is an empty object, as from Svix's server. */
function ofProblem(problem: Problem): SvixError {
  const { code, status, extras } = problem
  const detail = extras.detail ?? problem.message
  if (code === 'internal') return Object.assign(new SvixError(status, '', ''), { body: {} })
  if (code === 'invalid-body') {
    const names = (extras.pointer ?? '').split('/').slice(1)
    const loc = names.length > 0 ? ['body', ...names.map(snakeCase)] : ['body', '', '']
    const type = names.length > 0 ? 'value_error' : 'value_error.jsondecode'
    return invalid([{ loc, msg: detail, type }])
  }
  const [name = code.replaceAll('-', '_'), fixed] = codes[code] ?? []
  return new SvixError(status, name, fixed ?? detail)
}

/** The response for any error, and the problem for the log and headers. */
export function toSvixError(error: unknown): { answer: SvixError; problem: Problem | undefined } {
  if (error instanceof SvixError) return { answer: error, problem: undefined }
  const problem = toProblem(error)
  return { answer: ofProblem(problem), problem }
}
