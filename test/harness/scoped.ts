type Closable = { close(): unknown } | { drop(): unknown } | { end(): unknown } | { stop(): unknown }

/** What `scoped` makes such a thing of. */
export type Unscoped<T extends AsyncDisposable> = Omit<T, keyof AsyncDisposable>

/** Closes, drops, ends or stops something at the end of its block: `await using database = scoped(await openDatabase(url))`. */
export const scoped = <T extends Closable>(thing: T): T & AsyncDisposable =>
  Object.assign(thing, {
    async [Symbol.asyncDispose]() {
      if ('close' in thing) await thing.close()
      else if ('drop' in thing) await thing.drop()
      else if ('end' in thing) await thing.end()
      else await thing.stop()
    },
  })
