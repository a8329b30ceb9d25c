/** Whitespace and comments, then a statement that begins or ends a transaction. Savepoints, and rollbacks to them, are allowed. */
const control =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:begin|start|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:work\s+|transaction\s+)?to\b))\b/i

/** A statement would end the transaction of `tx`, which others may share. */
export class TransactionControl extends Error {
  constructor(statement: string) {
    super(
      `tx is one transaction, which begins at its first use and commits when the work ends: remove ${JSON.stringify(statement.trim().slice(0, 40))}, and throw to roll back`,
    )
    this.name = 'TransactionControl'
  }
}

/** @throws TransactionControl */
export function refuseTransactionControl(statement: string): void {
  if (control.test(statement)) throw new TransactionControl(statement)
}

/** Whether a statement returns a row count only. Such a statement stays valid when columns are added to its table. */
export function returnsNoRows(statement: string): boolean {
  return /^\s*(?:insert|update|delete)\b(?![^]*\breturning\b)/i.test(statement)
}
