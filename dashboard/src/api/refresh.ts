/** Milliseconds between two reads of what a visible page shows. Hidden pages read nothing until they are seen again. */
export const refreshEvery = 5_000
/** The same while the page shows the progress of a job. */
export const progressEvery = 1_000
/** For what hardly changes: it is read when a page opens. */
export const seldomChanges = { staleTime: 60_000, refetchInterval: false } as const
