import { connect } from 'node:net'

/**
 * Whether a program listens at this address. On Linux, one that listens on all addresses is also reached at 127.0.0.2, and one that
 * listens on 127.0.0.1 is not.
 */
export function reaches(host: '127.0.0.1' | '127.0.0.2', port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('error', () => resolve(false)).once('connect', () => (socket.destroy(), resolve(true)))
  })
}
