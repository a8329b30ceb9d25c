import type { FailureKind } from './failures.ts'

const handler = 'Check the log of the receiving application at that time.'

/** What the operator of an endpoint can do about each kind of failure. */
const hints: Record<FailureKind, string> = {
  refused:
    'Check that the receiving service is running, that the port in the URL is correct, and that no firewall rejects the connection.',
  closed: `The endpoint, or a proxy or load balancer in front of it, ended the connection. Servers that require a client certificate also do that; this service sends none. ${handler}`,
  unreachable: 'Check the URL, and the routes and firewalls between this service and the endpoint.',
  'name-not-found': 'Check the host in the URL for typos, and that its DNS record exists.',
  'name-unavailable':
    'The name servers did not respond. If this continues, check the resolver of this machine and the name servers of the domain.',
  'headers-too-large': 'Send fewer or shorter response headers: at most 32 KiB are read.',
  'wrong-length':
    'Correct the Content-Length header of the response, or omit it. A proxy may have truncated the body.',
  'not-http':
    'Check that the port speaks HTTP/1.1 and not only HTTP/2, that the URL uses the right scheme, http or https, and that no header is sent twice or on several lines.',
  'tls-expired': 'Renew the certificate, and check that the clock of the endpoint is correct.',
  'tls-untrusted':
    'Install a certificate from a public certificate authority. For your own authority, start this service with NODE_EXTRA_CA_CERTS.',
  'tls-incomplete': 'Configure the server to send its intermediate certificates as well (the “full chain”).',
  'tls-wrong-name':
    'Use the host name that the certificate was issued for, or get one that includes this name.',
  'tls-failed':
    'Check that the port speaks TLS 1.2 or newer and HTTP/1.1, not only HTTP/2, and that it requires no client certificate.',
  'timeout-dns':
    'The resolver is slow. Check the resolver of this machine and the name servers of the domain.',
  'timeout-connect':
    'Packets are dropped, usually by a firewall. Allow connections from this service to that port.',
  'timeout-tls':
    'The server accepted the connection and then sent nothing: it may be overloaded, or not use TLS on this port.',
  'timeout-answer': 'Respond before processing: store the event, return 2xx, and process it from a queue.',
  'timeout-body': 'Send a short body or none, and end it immediately: only the status counts.',
  rejected: `The endpoint did not accept the event. Check that it takes application/json of this type. ${handler}`,
  unauthorized:
    'Check the signing secret that the endpoint verifies with, its clock, and headers or firewalls that require credentials.',
  'no-such-path': 'Check the path of the URL, and that it accepts POST.',
  gone: 'The endpoint rejects all further events. If that is wrong, enable it again.',
  aborted:
    'The endpoint asked for no more attempts to deliver this event. Replay the delivery if it wants the event now.',
  'too-large':
    'Raise the limit for bodies at the endpoint and at proxies in front of it, or emit smaller events.',
  'too-many-requests':
    'Set a rate limit that this endpoint can handle. The service respects a Retry-After header.',
  redirect: 'Register the final URL. Redirects are not followed.',
  'client-error': `The endpoint did not accept the request. ${handler}`,
  'server-error': `The endpoint, or one of its dependencies, failed. ${handler}`,
  'address-refused':
    'Use a public address and a usual port. EMIT_ALLOWED_NETWORKS and EMIT_ALLOWED_HOSTS allow private addresses for endpoints without a customer; EMIT_PORTS allows ports.',
  'proxy-failed':
    'Check EMIT_PROXY, its credentials, and whether the proxy allows connections to this host and port.',
  'payload-gone': 'The payload was removed because of its age. Emit the event again if it is still needed.',
  'other-audience':
    'The event belongs to the previous customer of the endpoint. Emit it again for the right customer.',
  other: handler,
}

/** One or two sentences; `null` for an unknown kind, for example of a newer version. */
export function troubleshootingHint(kind: string | null): string | null {
  return kind !== null && Object.hasOwn(hints, kind) ? hints[kind as FailureKind] : null
}
