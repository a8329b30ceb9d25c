/**
 * Describes an own property of objects that are made for each event, whose value is found when it is read. One description
 * serves all of them: `get` in an object literal makes a function for each object, and V8 keeps each of these with a hidden
 * class of its own, and with it all that the function sees, until it collects the whole heap.
 * @param read finds the value; called at each look
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
