import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Account, Adapter, AdapterPayload, Configuration, JWK } from 'oidc-provider'
import { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js'
import { base as basePolicy, Check } from 'oidc-provider/lib/helpers/interaction_policy/index.js'
import { Provider } from 'oidc-provider/lib/provider.js'
import { newToken } from '../crypto/secrets.ts'
import { basePathOf } from '../http/requests/base-path.ts'
import { escapeHtml, narrowPage } from '../http/pages/html.ts'
import { en } from '../http/pages/language/en.ts'

interface OpenIdServerParts {
  /** The path of the provider, without a trailing slash. */
  mountPath: string
  /** The public address of the service. */
  baseUrl: string
  client: { id: string; secret: string; redirectUri: string }
  /** Ids of the persons with the admin role, which the page shows. */
  admins: ReadonlySet<string>
  /** Called for errors of the provider itself. */
  onError: (error: Error) => void
}

export type OpenIdHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const minutes = 60
const longestForm = 4_096

/**
 * An OpenID provider (https://github.com/panva/node-oidc-provider) for development: authorization code flow with PKCE, signed
 * id_tokens, discovery. The user chooses a person instead of entering a password; consent is granted automatically.
 */
export function createOpenIdServer(parts: OpenIdServerParts): OpenIdHandler {
  const { mountPath, baseUrl, client, admins, onError } = parts
  const basePath = basePathOf(baseUrl)
  const provider = new Provider(baseUrl + mountPath, configurationFor(basePath, mountPath, client))
  // Addresses are made from the forwarded headers, which are set to the public origin below.
  provider.proxy = true
  provider.on('server_error', (_ctx, error) => onError(error))
  const { host, protocol } = new URL(baseUrl)
  const callback = provider.callback()
  const choices = new RegExp(`^${mountPath}/choose/[\\w-]+$`)

  return async (request, response) => {
    request.headers.host = host
    request.headers['x-forwarded-host'] = host
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1)
    const path = request.url?.split('?', 1)[0] ?? ''
    if (choices.test(path)) return choose({ provider, path, basePath, admins }, request, response)
    request.originalUrl = `${basePath}${request.url}`
    request.url = request.url?.slice(mountPath.length)
    await callback(request, response)
  }
}

interface Choice {
  provider: Provider
  path: string
  basePath: string
  admins: ReadonlySet<string>
}

async function choose(
  { provider, path, basePath, admins }: Choice,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await provider.interactionDetails(request, response)
    const form = request.method === 'POST' ? await readForm(request) : new URLSearchParams()
    const person = form.has('name') ? guest(form.get('name') ?? '') : findPerson(form.get('person') ?? '')
    if (person) {
      await provider.interactionFinished(request, response, {
        login: { accountId: person.id, remember: false },
      })
    } else if (form.has('cancel')) {
      await provider.interactionFinished(request, response, {
        error: 'access_denied',
        error_description: 'cancelled',
      })
    } else {
      sendPage(response, 200, choicePage(basePath, path, admins))
    }
  } catch (error) {
    if (!(error instanceof OIDCProviderError)) throw error
    sendPage(response, 400, overPage(basePath))
  }
}

function configurationFor(
  basePath: string,
  mountPath: string,
  client: OpenIdServerParts['client'],
): Configuration {
  const store = new ShortLivedStore()
  const policy = basePolicy()
  // Asks at each sign-in, so that a user can sign in as one person and link another.
  policy.get('login')?.checks.add(new Check('choice', 'choose a person', (ctx) => !ctx.oidc.result?.login))
  return {
    adapter: (kind: string) => store.adapter(kind),
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [client.redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [signingKey()] },
    cookies: {
      keys: [newToken()],
      names: { interaction: 'demo_interaction', resume: 'demo_resume', session: 'demo_session' },
    },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'given_name', 'family_name', 'preferred_username', 'locale'],
    },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `${basePath}${mountPath}/choose/${interaction.uid}`, policy },
    ttl,
    findAccount: (_ctx, id) => accountOf(findPerson(id)),
    loadExistingGrant,
    // The store has no sessions that tokens could expire with.
    expiresWithSession: () => false,
    clientBasedCORS: () => false,
    renderError(ctx, out) {
      ctx.set('content-security-policy', pagePolicy)
      ctx.type = 'html'
      ctx.body = refusalPage(basePath, out.error, out.error_description)
    },
  }
}

/** Seconds. */
const ttl = {
  AccessToken: 5 * minutes,
  AuthorizationCode: minutes,
  Grant: 10 * minutes,
  IdToken: 5 * minutes,
  Interaction: 10 * minutes,
  Session: 10 * minutes,
}

function accountOf(person: Person | undefined): Account | undefined {
  if (!person) return undefined
  const { id, name, email } = person
  const [given, ...family] = name.split(' ')
  const claims = {
    sub: id,
    name,
    given_name: given,
    ...(family.length > 0 && { family_name: family.join(' ') }),
    locale: 'en',
    ...(email !== undefined && { preferred_username: email.split('@')[0], email, email_verified: true }),
  }
  return { accountId: id, claims: () => claims }
}

/** Grants every request without a consent page. */
const loadExistingGrant: Configuration['loadExistingGrant'] = async (ctx) => {
  const { client, session, provider } = ctx.oidc
  const grant = new provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! })
  grant.addOIDCScope('openid email profile')
  await grant.save()
  return grant
}

/** A new key at each start is enough: the client reads it from the discovery. */
function signingKey(): JWK {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: newToken().slice(0, 8) }
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = ''
  for await (const chunk of request) {
    body += String(chunk)
    if (body.length > longestForm) return new URLSearchParams()
  }
  return new URLSearchParams(body)
}

