// Any header and form as the credentials of a client.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { propertyRun } from '#test/harness/properties.ts'
import { OAuthError } from '../oauth-error.ts'
import type { ClientAssertions } from './client-assertions.ts'
import { ClientAuthentication } from './client-authentication.ts'
import { clientOf } from './client.ts'
import type { Clients } from './clients.ts'

const secret = 'a-secret-of-thirty-two-characters'
const redirectUris = ['https://app.example.com/callback']
const known = new Map(
  [clientOf({ id: 'public', redirectUris }), clientOf({ id: 'web', redirectUris, secret })].map((client) => [
    client.id,
    client,
  ]),
)
const authentication = new ClientAuthentication({
  clients: { load: async () => undefined, find: async (id: string) => known.get(id) } as unknown as Clients,
  assertions: { signerOf: async () => undefined } as unknown as ClientAssertions,
  noteRefusal: async () => undefined,
})
const basic = (id: string, password: string): string =>
  `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`

const id = fc.oneof(fc.constantFrom('public', 'web', '__proto__', ''), fc.string())
const password = fc.oneof(fc.constantFrom(secret, secret.slice(1), `${secret} `, ''), fc.string())
const header = fc.oneof(
  fc.tuple(id, password).map(([user, word]) => basic(user, word)),
  fc.string({ unit: 'binary' }).map((text) => `Basic ${text}`),
  fc.string(),
)
const form = fc.record(
  {
    client_id: id,
    client_secret: password,
    client_assertion: fc.string(),
    client_assertion_type: fc.string(),
  },
  { requiredKeys: [] },
)

test('any credentials: the right secret in one place, or an error of OAuth', async (context) => {
  const reply = {} as FastifyReply
  await fc.assert(
    fc.asyncProperty(fc.option(header, { nil: undefined }), form, async (authorization, fields) => {
      const request = {
        headers: { authorization },
        server: { limits: { takeShared: async () => undefined } },
      } as unknown as FastifyRequest
      try {
        const client = await authentication.authenticate(request, reply, fields)
        const inHeader = authorization === basic('web', secret)
        const inForm = fields.client_id === 'web' && fields.client_secret === secret
        if (client.id === 'web') assert.ok(inHeader !== inForm, 'once')
        else assert.deepEqual([client.id, fields.client_secret], ['public', undefined])
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
        assert.ok(error instanceof OAuthError, String(error))
        assert.match(error.message, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
        assert.ok(error.status === 400 || error.status === 401)
      }
    }),
    propertyRun(context),
  )
})
