import { notFound, notImplemented } from './call.ts'
import type { SvixError } from './errors.ts'

/** Groups of Svix's API that have no counterpart, by the path below `/api/v1`, with the reason. The first that matches counts. */
const reasons: readonly [path: RegExp, reason: string][] = [
  [/^\/ingest\//, 'Postern receives webhooks by its own API and configuration: see POST /webhooks/{source}.'],
  [/^stream\/|^stream$|\/stream\//, 'Postern has no streams. Emit messages to an application instead.'],
  [/^auth\/stream/, 'Postern has no streams, and so no tokens for them.'],
  [
    /\/connector|^connector/,
    "Postern has no connectors. Set a transformation in the endpoint's settings instead.",
  ],
  [
    /\/integration/,
    'Postern has no integrations. Create an API key or a token of app-portal-access instead.',
  ],
  [/\/poller|\/polling-endpoint/, 'Postern has no polling endpoints. GET /events reads the log of events.'],
  [/\/destination/, 'Postern has no destinations beside endpoints.'],
  [/^operational-webhook/, 'Create a subscriber with `operational: true` through POST /subscribers instead.'],
  [/^management/, 'A service has one environment. POST /keys creates API keys.'],
  [/^auth\/(org-group|dashboard|one-time)|\/mcp-token/, 'POST /keys creates API keys.'],
  [/\/create-message-token/, 'Create an API key with the scope `svix` through POST /keys instead.'],
  [/\/auto-config/, 'Endpoints are configured by the API or in the portal.'],
  [/\/alert-email/, 'Alerts go to the destinations of POST /alerts.'],
  [
    /\/(ca|mtls|mtls-config|oauth|oauth-config)$/,
    'PATCH /subscribers/{id} sets the certificates (`tls`) and credentials (`auth`) of an endpoint.',
  ],
  [/\/rate-limit-status$/, 'GET /subscribers/{id} shows the rate limit of an endpoint.'],
  [/\/cancel-msgs$/, 'Pending messages cannot be canceled. Disable the endpoint to stop sending.'],
  [/\/simulate$/, 'POST /transformations/test runs a transformation without sending anything.'],
  [/^msg\/broadcast/, "POST /events with the audience `*` emits an event to all customers' endpoints."],
  [/\/expunge-all-contents$/, 'Remove the content of each message, or of several with `bulk-expunge`.'],
  [/\/test-attempt$/, 'POST /subscribers/{id}/test sends a test event to one endpoint.'],
  [/(^|\/)events$/, 'GET /events reads the log of events.'],
  [/(^|\/)stats\//, 'GET /subscribers/{id}/health has the statistics of an endpoint.'],
  [/\/inbound\//, 'Postern has no inbound URLs of applications.'],
]

/** The answer to a call of a path that no operation has. @param url of the request */
export function reasonOf(url: string): SvixError {
  const [path = ''] = url.split('?')
  const below = path.replace(/^\/api\/v1\//, '').replace(/\/$/, '')
  const reason = reasons.find(([form]) => form.test(below))?.[1]
  return reason === undefined ? notFound() : notImplemented(reason)
}
