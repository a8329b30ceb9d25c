/** Whitespace and comments, then what begins or ends a transaction. A savepoint, and a rollback to it, is the user's own. */
const control =
  /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/)*(?:begin|start|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:work\s+|transaction\s+)?to\b))\b/i

/** A statement would end the transaction that `tx` stands for, and what others do in it. */
export class TransactionControl extends Error {
  constructor(statement: string) {
    super(
      `tx is one transaction from its first use to the end of the work, which commits it: leave out ${JSON.stringify(statement.trim().slice(0, 40))}, and throw to roll back`,
    )
    this.name = 'TransactionControl'
  }
}

/** @throws TransactionControl */
export function refuseTransactionControl(statement: string): void {
  if (control.test(statement)) throw new TransactionControl(statement)
}
