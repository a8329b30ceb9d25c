import { notFound, notImplemented } from './call.ts'
import type { SvixError } from './errors.ts'

/** Parts of Svix's API without a counterpart: a pattern of the path below `/api/v1`, and the reason. The first match applies. */
const reasons: readonly [path: RegExp, reason: string][] = [
  [
    /^\/ingest\//,
    'Postern receives webhooks with its own API and configuration. See POST /webhooks/{source}.',
  ],
  [/^stream\/|^stream$|\/stream\//, 'Postern has no streams. Emit messages to an application instead.'],
  [/^auth\/stream/, 'Postern has no streams and no tokens for them.'],
  [
    /\/connector|^connector/,
    "Postern has no connectors. Set a transformation in the endpoint's settings instead.",
  ],
  [
    /\/integration/,
    'Postern has no integrations. Create an API key or a token from app-portal-access instead.',
  ],
  [/\/poller|\/polling-endpoint/, 'Postern has no polling endpoints. GET /events returns the event log.'],
  [/\/destination/, 'Applications have no destinations other than endpoints.'],
  [/^operational-webhook/, 'Create a subscriber with `operational: true` through POST /subscribers instead.'],
  [/^management/, 'A service has one environment. POST /keys creates API keys.'],
  [/^auth\/(org-group|dashboard|one-time)|\/mcp-token/, 'POST /keys creates API keys.'],
  [/\/create-message-token/, 'Create an API key with the scope `svix` through POST /keys instead.'],
  [/\/auto-config/, 'Configure endpoints through the API or in the portal.'],
  [/\/alert-email/, 'Create a destination for alerts through POST /alerts.'],
  [
    /\/(ca|mtls|mtls-config|oauth|oauth-config)$/,
    'PATCH /subscribers/{id} sets the certificates (`tls`) and credentials (`auth`) of an endpoint.',
  ],
  [/\/rate-limit-status$/, 'GET /subscribers/{id} returns the rate limit of an endpoint.'],
  [/\/cancel-msgs$/, 'Pending messages cannot be canceled. Disable the endpoint to stop sending.'],
  [/\/simulate$/, 'POST /transformations/test runs a transformation without sending anything.'],
  [/^msg\/broadcast/, "POST /events with the audience `*` emits an event to all customers' endpoints."],
  [/\/expunge-all-contents$/, 'Remove the content of each message, or of several with `bulk-expunge`.'],
  [/\/test-attempt$/, 'POST /subscribers/{id}/test sends a test event to one endpoint.'],
  [/(^|\/)events$/, 'GET /events returns the event log.'],
  [/(^|\/)stats\//, 'GET /subscribers/{id}/health returns the statistics of an endpoint.'],
  [/\/inbound\//, 'Applications have no inbound URLs.'],
]

/** The error for a path without an operation. @param url of the request */
export function reasonOf(url: string): SvixError {
  const [path = ''] = url.split('?')
  const below = path.replace(/^\/api\/v1\//, '').replace(/\/$/, '')
  const reason = reasons.find(([form]) => form.test(below))?.[1]
  return reason === undefined ? notFound() : notImplemented(reason)
}
