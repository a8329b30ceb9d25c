import type { FastifyReply } from 'fastify'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import type { Users } from '../../accounts/users/users.ts'
import { pageView } from '../../http/pages/page-view.ts'
import type { Queryable } from '../../storage/database.ts'
import type { AuthorizationRequest } from '../authorize/request-parameters.ts'
import type { Client } from '../clients/client.ts'
import { type ConsentForms, consentPage } from './consent-page.ts'
import type { Consents } from './consents.ts'

/** What a person is asked to allow. */
export interface ConsentQuestion {
  client: Client
  wanted: AuthorizationRequest
  session: Session
  /** Of the parked request. */
  requestUri: string
}

/** Asks a person whether an app may have what it asks for, unless the person allowed it before. */
export class ConsentStep {
  readonly #parts: { consents: Consents; forms: ConsentForms; users: Users; reader: Queryable }

  constructor(parts: { consents: Consents; forms: ConsentForms; users: Users; reader: Queryable }) {
    this.#parts = parts
  }

  covers(userId: string, clientId: string, wanted: AuthorizationRequest): Promise<boolean> {
    return this.#parts.consents.covers(userId, clientId, wanted)
  }

  async page(reply: FastifyReply, { client, wanted, session, requestUri }: ConsentQuestion): Promise<string> {
    const { forms, users, reader } = this.#parts
    const user = await users.find(reader, session.userId)
    const { redirectUri, scope, resource } = wanted
    return consentPage({
      view: pageView(reply),
      client,
      redirectUri,
      scope,
      resource,
      signedInAs: user?.name ?? user?.email ?? session.userId,
      fields: forms.fields({ sessionId: session.id, clientId: client.id, requestUri, scope, resource }),
    })
  }
}
