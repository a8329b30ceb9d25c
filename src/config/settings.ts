import { leastConnections } from '../storage/postgres/pool/connection-counts.ts'
import * as read from './readers.ts'
import { readSpoolUrl } from './spool-url.ts'

interface Setting<T> {
  /** The name in the environment. */
  env: string
  read: read.Reader<T>
  /** The value when the environment does not hold it, as it would be written there. */
  default?: string
  /** The default in demo mode, where it differs. */
  demoDefault?: string
  /** Production refuses to start without it. */
  requiredInProduction?: true
  /** Never printed. */
  secret?: true
  description: string
}

const setting = <T>(definition: Setting<T>): Setting<T> => definition

const retrySchedule = '0,5,300,1800,7200,18000,36000,50400,72000,86400'

/**
 * Every setting, once: name, type, default, description, secret or not. Start-up validation, the redacted start-up
 * line, the reference page and `postern doctor` are made from this table. Identity providers are families of names
 * and have their own reader (providers.ts).
 */
export const settings = {
  production: setting({
    env: 'NODE_ENV',
    read: (text) => read.oneOf('development', 'test', 'production')(text) === 'production',
    default: 'development',
    description:
      '`production` turns demo mode off: no demo provider, no open lists, no generated secrets. `development` and `test` are demo mode; anything else is refused.',
  }),
  host: setting({
    env: 'HOST',
    read: read.text,
    default: '127.0.0.1',
    description: 'The address to listen on. Demo mode listens on loopback only.',
  }),
  port: setting({
    env: 'PORT',
    read: read.integer(0, 65_535),
    default: '3000',
    description: 'The port to listen on; 0 takes a free one.',
  }),
  baseUrl: setting({
    env: 'BASE_URL',
    read: read.publicAddress,
    requiredInProduction: true,
    description:
      'The public address, such as `https://gate.example.com` or `https://example.com/gate`. Redirect URIs and links are built from it. A proxy passes paths on unchanged. Production takes `http` for a loopback address only, since cookies are not Secure without TLS. Demo mode takes only an address of this machine. Default: `http://HOST:PORT`.',
  }),
  databaseUrl: setting({
    env: 'DATABASE_URL',
    read: read.databaseUrl,
    default: 'sqlite:data/postern.db',
    secret: true,
    description:
      '`sqlite:FILE` or `postgres://user:password@host:port/database`. Several hosts (`h1:5432,h2:5433`, or `?host=h1,h2&port=…`) are tried as libpq does; `target_session_attrs` says which is wanted, `read-write` where several are named. `connect_timeout` (seconds, 30 at most) is for each host. See [Several servers](../guides/operating.md#several-servers).',
  }),
  spool: setting({
    env: 'SPOOL_URL',
    read: readSpoolUrl,
    secret: true,
    description:
      'Where received webhooks are kept, and acknowledged, while the database does not answer; without it they get 503. `file:PATH`: an SQLite file on a disk that outlives the process. Several processes on one machine may have the same; each uses a file of its own (`PATH`, `PATH.2`, …). `nats://user:password@host:4222,host:4222` or `tls://…`: a stream of NATS JetStream, for all processes together; `?replicas=` (3 unless it says otherwise; 1 for a single server), `?stream=` (`POSTERN_SPOOL`); with `tls://` also `?ca=`, `?cert=` and `?key=`, paths of PEM files: the authority that is trusted in place of the default ones, and a certificate for the servers. For both `?max_bytes=` is how large it may get (4 GiB); then webhooks get 503 again. See [the guide](../guides/receiving.md#while-the-database-is-away).',
  }),
  databaseSessionUrl: setting({
    env: 'DATABASE_SESSION_URL',
    read: read.postgresUrl,
    secret: true,
    description:
      'An address of the same PostgreSQL database that leads past a pooler, for the few sessions of a process that are kept: listening, claiming, reading ahead. With it `DATABASE_URL` may lead to a pooler that changes sessions between transactions (PgBouncer: `pool_mode = transaction`). See [Poolers](../guides/operating.md#poolers).',
  }),
  databaseReplicaUrl: setting({
    env: 'DATABASE_REPLICA_URL',
    read: read.postgresUrl,
    secret: true,
    description:
      '`postgres://…` of a standby of the database, on which lists are read; see `DATABASE_REPLICA_MAX_AGE`. `/events`, sessions and API keys are always read on the primary. A process opens 8 connections to it at most.',
  }),
  databaseReplicaMaxAge: setting({
    env: 'DATABASE_REPLICA_MAX_AGE',
    read: read.seconds(1, 300),
    default: '5',
    description:
      'Seconds that an answer from the standby may be behind the primary; the header `Postern-Data-Age` tells how many it is at most. When the standby is further behind, the primary answers. A request with `Cache-Control: no-cache` or `max-age` asks for less.',
  }),
  databaseConnections: setting({
    env: 'DATABASE_CONNECTIONS',
    read: read.integer(leastConnections, 1_000),
    default: '12',
    description: `PostgreSQL: connections that one process has at most, those included by which it listens and proves that it lives. ${leastConnections} or more. All processes together must leave some of the server's \`max_connections\` to administrators. About a third serves handlers, which keep theirs while they use \`tx\`: raise it for many handlers that take long there.`,
  }),
  masterSecrets: setting({
    env: 'POSTERN_SECRET',
    read: read.secrets(32),
    requiredInProduction: true,
    secret: true,
    description:
      'The master key, 32 bytes or more (`openssl rand -base64 32`): encrypts secrets at rest, signs cursors. Comma-separated to rotate, newest first; see `postern keys reseal`. Production refuses one that is not random: fewer than 8 different characters, the same piece four times or more, or a placeholder.',
  }),
  webhookSecrets: setting({
    env: 'WEBHOOK_SECRET',
    read: read.secrets(1),
    requiredInProduction: true,
    secret: true,
    description:
      'Secret of the source `provider` (`POST /webhooks/provider`, header `x-signature`). Comma-separated to rotate, newest first. Production refuses one shorter than 6 bytes; the start and `postern doctor` warn of one that is shorter than 16 or not random.',
  }),
  adminApiKey: setting({
    env: 'ADMIN_API_KEY',
    read: read.secret(16),
    secret: true,
    description:
      'An API key with admin rights, for the first steps; 16 bytes or more, 20 without a warning. Production refuses one that is not random: fewer than 5 different characters (8 in 32 or more), the same piece four times or more, or a placeholder.',
  }),
  adminIdentities: setting({
    env: 'ADMIN_IDENTITIES',
    read: read.identities,
    default: '',
    demoDefault: 'demo:ada',
    description: '`provider:providerId`, comma-separated: identities that get the admin role.',
  }),
  emitRetrySchedule: setting({
    env: 'EMIT_RETRY_SCHEDULE',
    read: read.schedule,
    default: retrySchedule,
    description:
      'Seconds before each attempt of a delivery, the first included; after the last it is dead-lettered.',
  }),
  emitTimeout: setting({
    env: 'EMIT_TIMEOUT',
    read: read.seconds(0.1, 300),
    default: '15',
    description: 'Seconds for the whole exchange of one attempt, body included.',
  }),
  emitAllowedNetworks: setting({
    env: 'EMIT_ALLOWED_NETWORKS',
    read: read.networks,
    default: '',
    description:
      'Private addresses or CIDR ranges that subscribers without an owner may be at all the same, such as `10.1.0.0/16`, comma-separated. Literal ones may be called over http.',
  }),
  emitAllowedHosts: setting({
    env: 'EMIT_ALLOWED_HOSTS',
    read: read.hosts,
    default: '',
    description:
      'Host names at which subscribers without an owner may be although they lead to private addresses, over http, too, comma-separated; `*.internal.example.com` means all names below.',
  }),
  emitPorts: setting({
    env: 'EMIT_PORTS',
    read: read.ports,
    default: '80,443,1024-65535',
    description:
      'Ports that subscribers may be at: numbers and ranges, comma-separated. `ALLOW_PRIVATE_NETWORK` lets any port be called.',
  }),
  emitProxy: setting({
    env: 'EMIT_PROXY',
    read: read.proxy,
    secret: true,
    description:
      'An HTTP proxy through which deliveries go (CONNECT), such as `http://user:password@proxy.internal:3128`. It resolves names; those that resolve here are checked before.',
  }),
  emitDisableAfter: setting({
    env: 'EMIT_DISABLE_AFTER_DAYS',
    read: read.days,
    default: '7',
    description:
      'Days of nothing but failures after which a subscriber is disabled; it is told a day before. 0 or `off` never disables.',
  }),
  handlerRetrySchedule: setting({
    env: 'HANDLER_RETRY_SCHEDULE',
    read: read.schedule,
    default: retrySchedule,
    description:
      'Seconds before each attempt of a handler of received events, the first included; after the last the event is shown as failed.',
  }),
  handlerTimeout: setting({
    env: 'HANDLER_TIMEOUT',
    read: read.seconds(0.1, 3_600),
    default: '30',
    description: 'Seconds that a handler may take; then its signal is aborted and its work rolled back.',
  }),
  handlerTransactionTimeout: setting({
    env: 'HANDLER_TRANSACTION_TIMEOUT',
    read: read.seconds(0.1, 60),
    default: '2',
    description:
      'On SQLite, seconds from the first query of a handler until its transaction is rolled back: nobody else can write meanwhile.',
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
      'Seconds that the oldest event of a source may have been waiting for a worker; beyond it, new events of that source get 503 with Retry-After. `0` takes events however long others wait.',
  }),
  allowPrivateNetwork: setting({
    env: 'ALLOW_PRIVATE_NETWORK',
    read: read.flag,
    default: 'false',
    demoDefault: 'true',
    description:
      '`true` lets subscribers and issuers be on private or loopback addresses, and lets them use http.',
  }),
  rateLimit: setting({
    env: 'RATE_LIMIT',
    read: read.flag,
    default: 'on',
    description:
      '`off` turns the limits per address and per credential off; a limit that a source declares for itself stays. Those of sign-ins and tokens hold for all processes on one PostgreSQL together; the general ones (3,000 calls a minute of an address or a user, 30,000 of a key) hold for each process, so that two processes allow twice as many.',
  }),
  trustedProxies: setting({
    env: 'TRUSTED_PROXIES',
    read: read.networks,
    default: '',
    description:
      'Addresses or CIDR ranges of reverse proxies whose X-Forwarded-For is believed, comma-separated.',
  }),
  apiDocs: setting({
    env: 'API_DOCS',
    read: read.oneOf('public', 'private'),
    default: 'public',
    description:
      'Who reads the API reference (`/docs`, `/openapi.json`): `public` everybody, `private` administrators and keys with the scope `operate`. It holds no data and no secrets.',
  }),
  corsOrigins: setting({
    env: 'CORS_ORIGINS',
    read: read.origins,
    default: '',
    description:
      'Origins whose pages may call this service from a browser and read its answers, comma-separated and exact, such as `https://app.example.com`. None unless said so. Apps that sign in by PKCE need none for `POST /auth/token`.',
  }),
  corsCredentials: setting({
    env: 'CORS_CREDENTIALS',
    read: read.flag,
    default: 'false',
    description:
      '`true` lets pages of `CORS_ORIGINS` read with the cookie of somebody who is signed in. Nothing lets them change anything with it.',
  }),
  shutdownDelay: setting({
    env: 'SHUTDOWN_DELAY',
    read: read.seconds(0, 300),
    default: '5',
    demoDefault: '0',
    description:
      'Seconds after SIGTERM in which the service still accepts requests, while `/readyz` says 503 and every answer carries `Connection: close`, so that load balancers turn to other processes before this one stops. Longer than a load balancer takes to notice. The time to finish running work (10 seconds at most) follows it: what ends the process by force is to wait for both. A second signal ends the delay.',
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
      'Browser sessions that one user has at most, and as many sign-ins of apps; at a further one the least recently used ends.',
  }),
  signingKeyRotation: setting({
    env: 'SIGNING_KEY_ROTATION',
    read: read.seconds(86_400, 315_360_000),
    default: '7776000',
    description:
      'Seconds that a key signs access tokens before the next one takes over; see `postern keys rotate-signing`.',
  }),
  recentSignIn: setting({
    env: 'RECENT_SIGN_IN',
    read: read.seconds(30, 86_400),
    default: '900',
    description:
      'Seconds since the last sign-in in which identities may be linked and unlinked; later one signs in again first.',
  }),
  recentSignInProof: setting({
    env: 'RECENT_SIGN_IN_PROOF',
    read: read.oneOf('when-supported', 'required'),
    default: 'when-supported',
    description:
      'What proves a recent sign-in. `when-supported`: the time at which the provider authenticated the person, and the time of the sign-in where the provider cannot tell (GitHub, for instance). `required`: only what the provider proves, so that people of other providers can link and unlink nothing.',
  }),
  adminMfa: setting({
    env: 'ADMIN_MFA',
    read: read.oneOf('off', 'required'),
    default: 'off',
    description:
      '`required`: admins use their rights only when their sign-in shows a second factor, by `ADMIN_AMR_VALUES` or `ADMIN_ACR_VALUES`. API keys are not asked for one.',
  }),
  adminAmrValues: setting({
    env: 'ADMIN_AMR_VALUES',
    read: read.words,
    default: 'mfa',
    description: 'Values of the claim `amr` (RFC 8176) of which one shows a second factor, comma-separated.',
  }),
  adminAcrValues: setting({
    env: 'ADMIN_ACR_VALUES',
    read: read.words,
    default: '',
    description:
      'Values of the claim `acr` of which one shows a second factor, comma-separated. They are asked for (`acr_values`) when an admin signs in with a second factor.',
  }),
  auditRetention: setting({
    env: 'AUDIT_RETENTION',
    read: read.seconds(86_400, 315_360_000),
    default: '31536000',
    description:
      'Seconds that entries of the audit log are kept. Failures without an account behind them are kept for 30 days at most.',
  }),
  auditExportUrl: setting({
    env: 'AUDIT_EXPORT_URL',
    read: read.auditExport,
    secret: true,
    description:
      'Where each entry of the audit log is forwarded to, in order and at least once: `https://…` for a webhook, or `syslog+tls://host:6514` or `syslog+tcp://host:601` for syslog (RFC 5424). A webhook goes through `EMIT_PROXY`.',
  }),
  auditExportSecrets: setting({
    env: 'AUDIT_EXPORT_SECRET',
    read: read.signingSecrets,
    secret: true,
    description:
      'What the webhook of `AUDIT_EXPORT_URL` is signed with by Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. Comma-separated to rotate.',
  }),
  payloadRetention: setting({
    env: 'PAYLOAD_RETENTION_DAYS',
    read: read.days,
    default: '30',
    description:
      'Days that events are kept, from their creation, with bodies, headers, errors, deliveries and attempts; 0 or `off` for ever. What is still to be processed or delivered is kept until it is done.',
  }),
  markerRetention: setting({
    env: 'MARKER_RETENTION_DAYS',
    read: read.days,
    default: '90',
    description:
      'Days that the ids of events are kept, so that a repetition stays one; 0 or `off` for ever. At least as long as the events themselves, whatever it says.',
  }),
  rejectedRetention: setting({
    env: 'REJECTED_RETENTION_DAYS',
    read: read.days,
    default: '7',
    description: 'Days that the last refused webhooks of each source are kept; 0 or `off` for ever.',
  }),
  logLevel: setting({
    env: 'LOG_LEVEL',
    read: read.oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    description: 'The least level that is logged.',
  }),
  configFile: setting({
    env: 'POSTERN_CONFIG',
    read: read.text,
    description:
      'Path of the configuration module; default `postern.config.ts` in the working directory, if there.',
  }),
} as const

type Optional =
  | 'baseUrl'
  | 'databaseReplicaUrl'
  | 'spool'
  | 'masterSecrets'
  | 'webhookSecrets'
  | 'adminApiKey'
  | 'configFile'
  | 'emitProxy'
  | 'auditExportUrl'
  | 'auditExportSecrets'
type Value<K extends keyof typeof settings> = (typeof settings)[K] extends Setting<infer T> ? T : never

/** Times are milliseconds. */
export type Settings = { [K in Exclude<keyof typeof settings, Optional>]: Value<K> } & {
  [K in Optional]?: Value<K> | undefined
}
