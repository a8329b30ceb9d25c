import type { FailureKind } from './failures.ts'

const handler = 'Check the log of the receiving application at that time.'

/** What the operator of a receiver can do about each kind of failure. */
const hints: Record<FailureKind, string> = {
  refused:
    'Check that the receiving service is running, that the port in the address is correct, and that no firewall rejects the connection.',
  closed: `The receiver, or a proxy or load balancer before it, ended the connection. Servers that require a client certificate do that, too; this service sends none. ${handler}`,
  unreachable: 'Check the address and the routes and firewalls between here and there.',
  'name-not-found': 'Check the host in the address for typing errors, and that its DNS record exists.',
  'name-unavailable':
    'The name servers did not answer. If it lasts, check the resolver of this machine and the name servers of the domain.',
  'headers-too-large': 'Send fewer or shorter headers in the answer: 32 KiB at most are read.',
  'wrong-length':
    'Correct the Content-Length header of the response, or omit it. A proxy may have truncated the body.',
  'not-http':
    'Check that the port speaks HTTP/1.1 and not only HTTP/2, that the URL uses the right scheme, http or https, and that no header is sent twice or on several lines.',
  'tls-expired': 'Renew the certificate, and check that the clock of the receiver is correct.',
  'tls-untrusted':
    'Install a certificate of a public certificate authority. For one of your own, start this service with NODE_EXTRA_CA_CERTS.',
  'tls-incomplete': 'Configure the server to send its intermediate certificates as well (the “full chain”).',
  'tls-wrong-name':
    'Use the host name that the certificate was issued for, or get one that includes this name.',
  'tls-failed':
    'Check that the port speaks TLS 1.2 or newer and HTTP/1.1, not only HTTP/2, and that it requires no client certificate.',
  'timeout-dns':
    'The resolver is slow. Check the resolver of this machine and the name servers of the domain.',
  'timeout-connect':
    'Packets are dropped, mostly by a firewall: allow connections from this service to that port.',
  'timeout-tls':
    'The server accepted the connection and then sent nothing: it may be overloaded, or not use TLS on this port.',
  'timeout-answer': 'Respond before processing: store the event, return 2xx, and process it from a queue.',
  'timeout-body': 'Send a short body or none, and end it immediately: only the status counts.',
  rejected: `The receiver did not accept the event. Check that it takes application/json of this type. ${handler}`,
  unauthorized:
    'Check the signing secret that the receiver verifies with, its clock, and headers or firewalls that require credentials.',
  'no-such-path': 'Check the path of the address, and that it accepts POST.',
  gone: 'The endpoint rejects all further events. If that is wrong, enable it again.',
  aborted:
    'The receiver asked to stop the attempts of this event. Replay the delivery if it wants the event now.',
  'too-large': 'Raise the limit for bodies at the receiver and at proxies before it, or emit smaller events.',
  'too-many-requests':
    'Set a rate limit for this subscriber that it can handle. The service respects a Retry-After header.',
  redirect: 'Register the final address. The service does not follow redirects.',
  'client-error': `The receiver did not accept the request. ${handler}`,
  'server-error': `The receiver, or one of its dependencies, failed. ${handler}`,
  'address-refused':
    'Use a public address and a usual port. EMIT_ALLOWED_NETWORKS and EMIT_ALLOWED_HOSTS allow private addresses for subscribers without an owner; EMIT_PORTS allows ports.',
  'proxy-failed':
    'Check EMIT_PROXY, its credentials, and whether the proxy allows connections to this host and port.',
  'payload-gone': 'The payload was removed because of its age. Emit the event again if it is still needed.',
  'other-audience':
    'The event belongs to the owner that the subscriber had before. Emit it for the audience that it is meant for.',
  other: handler,
}

/** One or two sentences; `null` for an unknown kind, for example of a newer version. */
export function troubleshootingHint(kind: string | null): string | null {
  return kind !== null && Object.hasOwn(hints, kind) ? hints[kind as FailureKind] : null
}
