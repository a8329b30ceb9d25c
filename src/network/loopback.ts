/**
 * Whether a host's name or address can only mean this very machine: `localhost`, 127.0.0.0/8 or ::1, with or without
 * brackets. Other names that resolve there today may resolve elsewhere tomorrow, so they do not count.
 */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)
}
