import { Socket } from 'node:net'

/** Bytes up to which messages are copied together: beyond, the copy costs more than the parts do. */
const mostCopied = 64 * 1024

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
  let waiting: Uint8Array[] = []
  let size = 0
  const flush = (): void => {
    const chunks = waiting
    const total = size
    if (chunks.length === 0 || socket.destroyed) return
    waiting = []
    size = 0
    if (chunks.length === 1) write(chunks[0]!)
    else if (total <= mostCopied) write(Buffer.concat(chunks, total))
    else {
      socket.cork()
      for (const chunk of chunks) write(chunk)
      socket.uncork()
    }
  }
  socket.write = (chunk: Uint8Array | string, ...rest: unknown[]): boolean => {
    if (typeof chunk === 'string' || rest.length > 0) {
      flush()
      return write(chunk, ...(rest as []))
    }
    if (waiting.length === 0) process.nextTick(flush)
    waiting.push(chunk)
    size += chunk.length
    return true
  }
}
