// Times that the parts of the worker share, and the options of their transactions.

/** Milliseconds that a lease lasts beyond the handler's time limit: for the wait for a slot, the commit and a slow clock. */
export const leaseMargin = 5_000
/** Milliseconds that an event may wait for a slot under its lease: the rest of the margin is for the commit. */
export const mostTimeAhead = 4_000
/** Milliseconds between two looks for due work: signals may be lost. */
export const pollInterval = 1_000
/** Milliseconds before the next try while the database does not answer. */
export const pauseAfterError = 1_000
/** Milliseconds that a few free slots or a few new events wait for more, so that one claim serves several. */
export const gather = 5
/**
 * Milliseconds that due events wait for a process that has a handler for them. In a rolling deploy, the other processes may have
 * one: those of the new release do, or those of the old one.
 */
export const unhandledWait = 15 * 60_000
/** The options of the worker's own transactions. The time limit detects a silent path. */
export const ownWork = { priority: 'work', timeLimit: 5_000 } as const
