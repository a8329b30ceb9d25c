// The files that docs/guides/high-availability/patroni.md shows, for servers of one machine.

export interface Member {
  readonly name: string
  /** Of PostgreSQL. */
  readonly port: number
  /** Of Patroni's own interface. */
  readonly api: number
  readonly data: string
}

export function patroniFile(
  { name, port, api, data }: Member,
  { etcd, binaries }: { etcd: number; binaries: string },
): string {
  return `scope: postern
name: ${name}
restapi:
  listen: 127.0.0.1:${api}
  connect_address: 127.0.0.1:${api}
etcd3:
  host: 127.0.0.1:${etcd}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters:
        max_connections: 120
        wal_keep_size: 192MB
        fsync: 'off'
  initdb:
    - encoding: UTF8
    - data-checksums
    - locale: C.UTF-8
  pg_hba:
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
postgresql:
  listen: 127.0.0.1:${port}
  connect_address: 127.0.0.1:${port}
  data_dir: ${data}
  bin_dir: ${binaries}
  pgpass: ${data}.pgpass
  authentication:
    superuser:
      username: postgres
    replication:
      username: postgres
    rewind:
      username: postgres
  parameters:
    unix_socket_directories: ''
`
}

export function haproxyFile(entry: number, members: readonly Member[]): string {
  const servers = members.map(({ name, port, api }) => `  server ${name} 127.0.0.1:${port} check port ${api}`)
  return `defaults
  mode tcp
  timeout connect 3s
  timeout client 1h
  timeout server 1h
  timeout check 2s
listen postgres
  bind 127.0.0.1:${entry}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`
}
