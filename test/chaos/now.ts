/** Milliseconds of the system's monotonic clock: the same in all processes of a machine. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}
