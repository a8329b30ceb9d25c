/** A query on a transaction that has ended, by its commit or rollback or at its time limit. */
export class TransactionOver extends Error {
  /** Whether it reached its time limit, so that another attempt may succeed. */
  readonly outOfTime: boolean

  constructor(how: string) {
    super(
      how === 'out of time'
        ? 'the transaction reached its time limit and was rolled back: do slow work before the first use of tx'
        : `the transaction was ${how} already: await every query before it ends`,
    )
    this.name = 'TransactionOver'
    this.outOfTime = how === 'out of time'
  }
}
