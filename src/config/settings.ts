import { leastConnections } from '../storage/postgres/pool/connection-counts.ts'
import * as readAddress from './address-readers.ts'
import * as read from './readers.ts'
import * as readSecret from './secret-readers.ts'
import { readSpoolUrl } from './spool-url.ts'
import { defaultRetrySchedule } from '../runtime/retry-schedule.ts'

interface Setting<T> {
  /** The name in the environment. */
  env: string
  read: read.Reader<T>
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

const setting = <T>(definition: Setting<T>): Setting<T> => definition

/**
 * All settings: name, type, default, description and whether they are secret. The validation at the start, the redacted log
 * line, the reference page and `postern doctor` use this table. Identity providers have families of names and their own
 * reader (providers.ts).
 */
export const settings = {
  production: setting({
    env: 'NODE_ENV',
    read: (text) => read.oneOf('development', 'test', 'production')(text) === 'production',
    default: 'development',
    description:
      '`production` disables demo mode: no demo provider, no open lists, no generated secrets. `development` and `test` enable it; other values are rejected.',
  }),
  host: setting({
    env: 'HOST',
    read: read.text,
    default: '127.0.0.1',
    description:
      'The address to listen on: an IP address or a host name of this machine. The path of a Unix socket is not supported. Demo mode listens on loopback only.',
  }),
  port: setting({
    env: 'PORT',
    read: read.integer(0, 65_535),
    default: '3000',
    description: 'The port to listen on; 0 selects a free one.',
  }),
  baseUrl: setting({
    env: 'BASE_URL',
    read: readAddress.publicAddress,
    requiredInProduction: true,
    description:
      'The public address, such as `https://gate.example.com` or `https://example.com/gate`. Redirect URIs and links begin with it. A proxy must pass paths on unchanged. Production accepts `http` for a loopback address only, since cookies are not Secure without TLS. Demo mode accepts loopback addresses only. Default: `http://HOST:PORT`.',
  }),
  databaseUrl: setting({
    env: 'DATABASE_URL',
    read: readAddress.databaseUrl,
    default: 'sqlite:data/postern.db',
    secret: true,
    description:
      '`sqlite:FILE` or `postgres://user:password@host:port/database`. Several hosts (`h1:5432,h2:5433`, or `?host=h1,h2&port=…`) are tried as libpq does; `target_session_attrs` selects one; its default is `read-write` if there are several. `connect_timeout` (seconds, 30 at most) applies to each host. See [Several servers](../guides/operating/postgresql.md#several-servers).',
  }),
  spool: setting({
    env: 'SPOOL_URL',
    read: readSpoolUrl,
    secret: true,
    description:
      'Stores and acknowledges received webhooks while the database does not answer. Without it they get 503. `file:PATH`: an SQLite file on a persistent disk. Processes on one machine can have the same setting; each uses its own file (`PATH`, `PATH.2`, …). `nats://user:password@host:4222,host:4222` or `tls://…`: a stream of NATS JetStream, for all processes together; `?replicas=` (default 3; use 1 for a single server), `?stream=` (`POSTERN_SPOOL`); with `tls://` also `?ca=`, `?cert=` and `?key=`, paths of PEM files: the certificate authority to trust instead of the default ones, and a client certificate. For both, `?max_bytes=` limits the size (default 4 GiB); beyond it, webhooks get 503 again. See [the guide](../guides/receiving/storage.md#while-the-database-is-unavailable).',
  }),
  databaseSessionUrl: setting({
    env: 'DATABASE_SESSION_URL',
    read: readAddress.postgresUrl,
    secret: true,
    description:
      'An address of the same PostgreSQL database that bypasses a pooler, for the few long-lived sessions of a process: listening, claiming, prefetching. With it, `DATABASE_URL` may be a pooler that changes sessions between transactions (PgBouncer: `pool_mode = transaction`). See [Poolers](../guides/operating/postgresql.md#poolers).',
  }),
  databaseReplicaUrl: setting({
    env: 'DATABASE_REPLICA_URL',
    read: readAddress.postgresUrl,
    secret: true,
    description:
      '`postgres://…` of a standby of the database, for reading lists; see `DATABASE_REPLICA_MAX_AGE`. `/events`, sessions and API keys are always read on the primary. A process opens at most 8 connections to it.',
  }),
  databaseReplicaMaxAge: setting({
    env: 'DATABASE_REPLICA_MAX_AGE',
    read: read.seconds(1, 300),
    default: '5',
    description:
      'Seconds that an answer from the standby may be behind the primary; the header `Postern-Data-Age` contains an upper bound. If the standby is further behind, the primary answers. A request can demand less with `Cache-Control: no-cache` or `max-age`.',
  }),
  databaseConnections: setting({
    env: 'DATABASE_CONNECTIONS',
    read: read.integer(leastConnections, 1_000),
    default: '12',
    description: `PostgreSQL: the most connections of one process, including those for notifications and heartbeats. ${leastConnections} or more. All processes together must leave some of the server's \`max_connections\` to administrators. About a third is for handlers, which hold one while they use \`tx\`: raise it for many handlers with long transactions.`,
  }),
  masterSecrets: setting({
    env: 'POSTERN_SECRET',
    read: readSecret.secrets(32),
    requiredInProduction: true,
    secret: true,
    description:
      'The master key, 32 bytes or more (`openssl rand -base64 32`): it encrypts secrets at rest and signs cursors. Comma-separated to rotate, newest first; see `postern keys reseal`. Production rejects a key that is not random: fewer than 8 different characters, one piece repeated four times or more, or a placeholder.',
  }),
  webhookSecrets: setting({
    env: 'WEBHOOK_SECRET',
    read: readSecret.secrets(1),
    requiredInProduction: true,
    secret: true,
    description:
      'Secret of the source `provider` (`POST /webhooks/provider`, header `x-signature`). Comma-separated to rotate, newest first. Production rejects secrets shorter than 6 bytes; the start and `postern doctor` warn of secrets that are shorter than 16 or not random.',
  }),
  adminApiKey: setting({
    env: 'ADMIN_API_KEY',
    read: readSecret.secret(16),
    secret: true,
    description:
      'An API key with admin rights, for the first steps; 16 bytes or more, 20 to avoid a warning. Production rejects a key that is not random: fewer than 5 different characters (8 if it has 32 or more), one piece repeated four times or more, or a placeholder.',
  }),
  adminIdentities: setting({
    env: 'ADMIN_IDENTITIES',
    read: readSecret.identities,
    default: '',
    demoDefault: 'demo:ada',
    description: '`provider:providerId`, comma-separated: identities with the admin role.',
  }),
  emitRetrySchedule: setting({
    env: 'EMIT_RETRY_SCHEDULE',
    read: read.schedule,
    default: defaultRetrySchedule,
    description:
      'Seconds before each attempt of a delivery, the first included; after the last, it is dead-lettered.',
  }),
  emitTimeout: setting({
    env: 'EMIT_TIMEOUT',
    read: read.seconds(0.1, 300),
    default: '15',
    description: 'Seconds for one attempt, including the body of the response.',
  }),
  emitAllowedNetworks: setting({
    env: 'EMIT_ALLOWED_NETWORKS',
    read: readAddress.networks,
    default: '',
    description:
      'Private addresses or CIDR ranges that are allowed for subscribers without an owner, such as `10.1.0.0/16`, comma-separated. URLs with such an address may use http.',
  }),
  emitAllowedHosts: setting({
    env: 'EMIT_ALLOWED_HOSTS',
    read: readAddress.hosts,
    default: '',
    description:
      'Host names that are allowed for subscribers without an owner even if they resolve to private addresses, comma-separated; they may use http. `*.internal.example.com` matches all names below.',
  }),
  emitPorts: setting({
    env: 'EMIT_PORTS',
    read: readAddress.ports,
    default: '80,443,1024-65535',
    description:
      'Allowed ports of subscribers: numbers and ranges, comma-separated. `ALLOW_PRIVATE_NETWORK` allows all ports.',
  }),
  emitProxy: setting({
    env: 'EMIT_PROXY',
    read: readAddress.proxy,
    secret: true,
    description:
      'An HTTP proxy for deliveries (CONNECT), such as `http://user:password@proxy.internal:3128`. The proxy resolves names; the service first checks those that it can resolve.',
  }),
  emitDisableAfter: setting({
    env: 'EMIT_DISABLE_AFTER_DAYS',
    read: read.days,
    default: '7',
    description:
      'Days of failures without a success after which a subscriber is disabled; its owner is warned a day before. 0 or `off`: never.',
  }),
  handlerRetrySchedule: setting({
    env: 'HANDLER_RETRY_SCHEDULE',
    read: read.schedule,
    default: defaultRetrySchedule,
    description:
      'Seconds before each attempt of a handler of received events, the first included; after the last, the event has failed.',
  }),
  handlerTimeout: setting({
    env: 'HANDLER_TIMEOUT',
    read: read.seconds(0.1, 3_600),
    default: '30',
    description:
      'Time limit of a handler, in seconds; after it, its signal is aborted and its transaction rolled back.',
  }),
  handlerTransactionTimeout: setting({
    env: 'HANDLER_TRANSACTION_TIMEOUT',
    read: read.seconds(0.1, 60),
    default: '2',
    description:
      'On SQLite, seconds for which the transaction of a handler may be open before it is rolled back: no other transaction can write meanwhile. It begins with the first query, or when the writes before it have ended.',
  }),
  bodyLimit: setting({
    env: 'WEBHOOK_BODY_LIMIT',
    read: read.integer(1, 100 * 1024 * 1024),
    default: '1048576',
    description: 'The largest body of a received webhook, in bytes.',
  }),
  inboxMaxAge: setting({
    env: 'INBOX_MAX_AGE',
    read: read.seconds(0, 31_536_000),
    default: '0',
    description:
      'Seconds that the oldest event of a source may wait for a worker; beyond it, new events of that source get 503 with Retry-After. `0`: no limit.',
  }),
  allowPrivateNetwork: setting({
    env: 'ALLOW_PRIVATE_NETWORK',
    read: read.flag,
    default: 'false',
    demoDefault: 'true',
    description: '`true` allows private and loopback addresses, and http, for subscribers and issuers.',
  }),
  rateLimit: setting({
    env: 'RATE_LIMIT',
    read: read.flag,
    default: 'on',
    description:
      '`off` disables the limits per address and per credential, but not those that sources declare. The limits of sign-ins and tokens apply to all processes on one PostgreSQL together. The general ones apply to each process: 3,000 requests a minute from an address or user, 30,000 from a key. Two processes allow twice as many.',
  }),
  trustedProxies: setting({
    env: 'TRUSTED_PROXIES',
    read: readAddress.networks,
    default: '',
    description:
      'Addresses or CIDR ranges of reverse proxies whose X-Forwarded-For is trusted, comma-separated.',
  }),
  apiDocs: setting({
    env: 'API_DOCS',
    read: read.oneOf('public', 'private'),
    default: 'public',
    description:
      'Who can read the API reference (`/docs`, `/openapi.json`): `public`: everyone; `private`: administrators and keys with the scope `operate`. It contains no data and no secrets.',
  }),
  corsOrigins: setting({
    env: 'CORS_ORIGINS',
    read: readAddress.origins,
    default: '',
    description:
      'Origins whose pages may call this service from a browser and read its answers, comma-separated and exact, such as `https://app.example.com`. Default: none. Apps that sign in with PKCE do not need this for `POST /auth/token`.',
  }),
  corsCredentials: setting({
    env: 'CORS_CREDENTIALS',
    read: read.flag,
    default: 'false',
    description:
      '`true` lets pages of `CORS_ORIGINS` read with the session cookie of a signed-in user. Writes with the cookie are still rejected.',
  }),
  brandName: setting({
    env: 'BRAND_NAME',
    read: read.line(60),
    default: 'Postern',
    description: 'The name of the service on its pages: sign-in, consent, devices, sign-out, errors, portal.',
  }),
  brandLogo: setting({
    env: 'BRAND_LOGO',
    read: read.text,
    description:
      'Path of the logo on these pages: an SVG, PNG, WebP or JPEG file of at most 100,000 bytes. It is read at the start and served at `/assets/brand-logo`.',
  }),
  brandColor: setting({
    env: 'BRAND_COLOR',
    read: read.color,
    description:
      'The colour of buttons and links on these pages, as `#rrggbb`. It is darkened in the light theme and lightened in the dark theme as far as text of this colour needs it for a contrast of 4.5 (WCAG 2.2 AA).',
  }),
  brandTermsUrl: setting({
    env: 'BRAND_TERMS_URL',
    read: readAddress.link,
    description: 'The address of your terms of service, which these pages link to.',
  }),
  brandPrivacyUrl: setting({
    env: 'BRAND_PRIVACY_URL',
    read: readAddress.link,
    description: 'The address of your privacy policy, which these pages link to.',
  }),
  brandSupport: setting({
    env: 'BRAND_SUPPORT',
    read: readAddress.contact,
    description:
      'Your support contact, an email address or the address of a page. These pages link to it, and errors show it beside their reference ID.',
  }),
  portalFrameOrigins: setting({
    env: 'PORTAL_FRAME_ORIGINS',
    read: readAddress.origins,
    default: '',
    description:
      'Origins whose pages may show the portal in a frame, comma-separated and exact, such as `https://app.example.com`. Default: none. See [Embedding the portal](../guides/customers/embedding.md).',
  }),
  shutdownDelay: setting({
    env: 'SHUTDOWN_DELAY',
    read: read.seconds(0, 300),
    default: '5',
    demoDefault: '0',
    description:
      'Seconds after SIGTERM in which the service still accepts requests, while `/readyz` says 503 and every answer carries `Connection: close`, so that load balancers use other processes before this one stops. It should exceed the interval of their health checks. Finishing running work takes up to 10 seconds more: a supervisor must not kill the process before both have passed. A second signal, at least a second after the first one, ends the delay.',
  }),
  sessionIdle: setting({
    env: 'SESSION_IDLE',
    read: read.seconds(60, 31_536_000),
    default: '604800',
    description: 'Seconds without use after which a session ends.',
  }),
  sessionLifetime: setting({
    env: 'SESSION_LIFETIME',
    read: read.seconds(60, 31_536_000),
    default: '2592000',
    description: 'Seconds after which a session ends in any case.',
  }),
  sessionsPerUser: setting({
    env: 'SESSIONS_PER_USER',
    read: read.integer(1, 50),
    default: '50',
    description:
      'The most browser sessions of one user, and the most sign-ins of apps; one more ends the least recently used.',
  }),
  signingKeyRotation: setting({
    env: 'SIGNING_KEY_ROTATION',
    read: read.seconds(86_400, 315_360_000),
    default: '7776000',
    description:
      'Seconds that a key signs access tokens before the next one replaces it; see `postern keys rotate-signing`.',
  }),
  clientRegistration: setting({
    env: 'CLIENT_REGISTRATION',
    read: read.oneOf('off', 'token', 'documents', 'open'),
    default: 'off',
    description:
      'Which apps can sign users in without an administrator adding them: `off`: none; `token`: callers with the scope `clients:write` register them at `POST /oauth2/register` (RFC 7591); `documents`: any app whose `client_id` is the HTTPS URL of its metadata document; `open`: the same, and anyone can register apps. Such apps always need user consent and get no access to this API. See [MCP servers](../guides/mcp-servers.md).',
  }),
  clientRegistrationApis: setting({
    env: 'CLIENT_REGISTRATION_APIS',
    read: readAddress.apis,
    default: '',
    description:
      'APIs that self-registered apps can request with `resource` (RFC 8707), comma-separated, such as `https://mcp.example.com/mcp`. Default: none. Changes apply to all such apps immediately.',
  }),
  clientRegistrationScopes: setting({
    env: 'CLIENT_REGISTRATION_SCOPES',
    read: read.words,
    default: '',
    description:
      'Scopes of your APIs that self-registered apps can request, in addition to the user scopes, comma-separated, such as `mcp:tools`. Scopes of Postern itself are rejected. Changes apply to all such apps immediately.',
  }),
  recentSignIn: setting({
    env: 'RECENT_SIGN_IN',
    read: read.seconds(30, 86_400),
    default: '900',
    description:
      'Seconds since the last sign-in in which a user may link and unlink identities; later, the user must sign in again.',
  }),
  recentSignInProof: setting({
    env: 'RECENT_SIGN_IN_PROOF',
    read: read.oneOf('when-supported', 'required'),
    default: 'when-supported',
    description:
      'Proof of a recent sign-in. `when-supported`: the time at which the provider authenticated the person, or the time of the sign-in if the provider does not report it (such as GitHub). `required`: only a time that the provider proves; users of other providers cannot link or unlink identities.',
  }),
  adminMfa: setting({
    env: 'ADMIN_MFA',
    read: read.oneOf('off', 'required'),
    default: 'off',
    description:
      '`required`: admins have their rights only if their sign-in proves a second factor, by `ADMIN_AMR_VALUES` or `ADMIN_ACR_VALUES`. API keys do not need one.',
  }),
  adminAmrValues: setting({
    env: 'ADMIN_AMR_VALUES',
    read: read.words,
    default: 'mfa',
    description: 'Values of the claim `amr` (RFC 8176) that prove a second factor, comma-separated.',
  }),
  adminAcrValues: setting({
    env: 'ADMIN_ACR_VALUES',
    read: read.words,
    default: '',
    description:
      'Values of the claim `acr` that prove a second factor, comma-separated. They are requested (`acr_values`) when an admin signs in with a second factor.',
  }),
  auditRetention: setting({
    env: 'AUDIT_RETENTION',
    read: read.seconds(86_400, 315_360_000),
    default: '31536000',
    description:
      'Seconds that entries of the audit log are stored. Failures without an account are stored for 30 days at most.',
  }),
  auditExportUrl: setting({
    env: 'AUDIT_EXPORT_URL',
    read: readSecret.auditExport,
    secret: true,
    description:
      'The address to which each entry of the audit log is forwarded, in order and at least once: `https://…` for a webhook, or `syslog+tls://host:6514` or `syslog+tcp://host:601` for syslog (RFC 5424). A webhook goes through `EMIT_PROXY`.',
  }),
  auditExportSecrets: setting({
    env: 'AUDIT_EXPORT_SECRET',
    read: readSecret.signingSecrets,
    secret: true,
    description:
      'The secret that signs the webhook of `AUDIT_EXPORT_URL` (Standard Webhooks): `whsec_` and the base64 of 24 to 64 bytes. Comma-separated to rotate.',
  }),
  smtpUrl: setting({
    env: 'SMTP_URL',
    read: readAddress.smtpUrl,
    secret: true,
    description:
      'The mail server for alerts: `smtp://user:password@mail.example.com:587`, or `smtps://…:465` for TLS from the start. With a password, TLS is required unless the server is on this machine. See [Alerts](../guides/operating/alerts.md).',
  }),
  mailFrom: setting({
    env: 'MAIL_FROM',
    read: readAddress.mailFrom,
    description: 'The sender of mail, such as `Postern <postern@example.com>`.',
  }),
  payloadRetention: setting({
    env: 'PAYLOAD_RETENTION_DAYS',
    read: read.days,
    default: '30',
    description:
      'Days from their creation that events are stored, with bodies, headers, errors, deliveries and attempts; 0 or `off`: for ever. Events that are still to be processed or delivered are stored until they are done.',
  }),
  markerRetention: setting({
    env: 'MARKER_RETENTION_DAYS',
    read: read.days,
    default: '90',
    description:
      'Days that the ids of events are stored, to detect duplicates; 0 or `off`: for ever. They are stored at least as long as the events.',
  }),
  rejectedRetention: setting({
    env: 'REJECTED_RETENTION_DAYS',
    read: read.days,
    default: '7',
    description: 'Days that the last rejected webhooks of each source are stored; 0 or `off`: forever.',
  }),
  logLevel: setting({
    env: 'LOG_LEVEL',
    read: read.oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    description: 'The lowest level that is logged.',
  }),
  logFormat: setting({
    env: 'LOG_FORMAT',
    read: read.oneOf('json', 'readable'),
    default: 'json',
    demoDefault: 'readable',
    description: '`json`: one object per line. `readable`: lines for people.',
  }),
  configFile: setting({
    env: 'POSTERN_CONFIG',
    read: read.text,
    description:
      'Path of the configuration module; default `postern.config.ts` in the working directory, if it exists.',
  }),
} as const

type Optional =
  | 'baseUrl'
  | 'databaseReplicaUrl'
  | 'spool'
  | 'masterSecrets'
  | 'webhookSecrets'
  | 'adminApiKey'
  | 'brandLogo'
  | 'brandColor'
  | 'brandTermsUrl'
  | 'brandPrivacyUrl'
  | 'brandSupport'
  | 'configFile'
  | 'emitProxy'
  | 'auditExportUrl'
  | 'auditExportSecrets'
  | 'smtpUrl'
  | 'mailFrom'
type Value<K extends keyof typeof settings> = (typeof settings)[K] extends Setting<infer T> ? T : never

/** Times are milliseconds. */
export type Settings = { [K in Exclude<keyof typeof settings, Optional>]: Value<K> } & {
  [K in Optional]?: Value<K> | undefined
}
