import type { ModuleParts } from '../../http/service-module.ts'
import type { BoundBrowser } from '../../http/responses/host-cookie.ts'
import { reuseGrace } from '../../accounts/tokens/token-families.ts'
import { hashToken, newToken } from '../../crypto/secrets.ts'
import type { Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import type { Client } from '../clients/client.ts'
import { parametersToStore, parseRequest, returnAddress } from './request-parameters.ts'
import type { OAuth2Services } from '../services.ts'
import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import { Problem } from '../../errors.ts'
import { answerOAuthError, AuthorizationError, oauthErrors } from '../oauth-error.ts'
import { acceptRawForms, oauthParameters, readOAuthParameters } from '../../http/requests/parameters.ts'
import { allowClientOrigins, browserCall } from '../token/token-call.ts'

/** The parameters of an authorization request, as the client sent them: pairs of name and value. */
export type Parameters = readonly (readonly [name: string, value: string])[]

/** Seconds from a push to the first use of the request (RFC 9126, section 2.2: short). */
const pushedLifetime = 90
/** Milliseconds that a person may take for the sign-in and the consent. */
const parkedLifetime = 20 * 60_000

/** RFC 9126, section 2.2. */
const prefix = 'urn:ietf:params:oauth:request_uri:'

/** A stored request. */
export interface StoredRequest {
  requestUri: string
  clientId: string
  parameters: Parameters
  /** Whether the client pushed it: then it is used up when it is read. */
  pushed: boolean
  /** When it was stored, in milliseconds since 1970: a sign-in before this time does not count for `prompt=login`. */
  createdAt: number
  /** What the person decided moments ago, if this is the same request again. */
  outcome: 'allowed' | 'denied' | null
}

/**
 * Authorization requests that wait: those that clients push (RFC 9126), and those whose user signs in or consents first. The
 * browser carries only a random reference, so nobody can change the request on the way. A parked request is bound to the browser
 * that started it by a cookie (http/responses/host-cookie.ts): a reference that leaks is of no use in another one.
 */
export class AuthorizationRequests {
  readonly #parts: Pick<ModuleParts, 'database' | 'clock'>

  constructor(parts: Pick<ModuleParts, 'database' | 'clock'>) {
    this.#parts = parts
  }

  /**
   * Stores a request of a client, and returns its `request_uri`. A pushed one must be used within 90 seconds.
   * @param browserHash of its browser's cookie. A parked request without one belongs to the browser that reads it first.
   */
  async store(
    how: 'pushed' | 'parked',
    client: Client,
    parameters: Parameters,
    browserHash?: Uint8Array,
  ): Promise<string> {
    const token = newToken()
    const now = this.#parts.clock.now()
    await this.#parts.database.transaction((tx) =>
      tx
        .insertInto('authorization_requests')
        .values({
          request_hash: hashToken(token),
          client_id: client.id,
          parameters: JSON.stringify(parametersToStore(client, parameters)),
          pushed: how === 'pushed' ? 1 : 0,
          browser_hash: browserHash ?? null,
          created_at: now,
          expires_at: now + (how === 'pushed' ? pushedLifetime * 1000 : parkedLifetime),
          used_at: null,
          outcome: null,
        })
        .execute(),
    )
    return prefix + token
  }

  /**
   * The request of a client. A pushed one is used up by that. `undefined` when it is unknown, used, expired, of another client,
   * or parked in another browser. One that was used moments ago is found once more: browsers repeat it after a double click.
   */
  async read(
    requestUri: string,
    clientId: string,
    browser: BoundBrowser,
  ): Promise<StoredRequest | undefined> {
    const hash = hashOf(requestUri)
    if (!hash) return undefined
    const { database, clock } = this.#parts
    const now = clock.now()
    const row = await database.reader
      .selectFrom('authorization_requests')
      .selectAll()
      .where('request_hash', '=', hash)
      .where('client_id', '=', clientId)
      .where('expires_at', '>', now)
      .where((eb) => eb.or([eb('used_at', 'is', null), eb('used_at', '>', now - reuseGrace)]))
      .executeTakeFirst()
    if (!row) return undefined
    const isUsable =
      row.pushed === 1
        ? await database.transaction((tx) => deleteRow(tx, hash))
        : await this.#isOfBrowser(row, browser)
    if (!isUsable) return undefined
    const parameters = JSON.parse(row.parameters) as Parameters
    const { created_at: createdAt, outcome } = row
    return { requestUri, clientId, parameters, pushed: row.pushed === 1, createdAt, outcome }
  }

  /** Uses up a parked request. False when it was used before. */
  async consume(
    tx: Tx,
    { requestUri }: Pick<StoredRequest, 'requestUri'>,
    outcome: 'allowed' | 'denied',
  ): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('authorization_requests')
      .set({ used_at: this.#parts.clock.now(), outcome })
      .where('request_hash', '=', hashOf(requestUri)!)
      .where('used_at', 'is', null)
      .executeTakeFirst()
    return Number(numUpdatedRows) > 0
  }

  /** Whether a parked request is of this browser. One of no browser yet is bound to it. */
  async #isOfBrowser(
    { request_hash, browser_hash }: Pick<Row<'authorization_requests'>, 'request_hash' | 'browser_hash'>,
    browser: BoundBrowser,
  ): Promise<boolean> {
    if (browser_hash !== null) return browser.isBoundTo(browser_hash)
    const { numUpdatedRows } = await this.#parts.database.transaction((tx) =>
      tx
        .updateTable('authorization_requests')
        .set({ browser_hash: browser.bind() })
        .where('request_hash', '=', request_hash)
        .where('browser_hash', 'is', null)
        .executeTakeFirst(),
    )
    return Number(numUpdatedRows) > 0
  }
}

