import { english, type SharedWords } from '../../language/english.ts'

const portal = {
  skip: 'Skip to content',
  logOut: 'Log out',
  timeZone: 'Times are in {zone}.',
  openTitle: 'Open another portal?',
  openConsequence: '{detail} Opening it logs you out of the portal that you have open.',
  open: 'Open',
  stay: 'Stay here',
  title: 'Webhooks',
  ended: 'Your session has ended',
  linkInvalid: 'This link is no longer valid',
  linkInvalidHint:
    'This link has expired or was already used. Open the webhooks page of the application again.',
  signedOut: 'You are not signed in',
  signedOutHint: 'Open this page from the webhooks page of your application.',
  continue: 'Continue',
  endpoint: 'Endpoint',
  endpoints: 'Endpoints',
  allEndpoints: 'All endpoints',
  yourEndpoints: 'Your endpoints',
  yourEndpointsHint: 'The URLs that receive your events.',
  noEndpoints: 'No endpoints yet',
  noEndpointsHint: 'Add the HTTPS URL of your server. It receives each event as a signed POST request.',
  addEndpoint: 'Add endpoint',
  editEndpoint: 'Edit endpoint',
  allTypes: 'all',
  catalogue: 'The events that your endpoints can receive.',
  noSample: 'no sample',
  success: 'Success',
  success24: 'Success (24 h)',
  description: 'Description (optional)',
  moreSettings: 'More settings',
  inOrder: 'In order',
  inOrderHint: 'One delivery at a time. A failing delivery delays later ones.',
  rateLimit: 'Attempts per second',
  rateLimitOptional: 'Attempts per second (optional)',
  headers: 'Headers',
  headersOptional: 'Headers (optional)',
  add: 'Add',
  newSecret: 'Your endpoint’s secret',
  done: 'Done',
  overview: 'Overview',
  secrets: 'Secrets',
  verificationCode: 'Verification code',
  sendTest: 'Send test event',
  testSent: 'Test event sent',
  edit: 'Edit',
  pause: 'Pause',
  resume: 'Resume',
  delete: 'Delete',
  deleted: 'Deleted',
  deleteTitle: 'Delete this endpoint?',
  deleteConsequence: 'Nothing more is sent to {url}, and its delivery log is deleted. This cannot be undone.',
  disabled: 'Nothing is sent: {reason}',
  failing: 'Failing since {since}.',
  failingUntil: 'Failing since {since}. Will be disabled on {end} unless a delivery succeeds.',
  all: 'All',
  time: 'Time',
  event: 'Event',
  attempts: 'Attempts',
  lastResponse: 'Last response',
  noDeliveries: 'No deliveries yet',
  noDeliveriesHint: 'Send a test event to see what arrives.',
  noSuchDeliveries: 'No deliveries have this status',
  delivery: 'Delivery',
  queuedAgain: 'Delivery queued',
  sendNow: 'Send now',
  sendAgain: 'Resend',
  eventId: 'Event ID',
  copyEventId: 'Copy the event ID',
  nextAttempt: 'Next attempt',
  noAttempts: 'None yet.',
  lastDay: 'Last 24 hours',
  failedAttempts: 'Failed attempts',
  nothingSent: 'nothing sent',
  p99: '99% of responses within',
  settings: 'Settings',
  signature: 'Signature',
  signedBy: { v1: 'secret (HMAC-SHA256)', v1a: 'key pair (ed25519)', both: 'secret and key pair' },
  order: 'Order',
  ordered: 'one at a time',
  parallel: 'in parallel',
  none: 'none',
  added: 'Added',
  changed: 'Updated',
}

export const en = { ...english, portal }

export type PortalWords = typeof portal

type Status =
  | 'active'
  | 'idle'
  | 'failing'
  | 'paused'
  | 'disabled'
  | 'pending'
  | 'delivered'
  | 'dead'
  | 'running'
  | 'done'
  | 'cancelled'
  | 'failed'
type Problem =
  | 'invalid-body'
  | 'conflict'
  | 'forbidden'
  | 'not-found'
  | 'other-portal-session'
  | 'too-many-requests'
  | 'body-too-large'
  | 'internal'
  | 'overloaded'
  | 'storage-unavailable'
  | 'stopping'
type Advised =
  | 'refused'
  | 'closed'
  | 'unreachable'
  | 'name-not-found'
  | 'tls-expired'
  | 'tls-untrusted'
  | 'tls-incomplete'
  | 'tls-wrong-name'
  | 'tls-failed'
  | 'timeout-connect'
  | 'timeout-tls'
  | 'timeout-answer'
  | 'timeout-body'
  | 'rejected'
  | 'unauthorized'
  | 'no-such-path'
  | 'gone'
  | 'too-large'
  | 'too-many-requests'
  | 'redirect'
  | 'client-error'
  | 'server-error'
  | 'address-refused'
  | 'canceled'
  | 'transformation-failed'
  | 'unexpected-status'
  | 'token-failed'
  | 'destination-failed'
  | 'destination-timeout'
  | 'other'

/** The table of another language. In English the service's own messages are shown. */
export interface Words extends SharedWords {
  statuses: Readonly<Record<Status, string>>
  problems: Readonly<Record<Problem, string>>
  advice: Readonly<Record<Advised, string>>
  portal: PortalWords
}
