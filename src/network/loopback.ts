/**
 * Whether a host's name or address always means this machine: `localhost`, 127.0.0.0/8 or ::1, with or without brackets.
 * Other names do not count, because their addresses can change.
 */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)
}

/** The host name of a Host header. */
export function hostnameOf(host: string): string {
  return host.replace(/:\d+$/, '')
}
