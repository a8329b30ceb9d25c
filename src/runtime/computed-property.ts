/**
 * Describes a computed own property of objects that are created for each event. All objects share one descriptor: a `get` in an
 * object literal creates a function per object, and V8 keeps each with its own hidden class, and all that it closes over, until a
 * full garbage collection.
 * @param read computes the value; called at each access
 */
export function computedProperty<Owner extends object>(read: (owner: Owner) => unknown): PropertyDescriptor {
  return {
    enumerable: true,
    configurable: true,
    get(this: Owner) {
      return read(this)
    },
  }
}