/** Whether a `request_uri` has the form of those of this service. Others name a document elsewhere, which is not read. */
export function isOwnRequestUri(requestUri: string): boolean {
  return requestUri.startsWith(prefix)
}

function hashOf(requestUri: string): Buffer | undefined {
  return isOwnRequestUri(requestUri) ? hashToken(requestUri.slice(prefix.length)) : undefined
}

async function deleteRow(tx: Tx, hash: Uint8Array): Promise<boolean> {
  const row = await tx
    .deleteFrom('authorization_requests')
    .where('request_hash', '=', hash)
    .returning('client_id')
    .executeTakeFirst()
  return row !== undefined
}

/** Parameters that authenticate the client, and are not part of the request. */
const ofAuthentication = new Set(['client_secret', 'client_assertion', 'client_assertion_type'])

const path = '/oauth2/par'

/** POST /oauth2/par: a client sends its authorization request directly (RFC 9126), pages of its own origins included. */
export async function pushRoute(
  app: App,
  { clients, authentication, requests, noteRefusal }: OAuth2Services,
): Promise<void> {
  await app.register(async (routes: App) => {
    acceptRawForms(routes)
    allowClientOrigins(routes, path, clients)
    routes.post<{ Body: string }>(
      path,
      {
        config: { ...browserCall, rateLimit: { max: 300 } },
        schema: {
          tags: ['sign-in'],
          summary: 'Push an authorization request (RFC 9126)',
          response: {
            201: Type.Object({
              request_uri: Type.String(),
              expires_in: Type.Integer({ description: 'Seconds' }),
            }),
            ...oauthErrors,
          },
        },
        errorHandler: answerOAuthError,
      },
      async (request, reply) => {
        const text = request.body ?? ''
        const { values } = readOAuthParameters(text)
        const client = await authentication.authenticate(request, reply, values)
        const parameters = oauthParameters(text).filter(([name]) => !ofAuthentication.has(name))
        try {
          parseRequest(client, returnAddress(client, parameters), parameters)
        } catch (error) {
          const code = error instanceof AuthorizationError ? error.error : 'invalid-redirect-uri'
          if (error instanceof AuthorizationError || error instanceof Problem)
            await noteRefusal(request, { action: 'app.refused', code, target: `app:${client.id}` })
          throw error
        }
        const requestUri = await requests.store('pushed', client, parameters)
        return reply.code(201).send({ request_uri: requestUri, expires_in: pushedLifetime })
      },
    )
  })
}