function sendPage(response: ServerResponse, status: number, html: string): void {
  response
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': pagePolicy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .end(html)
}

/**
 * The Content-Security-Policy of the development provider's pages. It has no form-action: browsers apply that to redirects
 * after a form, which go to the address of the app.
 */
const pagePolicy =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/** The page that asks for a person: a button per sample person, and a field for another name. `admins` are ids of persons. */
function choicePage(basePath: string, path: string, admins: ReadonlySet<string>): string {
  const action = basePath + path
  const persons = people.map((person) => personForm(action, person, admins.has(person.id))).join('\n')
  return page(
    basePath,
    'Who are you?',
    `<p class="soft">This is Postern's development identity provider. You can sign in as anyone. It exists in demo mode only.</p>
${persons}
<form method="post" action="${escapeHtml(action)}" class="card fields">
<label for="name">Someone else <input type="text" id="name" name="name" required maxlength="60" autocomplete="off" placeholder="Any name"></label>
<button>Continue</button>
</form>
<form method="post" action="${escapeHtml(action)}" class="center"><input type="hidden" name="cancel" value="yes"><button class="quiet">Cancel</button></form>`,
  )
}

function overPage(basePath: string): string {
  return page(
    basePath,
    'This sign-in is over',
    `<p>It took too long, or was finished in another tab.</p><p><a class="button wide" href="${basePath}/login">Start again</a></p>`,
  )
}

/** The page for an invalid request of an app. */
function refusalPage(basePath: string, error: string, description: string | undefined): string {
  return page(
    basePath,
    'The request was rejected',
    `<p class="message"><code>${escapeHtml(error)}</code> ${escapeHtml(description ?? '')}</p>`,
  )
}

function personForm(action: string, { id, name, email }: Person, admin: boolean): string {
  const role = admin ? ' <span class="role">admin</span>' : ''
  return `<form method="post" action="${escapeHtml(action)}"><input type="hidden" name="person" value="${id}">
<button class="person"><strong>${escapeHtml(name)}</strong>${role} <span class="soft">${escapeHtml(email ?? 'no email address')}</span></button></form>`
}

function page(basePath: string, title: string, body: string): string {
  const logo = `${basePath}/assets/icon.svg`
  const name = 'Development identity provider'
  const site = { basePath, name, plainName: name, logo, colored: false, links: {} }
  return narrowPage({ site, language: 'en', words: en }, title, body)
}

interface Entry {
  payload: AdapterPayload
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** The most entries. The oldest are removed first, which is harmless for a developer's few sign-ins. */
const most = 2_000

/**
 * Stores the development provider's codes and tokens in memory until they expire. It stores no sessions, so that each sign-in
 * asks for a person.
 */
class ShortLivedStore {
  readonly #entries = new Map<string, Entry>()

  /** The adapter of oidc-provider for one kind of object (Session, AuthorizationCode, …). */
  adapter(kind: string): Adapter {
    const entries = this.#entries
    const keyOf = (id: string): string => `${kind}:${id}`
    const live = (key: string): AdapterPayload | undefined => {
      const entry = entries.get(key)
      if (!entry || entry.expiresAt > Date.now()) return entry?.payload
      entries.delete(key)
      return undefined
    }
    return {
      async upsert(id, payload, expiresIn) {
        if (kind === 'Session') return
        entries.delete(keyOf(id))
        entries.set(keyOf(id), { payload, expiresAt: Date.now() + (expiresIn || 3_600) * 1000 })
        for (const oldest of entries.keys()) {
          if (entries.size <= most) break
          entries.delete(oldest)
        }
      },
      find: async (id) => live(keyOf(id)),
      async findByUid(uid) {
        for (const key of entries.keys()) {
          const payload = key.startsWith(`${kind}:`) ? live(key) : undefined
          if (payload?.uid === uid) return payload
        }
        return undefined
      },
      findByUserCode: async () => undefined,
      async destroy(id) {
        entries.delete(keyOf(id))
      },
      async consume(id) {
        const payload = live(keyOf(id))
        if (payload) payload.consumed = Math.floor(Date.now() / 1000)
      },
      async revokeByGrantId(grantId) {
        for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key)
      },
    }
  }
}

/** A person of the development provider. */
interface Person {
  id: string
  name: string
  email: string | undefined
}

/** Sample people. The last one has no e-mail address, since many real providers return none. */
const people: readonly Person[] = [
  { id: 'ada', name: 'Ada Lovelace', email: 'ada@demo.example' },
  { id: 'grace', name: 'Grace Hopper', email: 'grace@demo.example' },
  { id: 'alan', name: 'Alan Turing', email: 'alan@demo.example' },
  { id: 'katherine', name: 'Katherine Johnson', email: undefined },
]

const guestPrefix = 'guest.'
const longestName = 60

/** A person with any name. The id contains the name, so the same name is the same person after a restart. */
function guest(name: string): Person | undefined {
  const trimmed = name.trim().replaceAll(/\s+/g, ' ').slice(0, longestName).toWellFormed()
  if (trimmed === '') return undefined
  const mailbox = trimmed
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '.')
    .replaceAll(/^\.|\.$/g, '')
  return {
    id: guestPrefix + Buffer.from(trimmed).toString('base64url'),
    name: trimmed,
    email: mailbox === '' ? undefined : `${mailbox}@guests.demo.example`,
  }
}

function findPerson(id: string): Person | undefined {
  if (id.startsWith(guestPrefix))
    return guest(Buffer.from(id.slice(guestPrefix.length), 'base64url').toString())
  return people.find((person) => person.id === id)
}
