/** Between a failed statement and the handler that made it are up to a dozen frames of libraries and of this service. */
const frames = 30

/** Node.js keeps ten frames of an error, which do not always reach the handler's own line. A higher limit of the process stays. */
export function showHandlerFrames(): void {
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, frames)
}
