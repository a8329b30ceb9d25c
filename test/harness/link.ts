// A path to a server that can be broken as networks break: cut, with or without a word, slow, or leading elsewhere.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Relay, type Shape } from './relay.ts'

export interface Link extends AsyncDisposable {
  /** The server's address, by way of this link. */
  readonly url: string
  /** Connections that pass, or are silent. */
  readonly connections: number
  /** When bytes of the server last passed to a client, as `performance.now()` tells it; at first the time of the opening. */
  readonly heardAt: number
  /** Closes all connections, and refuses new ones. */
  cut(): void
  /**
   * Nothing passes any more on the connections that are there, and the client is not told; the server's sides end, as when
   * it has given up, or when the address leads to another server now. With `also: 'new'` new connections are silent too.
   */
  silence(also?: 'new'): void
  /**
   * The next `count` answers to messages that contain a text are lost, with their connections: what was asked for is done, and
   * the client does not hear of it.
   */
  loseAnswers(to: string, count: number): void
  /** How many answers are still to be lost. */
  readonly toLose: number
  /** New connections pass; those that were silenced stay silent. What was held passes. */
  mend(): void
  /** Nothing passes in either direction until `mend`, on new connections neither; no end is told, and no byte is lost. */
  hold(): void
  /** New connections go to the server of this address from now on. */
  lead(target: string): void
  /** What passes from now on, on all connections, is late or slow. Without an argument it passes at once again. */
  shape(shape?: Shape): void
  close(): void
}

/** A client's connection: its own side, and, unless it is silent, what leads on to the server. */
interface Passage {
  readonly near: Socket
  readonly away: Socket
  readonly relays: readonly Relay[]
}

/** Opens a path to the server of an address such as `postgres://…`. */
export async function openLink(target: string): Promise<Link> {
  let destination = new URL(target)
  const sockets = new Set<Socket>()
  const passages = new Set<Passage>()
  let passing: 'all' | 'refused' | 'silent' | 'held' = 'all'
  let shape: Shape = {}
  let losing = { to: '', count: 0 }
  let heardAt = performance.now()
  const server = createServer({ noDelay: true }, (near) => {
    near.on('error', () => near.destroy())
    if (passing === 'refused') {
      near.destroy()
      return
    }
    sockets.add(near)
    near.on('close', () => sockets.delete(near))
    if (passing === 'silent') return
    const away = connect({ port: Number(destination.port), host: destination.hostname, noDelay: true })
    const end = (): void => void near.destroy()
    away.on('error', end).on('close', end)
    const answers = new Relay(
      away,
      near,
      () => shape,
      () => (heardAt = performance.now()),
    )
    const relays = [new Relay(near, away, () => shape), answers]
    near.on('data', (message: Buffer) => {
      if (losing.count === 0 || !message.includes(losing.to)) return
      losing.count -= 1
      answers.stop()
      away.on('data', end).resume()
    })
    const passage = { near, away, relays }
    passages.add(passage)
    if (passing === 'held') for (const relay of relays) relay.hold()
    near.on('close', () => {
      passages.delete(passage)
      away.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  const relays = (): Relay[] => [...passages].flatMap(({ relays }) => relays)
  const link: Link = {
    url: url.href,
    get connections() {
      return sockets.size
    },
    get heardAt() {
      return heardAt
    },
    cut() {
      passing = 'refused'
      for (const socket of sockets) socket.destroy()
    },
    silence(also) {
      if (also) passing = 'silent'
      for (const { away, relays } of passages) {
        for (const relay of relays) relay.stop()
        away.removeAllListeners('close').destroy()
      }
      passages.clear()
      for (const socket of sockets) socket.pause()
    },
    loseAnswers(to, count) {
      losing = { to, count }
    },
    get toLose() {
      return losing.count
    },
    mend() {
      passing = 'all'
      for (const relay of relays()) relay.release()
    },
    hold() {
      passing = 'held'
      for (const relay of relays()) relay.hold()
    },
    lead(target) {
      destination = new URL(target)
    },
    shape(next = {}) {
      shape = next
    },
    close() {
      link.cut()
      server.close()
    },
    [Symbol.asyncDispose]: async () => link.close(),
  }
  return link
}
