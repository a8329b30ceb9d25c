/** Why the work of a handler was ended from outside. */
abstract class Interruption extends Error {
  constructor(message: string) {
    super(message)
    this.name = new.target.name
  }
}

/** The handler exceeded its time limit. */
export class HandlerTimeout extends Interruption {
  constructor(timeout: number) {
    super(`the handler did not end within ${timeout} ms: its signal was aborted and its work rolled back`)
  }
}

/** The handler exceeded its time limit because it waited for its transaction. */
export class WaitedForTransaction extends Interruption {
  constructor(waited: number, timeout: number) {
    super(
      `the handler waited ${Math.round(waited)} of its ${timeout} ms for its transaction, because others held the database: the attempt is repeated and does not count`,
    )
  }
}

/** A handler held its transaction open for too long. */
export class TransactionTimeout extends Interruption {
  constructor(timeout: number) {
    super(
      `the handler's transaction was open for more than ${timeout} ms, while no other transaction could write, and was rolled back: do slow work (calls, waiting) before the first use of tx, or raise HANDLER_TRANSACTION_TIMEOUT`,
    )
  }
}

/** A handler took long in a shared transaction, or waited for a lock there: it runs again in its own transaction. */
export class HeldUpOthers extends Interruption {
  constructor() {
    super(
      'the handler took too long in a transaction that it shared with others: it runs again in one of its own',
    )
  }
}

/** A handler called `emit` after it had returned. */
export class EmittedTooLate extends Interruption {
  constructor(type: string) {
    super(
      `emit was called with ${JSON.stringify(type)} after its handler had ended, so the event is not sent: await everything before the handler returns`,
    )
  }
}

/** Another claim holds the event, so the transaction is rolled back. */
export class ClaimLost extends Interruption {
  constructor() {
    super('another worker holds the claim')
  }
}

export class Stopping extends Interruption {
  constructor() {
    super('the service is stopping')
  }
}
