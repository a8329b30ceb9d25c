/** A query on a transaction that has ended, by its own commit or rollback, or because its time limit was reached. */
export class TransactionOver extends Error {
  /** Whether its time limit was reached: the same may well succeed when it is tried again. */
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
