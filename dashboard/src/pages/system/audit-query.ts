export interface AuditSearch {
  action?: string
  userId?: string
  actor?: string
  target?: string
  address?: string
  /** A reference ID, or a request ID. */
  supportId?: string
  /** `failed` or `succeeded`. */
  result?: string
}

export interface AuditQuery extends Omit<AuditSearch, 'result'> {
  failed?: string
  since: string
}

/** The parameters of GET /audit for the filters of the address. */
export function auditQuery({ result, ...search }: AuditSearch, since: string): AuditQuery {
  return {
    ...search,
    ...(result !== undefined && { failed: result === 'failed' ? 'true' : 'false' }),
    since,
  }
}
