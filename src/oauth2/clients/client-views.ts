import { Type } from 'typebox'
import { isPublic, reauthenticationProofs, signingAlgorithms, type Client } from './client.ts'
import { longestName, longestUri, mostListed } from './client-faults.ts'
import type { ListedSecret } from './client-secrets.ts'
import type { StoredClient } from './client-store.ts'
import {
  closedObject,
  DateTime,
  nullable,
  NullableText,
  storablePattern,
} from '../../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'

const Name = Type.String({ minLength: 1, maxLength: longestName, pattern: storablePattern })
const Uris = (description: string) =>
  Type.Array(Type.String({ maxLength: longestUri, pattern: storablePattern }), {
    maxItems: mostListed,
    description,
  })
const Names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 1000, pattern: storablePattern }), {
    maxItems: mostListed,
    description,
  })
const orDefault = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(nullable(schema))

const settings = {
  redirectUris: Type.Optional(Uris('Compared as exact strings; the port of a loopback address may differ')),
  postLogoutRedirectUris: Type.Optional(Uris('Where the browser may go after a sign-out')),
  backchannelLogoutUri: orDefault(Type.String({ maxLength: longestUri, pattern: storablePattern })),
  jwks: orDefault(
    closedObject(
      { keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), { minItems: 1, maxItems: 10 }) },
      {
        description: 'The public keys of a client that authenticates with private_key_jwt',
      },
    ),
  ),
  scopes: orDefault(Names('The scopes that it may ask for. Scopes of this API need an admin.')),
  audience: orDefault(
    Type.Union([Type.String({ minLength: 1, maxLength: 1000, pattern: storablePattern }), Names('Several')]),
  ),
  audiences: orDefault(Names('The APIs that it may ask for with `resource`')),
  firstParty: orDefault(Type.Boolean({ description: 'No consent page. Needs an admin. Default false.' })),
  clientCredentials: orDefault(Type.Boolean({ description: 'Tokens without a user. Default false.' })),
  deviceGrant: orDefault(
    Type.Boolean({ description: 'Sign-in of devices without a browser (RFC 8628). Default false.' }),
  ),
  admin: orDefault(Type.Boolean({ description: 'Its tokens may have the admin role. Needs an admin.' })),
  managesSessions: orDefault(
    Type.Boolean({ description: 'Its tokens may list and end all sessions of their user. Needs an admin.' }),
  ),
  accessTokenLifetime: orDefault(Type.Integer({ minimum: 60, maximum: 3600, description: 'Seconds' })),
  refreshTokenLifetime: orDefault(Type.Integer({ minimum: 60, maximum: 1e9, description: 'Seconds' })),
  idTokenAlgorithm: orDefault(Type.Enum(signingAlgorithms)),
  reauthenticationProof: orDefault(
    Type.Enum(reauthenticationProofs, {
      description:
        'Whether `prompt=login` and `max_age` need the `auth_time` of the identity provider. Default required.',
    }),
  ),
}

export const NewClientBody = closedObject({
  name: Name,
  confidential: Type.Optional(
    Type.Boolean({
      description: 'Whether it keeps a secret. Default true; false for apps in browsers and on devices.',
    }),
  ),
  ...settings,
})

export const ClientChangeBody = closedObject({ name: Type.Optional(Name), ...settings }, { minProperties: 1 })

const SecretView = {
  id: Type.String(),
  begins: Type.String({ description: 'Its first characters' }),
  createdAt: DateTime,
  expiresAt: nullable(DateTime, 'Set when a newer secret was made'),
}
export const Secrets = Type.Array(Type.Object(SecretView), {
  description: 'Those that are valid, newest first',
})
export const NewSecret = Type.Object({
  ...SecretView,
  secret: Type.String({ description: 'Only this response contains it' }),
})

export const ClientView = Type.Object({
  id: Type.String({ description: 'The client_id' }),
  name: Type.String(),
  declared: Type.Boolean({ description: 'In the configuration module: it cannot be changed here' }),
  registered: Type.Boolean({ description: 'Whether it registered itself (RFC 7591)' }),
  confidential: Type.Boolean(),
  redirectUris: Type.Array(Type.String()),
  postLogoutRedirectUris: Type.Array(Type.String()),
  backchannelLogoutUri: NullableText,
  jwks: nullable(Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) })),
  scopes: Type.Array(Type.String()),
  audience: nullable(Type.Array(Type.String()), 'Null: this service'),
  audiences: Type.Array(Type.String()),
  firstParty: Type.Boolean(),
  clientCredentials: Type.Boolean(),
  deviceGrant: Type.Boolean(),
  admin: Type.Boolean(),
  managesSessions: Type.Boolean(),
  accessTokenLifetime: nullable(Type.Integer(), 'Seconds; null for the default'),
  refreshTokenLifetime: nullable(Type.Integer(), 'Seconds; null for the default'),
  idTokenAlgorithm: Type.Enum(signingAlgorithms),
  reauthenticationProof: Type.Enum(reauthenticationProofs),
  createdAt: nullable(DateTime),
  updatedAt: nullable(DateTime),
})

export function viewClient(client: Client | StoredClient) {
  const stored = 'createdAt' in client ? client : undefined
  return {
    id: client.id,
    name: client.name,
    declared: client.declared,
    registered: client.selfRegistered,
    confidential: !isPublic(client),
    redirectUris: [...client.redirectUris],
    postLogoutRedirectUris: [...client.postLogoutRedirectUris],
    backchannelLogoutUri: client.backchannelLogoutUri ?? null,
    jwks: client.jwks === undefined ? null : { keys: client.jwks.keys.map((key) => ({ ...key })) },
    scopes: [...client.scopes],
    audience: client.audience === undefined ? null : [client.audience].flat(),
    audiences: [...client.audiences],
    firstParty: client.firstParty,
    clientCredentials: client.clientCredentials,
    deviceGrant: client.deviceGrant,
    admin: client.admin === true,
    managesSessions: client.managesSessions === true,
    accessTokenLifetime: client.accessTokenLifetime ?? null,
    refreshTokenLifetime: client.refreshTokenLifetime ?? null,
    idTokenAlgorithm: client.idTokenAlgorithm,
    reauthenticationProof: client.reauthenticationProof,
    createdAt: stored ? isoTime(stored.createdAt) : null,
    updatedAt: stored ? isoTime(stored.updatedAt) : null,
  }
}

export function viewSecret({ id, prefix, created_at: createdAt, expires_at: end }: ListedSecret) {
  const expiresAt = isoTimeOrNull(end)
  return { id, begins: prefix, createdAt: isoTime(createdAt), expiresAt }
}
