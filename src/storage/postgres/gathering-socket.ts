import { Socket } from 'node:net'

/** Bytes up to which a message is copied together with others: beyond, the copy costs more than a piece of its own. */
const mostCopied = 8 * 1024

/**
 * A socket that writes in one piece what is sent within one turn of the loop. pg writes several messages for each
 * statement, and writing to a socket costs more than all else about a short one. (Where TLS is used, it wraps the handle
 * of the socket and does not come by here.)
 */
export function gatheringSocket(): Socket {
  const socket = new Socket()
  // Not in a subclass: when it connects, a socket of Node puts its own `write` back.
  socket.once('connect', () => gatherWrites(socket))
  return socket
}

function gatherWrites(socket: Socket): void {
  const write = socket.write.bind(socket)
  let pieces: Uint8Array[] = []
  /** Small messages that are to be one piece. */
  let small: Uint8Array[] = []
  const join = (): void => {
    if (small.length > 0) pieces.push(small.length === 1 ? small[0]! : Buffer.concat(small))
    small = []
  }
  const flush = (): void => {
    join()
    const all = pieces
    pieces = []
    if (all.length === 0 || socket.destroyed) return
    if (all.length === 1) return void write(all[0]!)
    socket.cork()
    for (const piece of all) write(piece)
    socket.uncork()
  }
  socket.write = (chunk: Uint8Array | string, ...rest: unknown[]): boolean => {
    if (typeof chunk === 'string' || rest.length > 0) {
      flush()
      return write(chunk, ...(rest as []))
    }
    if (pieces.length === 0 && small.length === 0) process.nextTick(flush)
    if (chunk.length <= mostCopied) small.push(chunk)
    else {
      join()
      pieces.push(chunk)
    }
    return true
  }
}
