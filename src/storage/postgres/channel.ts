/** Where processes notify each other: a signal, or a topic with ids. */
export const channel = 'postern'
