/** All attempts failed. The reasons are in the order of the candidates. */
export class AllFailed extends Error {
  readonly reasons: readonly Error[]

  constructor(reasons: readonly Error[]) {
    super(reasons.map(({ message }) => message).join('; '))
    this.name = 'AllFailed'
    this.reasons = reasons
  }
}

/**
 * Tries candidates in order. The next attempt begins when one has failed, or `headStart` milliseconds after the previous one
 * began, so that a silent candidate does not delay the others (as RFC 8305, section 5, does for addresses). Resolves with the
 * first success, and aborts the other attempts.
 * @throws AllFailed
 */
export function staggered<Candidate, Result>(
  candidates: readonly Candidate[],
  headStart: number,
  attempt: (candidate: Candidate, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController()
  const reasons: Error[] = []
  let [begun, failed] = [0, 0]
  let timer: NodeJS.Timeout | undefined
  return new Promise<Result>((resolve, reject) => {
    const begin = (): void => {
      clearTimeout(timer)
      if (over.signal.aborted || begun === candidates.length) return
      const index = begun
      begun += 1
      attempt(candidates[index]!, over.signal).then(resolve, (reason: Error) => {
        reasons[index] = reason
        failed += 1
        if (failed === candidates.length) reject(new AllFailed(reasons))
        else begin()
      })
      timer = setTimeout(begin, headStart)
    }
    if (candidates.length === 0) reject(new AllFailed([]))
    else begin()
  }).finally(() => {
    clearTimeout(timer)
    over.abort()
  })
}
