/** The server that last gave out the numbers of events and deliveries: one row. PostgreSQL only. */
export interface ContinuityTable {
  one: number
  /** A random name, new each time that the database was taken back to an earlier state. */
  life: string
  /** What `postern_server()` returned then. */
  server: string
  since: number
}

/** A number that a process writes here and reads on a standby, to measure the standby's age. PostgreSQL only. */
export interface ReplicaBeatsTable {
  process: string
  beat: number
  beat_at: number
}
