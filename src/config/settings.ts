import { leastConnections } from '../storage/postgres/pool/connection-shares.ts'
import * as readAddress from './address-readers.ts'
import * as read from './readers.ts'
import { defaultRetrySchedule } from '../runtime/retry-schedule.ts'

interface Setting {
  /** The name in the environment. */
  env: string
  read: read.Reader<unknown>
  /** The default, as text in the environment. */
  default?: string
  /** The default in demo mode, if it differs. */
  demoDefault?: string
  /** Production refuses to start without this setting. */
  requiredInProduction?: true
  /** The value is never printed. */
  secret?: true
  description: string
}

/**
 * All settings: name, type, default, description and whether they are secret. The validation at the start, the redacted log
 * line, the reference page and `postern doctor` use this table. Identity providers have families of names and their own
 * reader (providers.ts).
 */
export const settings = {
  production: {
    env: 'NODE_ENV',
    read: (text) => read.oneOf('development', 'test', 'production')(text) === 'production',
    default: 'development',
    description:
      '`production` disables demo mode: no demo provider, no open lists, no generated secrets. `development` and `test` enable it; other values are rejected.',
  },
  host: {
    env: 'HOST',
    read: read.text,
    default: '127.0.0.1',
    description: 'The IP address or host name to listen on. Demo mode listens on loopback only.',
  },
  port: {
    env: 'PORT',
    read: read.integer(0, 65_535),
    default: '3000',
    description: 'The port to listen on; 0 selects a free one.',
  },
  baseUrl: {
    env: 'BASE_URL',
    read: readAddress.publicAddress,
    requiredInProduction: true,
    description:
      'The public address, such as `https://gate.example.com` or `https://example.com/gate`. Redirect URIs and links begin with it. A proxy must forward paths unchanged. Production accepts `http` only for a loopback address; demo mode accepts only loopback addresses. Default: `http://HOST:PORT`.',
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    read: readAddress.databaseUrl,
    default: 'sqlite:data/postern.db',
    secret: true,
    description:
      '`sqlite:FILE` or `postgres://user:password@host:port/database`. For several hosts, see [Several servers](../guides/operating/postgresql.md#several-servers).',
  },
  spool: {
    env: 'SPOOL_URL',
    read: readAddress.spoolUrl,
    description:
      'Stores webhooks while the database is unavailable; without it they get 503. `file:PATH`: an SQLite file. `?max_bytes=` limits the size (4 GiB). To store them elsewhere, set `receiving.spool`. See [the guide](../guides/receiving/storage.md#while-the-database-is-unavailable).',
  },
  databaseSessionUrl: {
    env: 'DATABASE_SESSION_URL',
    read: readAddress.postgresUrl,
    secret: true,
    description:
      'A second address of the same PostgreSQL database, which bypasses a pooler in transaction mode. See [Poolers](../guides/operating/postgresql.md#poolers).',
  },
  databaseReplicaUrl: {
    env: 'DATABASE_REPLICA_URL',
    read: readAddress.postgresUrl,
    secret: true,
    description:
      '`postgres://…` of a standby from which lists are read. See [A standby for lists](../guides/operating/postgresql.md#a-standby-for-lists).',
  },
  databaseReplicaMaxAge: {
    env: 'DATABASE_REPLICA_MAX_AGE',
    read: read.seconds(1, 300),
    default: '5',
    description: 'Seconds that the standby may be behind; otherwise the primary responds.',
  },
  databaseConnections: {
    env: 'DATABASE_CONNECTIONS',
    read: read.integer(leastConnections, 1_000),
    default: '12',
    description: `PostgreSQL: the maximum number of connections per process, ${leastConnections} or more. See [Connections](../guides/operating/postgresql.md#connections).`,
  },
  masterSecrets: {
    env: 'POSTERN_SECRET',
    read: read.secrets(32),
    requiredInProduction: true,
    secret: true,
    description:
      'The master key, 32 bytes or more (`openssl rand -base64 32`): it encrypts stored secrets and signs cursors. Comma-separated to rotate, newest first; see `postern keys reseal`. Production rejects keys that are not random.',
  },
  webhookSecrets: {
    env: 'WEBHOOK_SECRET',
    read: read.secrets(1),
    requiredInProduction: true,
    secret: true,
    description:
      'Secret of the source `provider` (`POST /webhooks/provider`, header `x-signature`). Comma-separated to rotate, newest first. Production rejects secrets shorter than 6 bytes; those shorter than 16 cause a warning.',
  },
  adminApiKey: {
    env: 'ADMIN_API_KEY',
    read: read.secret(16),
    secret: true,
    description:
      'An API key with admin rights, for setup; 16 bytes or more, 20 to avoid a warning. Production rejects keys that are not random.',
  },
  adminIdentities: {
    env: 'ADMIN_IDENTITIES',
    read: read.identities,
    default: '',
    demoDefault: 'demo:ada',
    description: '`provider:providerId`, comma-separated: identities with the admin role.',
  },
  emitRetrySchedule: {
    env: 'EMIT_RETRY_SCHEDULE',
    read: read.schedule,
    default: defaultRetrySchedule,
    description:
      'Seconds before each attempt of a delivery, including the first. After the last one the delivery has failed.',
  },
  emitTimeout: {
    env: 'EMIT_TIMEOUT',
    read: read.seconds(0.1, 300),
    default: '15',
    description: 'Seconds for one attempt, including the body of the response.',
  },
  emitAllowedNetworks: {
    env: 'EMIT_ALLOWED_NETWORKS',
    read: readAddress.networks,
    default: '',
    description:
      'Private addresses or CIDR ranges, such as `10.1.0.0/16`, that endpoints without an owner can use, even over http. Comma-separated.',
  },
  emitAllowedHosts: {
    env: 'EMIT_ALLOWED_HOSTS',
    read: readAddress.hosts,
    default: '',
    description:
      'Host names that endpoints without an owner can use even if they resolve to private addresses, and over http. Comma-separated; `*.internal.example.com` matches all names below.',
  },
  emitPorts: {
    env: 'EMIT_PORTS',
    read: readAddress.ports,
    default: '80,443,1024-65535',
    description:
      'Allowed ports of endpoints: numbers and ranges, comma-separated. `ALLOW_PRIVATE_NETWORK` allows all ports.',
  },
  emitProxy: {
    env: 'EMIT_PROXY',
    read: readAddress.proxy,
    secret: true,
    description:
      'An HTTP proxy for deliveries (CONNECT), such as `http://user:password@proxy.internal:3128`. See [Private addresses and proxies](../guides/emitting.md#private-addresses-and-proxies).',
  },
  emitDisableAfter: {
    env: 'EMIT_DISABLE_AFTER_DAYS',
    read: read.days,
    default: '7',
    description:
      'Days without a successful delivery after which a failing endpoint is disabled. 0 or `off`: never.',
  },
  handlerRetrySchedule: {
    env: 'HANDLER_RETRY_SCHEDULE',
    read: read.schedule,
    default: defaultRetrySchedule,
    description:
      'Seconds before each attempt of a handler, including the first. After the last one the event has failed.',
  },
  handlerTimeout: {
    env: 'HANDLER_TIMEOUT',
    read: read.seconds(0.1, 3_600),
    default: '30',
    description:
      'Time limit of a handler, in seconds. Then its `signal` is aborted and its transaction rolled back.',
  },
  handlerTransactionTimeout: {
    env: 'HANDLER_TRANSACTION_TIMEOUT',
    read: read.seconds(0.1, 60),
    default: '2',
    description:
      "SQLite: seconds after which a handler's open transaction is rolled back, because it blocks all other writers.",
  },
  bodyLimit: {
    env: 'WEBHOOK_BODY_LIMIT',
    read: read.integer(1, 100 * 1024 * 1024),
    default: '1048576',
    description: 'The largest body of a received webhook, in bytes.',
  },
  inboxMaxAge: {
    env: 'INBOX_MAX_AGE',
    read: read.seconds(0, 31_536_000),
    default: '0',
    description:
      "Seconds that a source's oldest event may wait for a worker; after that, new events of this source get 503 with Retry-After. `0`: no limit.",
  },
  allowPrivateNetwork: {
    env: 'ALLOW_PRIVATE_NETWORK',
    read: read.flag,
    default: 'false',
    demoDefault: 'true',
    description: '`true` allows private and loopback addresses, and http, for endpoints and issuers.',
  },
  rateLimit: {
    env: 'RATE_LIMIT',
    read: read.flag,
    default: 'on',
    description:
      "`off` disables the [limits](../guides/operating/access.md#limits) per address and credential, but not a source's `rateLimit`.",
  },
  trustedProxies: {
    env: 'TRUSTED_PROXIES',
    read: readAddress.networks,
    default: '',
    description:
      'Addresses or CIDR ranges of reverse proxies whose X-Forwarded-For is trusted, comma-separated.',
  },
  apiDocs: {
    env: 'API_DOCS',
    read: read.oneOf('public', 'private'),
    default: 'public',
    description:
      'Readers of the API reference (`/docs`, `/openapi.json`). `public`: everyone; `private`: administrators and keys with the scope `operate`.',
  },
  corsOrigins: {
    env: 'CORS_ORIGINS',
    read: readAddress.origins,
    default: '',
    description:
      'Origins whose pages can call this service from a browser, such as `https://app.example.com`, comma-separated. Must match exactly. See [Cross-origin requests](../guides/operating/access.md#cross-origin-requests).',
  },
  corsCredentials: {
    env: 'CORS_CREDENTIALS',
    read: read.flag,
    default: 'false',
    description:
      '`true` lets pages of `CORS_ORIGINS` read with the session cookie; writes are still rejected.',
  },
  brandName: {
    env: 'BRAND_NAME',
    read: read.line(60),
    default: 'Postern',
    description: 'The name of the service on its pages: sign-in, consent, devices, sign-out, errors, portal.',
  },
  brandLogo: {
    env: 'BRAND_LOGO',
    read: read.text,
    description: 'Path of the logo on these pages: an SVG, PNG, WebP or JPEG file of at most 100,000 bytes.',
  },
  brandColor: {
    env: 'BRAND_COLOR',
    read: read.color,
    description:
      'The color of buttons and links on these pages, as `#rrggbb`, adjusted where the contrast needs it.',
  },
  brandTermsUrl: {
    env: 'BRAND_TERMS_URL',
    read: readAddress.link,
    description: 'The URL of your terms of service, linked on these pages.',
  },
  brandPrivacyUrl: {
    env: 'BRAND_PRIVACY_URL',
    read: readAddress.link,
    description: 'The URL of your privacy policy, linked on these pages.',
  },
  brandSupport: {
    env: 'BRAND_SUPPORT',
    read: readAddress.contact,
    description: 'Your support contact, an e-mail address or a URL, linked on these pages and in errors.',
  },
  portalFrameOrigins: {
    env: 'PORTAL_FRAME_ORIGINS',
    read: readAddress.origins,
    default: '',
    description:
      'Origins whose pages can show the portal in a frame, such as `https://app.example.com`, comma-separated. See [Embedding the portal](../guides/customers/embedding.md).',
  },
  shutdownDelay: {
    env: 'SHUTDOWN_DELAY',
    read: read.seconds(0, 300),
    default: '5',
    demoDefault: '0',
    description:
      'Seconds after SIGTERM in which the service still accepts requests while `/readyz` returns 503. Must exceed the interval of load balancer checks. See [Stopping](../guides/operating/production.md#stopping).',
  },
  sessionIdle: {
    env: 'SESSION_IDLE',
    read: read.seconds(60, 31_536_000),
    default: '604800',
    description: 'Seconds without use after which a session ends.',
  },
  sessionLifetime: {
    env: 'SESSION_LIFETIME',
    read: read.seconds(60, 31_536_000),
    default: '2592000',
    description: 'Seconds after which a session ends in any case.',
  },
  sessionsPerUser: {
    env: 'SESSIONS_PER_USER',
    read: read.integer(1, 50),
    default: '50',
    description:
      'The maximum number of browser sessions per user, and of app sign-ins; another one ends the least recently used.',
  },
  signingKeyRotation: {
    env: 'SIGNING_KEY_ROTATION',
    read: read.seconds(86_400, 315_360_000),
    default: '7776000',
    description:
      'Seconds that a key signs access tokens before the next one replaces it; see `postern keys rotate-signing`.',
  },
  clientRegistration: {
    env: 'CLIENT_REGISTRATION',
    read: read.oneOf('off', 'token', 'documents', 'open'),
    default: 'off',
    description:
      'Apps that can sign users in without an administrator adding them: `off`: none; `token`: those that a caller with the scope `clients:write` registers at `POST /oauth2/register`; `documents`: any with a metadata document; `open`: also any that registers itself. See [MCP servers](../guides/mcp-servers.md).',
  },
  clientRegistrationApis: {
    env: 'CLIENT_REGISTRATION_APIS',
    read: readAddress.apis,
    default: '',
    description:
      'APIs that self-registered apps can request with `resource` (RFC 8707), such as `https://mcp.example.com/mcp`. Comma-separated.',
  },
  clientRegistrationScopes: {
    env: 'CLIENT_REGISTRATION_SCOPES',
    read: read.words,
    default: '',
    description:
      'Scopes of your APIs that self-registered apps can request in addition to the user scopes, such as `mcp:tools`. Comma-separated.',
  },
  recentSignIn: {
    env: 'RECENT_SIGN_IN',
    read: read.seconds(30, 86_400),
    default: '900',
    description:
      'Seconds since the last sign-in in which a user may link and unlink identities, and an administrator may create API keys and apps, give rights and act for a user; later, the user must sign in again.',
  },
  recentSignInProof: {
    env: 'RECENT_SIGN_IN_PROOF',
    read: read.oneOf('when-supported', 'required'),
    default: 'when-supported',
    description:
      "Proof of a recent sign-in. `when-supported`: the provider's authentication time, or the time of the sign-in if the provider does not report it; `required`: only a time that the provider proves.",
  },
  impersonation: {
    env: 'IMPERSONATION',
    read: read.oneOf('off', 'on'),
    default: 'off',
    description:
      '`on`: administrators may act for a user for up to an hour (`POST /users/{id}/impersonate`), with a reason. They can read what the user can, and change nothing.',
  },
  adminMfa: {
    env: 'ADMIN_MFA',
    read: read.oneOf('off', 'required'),
    default: 'off',
    description:
      '`required`: administrators have their rights only after a sign-in with a second factor, proved by `ADMIN_AMR_VALUES` or `ADMIN_ACR_VALUES`. API keys do not need one.',
  },
  adminAmrValues: {
    env: 'ADMIN_AMR_VALUES',
    read: read.words,
    default: 'mfa',
    description: 'Values of the claim `amr` (RFC 8176) that prove a second factor, comma-separated.',
  },
  adminAcrValues: {
    env: 'ADMIN_ACR_VALUES',
    read: read.words,
    default: '',
    description:
      'Values of the claim `acr` that prove a second factor, comma-separated. Requested (`acr_values`) when an administrator signs in.',
  },
  auditRetention: {
    env: 'AUDIT_RETENTION',
    read: read.seconds(86_400, 315_360_000),
    default: '31536000',
    description:
      'Seconds that audit log entries are stored. Failures without an account are stored for at most 30 days.',
  },
  auditExportUrl: {
    env: 'AUDIT_EXPORT_URL',
    read: readAddress.auditExport,
    secret: true,
    description:
      'Where to forward each audit log entry, in order and at least once: `https://…` (webhook), `syslog+tls://host:6514` or `syslog+tcp://host:601` (RFC 5424).',
  },
  auditExportSecrets: {
    env: 'AUDIT_EXPORT_SECRET',
    read: read.signingSecrets,
    secret: true,
    description:
      'The secret that signs the webhook of `AUDIT_EXPORT_URL` (Standard Webhooks): `whsec_` and the base64 of 24 to 64 bytes. Comma-separated to rotate.',
  },
  smtpUrl: {
    env: 'SMTP_URL',
    read: readAddress.smtpUrl,
    secret: true,
    description:
      'The mail server for alerts: `smtp://user:password@mail.example.com:587`, or `smtps://…:465`. A password requires TLS unless the server is on this machine.',
  },
  mailFrom: {
    env: 'MAIL_FROM',
    read: readAddress.mailFrom,
    description: 'The sender of mail, such as `Postern <postern@example.com>`.',
  },
  payloadRetention: {
    env: 'PAYLOAD_RETENTION_DAYS',
    read: read.days,
    default: '30',
    description:
      'Days that events are stored, with bodies, headers, errors, deliveries and attempts; 0 or `off`: forever. Unfinished events are stored until they finish.',
  },
  markerRetention: {
    env: 'MARKER_RETENTION_DAYS',
    read: read.days,
    default: '90',
    description:
      'Days that event IDs are stored, to detect duplicates; 0 or `off`: forever. At least as long as the events.',
  },
  rejectedRetention: {
    env: 'REJECTED_RETENTION_DAYS',
    read: read.days,
    default: '7',
    description: 'Days that the last rejected webhooks of each source are stored; 0 or `off`: forever.',
  },
  logLevel: {
    env: 'LOG_LEVEL',
    read: read.oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    description: 'The minimum level to log.',
  },
  logFormat: {
    env: 'LOG_FORMAT',
    read: read.oneOf('json', 'readable'),
    default: 'json',
    demoDefault: 'readable',
    description: '`json`: one object per line. `readable`: human-readable lines.',
  },
  configFile: {
    env: 'POSTERN_CONFIG',
    read: read.text,
    description:
      'Path of the configuration module; default `postern.config.ts` in the working directory, if it exists.',
  },
} as const satisfies Record<string, Setting>

type Table = typeof settings
type Value<K extends keyof Table> = ReturnType<Table[K]['read']>
type WithDefault = { [K in keyof Table]: Table[K] extends { default: string } ? K : never }[keyof Table]

/** Those without a default are optional. Times are milliseconds. */
export type Settings = { [K in WithDefault]: Value<K> } & {
  [K in Exclude<keyof Table, WithDefault>]?: Value<K> | undefined
}
